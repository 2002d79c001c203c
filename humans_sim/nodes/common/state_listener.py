# SPDX-License-Identifier: Apache-2.0
"""Listener to the state of robots: ``joint_states`` and odometry, validated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.conversions import base_of, joints_of
from humans_sim.nodes.common.diagnostics import warn_refused
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.scene_robots import NamedRobot, declare_robots

ODOMETRY = "odom"
"""Topic of an estimate of the base."""


class HeardRobot:
    """The last sound state of a robot.

    Args:
        node: that listens.
        odometry: topic of the base.
        on_state: called after each sound JointState message, with its stamp.

    Attributes:
        robot: its name and model.
        frame: of the base's pose; empty until there is one.
    """

    def __init__(
        self,
        node: ModelNode,
        robot: NamedRobot,
        odometry: str,
        on_state: Callable[[Any], None],
    ) -> None:
        self.robot, self.frame = robot, ""
        self._node, self._on_state = node, on_state
        self._joints = robot.model.neutral()[7:]
        self._base: np.ndarray | None = None
        listen = node.create_subscription
        listen(JointState, robot.topic("joint_states"), self._on_joints, 10)
        listen(Odometry, robot.topic(odometry), self._on_odometry, 10)

    def configuration(self) -> np.ndarray:
        """The configuration; without odometry the model stands on its contacts."""
        if self._base is None:
            return self.robot.model.standing(self._joints)
        return np.concatenate([self._base, self._joints])

    def _on_joints(self, message: JointState) -> None:
        try:
            self._joints = joints_of(self.robot.model, message, self._joints)
        except ConfigurationError as error:
            warn_refused(self._node, self.robot.topic("joint_states"), error)
            return
        self._on_state(message.header.stamp)

    def _on_odometry(self, message: Odometry) -> None:
        try:
            self._base = base_of(message.pose.pose)
        except ConfigurationError as error:
            warn_refused(self._node, self.robot.topic("odometry"), error)
            return
        self.frame = message.header.frame_id


class StateListener(ModelNode):
    """A node that keeps the last sound configuration it heard.

    A message that cannot be used is refused with a warning and changes nothing. The
    parameter ``odometry_topic`` names the topic of the base: an estimate (``odom``), or
    what a simulator knows (``ground_truth/odom``).

    Attributes:
        heard: robots that it listens to.
    """

    hears_several = False
    """Whether the parameter ``robots`` may name several."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        self.odometry_topic = given.text(
            "odometry_topic", ODOMETRY, "where the base is"
        )
        robots = [NamedRobot("", self.model)]
        if self.hears_several:
            robots = declare_robots(self, given)
        self.heard = [
            HeardRobot(self, robot, self.odometry_topic, self.on_state)
            for robot in robots
        ]

    def configuration(self) -> np.ndarray:
        """The configuration of the first robot."""
        return self.heard[0].configuration()

    def on_state(self, stamp: Any) -> None:
        """Called after each sound JointState message, with its stamp."""
