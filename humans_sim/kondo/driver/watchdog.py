# SPDX-License-Identifier: Apache-2.0
"""Times a driver keeps: since the last command, at rest, and since its own last beat.

The clock counts while the machine is suspended. A driver that was paused (a signal, a
suspended machine, a line that blocked) does not resume what it did: its own beat
shows the gap, whatever its cause was.
"""

from __future__ import annotations

import time

from humans_sim.core.errors import ParameterError

LEAST_PAUSE, PAUSE = 0.1, 0.5
"""Two beats of a driver that follows commands are no further apart: as the time-out of
commands, within these, unless a longer pause is allowed [s]."""


def now() -> float:
    """Time since the machine was started, suspended or not [s]."""
    boot = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if boot is None else time.clock_gettime(boot)


class Watchdog:
    """Compares times; not safe for several threads at once.

    Args:
        command_timeout: longest time between two commands [s]; 0: any.
        free_timeout: longest time at rest [s]; 0: any.
        pause_timeout: longest time between two beats [s]; less where commands are due
            sooner.

    Attributes:
        command_timeout: [s].
        free_timeout: [s].

    Raises:
        ParameterError: a time is negative or no number, or a pause below 0.1 s.
    """

    def __init__(
        self, command_timeout: float, free_timeout: float, pause_timeout: float = PAUSE
    ) -> None:
        for name, value in (("command", command_timeout), ("free", free_timeout)):
            if not 0.0 <= value < float("inf"):
                raise ParameterError(f"{name}_timeout must be 0 s or more, not {value}")
        if not LEAST_PAUSE <= pause_timeout < float("inf"):
            raise ParameterError(
                f"pause_timeout must be {LEAST_PAUSE} s or more, not {pause_timeout}"
            )
        self.command_timeout, self.free_timeout = command_timeout, free_timeout
        soonest = min(command_timeout or pause_timeout, pause_timeout)
        self._gap = max(soonest, LEAST_PAUSE)
        self._beat = self._commanded = self._rested = now()

    def beat(self) -> float:
        """The driver runs; how long it did not, 0 if that is as usual [s]."""
        before, self._beat = self._beat, now()
        gap = self._beat - before
        return gap if gap > self._gap else 0.0

    def command(self) -> None:
        """A command came."""
        self._commanded = now()

    def rest(self) -> None:
        """The robot's state changed."""
        self._rested = now()

    def command_overdue(self) -> bool:
        """Whether commands have been missing for too long."""
        timeout = self.command_timeout
        return timeout > 0.0 and now() > self._commanded + timeout

    def free_overdue(self) -> bool:
        """Whether the robot has been at rest for too long."""
        return self.free_timeout > 0.0 and now() > self._rested + self.free_timeout
