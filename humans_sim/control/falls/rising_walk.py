# SPDX-License-Identifier: Apache-2.0
"""A walk that gets up after a fall, as the controller of a simulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.control.falls.rising_walker import (
    RiseEvent,
    RiseState,
    RisingCommand,
    RisingWalker,
)
from humans_sim.control.walking.servo_walk import ScheduledCommand, ServoWalk
from humans_sim.results.sample import Sample


class RisingWalk(ServoWalk):
    """Gives what a robot measures to a rising walker, and its angles to the servos.

    Args:
        rising: the walker; it is reset at the first call.
        schedule: commands to it, in the order of time; one that comes while the robot
            lies is followed once it stands again.
        lag: as of :class:`ServoWalk`, while it walks [s].

    Attributes:
        rising: the walker.
        last: what it commanded at the last call; None before the first one.
    """

    def __init__(
        self,
        rising: RisingWalker,
        schedule: Sequence[ScheduledCommand] = (),
        lag: float = 0.0,
    ) -> None:
        super().__init__(rising.walker, schedule, lag)
        self.rising = rising
        self.last: RisingCommand | None = None

    @property
    def events(self) -> Sequence[RiseEvent]:
        """Falls and what followed, in the order of time."""
        return tuple(self.rising.events)

    def _begin(self, t: float) -> None:
        self.rising.reset(t)
        self.last = None

    def _tick(self, t: float, sample: Sample) -> np.ndarray:
        self.last = self.rising.tick(t, self.sensors(sample))
        self.commands.append(self.last.walk)
        if self.rising.state is RiseState.WALKING:
            return self._ahead(self.last.joints)
        return self.last.joints

    def _give(self, command: ScheduledCommand) -> None:
        if command.velocity is None:
            self.rising.stop()
        elif command.steps is None:
            self.rising.command(*command.velocity)
        else:
            self.rising.walk(command.steps, *command.velocity)
