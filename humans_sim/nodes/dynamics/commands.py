# SPDX-License-Identifier: Apache-2.0
"""Commands of the joints, as the node ``dynamics`` takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from sensor_msgs.msg import JointState

from humans_sim.core.errors import ConfigurationError
from humans_sim.models import Model
from humans_sim.nodes.common.command_checks import CommandStamps, LateStampError
from humans_sim.nodes.common.conversions import joint_values, nanoseconds_of

_COMMANDS = {False: ("joint_torques", "effort"), True: ("joint_commands", "position")}
"""Topic of the commands and field of the message, without servos and with them."""


class CommandInbox:
    """Commands for the published state and before.

    Args:
        servos: whether commands are positions, not torques.
        lockstep: whether each state has a command of its own.
        counts: of the diagnostics, for commands that are late.

    Attributes:
        last: the command that is held where none comes.
        heard: whether a message has come since the run began.
    """

    def __init__(
        self, model: Model, servos: bool, lockstep: bool, counts: Counter[str]
    ) -> None:
        self._model, self._servos, self._lockstep = model, servos, lockstep
        self._counts = counts
        self._stamps = CommandStamps(zero_is_now=not lockstep)
        self.topic, self._field = _COMMANDS[servos]
        self.begin(np.zeros(len(model.joint_names)))

    def begin(self, joints: np.ndarray) -> None:
        """Forget everything; servos hold these angles [rad], torques are zero."""
        self.last = joints if self._servos else np.zeros_like(joints)
        self.heard = False
        self._stamps.begin()
        self._waiting: np.ndarray | None = None
        self._led: np.ndarray | None = None

    @property
    def command(self) -> np.ndarray | None:
        """For the published state; None: it has none yet."""
        return self._waiting if self._led is None else self._led

    def forget(self) -> None:
        """Forget commands for a state that is over."""
        self._waiting = None

    def take(self, message: JointState, now: int) -> None:
        """Take a message of positions or torques for the published state [ns].

        Raises:
            ConfigurationError: it is malformed, or not for the published state.
        """
        stamp = nanoseconds_of(message.header.stamp)
        self._check_stamp(stamp, now)
        if self._led is not None:
            raise ConfigurationError("the robot is busy: it follows a trajectory")
        if not message.name:
            raise ConfigurationError("no joint is named")
        values = getattr(message, self._field)
        self._waiting = self.last = joint_values(
            self._model, message.name, values, self.last, self._field
        )
        self._stamps.take(stamp)
        self.heard = True

    def _check_stamp(self, stamp: int, now: int) -> None:
        """Refuse a command that is not for the published state.

        In lockstep the stamps must be equal. On the wall clock a command must not be
        older than the last one, nor from the future; a zero stamp is taken as now.
        """
        if self._lockstep:
            self._stamps.begin(now)
        try:
            self._stamps.check(stamp, now)
        except LateStampError:
            self._counts["late_commands"] += 1
            raise
        if self._lockstep and self._waiting is not None:
            raise ConfigurationError(f"a second one is stamped {stamp * 1e-9:.9f} s")

    def lead(self, angles: Mapping[str, float]) -> None:
        """Command angles by joint until :meth:`release`; messages are refused [rad]."""
        names, values = list(angles), list(angles.values())
        self.last = self._led = joint_values(
            self._model, names, values, self.last, self._field
        )

    def release(self) -> None:
        """Lead no more; what was commanded last is for the published state still."""
        if self._led is not None:
            self._waiting, self._led = self._led, None
