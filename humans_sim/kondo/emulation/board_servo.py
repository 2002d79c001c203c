# SPDX-License-Identifier: Apache-2.0
r"""Servos of a simulated robot that go where its boards lead them.

The torque is that of :class:`~humans_sim.kondo.motion.pose_servo.PoseServo`: the board
sends positions alone, so that the damping acts on the speed of the joint, and the joint
follows late by damping over gain. A limp channel has the friction of its gear and no
torque.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from humans_sim.actuation.servo import Servo
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.motion.channels import ChannelMap
from humans_sim.kondo.protocol.frames import CHANNELS
from humans_sim.models import Model
from humans_sim.results.events import Event

_MIDDLE = 90.0
"""What a channel without a joint is taken to stand at [deg]."""


_BOARD_NUMBERS = ("delay", "speed", "speed_step", "play")
"""Arguments of a servo that a board decides on."""


class BoardServo(Servo):
    """Servos that follow boards; joints without a channel stay where they started.

    Args:
        model: the robot.
        boards: that lead it, twelve channels each, in the order of the channels.
        channels: which turn which joint; a trim is what the board has in its memory,
            not what the channel map says.
        parameters: of :class:`~humans_sim.actuation.Servo`, but for delay, speeds and
            play.

    Raises:
        ParameterError: a channel's joint is none of the model's.
    """

    def __init__(
        self,
        model: Model,
        boards: Sequence[VirtualBoard],
        channels: ChannelMap,
        **parameters: Any,
    ) -> None:
        """Put a servo into every joint."""
        for name in _BOARD_NUMBERS:
            if name in parameters:
                raise ParameterError(f"{name} comes from the boards, or cannot be")
        super().__init__(model, **parameters)
        self._lags = self.lags
        self._boards = tuple(boards)
        self._until = math.inf
        self._limp = np.zeros(self._n, dtype=bool)
        used = []
        for number, channel in channels.channels.items():
            if channel.joint not in self.names:
                raise ParameterError(
                    f"ch{number} turns {channel.joint}, which {model.name} has not"
                )
            if number > CHANNELS * len(self._boards):
                raise ParameterError(f"no board has a channel {number}")
            used.append(replace(channel, trim=0.0))
        self._channels = tuple(used)
        self._places = np.array([channel.number - 1 for channel in used])
        self._joints = np.array([self.names.index(c.joint) for c in used])
        self._home = np.array([channel.home for channel in used])
        self._sense = np.radians([float(channel.sense) for channel in used])

    def servo_angles(self, q: np.ndarray, board: int) -> tuple[float, ...]:
        """Where the twelve servos of a board are in a configuration [deg]."""
        values = np.full(CHANNELS * len(self._boards), _MIDDLE)
        values[self._places] = q[7:][self._joints] / self._sense + self._home
        return tuple(values[CHANNELS * board : CHANNELS * (board + 1)].tolist())

    @property
    def driven(self) -> bool:
        """Whether every channel with a joint is driven."""
        return not self._limp.any()

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Stay where the start is, until the boards say otherwise."""
        z = super().initialise(t, q, v)
        self.refresh(t)
        return z

    def refresh(self, t: float) -> None:
        """Go where the boards lead from now on; to be called when one has heard."""
        leads = [board.lead(t) for board in self._boards]
        angles = np.array([v for lead in leads for v in lead.angles])[self._places]
        rates = np.array([v for lead in leads for v in lead.rates])[self._places]
        driven = [now for board in self._boards for now in board.driven]
        self._start_time = t
        self._origin, self._rate = self._origin.copy(), np.zeros(self._n)
        self._rate[self._joints] = self._sense * rates
        # A set point that trails by the lag takes its speed out of the damping.
        led = self._sense * (angles - self._home)
        trail = self._lags * self._rate
        self._origin[self._joints] = led - trail[self._joints]
        self._target = self._origin
        self._limp[self._joints] = ~np.array(driven)[self._places]
        self._until = min(lead.until for lead in leads)

    def next_time(self, t: float) -> float:
        """When a board comes to the end of a way [s]."""
        return self._until

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """The next way, or rest."""
        self.refresh(t)
        return z, ()

    def command(self, t: float, command: Any) -> None:
        """Refused: the boards command."""
        raise ParameterError("the servos follow their boards and take no commands")

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the servos on the joints."""
        force, rates = super().dynamics(t, q, v, z)
        if self._limp.any():
            viscous, coulomb, slow = self._parameters[self._limp, 5:].T
            turning = v[6:][self._limp]
            friction = viscous * turning + coulomb * np.tanh(turning / slow)
            force[6:][self._limp] = -friction
        return force, rates
