# SPDX-License-Identifier: Apache-2.0
"""Topics of the node ``dynamics``: state, events, surroundings, soft ground.

A ground that gives way lives in this node and not in one of its own: at each of its
samples, 1 ms apart, its forces are those of one contact problem with the mass matrix of
the body.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import WrenchStamped
from humans_msgs.msg import ContactStates, SimulationEvent
from nav_msgs.msg import OccupancyGrid, Odometry
from rclpy.node import Node
from sensor_msgs.msg import Image, Imu, JointState
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.solids import Box
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.nodes.common.conversions import (
    ImuData,
    filled,
    imu,
    joint_state,
    marker_array,
    odometry,
    time_of,
    transform,
)
from humans_sim.nodes.common.model_node import ModelNode, latched
from humans_sim.nodes.common.scene_messages import (
    depth_map,
    grid_map,
    ground_picture,
    heights_image,
)
from humans_sim.nodes.common.simulation_messages import contact_states, simulation_event
from humans_sim.nodes.dynamics.sensors import Readings
from humans_sim.nodes.dynamics.settings import DynamicsSettings, RobotSettings
from humans_sim.results.records import Event
from humans_sim.results.ros_files import head, xyz
from humans_sim.soft.ground.deformable_ground import DeformableGround
from humans_sim.soft.ground.footprints import Footprints
from humans_sim.view.run_topics import body_marker, box_marker, terrain_markers

DEPTH = 100
"""Messages kept for a slow listener: a burst of events at an impact must fit."""


@dataclass(frozen=True)
class State:
    """The published state of a robot at one time."""

    q: np.ndarray
    v: np.ndarray
    effort: np.ndarray
    points: PointContacts
    loads: list[SoleLoad]
    readings: Readings


class RobotTopics:
    """Publishes states and events of a robot, by the settings."""

    def __init__(
        self, node: ModelNode, robot: RobotSettings, settings: DynamicsSettings
    ) -> None:
        self._model, self._world = robot.model, settings.world
        self._imu_frame = robot.framed(node, robot.sensors.imu.frame)
        self._variances = robot.sensors.covariances()
        self._base = robot.framed(node, settings.base)
        soles = [sole.name for sole in robot.model.soles]
        self._sole_frames = [robot.framed(node, sole) for sole in soles]
        make, topic = node.create_publisher, robot.topic
        self._joint_states = make(JointState, topic("joint_states"), DEPTH)
        self._measured = make(JointState, topic("measured_joint_states"), DEPTH)
        self._imu = make(Imu, topic("imu"), DEPTH)
        self._contacts = make(ContactStates, topic("ground_contacts"), DEPTH)
        self._events = make(SimulationEvent, topic("events"), DEPTH)
        self._odometry = make(Odometry, topic("ground_truth/odom"), DEPTH)
        self._tf = make(TFMessage, "/tf", DEPTH) if settings.tf else None
        self._wrenches = [
            make(WrenchStamped, topic(f"{sole}/wrench"), DEPTH) for sole in soles
        ]

    def publish(self, now: int, state: State, soles: Soles) -> None:
        """Publish the state of a time [ns]; joint_states come last."""
        stamp, world, q, v = time_of(now), self._world, state.q, state.v
        names = self._model.joint_names
        # Making a message takes longer than asking whether anybody listens.
        if self._contacts.get_subscription_count():
            self._contacts.publish(
                contact_states(stamp, world, soles, state.points, state.loads)
            )
        for topic, frame, felt in zip(
            self._wrenches, self._sole_frames, state.readings.feet, strict=True
        ):
            wrench = {"force": xyz(felt.force), "torque": xyz(felt.torque)}
            fields = {"header": head(stamp, frame), "wrench": wrench}
            topic.publish(filled(WrenchStamped(), fields))
        if self._odometry.get_subscription_count():
            self._odometry.publish(odometry(stamp, world, self._base, q, v))
        if self._tf is not None and self._tf.get_subscription_count():
            base = transform(stamp, world, self._base, pin.XYZQUATToSE3(q[:7]))
            self._tf.publish(TFMessage(transforms=[base]))
        inertial, attitude = state.readings.imu, state.readings.attitude
        data = ImuData(
            attitude, inertial.angular_rate, inertial.specific_force, self._variances
        )
        self._imu.publish(imu(stamp, self._imu_frame, data))
        if self._measured.get_subscription_count():
            joints = state.readings.joints
            self._measured.publish(
                joint_state(stamp, names, joints.angles, joints.speeds)
            )
        states = joint_state(stamp, names, q[7:], v[6:], state.effort)
        self._joint_states.publish(states)

    def publish_events(self, events: Iterable[Event]) -> None:
        """Publish events."""
        for event in events:
            self._events.publish(simulation_event(event))


_GROUND_DEPTH = 5


def _grid_map_type() -> Any:
    """The message ``grid_map_msgs/GridMap``; None where it is not installed."""
    try:
        return importlib.import_module("grid_map_msgs.msg").GridMap
    except ImportError:
        return None


class GroundTopics:
    """Publishes the heights of a ground.

    Args:
        period: between two messages [s].
    """

    def __init__(
        self, node: Node, world: str, ground: DeformableGround, period: float
    ) -> None:
        self._world, self._ground = world, ground
        self._period, self._next = round(1e9 * period), 0
        make = node.create_publisher
        self._heights = make(Image, "ground/heights", _GROUND_DEPTH)
        self._picture = make(Image, "ground/picture", _GROUND_DEPTH)
        self._depth = make(OccupancyGrid, "ground/depth", latched())
        self._map_type, self._map = _grid_map_type(), None
        if self._map_type is not None:
            self._map = make(self._map_type, "ground/grid_map", latched())

    def publish(self, now: int) -> None:
        """Publish where it is time [ns]; images, where somebody listens."""
        if now < self._next and now > self._next - 2 * self._period:
            return
        self._next = now + self._period
        screen = self._ground.screen
        field = Footprints(screen.deviations, screen.spacing, self._ground.origin)
        header = Header(stamp=time_of(now), frame_id=self._world)
        for topic, make in (
            (self._heights, heights_image),
            (self._picture, ground_picture),
        ):
            if topic.get_subscription_count():
                topic.publish(make(header, field))
        # Maps are there for who comes later, too.
        self._depth.publish(depth_map(header, field))
        if self._map is not None:
            self._map.publish(grid_map(self._map_type, header, field))


_SCENE_DEPTH, _TF_DEPTH = 10, 100


class SceneTopics:
    """Publishes free bodies as frames and markers, boxes and terrain of the ground.

    Args:
        tf: whether transforms from world to the bodies are published.
    """

    def __init__(
        self,
        node: ModelNode,
        world: str,
        tf: bool,
        bodies: Sequence[SceneBody],
        ground: Ground,
    ) -> None:
        self._world, self._framed = world, node.framed
        make = node.create_publisher
        self._markers = make(MarkerArray, "scene", _SCENE_DEPTH)
        self._tf = make(TFMessage, "/tf", _TF_DEPTH) if tf else None
        boxes = [
            box_marker(k, solid, world)
            for k, solid in enumerate(ground.solids)
            if isinstance(solid, Box)
        ]
        self._boxes = marker_array(boxes).markers
        self._names: list[str] = []
        self._bodies: list[Marker] = []
        self.show(bodies)
        self._terrain = make(MarkerArray, "terrain", latched())
        # Once for all: meshes are large, and stay.
        self._terrain.publish(marker_array(terrain_markers(ground, world)))

    def show(self, bodies: Sequence[SceneBody]) -> None:
        """Publish these bodies from now on; listeners are told which are gone."""
        gone = self._bodies
        self._names = [body.name for body in bodies]
        self._bodies = marker_array(
            body_marker(k, body.record() | {"name": body.name}, frame=self._world)
            for k, body in enumerate(bodies)
        ).markers
        for marker in gone:
            marker.action = Marker.DELETE
        if gone:
            self._markers.publish(MarkerArray(markers=gone))

    def publish(self, now: int, poses: Sequence[pin.SE3]) -> None:
        """Publish where the bodies are at a time [ns]."""
        stamp = time_of(now)
        frames = [
            transform(stamp, self._world, self._framed(name), pose)
            for name, pose in zip(self._names, poses, strict=True)
        ]
        if frames and self._tf is not None and self._tf.get_subscription_count():
            self._tf.publish(TFMessage(transforms=frames))
        if not self._markers.get_subscription_count():
            return
        for marker, frame in zip(self._bodies, frames, strict=True):
            place, shift = marker.pose.position, frame.transform.translation
            place.x, place.y, place.z = shift.x, shift.y, shift.z
            marker.pose.orientation = frame.transform.rotation
        markers = [*self._bodies, *self._boxes]
        for marker in markers:
            marker.header.stamp = stamp
        self._markers.publish(MarkerArray(markers=markers))
