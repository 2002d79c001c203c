# SPDX-License-Identifier: Apache-2.0
"""Keeps the states right before and right after the events of contacts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from humans_sim.dynamics.event_driven.smooth_motion import (
    ContactModes,
    Evaluation,
    SmoothMotion,
)
from humans_sim.dynamics.stepper import FAILURES, typed_failures
from humans_sim.dynamics.system import State, System
from humans_sim.results import records as kinds
from humans_sim.results.event_states import MOST, TOUCH_WIDTH, EventState, touch_row

_KINDS = {
    kinds.CONTACT_CLOSED,
    kinds.CONTACT_OPENED,
    kinds.IMPACT,
    kinds.STICK,
    kinds.SLIP,
    kinds.LIMIT_REACHED,
    kinds.LIMIT_LEFT,
    kinds.PUSH,
}
_ADMISSIBLE = -1e-10
"""Margin from which on the forces of a sample are given as they are [N]."""


def contact_forces(motion: SmoothMotion, now: Evaluation, count: int) -> np.ndarray:
    """Forces of all contacts, distributed so that they are admissible (nc, 3) [N]."""
    modes, forces = motion.modes, motion.bare_forces(now)
    if modes.least_margin(forces) < _ADMISSIBLE:
        forces = motion.best_distribution(forces, now).forces
    all_forces = np.zeros((count, 3))
    all_forces[modes.which] = forces
    return all_forces


class _Side(NamedTuple):
    """A state on one side of an event, with what acts there."""

    v: np.ndarray
    z: np.ndarray
    mode: np.ndarray
    torques: np.ndarray
    forces: np.ndarray


class _Begun(NamedTuple):
    """The state when the events of a time begin."""

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    mode: np.ndarray
    modes: ContactModes
    evaluated: Evaluation | None
    events: int


class EventRecorder:
    """Notes impulses while events are handled, and the states around them.

    Nothing of the motion depends on it.

    Attributes:
        states: so far.
        active: whether anything is noted.
    """

    def __init__(self, system: System, motion: SmoothMotion) -> None:
        self._system, self._motion = system, motion
        self.states: list[EventState] = []
        self.active = False
        self._depth = 0
        self._forget()
        self._first: tuple[float, _Side] | None = None

    def _forget(self) -> None:
        self._impulse = self._correction = np.zeros(self._system.nv)
        self._impulses: dict[int, np.ndarray] = {}

    def note(
        self, rows: np.ndarray, impulses: np.ndarray, which: np.ndarray | None = None
    ) -> None:
        """Impulses [N s] of the contacts of an impact; None: of a correction."""
        if not self.active:
            return
        generalised = np.einsum("kcv,kc->v", rows, impulses)
        if which is None:
            self._correction = self._correction + generalised
            return
        self._impulse = self._impulse + generalised
        for k, contact in enumerate(which.tolist()):
            if impulses[k].any():
                before = self._impulses.get(contact, 0.0)
                self._impulses[contact] = before + impulses[k]

    def push(self, impulse: np.ndarray) -> None:
        """A generalised impulse from outside (nv,)."""
        if self.active:
            self._impulse = self._impulse + impulse

    @contextmanager
    def events_at(self, state: State, located: bool = False) -> Iterator[None]:
        """Around what handles the events of a time; nothing is kept where it fails."""
        if not self.active or self._depth or len(self.states) >= MOST:
            yield
            return
        self._depth = 1
        if self._first is not None and self._first[0] != state.t:
            self._first = None
            self._forget()
        kept = self._impulse, self._correction, dict(self._impulses)
        begun, recorded = self._begin(state, located), False
        try:
            yield
            recorded = self._end(state, begun)
        finally:
            self._depth = 0
            if not recorded:
                self._impulse, self._correction, self._impulses = kept

    def _begin(self, state: State, located: bool) -> _Begun:
        motion = self._motion
        last = getattr(motion, "last", None)
        if located:
            last = self._evaluated(state)
        elif last is not None and last.t != state.t:
            last = None
        return _Begun(
            state.t,
            state.q,
            state.v,
            state.z,
            motion.mode,
            motion.modes,
            last,
            len(state.events),
        )

    def _end(self, state: State, begun: _Begun) -> bool:
        """Keep the states, where something happened; whether it did."""
        if not any(e.kind in _KINDS for e in state.events[begun.events :]):
            return False
        if self._first is None:
            self._first = begun.t, self._before(begun)
        else:
            self.states.pop()  # these events are of the same time
        self.states.append(self._state(state, self._first[1], self._after(state)))
        return True

    def _before(self, begun: _Begun) -> _Side:
        motion = self._motion
        modes, motion.modes = motion.modes, begun.modes
        try:
            acting = self._acting(begun.evaluated)
        finally:
            motion.modes = modes
        return _Side(begun.v, begun.z, begun.mode, *acting)

    def _after(self, state: State) -> _Side:
        acting = self._acting(self._evaluated(state))
        return _Side(state.v, state.z, self._motion.mode, *acting)

    def _evaluated(self, state: State) -> Evaluation | None:
        """The right-hand side there; None where there is none."""
        try:
            with typed_failures():
                return self._motion.evaluate_aside(state)
        except FAILURES:
            return None

    def _acting(self, now: Evaluation | None) -> tuple[np.ndarray, np.ndarray]:
        """Torques and contact forces; NaN where they are not known."""
        count = len(self._system.contacts)
        if now is not None:
            try:
                with typed_failures():
                    return now.torques, contact_forces(self._motion, now, count)
            except FAILURES:
                pass
        return np.full(self._system.nv, np.nan), np.full((count, 3), np.nan)

    def _state(self, state: State, before: _Side, after: _Side) -> EventState:
        closed = np.flatnonzero((before.mode != 0) | (after.mode != 0))
        touched = sorted({*closed.tolist(), *self._impulses})
        rows = [
            touch_row(
                k,
                (int(before.mode[k]), int(after.mode[k])),
                np.stack([before.forces[k], after.forces[k]]),
                self._impulses.get(k, np.zeros(3)),
            )
            for k in touched
        ]
        energy = [self._system.energies(state.q, side.v) for side in (before, after)]
        return EventState(
            state.t,
            state.q,
            np.stack([before.v, after.v]),
            np.stack([before.z, after.z]),
            np.stack([before.torques, after.torques]),
            np.array(energy),
            self._impulse,
            self._correction,
            np.array(rows).reshape(len(rows), -1)
            if rows
            else np.zeros((0, TOUCH_WIDTH)),
        )
