# SPDX-License-Identifier: Apache-2.0
"""Ending runs that would take for ever."""

from __future__ import annotations

from humans_sim.dynamics.event_driven.smooth_motion import SmoothMotion
from humans_sim.dynamics.stepper import StepError

_EVENT_WORK = 100
"""Work of an event, in evaluations of the right-hand side."""
_STUCK_EVENTS = 500
_STUCK_TIME = 1e-10


class WorkBudget:
    """Counts evaluations and events, and ends a run where they are too many.

    Args:
        motion: whose evaluations are counted.
        most: what one sampling period may take, in evaluations.
        t: the time at the start [s].
    """

    def __init__(self, motion: SmoothMotion, most: float, t: float) -> None:
        """Nothing is spent yet."""
        self._motion, self._most = motion, most
        self._spent_before = self._events = 0
        self._quiet_since, self._busy = t, 0

    def begin_period(self) -> None:
        """Count from here on."""
        self._spent_before, self._events = self._motion.evaluations, 0

    def check(self, t_end: float) -> None:
        """Raise :class:`StepError` where the period to ``t_end`` takes too much."""
        evaluations = self._motion.evaluations - self._spent_before
        if evaluations + _EVENT_WORK * self._events > self._most:
            raise StepError(
                f"too much work to reach {t_end:.9g} s (max_work): the system is too "
                "stiff for its integrator, or contacts chatter; try method="
                "'time_stepping', integrator='cvode' or a larger zeno_speed"
            )

    def count_event(self, t: float) -> None:
        """Count an event; raise :class:`StepError` where time stands still."""
        if t - self._quiet_since > _STUCK_TIME:
            self._quiet_since, self._busy = t, 0
        self._busy += 1
        self._events += 1
        if self._busy > _STUCK_EVENTS:
            raise StepError(
                f"{_STUCK_EVENTS} events at one time: a contact jams (large friction "
                "or the sticking law can leave no way to continue)"
            )
