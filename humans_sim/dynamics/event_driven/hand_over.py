# SPDX-License-Identifier: Apache-2.0
"""Time steps of the same contact problem, where events jam.

Some motions have no next event to go to: contacts that hit each other again and again
at one time, sliding that has neither an acceleration nor a jump, motion too stiff for
the integrator. In velocities and impulses over a short time the contact problem has a
solution nearly always, so a few time steps lead past such a place. Steps are tiny at
first, as their error is theirs alone, and grow where that does not help.
"""

from __future__ import annotations

import math

import numpy as np

from humans_sim.contact.problem.modes import OPEN
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.work_budget import WINDOW
from humans_sim.dynamics.state import State
from humans_sim.dynamics.step_failures import FAILURES, typed_failures
from humans_sim.dynamics.stepper import ActuationError, StepError
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.impulse_steps import ImpulseSteps
from humans_sim.results import events as kinds
from humans_sim.results.event_details import DURATION
from humans_sim.results.events import Event

_FIRST, _GROWTH = 1e-3, 4.0
"""Size of the first time steps, in the largest ones, and how they grow."""
_LARGEST = 0.1
"""Size of the largest ones, in those of the time-stepping method."""
_STEPS, _MOST_STEPS = 5, 40
"""Time steps between two attempts to go on from event to event: an attempt that fails
is dear, so there are more of them each time the largest ones did not lead past it."""
_AGAIN = 50
"""Steps within which a second hand-over is for the same reason as the first."""


class HandOver:
    """The time steps that continue a motion, and how large they are.

    Args:
        system: what moves.
        loads: what acts on it.
        state: where it is; steps change it.
        time_step: of the time-stepping method [s].
    """

    def __init__(
        self, system: System, loads: AppliedLoads, state: State, time_step: float
    ) -> None:
        """Not under way."""
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

    def begin(self, mode: np.ndarray, reason: str, work: bool) -> None:
        """From here on by time steps.

        Args:
            mode: of all contacts (nc,).
            reason: why.
            work: whether it is too much work, and tiny steps would not lead past it.
        """
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
        """Make a step, not beyond a time.

        Returns:
            which signals of the actuation changed sign in it.

        Raises:
            StepError: there is none; the state stays where it was.
        """
        state, size = self._state, self._size
        left = limit - state.t
        before = state.t, state.q, state.v, state.z
        try:
            with typed_failures():
                fired = self._under_way.take(left if left < 1.5 * size else size)
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
        self._left -= 1
        return fired

    def closed(self) -> np.ndarray:
        """The contacts that were closed in the last step (indices)."""
        which: np.ndarray = np.flatnonzero(self.mode != OPEN)
        return which

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
