# SPDX-License-Identifier: Apache-2.0
"""Ending runs that would take for ever."""

from __future__ import annotations

from humans_sim.dynamics.event_driven.smooth_motion import SmoothMotion
from humans_sim.dynamics.stepper import StepError

_EVENT_WORK = 100
"""Work of an event, in evaluations of the right-hand side."""
_STUCK_EVENTS = 500
_JAMMED_EVENTS = 100
"""Events at one time that are too many, and where time steps may go on instead."""
_STUCK_TIME = 1e-10
WINDOW = 0.01
"""Time for which the most work is allowed [s]."""
_AFTER_EXCESS = 0.15
"""Share of it that is allowed right after a window that took too much."""


class WorkBudget:
    """Counts evaluations and events, and ends a run where they are too many.

    Args:
        motion: whose evaluations are counted.
        most: what 10 ms may take, in evaluations.
        t: the time at the start [s].
        hand_over: whether time steps go on where it is too much.
    """

    def __init__(
        self, motion: SmoothMotion, most: float, t: float, hand_over: bool
    ) -> None:
        """Nothing is spent yet."""
        self._motion, self._most, self._allowed = motion, most, most
        self._spent_before = self._events = 0
        self._since = self._quiet_since = t
        self._busy = 0
        self._most_busy = _JAMMED_EVENTS if hand_over else _STUCK_EVENTS

    def begin_anew(self, t: float) -> None:
        """Count from a time on."""
        self._spent_before, self._events = self._motion.evaluations, 0
        self._since = self._quiet_since = t
        self._busy = 0

    def tighten(self) -> None:
        """Too much was spent: less is allowed, until a window takes less than that."""
        self._allowed = _AFTER_EXCESS * self._most

    @property
    def exceeded(self) -> bool:
        """Whether more was spent than is allowed since counting began."""
        evaluations = self._motion.evaluations - self._spent_before
        return evaluations + _EVENT_WORK * self._events > self._allowed

    def check(self, t: float) -> None:
        """Raise :class:`StepError` where the time up to t took too much."""
        evaluations = self._motion.evaluations - self._spent_before
        windows = max(1.0, (t - self._since) / WINDOW)
        if evaluations + _EVENT_WORK * self._events > windows * self._allowed:
            raise StepError(
                f"too much work since {self._since:.9g} s (max_work): the system is "
                "too stiff for its integrator, or contacts chatter; try method="
                "'time_stepping', integrator='cvode' or a larger zeno_speed"
            )
        if windows > 1.0:
            self.begin_anew(t)
            self._allowed = self._most

    def count_event(self, t: float) -> None:
        """Count an event; raise :class:`StepError` where time stands still."""
        if t - self._quiet_since > _STUCK_TIME:
            self._quiet_since, self._busy = t, 0
        self._busy += 1
        self._events += 1
        if self._busy > self._most_busy:
            self._busy = 0
            raise StepError(
                f"{self._most_busy} events at one time: a contact jams (large friction "
                "or the sticking law can leave no way to continue)"
            )
