# SPDX-License-Identifier: Apache-2.0
"""Node ``motion_player``: plays Kondo motions as the boards of the robot would.

Takes ``joint_states``; answers each of them by ``joint_commands`` of the same stamp:
where the joints shall be one period later. Action: ``play_motion`` (MOTION_FILE). The
parameter ``file`` begins at once. Where nothing is played, the joints are held.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from humans_msgs.action import PlayMotion
from sensor_msgs.msg import JointState

from humans_sim.actuation.servo_set import ServoSet
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.motion.motion_file import KondoMotion, load_motion
from humans_sim.kondo.motion.player import Lag
from humans_sim.kondo.motion.player import MotionPlayer as Player
from humans_sim.kondo.motion.pose_servo import KONDO_ROBOT
from humans_sim.nodes.common.conversions import (
    joint_state,
    joints_of,
    nanoseconds_of,
    time_of,
)
from humans_sim.nodes.common.diagnostics import BEAT, Diagnostics
from humans_sim.nodes.common.model_node import ModelNode
from humans_sim.nodes.common.motion_goals import MotionGoals
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.stamp_synchronizer import REPEAT

_DEPTH = 100
_RATES = (0.01, 100.0)
_MOST_REPETITIONS = 1000


class MotionPlayer(ModelNode):
    """Leads the joints from pose to pose."""

    def __init__(self, name: str = "motion_player", **options: Any) -> None:
        super().__init__(name, **options)
        given = Parameters(self)
        self._channels = load_channels(
            given.text("channels", "khr1", "which channel turns which joint")
        )
        self._period = given.number("period", 0.02, "between two states [s]", 1e-3, 0.1)
        own = ServoSet.of_model(self.model, KONDO_ROBOT).common
        self._lag = Lag(
            given.number("lag", own.lag, "by which joints trail [s]", 0.0, 1.0),
            self._period,
        )
        self._wait = given.number(
            "start_delay", 0.2, "time before the motion of 'file' begins [s]", 0.0
        )
        file = given.text("file", "", "motion to begin with, a name or a path")
        repetitions = given.count("repetitions", 1, "of the motion of 'file'", 1)
        self._folder = given.request_folder()
        self._first: tuple[KondoMotion, int] | None = None
        if file:
            self._first = (load_motion(file), repetitions)
            Player(
                self.model, self._first[0], self._channels
            )  # refuses it now, or never
        # Where the joints are, and where the board leads them.
        self._joints = self._led = self.model.neutral()[7:]
        self._newest, self._answered_at = -1, -math.inf
        self._heard_at = -math.inf
        self._goals = MotionGoals(self, self._begin_goal, self._hold)
        self._forget()
        self._diagnostics = Diagnostics(self, "motion", self.model.name)
        self._commands = self.create_publisher(JointState, "joint_commands", _DEPTH)
        self.create_subscription(JointState, "joint_states", self._on_state, _DEPTH)
        self.every(BEAT, self._diagnose)

    def _forget(self) -> None:
        self._player: Player | None = None
        self._name, self._rate, self._t_start = "", 1.0, 0.0
        self._sent: np.ndarray | None = None
        self._goals.abort("the states began anew")

    def _hold(self) -> None:
        """Play nothing more; the joints stay where they are led."""
        self._player, self._name = None, ""

    def _on_state(self, message: JointState) -> None:
        try:
            if not message.name:
                raise ConfigurationError("no joint is named")
            self._joints = joints_of(self.model, message, self._joints)
        except ConfigurationError as error:
            self._diagnostics.refuse("joint_states", error)
            return
        stamp, now = nanoseconds_of(message.header.stamp), time.monotonic()
        self._heard_at = now
        if stamp < self._newest or self._sent is None:
            self._begin(stamp)
        elif stamp == self._newest and now < self._answered_at + REPEAT:
            return
        sent = self._sent
        if sent is None or stamp > self._newest:
            self._led = self._set_points(stamp / 1e9 + self._period)
            sent = self._sent = self._lag.follow(self._led)
        self._newest, self._answered_at = stamp, now
        names = self.model.joint_names
        self._commands.publish(joint_state(time_of(stamp), names, sent))
        self._report(stamp / 1e9 - self._t_start)

    def _report(self, played: float) -> None:
        """Tell who asked for the motion how long it has been played [s]."""
        self._goals.report(played)
        if self._player is None or played * self._rate >= self._player.duration:
            self._goals.succeed()

    def _begin(self, stamp: int) -> None:
        """The first state, or time has gone back: hold the joints as they are."""
        self._forget()
        self._newest = -1
        self._led = self._sent = self._joints
        self._lag.reset(self._joints)
        if self._first is not None:
            motion, repetitions = self._first
            self._play(motion, 1.0, repetitions, stamp / 1e9 + self._wait)

    def _set_points(self, t: float) -> np.ndarray:
        """Where the board leads the joints at a time [rad]."""
        if self._player is None:
            return self._led
        since = (t - self._t_start) * self._rate
        if since > self._player.duration:
            self._name = ""
        return self._player.at(since)

    def _play(
        self, motion: KondoMotion, rate: float, repetitions: int, t: float
    ) -> float:
        """Begin a motion from the present set points; how long it takes [s]."""
        names = {channel.joint for channel in self._channels.channels.values()}
        now = dict(zip(self.model.joint_names, self._led.tolist(), strict=True))
        begin = self._channels.values({name: now[name] for name in names})
        player = Player(
            self.model, motion, self._channels, repeat=repetitions, begin=begin
        )
        self._player, self._name = player, motion.name
        self._rate, self._t_start = rate, t
        return player.duration / rate

    def _begin_goal(self, goal: Any) -> float:
        """Begin the motion of a goal; how long it takes [s]."""
        if self._sent is None:
            raise ParameterError("no state of the robot has come yet")
        if goal.source != PlayMotion.Goal.MOTION_FILE:
            raise ParameterError("there is no board here: give a motion file")
        rate = goal.rate or 1.0
        if not _RATES[0] <= rate <= _RATES[1]:
            raise ParameterError(f"rate must be 0.01 to 100, not {rate:g}")
        times = goal.repetitions or 1
        if times > _MOST_REPETITIONS:
            raise ParameterError(f"at most {_MOST_REPETITIONS} repetitions")
        motion = load_motion(self._folder.known_or_path(goal.file, ".csv"))
        return self._play(motion, rate, times, self._newest / 1e9 + self._period)

    def _diagnose(self) -> None:
        state = f"plays {self._name}" if self._name else "holds the joints"
        if time.monotonic() > self._heard_at + BEAT:
            state = "waiting for joint_states"
        warning = self._diagnostics.refused()
        values = {
            "time [s]": f"{max(self._newest, 0) / 1e9:.9g}",
            **self._diagnostics.refusals(),
        }
        self._diagnostics.publish(state, "", warning, values)
