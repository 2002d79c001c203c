# SPDX-License-Identifier: Apache-2.0
r"""Servos that a board leads from pose to pose, all arriving together.

A :class:`~humans_sim.actuation.Servo` makes its own set point, which runs to each
command at one speed; fed with samples of a motion it would rush and wait. The board
sends an even stream of positions instead: each joint has its own speed on each way to
a pose. And it sends positions alone, so that the servo's damping knows the speed of the
joint but not the speed of the set point r:

.. math:: \tau = \operatorname{sat}\bigl(k_p (r - q) - k_d\, \dot q\bigr) - ...

The joint follows an even motion late by :math:`k_d / k_p`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from humans_sim.actuation.commanded import CommandWithNextCall
from humans_sim.actuation.servo import Servo
from humans_sim.actuation.servo_numbers import ServoNumbers
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.models import Model

KONDO_ROBOT = "khr1"
"""Robot whose servos and floor others with the same boards have, without a file."""
_MOTION_NUMBERS = ("law", "period", "delay", "speed", "speed_step")
_AFTERWARDS = 3600.0
"""How often the player is asked when its motion is over [s]."""


class PoseServo(Servo):
    """Servos that follow a player; commands come at its poses alone.

    Args:
        model: the model.
        player: of the motion.
        parameters: of :class:`~humans_sim.actuation.Servo`, but for law, period, delay
            and speeds, which come from the player; those of the robot's file in
            ``config/robots`` unless given. The damping acts on the joint's speed.
    """

    def __init__(
        self,
        model: Model,
        player: MotionPlayer,
        **parameters: Any,
    ) -> None:
        """Put a servo into every joint."""
        for name in _MOTION_NUMBERS:
            if name in parameters:
                raise ParameterError(f"{name} comes from the motion that is played")
        numbers = ServoNumbers.of_model(model, KONDO_ROBOT)
        super().__init__(model, self._follow, **{"numbers": numbers, **parameters})
        self._player, self._lag = player, self.numbers.lag

    def _follow(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> CommandWithNextCall:
        angles, arrival = self._player.way(t)
        return CommandWithNextCall(angles, min(arrival - t, _AFTERWARDS))

    def set_point(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the board wants the joints, and how fast that moves (njoints,)."""
        return self._player.at(t), self._rate.copy()

    def apply(self, t: float, command: np.ndarray) -> None:
        """Let the set points run to these angles, there when the pose is due."""
        point = self._player.at(t)
        self._start_time, self._target = t, command
        self._rate = (command - point) / (self._player.way(t).arrival - t)
        # A set point that trails by the lag takes its speed out of the damping.
        self._origin = point - self._lag * self._rate
        if self.nz:
            # Torques jump: motors may leave their ends now.
            self._unsettled = t
