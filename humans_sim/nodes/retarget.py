# SPDX-License-Identifier: Apache-2.0
"""Node ``retarget``: a robot's upper body follows a person, live.

Takes ``person/joint_states`` of a person (node ``reconstruction`` in the namespace
``person``) and ``joint_states`` of the robot, once, to begin where it is. Answers each
posture of the person by ``joint_commands`` of waist, arms and head. The legs are not
commanded. Where the person is not seen any more, it is silent: the bridge holds.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState

from humans_sim.control.retargeting.upper_body import LiveRetargeting
from humans_sim.core.errors import HumansError
from humans_sim.models import load_model
from humans_sim.nodes.common.conversions import joint_state, joints_of, nanoseconds_of
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics, gone
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.parameters import Parameters

_DEPTH = 10
_PERSON = "person/joint_states"
_USUAL = 0.01
"""Time between two postures where stamps do not say [s]."""


class Retarget(ModelNode):
    """Answers postures of a person by commands of a robot."""

    def __init__(self, name: str = "retarget", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        self._person = load_model(
            given.text("person", "human36", "model of the person"), xacro=False
        )
        share = given.number(
            "speed_share", 0.5, "of the joints' speed limits that is used", 0.01, 1.0
        )
        self._longest = given.number(
            "longest_gap", 0.5, "a longer silence begins anew [s]", 0.01
        )
        self._live = LiveRetargeting(self._person, self.model, share)
        self._angles = self._person.neutral()[7:]
        self._stamp, self._heard_at = -1, -1.0
        self._slowest = 0.0
        self._robot: dict[str, float] | None = None
        self._diagnostics = Diagnostics(self, "upper body", self.model.name)
        self._commands = self.create_publisher(JointState, "joint_commands", _DEPTH)
        self.create_subscription(JointState, "joint_states", self._on_robot, _DEPTH)
        self.create_subscription(JointState, _PERSON, self._on_person, _DEPTH)
        self.every(BEAT, self._diagnose)

    def _on_robot(self, message: JointState) -> None:
        try:
            joints = joints_of(self.model, message, self.model.neutral()[7:])
        except HumansError as error:
            self._diagnostics.refuse("joint_states", error)
            return
        names = self.model.joint_names
        self._robot = dict(zip(names, joints.tolist(), strict=True))

    def _on_person(self, message: JointState) -> None:
        begun = time.perf_counter()
        if self._robot is None:
            return
        try:
            self._angles = joints_of(self._person, message, self._angles)
            period = self._period(nanoseconds_of(message.header.stamp))
            commands = self._live.follow(self._angles, period)
        except HumansError as error:
            self._diagnostics.refuse(_PERSON, error)
            return
        stamp, angles = message.header.stamp, list(commands.values())
        self._commands.publish(joint_state(stamp, list(commands), angles))
        self._diagnostics.counts["postures"] += 1
        self._heard_at = time.monotonic()
        self._slowest = max(self._slowest, time.perf_counter() - begun)

    def _period(self, stamp: int) -> float:
        """Time since the last posture [s]; after a gap it begins where the robot is."""
        assert self._robot is not None
        since = (stamp - self._stamp) / 1e9
        self._stamp = stamp
        if not self._live.begun or not 0.0 <= since <= self._longest:
            self._live.begin(self._robot)
            return _USUAL
        return since

    def _diagnose(self) -> None:
        silent = time.monotonic() > self._heard_at + BEAT
        state = "follows"
        if self._robot is None:
            state = "waiting for joint_states"
        elif silent:
            state = "waiting for a person"
        diagnostics = self._diagnostics
        warning = diagnostics.refused()
        if not warning and silent and diagnostics.counts["postures"]:
            warning = gone(self, _PERSON)
        error = np.degrees(self._live.error)
        values = {
            **diagnostics.counted("postures"),
            "worst limb [deg]": f"{error:.1f}" if np.isfinite(error) else "",
            "slowest answer [ms]": f"{1e3 * self._slowest:.2f}",
            **diagnostics.refusals(),
        }
        diagnostics.publish(state, "", warning, values)
        self._slowest = 0.0
