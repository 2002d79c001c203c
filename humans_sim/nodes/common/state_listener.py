# SPDX-License-Identifier: Apache-2.0
"""Listener to the state of a robot: ``joint_states`` and odometry, validated."""

from __future__ import annotations

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.conversions import base_of, joints_of
from humans_sim.nodes.common.diagnostics import warn_refused
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters

ODOMETRY = "odom"
"""Topic of an estimate of the base."""


class StateListener(ModelNode):
    """A node that keeps the last sound configuration it heard.

    A message that cannot be used is refused with a warning and changes nothing. The
    parameter ``odometry_topic`` names the topic of the base: an estimate (``odom``), or
    what a simulator knows (``ground_truth/odom``).
    """

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        self._joints = self.model.neutral()[7:]
        self._base: np.ndarray | None = None
        self.create_subscription(JointState, "joint_states", self._on_joints, 10)
        given = Parameters(self)
        self.odometry_topic = given.text(
            "odometry_topic", ODOMETRY, "where the base is"
        )
        self.create_subscription(Odometry, self.odometry_topic, self._on_odometry, 10)

    def configuration(self) -> np.ndarray:
        """The configuration; without odometry the model stands on its contacts."""
        if self._base is None:
            return self.model.standing(self._joints)
        return np.concatenate([self._base, self._joints])

    def on_state(self, stamp: Any) -> None:
        """Called after each sound JointState message, with its stamp."""

    def _on_joints(self, message: JointState) -> None:
        try:
            self._joints = joints_of(self.model, message, self._joints)
        except ConfigurationError as error:
            warn_refused(self, "joint_states", error)
            return
        self.on_state(message.header.stamp)

    def _on_odometry(self, message: Odometry) -> None:
        try:
            self._take_base(message)
        except ConfigurationError as error:
            warn_refused(self, "odometry", error)

    def _take_base(self, message: Odometry) -> None:
        self._base = base_of(message.pose.pose)
