# SPDX-License-Identifier: Apache-2.0
"""Time steps of the same contact problem, where events jam.

Some motions have no next event to go to: contacts that hit each other again and again
at one time, sliding that has neither an acceleration nor a jump, motion too stiff for
the integrator. In velocities and impulses over a short time the contact problem has a
solution nearly always, so a few time steps lead past such a place. Steps are tiny at
first, as their error is theirs alone, and grow where that does not help.

Also the end of runs that would take for ever.
"""

from __future__ import annotations

import math

import numpy as np

from humans_sim.contact.problem.law import OPEN
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.smooth_motion import SmoothMotion
from humans_sim.dynamics.stepper import (
    FAILURES,
    ActuationError,
    StepError,
    typed_failures,
)
from humans_sim.dynamics.system import State, System
from humans_sim.dynamics.time_stepping.step import ImpulseSteps
from humans_sim.results import records as kinds
from humans_sim.results.records import DURATION, Event

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
        most: what 10 ms may take, in evaluations.
        hand_over: whether time steps go on where it is too much.
    """

    def __init__(
        self, motion: SmoothMotion, most: float, t: float, hand_over: bool
    ) -> None:
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


_FIRST, _GROWTH = 1e-3, 4.0
"""Size of the first time steps, in the largest ones, and how they grow."""
_LARGEST = 0.1
"""Size of the largest ones, in those of the time-stepping method."""
_STEPS, _MOST_STEPS = 5, 40
"""Time steps between two attempts to go on from event to event: an attempt that fails
is dear, so there are more of them each time the largest ones did not lead past it."""
_AGAIN = 50
"""Steps within which a second hand-over is for the same reason as the first."""
_NO_SIGNALS = np.zeros(0, dtype=bool)


class HandOver:
    """The time steps that continue a motion, and how large they are."""

    def __init__(
        self, system: System, loads: AppliedLoads, state: State, time_step: float
    ) -> None:
        self._system, self._loads, self._state = system, loads, state
        self._largest = _LARGEST * time_step
        self._size = _FIRST * self._largest
        self._steps: ImpulseSteps | None = None
        self._reason, self._begin, self._end = "", -np.inf, -np.inf
        self._left, self._round = 0, _STEPS

    @property
    def under_way(self) -> bool:
        """Whether the motion is that of time steps."""
        return self._steps is not None

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts in the last step (nc,)."""
        return self._under_way.mode

    @property
    def forces(self) -> np.ndarray:
        """Forces of all contacts, means over the last step (nc, 3) [N]."""
        return self._under_way.forces

    def measured(self, gaps: np.ndarray) -> np.ndarray:
        """Gaps, but of contacts that had a force those of the points which bore it."""
        return self._under_way.measured(gaps)

    def begin(self, mode: np.ndarray, reason: str, work: bool) -> None:
        """From here on by time steps; ``work``: too much of it, so no tiny steps."""
        t = self._state.t
        first = _FIRST * self._largest
        if work:
            self._size = self._largest
        elif t - self._end > _AGAIN * self._size:
            self._size, self._round = first, _STEPS
        else:
            if self._size == self._largest:
                self._round = min(2 * self._round, _MOST_STEPS)
            self.enlarge()
        self._steps = ImpulseSteps(self._system, self._loads, self._state)
        self._steps.mode = mode.copy()
        self._reason, self._begin, self._left = reason, t, self._round
        if work:
            self._left = math.ceil(0.5 * WINDOW / self._size)

    def enlarge(self) -> None:
        """Take larger steps: the contacts cannot be decided yet."""
        self._size = min(_GROWTH * self._size, self._largest)
        self._left = _STEPS

    @property
    def complete(self) -> bool:
        """Whether it is time to go on from event to event."""
        return self._left <= 0

    def take(self, limit: float) -> np.ndarray:
        """Make some steps, not beyond a time; returns which signals changed sign."""
        state, size, steps = self._state, self._size, self._under_way
        before = state.t, state.q, state.v, state.z
        fired = _NO_SIGNALS
        try:
            with typed_failures():
                if not steps.take_until(min(limit, state.t + self._left * size), size):
                    left = limit - state.t
                    fired = steps.take(left if left < 1.5 * size else size)
            if not (np.isfinite(state.q).all() and np.isfinite(state.v).all()):
                raise StepError("motion is not finite")
        except FAILURES as error:
            state.t, state.q, state.v, state.z = before
            if isinstance(error, ActuationError):
                raise
            raise StepError(
                f"{self._reason}; nor do time steps lead further: {error}"
            ) from error
        if limit - state.t < 1e-6 * size:
            state.t = limit
        self._left -= max(1, round((state.t - before[0]) / size))
        return fired

    def closed(self) -> np.ndarray:
        """The contacts that were closed in the last step (indices)."""
        return np.flatnonzero(self.mode != OPEN)

    def record(self) -> None:
        """Add the event of the time that was handed over so far."""
        t = self._state.t
        if t > self._begin:
            detail: dict[str, float | str] = {
                "text": self._reason,
                DURATION: t - self._begin,
            }
            self._state.events.append(Event(t, kinds.HAND_OVER, "", detail))
        self._begin = t

    def end(self) -> None:
        """From here on from event to event."""
        self.record()
        self._steps, self._end = None, self._state.t

    @property
    def _under_way(self) -> ImpulseSteps:
        assert self._steps is not None
        return self._steps
