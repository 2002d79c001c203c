# SPDX-License-Identifier: Apache-2.0
"""What the node ``dynamics`` publishes of its state and of what happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import WrenchStamped
from humans_msgs.msg import ContactStates, SimulationEvent
from nav_msgs.msg import Odometry
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState
from tf2_msgs.msg import TFMessage

from humans_sim.dynamics.soles import PointContacts, SoleLoad, Soles
from humans_sim.dynamics.stepper import Stepper
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common.conversions import (
    ImuData,
    imu,
    joint_state,
    odometry,
    set_wrench,
    time_of,
    transform,
)
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.simulation_messages import contact_states, simulation_event
from humans_sim.nodes.dynamics.sensors import NodeSensors, Readings
from humans_sim.results.events import Event
from humans_sim.results.sample import Sample

DEPTH = 100
"""Messages kept for a slow listener: a burst of events at an impact must fit."""


@dataclass(frozen=True)
class State:
    """What is published of one time."""

    sample: Sample
    points: PointContacts
    loads: list[SoleLoad]
    readings: Readings

    @classmethod
    def of(cls, run: Stepper, soles: Soles, sensors: NodeSensors) -> State:
        """Look at a run where it is, and let its sensors measure."""
        sample = run.sample()
        points = soles.points(sample)
        loads = soles.loads(sample, points)
        return cls(sample, points, loads, sensors.read(run, loads))


class DynamicsTopics:
    """Publishes states and events.

    Args:
        node: whose topics they are.
        world: frame of the ground truth.
        tf: whether the transform from world to base_link is published.
        sensors: whose readings are published.
    """

    def __init__(
        self, node: ModelNode, world: str, tf: bool, sensors: NodeSensors
    ) -> None:
        """Make the topics."""
        self._imu_frame, self._variances = sensors.imu.frame, sensors.covariances()
        self._model, self._world = node.model, world
        make = node.create_publisher
        self._clock = make(Clock, "/clock", DEPTH)
        self._joint_states = make(JointState, "joint_states", DEPTH)
        self._measured = make(JointState, "measured_joint_states", DEPTH)
        self._imu = make(Imu, "imu", DEPTH)
        self._contacts = make(ContactStates, "ground_contacts", DEPTH)
        self._events = make(SimulationEvent, "events", DEPTH)
        self._odometry = make(Odometry, "ground_truth/odom", DEPTH)
        self._tf = make(TFMessage, "/tf", DEPTH) if tf else None
        self._wrenches = [
            make(WrenchStamped, f"{sole.name}/wrench", DEPTH)
            for sole in node.model.soles
        ]

    def publish(self, now: int, state: State, soles: Soles, effort: np.ndarray) -> None:
        """Publish the state of a time [ns]; joint_states come last."""
        stamp, sample, world = time_of(now), state.sample, self._world
        self._clock.publish(Clock(clock=stamp))
        # Making a message takes longer than asking whether anybody listens.
        if self._contacts.get_subscription_count():
            contacts = contact_states(soles, state.points, state.loads)
            contacts.header.stamp, contacts.header.frame_id = stamp, world
            self._contacts.publish(contacts)
        for topic, load, felt in zip(
            self._wrenches, state.loads, state.readings.feet, strict=True
        ):
            wrench = WrenchStamped()
            wrench.header.stamp, wrench.header.frame_id = stamp, load.name
            set_wrench(wrench.wrench, felt.force, felt.torque)
            topic.publish(wrench)
        q, v = sample.q[: self._model.nq], sample.v[: self._model.nv]
        if self._odometry.get_subscription_count():
            self._odometry.publish(odometry(stamp, world, BASE_LINK, q, v))
        if self._tf is not None and self._tf.get_subscription_count():
            base = transform(stamp, world, BASE_LINK, pin.XYZQUATToSE3(q[:7]))
            self._tf.publish(TFMessage(transforms=[base]))
        inertial, attitude = state.readings.imu, state.readings.attitude
        data = ImuData(
            attitude, inertial.angular_rate, inertial.specific_force, self._variances
        )
        self._imu.publish(imu(stamp, self._imu_frame, data))
        if self._measured.get_subscription_count():
            joints = state.readings.joints
            self._measured.publish(
                joint_state(self._model, stamp, joints.angles, joints.speeds)
            )
        self._joint_states.publish(
            joint_state(self._model, stamp, q[7:], v[6:], effort)
        )

    def publish_events(self, events: Iterable[Event]) -> None:
        """Publish events."""
        for event in events:
            self._events.publish(simulation_event(event))
