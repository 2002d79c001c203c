# SPDX-License-Identifier: Apache-2.0
"""Node ``observer``: where the base is, from the joints and the forces on the soles.

Takes ``joint_states``, ``<sole>/wrench`` of every sole and, with ``use_imu``, ``imu``,
put together by their stamps. Gives ``odom`` (nav_msgs/Odometry, with covariances), the
transforms odom -> base_link and base_link -> base_footprint where its parameters say
so, world -> odom where ``world_frame`` names a world, and ``/diagnostics``.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState
from tf2_msgs.msg import TFMessage

from humans_sim.core.errors import ConfigurationError, HumansError
from humans_sim.core.settings import settings_of
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common.conversions import (
    joint_values,
    joints_of,
    load_of,
    odometry,
    time_of,
    transform,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics, gone
from humans_sim.nodes.common.model_node import ModelNode, latched
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.stamp_synchronizer import StampSynchronizer
from humans_sim.nodes.common.start_posture import NEUTRAL, POSTURES, start_posture
from humans_sim.observation.base.drift import DriftRates
from humans_sim.observation.base.observer import USES, BaseEstimate, BaseObserver

_DEPTH = 100
_STATES, _IMU = "joint_states", "imu"


def _attitude(message: Imu) -> np.ndarray:
    """Quaternion (4,) of the base."""
    if message.orientation_covariance[0] < 0.0:
        raise ConfigurationError("imu says nothing of the orientation")
    turn = message.orientation
    return np.array([turn.x, turn.y, turn.z, turn.w])


class Observer(ModelNode):
    """Follows the base of a model."""

    def __init__(self, name: str = "observer", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        self._observer = self._declare_observer(given)
        self._frame = self.framed(
            given.text("odom_frame", "odom", "frame of the estimate")
        )
        self._base_frame = self.framed(BASE_LINK)
        world = given.text("world_frame", "", "above odom, at one place; empty: none")
        tf = given.flag("publish_tf", True, "transform from odom to base_link")
        foot = given.flag("publish_footprint", False, "base_footprint below base_link")
        self._step = math.radians(
            given.number(
                "quantisation", 0.0, "joint angles are rounded to it [deg]", 0.0, 45.0
            )
        )
        self._joints = self.model.neutral()[7:]
        self._speeds: np.ndarray | None = None
        self._topics = {f"{sole}/wrench": sole for sole in self._observer.soles}
        listened = [*self._topics, *([_IMU] if self._led else [])]
        self._synchronizer = StampSynchronizer(_STATES, listened)
        self._begun, self._t = 0, -math.inf
        self._estimate: BaseEstimate | None = None
        self._heard_at = -math.inf
        self._diagnostics = Diagnostics(self, "base", self.model.name)
        self._odometry = self.create_publisher(Odometry, "odom", _DEPTH)
        self._places_base, self._places_footprint = tf, foot
        self._tf = self.create_publisher(TFMessage, "/tf", _DEPTH)
        listen = self.create_subscription
        taker = self._diagnostics.taker
        if self._led:
            listen(Imu, _IMU, taker(_IMU, _attitude, self._put), _DEPTH)
        for topic in self._topics:
            listen(WrenchStamped, topic, taker(topic, load_of, self._put), _DEPTH)
        states = taker(_STATES, self._read_state, self._put)
        listen(JointState, _STATES, states, _DEPTH)
        if world:
            self._place_odom(world)
        self.every(BEAT, self._diagnose)

    def _place_odom(self, world: str) -> None:
        """Both begin at one place."""
        static = self.create_publisher(TFMessage, "/tf_static", latched())
        now, there = self.get_clock().now().to_msg(), pin.SE3.Identity()
        placed = transform(now, world, self._frame, there)
        static.publish(TFMessage(transforms=[placed]))

    def _declare_observer(self, given: Parameters) -> BaseObserver:
        posture = given.choice("posture", NEUTRAL, "it stands in at first", POSTURES)
        walking = given.path("walking", "how it walks; empty: the model's own")
        place = given.numbers("place", "where it starts: x, y [m], heading [rad]", 3)
        use = given.choice("use", USES[0], "which of the feet on the ground", USES)
        threshold = given.number(
            "threshold", 0.0, "force of a foot on the ground [N]; 0: by the weight", 0.0
        )
        floor = given.numbers("floor_height", "of a level floor [m]; empty: unknown", 1)
        self._led = given.flag("use_imu", False, "imu says how the base is turned")
        usual = DriftRates()
        return BaseObserver(
            self.model,
            standing=start_posture(self.model, posture, walking, place=place),
            use=use,
            threshold=threshold or None,
            floor_height=floor[0] if floor else None,
            drift=DriftRates(
                **{
                    name: given.number(
                        f"drift.{name}",
                        getattr(usual, name),
                        f"standard deviation: {item.metadata['help']}",
                        0.0,
                    )
                    for name, item in settings_of(DriftRates).items()
                }
            ),
        )

    def _read_state(self, message: JointState) -> Any:
        if not message.name:
            raise ConfigurationError("no joint is named")
        joints, speeds = joints_of(self.model, message, self._joints), None
        if len(message.velocity) and not self._step:
            still = np.zeros_like(joints)
            names, rates = message.name, message.velocity
            speeds = joint_values(self.model, names, rates, still, "velocity")
        if self._step:
            # Encoders that round say nothing of speeds.
            joints = self._step * np.round(joints / self._step)
        self._joints, self._heard_at = joints, time.monotonic()
        return joints, speeds

    def _put(self, topic: str, stamp: int, value: Any) -> None:
        complete = self._synchronizer.put(topic, stamp, value)
        if complete is None:
            return
        if self._begun != self._synchronizer.beginnings:
            self._begun, self._t = self._synchronizer.beginnings, -math.inf
            self._observer.reset()
        t = stamp / 1e9
        if t <= self._t:
            return
        joints, speeds = complete[_STATES]
        forces = {sole: complete[topic] for topic, sole in self._topics.items()}
        try:
            self._estimate = self._observer.update(
                t, joints, speeds, sole_forces=forces, attitude=complete.get(_IMU)
            )
        except HumansError as error:
            self._diagnostics.refuse("measurement", error)
            return
        self._t = t
        when, pose = time_of(stamp), self._estimate.pose
        if self._odometry.get_subscription_count():
            self._odometry.publish(self._odometry_of(when, self._estimate))
        placed = pin.XYZQUATToSE3(pose)
        moved = []
        if self._places_base:
            moved.append(transform(when, self._frame, self._base_frame, placed))
        if self._places_footprint:
            q = np.concatenate([pose, joints])
            below = placed.actInv(self.model.base_footprint(q))
            footprint = self.framed("base_footprint")
            moved.append(transform(when, self._base_frame, footprint, below))
        if moved:
            self._tf.publish(TFMessage(transforms=moved))

    def _odometry_of(self, when: Any, base: BaseEstimate) -> Odometry:
        message = odometry(
            when, self._frame, self._base_frame, base.pose, base.velocity
        )
        message.pose.covariance = base.covariance.ravel()
        message.twist.covariance = np.diag(base.velocity_std**2).ravel()
        return message

    def _diagnose(self) -> None:
        silent = time.monotonic() > self._heard_at + BEAT
        base, state, warning = self._estimate, "waiting for joint_states", ""
        if base is not None and not silent:
            state = f"stands on {base.reference}"
        elif not silent and self._synchronizer.newest is not None:
            missing = ", ".join(self._synchronizer.missing(self._synchronizer.newest))
            warning = f"nothing comes on {missing}"
        elif base is not None:
            warning = gone(self, _STATES)
        warning = self._diagnostics.refused() or warning
        values = {
            "time [s]": f"{max(self._t, 0.0):.9g}",
            "starts": str(self._begun),
            "mismatch [m]": "" if base is None else f"{base.mismatch:.3g}",
            "unsupported [s]": "" if base is None else f"{base.unsupported:.3g}",
            **self._diagnostics.refusals(),
        }
        self._diagnostics.publish(state, "", warning, values)
