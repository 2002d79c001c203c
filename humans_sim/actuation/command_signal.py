# SPDX-License-Identifier: Apache-2.0
"""The command signal of a stimulated muscle and its clocks (manual 1.2.1, 6.4.2).

A pulse lifts the signal u to its upper value (state 2: calcium at its maximum). It
stays there for a while, falls along a line to its lower value (state 1), and remains
there (state 0). The line crosses zero, where the size of u has a kink; so every change
of state and that crossing are times known in advance, and u is smooth between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from humans_sim.core.checked_numbers import PositiveNumbers
from humans_sim.core.kernels import kernel

RELAXED, DECLINING, STIMULATED = 0, 1, 2
"""States of the calcium, the manual's numbers."""

_LOW, _BELOW_ZERO, _ABOVE_ZERO, _HIGH = 0, 1, 2, 3
_CALCIUM = np.array([RELAXED, DECLINING, DECLINING, STIMULATED])


@dataclass(frozen=True)
class CommandSignal(PositiveNumbers):
    """Shape of the command signal (manual table 1.1).

    Attributes:
        upper: U_p, its value after a pulse [1/s].
        lower: U_m; the signal of a relaxed muscle is -U_m [1/s].
        hold: tau_1, how long it stays at U_p [s].
        fall: tau_2, how long it falls to -U_m [s]; that it falls along a line is
            assumed, as the manual prints its times only.
    """

    upper: float = 5.0
    lower: float = 5.0
    hold: float = 0.020
    fall: float = 0.010


class CommandClocks:
    """Command signals of several muscles, each with its own clock.

    Args:
        count: number of muscles.
        signal: shape of their signals.
    """

    def __init__(self, count: int, signal: CommandSignal) -> None:
        """All relaxed."""
        self.signal = signal
        self.shape = np.array([signal.upper, signal.lower, signal.fall])
        self.phase = np.zeros(count, dtype=np.int64)
        self.falls = np.zeros(count)
        self._ends = np.full(count, math.inf)

    def relax(self) -> None:
        """Forget all pulses: every muscle in state 0."""
        self.phase[:], self._ends[:] = _LOW, math.inf

    def stimulate(self, muscle: int, t: float) -> None:
        """A pulse acts on a muscle: state 2 from now on, whatever was before."""
        self.phase[muscle] = _HIGH
        self.falls[muscle] = self._ends[muscle] = t + self.signal.hold

    def tick(self, t: float) -> None:
        """Change the states whose time has come."""
        for i in np.flatnonzero(self._ends <= t):
            while self._ends[i] <= t:
                self.phase[i] -= 1
                self._ends[i] = self.falls[i] + self._fallen(int(self.phase[i]))

    def _fallen(self, phase: int) -> float:
        """Time from the start of the fall to the end of a phase [s]."""
        if phase == _ABOVE_ZERO:
            signal = self.signal
            return signal.fall * signal.upper / (signal.upper + signal.lower)
        return self.signal.fall if phase == _BELOW_ZERO else math.inf

    def next_time(self) -> float:
        """When a signal has its next kink [s]."""
        return float(self._ends.min(initial=math.inf))

    def calcium_states(self) -> np.ndarray:
        """RELAXED, DECLINING or STIMULATED (n,)."""
        return _CALCIUM[self.phase]

    def next_switches(self) -> np.ndarray:
        """When each calcium state changes next; infinity where nothing is due (n,)."""
        end = np.where(self.phase == _HIGH, self.falls, self.falls + self.signal.fall)
        return np.where(self.phase == _LOW, math.inf, end)

    def values(self, t: float) -> np.ndarray:
        """The signals u (n,) [1/s]."""
        return np.array(
            [
                command_value(t, phase, falls, self.shape)
                for phase, falls in zip(self.phase, self.falls, strict=True)
            ]
        )


@kernel
def command_value(t: float, phase: int, falls: float, shape: np.ndarray) -> float:
    """The signal u in a phase that began to fall, or will, at ``falls`` [1/s]."""
    if phase == _HIGH:
        return float(shape[0])
    if phase == _LOW:
        return -float(shape[1])
    return float(shape[0] - (shape[0] + shape[1]) * (t - falls) / shape[2])


@kernel
def command_sizes(u: float, phase: int) -> tuple[float, float]:
    """Absolute value and positive part of u, each smooth inside a phase [1/s]."""
    return (u, u) if phase >= _ABOVE_ZERO else (-u, 0.0)
