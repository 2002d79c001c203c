# SPDX-License-Identifier: Apache-2.0
"""Node ``joint_demo``: joints that sway, the feet on the ground.

Publishes ``joint_states`` (sensor_msgs/JointState), ``odom`` (nav_msgs/Odometry) and
the transform odom -> base_link. Parameters: ``model``, ``rate`` [Hz], ``motion`` (a
file as in ``config/motions``; empty takes the model's own).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from tf2_msgs.msg import TFMessage

from humans_sim.control.trajectories.trajectory import Sway
from humans_sim.core.errors import ParameterError
from humans_sim.models.description import BASE_LINK
from humans_sim.nodes.common.conversions import joint_state, odometry, transform
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters

_ODOM = "odom"


class JointDemo(ModelNode):
    """Moves the joints of a model to and fro."""

    def __init__(self, name: str = "joint_demo", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        rate = given.number("rate", 50.0, "of joint_states [Hz]")
        if not 0.0 < rate <= 1000.0:
            raise ParameterError(f"rate must be in (0, 1000] Hz, not {rate}")
        motion = given.text(
            "motion", "", "file as in config/motions; empty: the model's own"
        )
        self._sway = (
            Sway.from_file(self.model, Path(motion))
            if motion
            else Sway.of_model(self.model)
        )
        self._start: float | None = None
        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._odom = self.create_publisher(Odometry, "odom", 10)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self.create_timer(1.0 / rate, self._tick)

    def _tick(self) -> None:
        now = self.get_clock().now()
        seconds = now.nanoseconds * 1e-9
        if self._start is None or seconds < self._start:
            self._start = seconds
        joints, speeds = self._sway.at(seconds - self._start)
        stamp = now.to_msg()
        names = self.model.joint_names
        self._joint_states.publish(joint_state(stamp, names, joints, speeds))
        base = pin.XYZQUATToSE3(self.model.standing(joints)[:7])
        pose = pin.SE3ToXYZQUAT(base)
        odom, child = self.framed(_ODOM), self.framed(BASE_LINK)
        self._odom.publish(odometry(stamp, odom, child, pose, np.zeros(6)))
        moved = transform(stamp, odom, child, base)
        self._tf.publish(TFMessage(transforms=[moved]))
