# SPDX-License-Identifier: Apache-2.0
"""Contacts at an event: impacts, then sticking, sliding or opening."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.contact.problem.contact_problem import ContactProblemError
from humans_sim.contact.problem.impact import (
    INEQUALITY,
    impact_without_collision,
    solve_impact,
)
from humans_sim.contact.problem.law import (
    OPEN,
    SLIDE,
    STICK,
    ModeArrays,
    constrained_acceleration,
    idle_forces,
)
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.creep_kernels import NEAR
from humans_sim.dynamics.event_driven.event_recorder import EventRecorder
from humans_sim.dynamics.event_driven.mode_decision import SPEED, ModeDecision
from humans_sim.dynamics.event_driven.smooth_motion import SmoothMotion
from humans_sim.dynamics.recording import impact_event, mode_events
from humans_sim.dynamics.stepper import Options, StepError, project_out_of_penetration
from humans_sim.dynamics.system import State
from humans_sim.results import records as kinds
from humans_sim.results.records import Event

TOUCH = 1e-9
"""Gap below which a contact counts as touching [m, rad]."""
_NEAR = 1e-8
"""Gap below which a contact takes part in impacts that pile up [m, rad]."""
_DRIFT = 1e-5
"""Speed of a contact without modes that is an error of integration, not motion [m/s].

If the contact opens, it does so by its acceleration, from there on.
"""
_NO_COLLISION = "no collision: sliding has no acceleration (Painleve)"
_REPETITIONS = 50
"""How often contacts at one place may hit each other before that is an error."""
_JUMPS = 5
"""How often sliding may jump at one time where it has no acceleration."""
NO_CONTACTS = np.zeros(0, dtype=np.int64)


class ContactEvents:
    """Takes a state through an event of contacts; smooth motion begins behind it.

    Attributes:
        decision: of the modes behind an event.
    """

    def __init__(
        self,
        loads: AppliedLoads,
        motion: SmoothMotion,
        options: Options,
        recorder: EventRecorder,
    ) -> None:
        self._recorder = recorder
        self._bodies, self._motion, self._options = motion.bodies, motion, options
        self._loads = loads
        self.decision = ModeDecision(loads, motion)
        self._last_impact: dict[int, tuple[float, float]] = {}

    def handle(
        self, state: State, stopped: np.ndarray, impulse: np.ndarray | None = None
    ) -> bool:
        """Impacts first, then the modes; whether velocities or modes changed."""
        before = self._motion.mode
        jumped = self._collide(state, stopped, impulse)
        jumped |= self._end_approaches(state)
        after = self._record(state, before)
        for i in stopped[(before[stopped] == SLIDE) & (after[stopped] == SLIDE)]:
            name = self._bodies.contacts.names[i]
            event = Event(state.t, kinds.SLIP, name, {"text": "turns round"})
            state.events.append(event)
        return jumped or not np.array_equal(before, after)

    def let_separate(self, state: State) -> None:
        """Open closed contacts that move away from what they have come to.

        So does a point that slides over a convex edge; the others are decided anew.
        """
        modes, old = self._motion.modes, self._motion.mode
        _, rate = self._bodies.gap_rates(state.q, state.v)
        stays = rate[modes.which] <= SPEED
        if stays.all():
            return
        if stays.any():
            kept = (
                old[modes.which[stays]],
                modes.direction[stays],
                modes.reference[stays],
            )
            self._motion.close(state.q, modes.which[stays], *kept)
        else:
            self._motion.open_all()
        table = self._bodies.contacts
        state.events += mode_events(state.t, table, old, self._motion.mode)

    def settle(self, state: State, which: np.ndarray, stopped: np.ndarray) -> bool:
        """Modes of the touching contacts from now on; whether velocities jumped."""
        before = self._motion.mode
        jumped = self._decide(state, which, stopped)
        if jumped:
            self._end_approaches(state)
        self._record(state, before)
        return jumped

    def _record(self, state: State, before: np.ndarray) -> np.ndarray:
        """Add the events of modes that changed; returns the modes (nc,)."""
        after = self._motion.mode
        state.events += mode_events(state.t, self._bodies.contacts, before, after)
        return after

    def _collide(
        self, state: State, stopped: np.ndarray, impulse: np.ndarray | None
    ) -> bool:
        """An impact of what touches, then the modes; whether velocities jumped."""
        gap, rate = self._bodies.gap_rates(state.q, state.v)
        near = gap <= TOUCH
        touching = near & (rate <= SPEED)
        touching[self._motion.modes.which] = True
        approaching = touching & (rate < -SPEED)
        hits = bool(approaching.any())
        hits = hits and not self._gentle(np.flatnonzero(approaching), rate)
        if impulse is not None or (hits and self._options.impact == INEQUALITY):
            # What leaves may be hit by what the impact does elsewhere.
            touching |= near
        which = np.flatnonzero(touching)
        state.q = self._closed_at(state.q, which)
        if impulse is not None or hits:
            which = self._impact(state, which, rate, impulse)
        return self._decide(state, which, stopped) or impulse is not None or hits

    def _end_approaches(self, state: State) -> bool:
        """Repeat the event while an open contact that touches approaches.

        The end of one motion can begin another at the same place: a speed that is
        taken out of one contact turns a foot round its edge.
        """
        jumped = False
        for _ in range(_REPETITIONS):
            gap, rate = self._bodies.gap_rates(state.q, state.v)
            approaches = (gap <= TOUCH) & (rate < -SPEED)
            approaches[self._motion.modes.which] = False
            if not approaches.any():
                return jumped
            jumped |= self._collide(state, NO_CONTACTS, None)
        raise StepError(
            f"{_REPETITIONS} impacts at one time: contacts at one place hit each other "
            "again and again"
        )

    def _closed_at(self, q: np.ndarray, which: np.ndarray) -> np.ndarray:
        """The configuration with the gaps of closed contacts zero."""
        try:
            return project_out_of_penetration(self._bodies, q, which)
        except ConfigurationError as error:
            raise StepError(
                f"a contact was missed ({error}): give a smaller max_step"
            ) from error

    def _decide(self, state: State, which: np.ndarray, stopped: np.ndarray) -> bool:
        """Modes of the touching contacts; whether velocities had to jump for them."""
        for jumps in range(_JUMPS):
            if which.size:
                rows = self._bodies.terms(state.q, state.v, which).jacobian
                bound = np.full(len(which), SPEED)
                if self._motion.creep_speed is not None:
                    bound[self._motion.mode[which] != OPEN] = _DRIFT
                which = which[(rows @ state.v)[:, 0] <= bound]
            if which.size == 0:
                self._motion.open_all()
                return jumps > 0
            slides = self._project_velocity(state, which, stopped)
            try:
                self.decision.decide(state, which, slides)
            except ContactProblemError:
                if not (slides.any() and self._jump(state, which)):
                    raise
                continue
            return jumps > 0
        raise StepError(f"sliding contacts have no acceleration after {_JUMPS} jumps")

    def _jump(self, state: State, which: np.ndarray) -> bool:
        """An impact without collision; whether there is one."""
        table = self._bodies.contacts
        terms = self._bodies.terms(state.q, state.v, which)
        applied = self._loads.at(state.t, state.q, state.v, state.z).applied
        free = np.linalg.solve(terms.mass, applied - terms.bias)
        impact = impact_without_collision(
            terms.mass,
            terms.jacobian,
            state.v,
            terms.jacobian @ free + terms.drift,
            table.tangents[which],
            table.friction[which],
        )
        if impact is None:
            return False
        before, state.v = state.v, impact.velocity
        self._recorder.note(terms.jacobian, impact.impulses, which)
        names = [table.names[i] for i in which]
        state.events.append(
            impact_event(state.t, names, terms.mass, before, impact, _NO_COLLISION)
        )
        return True

    def follow(self, state: State) -> None:
        """Note what contacts that creep did in a step without events."""
        motion, modes = self._motion, self._motion.modes
        if motion.creep_speed is None or not modes.any_closed:
            return
        now = motion.last
        stays = (now.forces[:, 0] > 0.0) | (now.terms.gap < NEAR)
        sticks = modes.sticking_of_creeping(now.motion, motion.creep_speed)
        if stays.all() and np.array_equal(sticks, modes.sticks):
            return
        old, modes.sticks = motion.mode, sticks
        if not stays.all():
            which, reference = modes.which[stays], now.forces[stays]
            mode = old[which]
            motion.close(state.q, which, mode, now.direction[stays], reference)
        state.events += mode_events(state.t, self._bodies.contacts, old, motion.mode)

    def _gentle(self, approaching: np.ndarray, rate: np.ndarray) -> bool:
        """Whether contacts close so slowly that it is no impact.

        Where they do not bounce, their speed is taken out and nothing opens: otherwise
        a standing foot would hand on tiny impacts from corner to corner.
        """
        slow = rate[approaching].min() > -self._options.zeno_speed
        return bool(slow and not self._bodies.contacts.restitution[approaching].any())

    def _impact(
        self,
        state: State,
        which: np.ndarray,
        rate: np.ndarray,
        impulse: np.ndarray | None,
    ) -> np.ndarray:
        """Let velocities jump; returns the contacts that touch afterwards."""
        table = self._bodies.contacts
        restitution = table.restitution.copy()
        piles_up = False
        for i in which[rate[which] < -SPEED]:
            if self._piles_up(state, int(i), -float(rate[i])):
                restitution[i] = 0.0
                piles_up = True
        terms = self._bodies.terms(state.q, state.v, which)
        impact = solve_impact(
            terms.mass,
            terms.jacobian,
            state.v,
            table.tangents[which],
            table.friction[which],
            restitution[which],
            self._options.impact,
            impulse,
        )
        before, state.v = state.v, impact.velocity
        self._recorder.note(terms.jacobian, impact.impulses, which)
        if impulse is not None:
            self._recorder.push(impulse)
        names = [table.names[i] for i in which]
        state.events.append(impact_event(state.t, names, terms.mass, before, impact))
        if piles_up:
            return self._end_accumulation(state, which)
        self._hold_what_hardly_lifts(state, which)
        return which

    def _piles_up(self, state: State, contact: int, speed: float) -> bool:
        """Whether the impacts of a contact pile up (Zeno); then it is plastic."""
        last = self._last_impact.get(contact)
        self._last_impact[contact] = (state.t, speed)
        if last is None or speed > self._options.zeno_speed:
            return False
        interval = state.t - last[0]
        if interval > self._options.zeno_time:
            return False
        ratio = min(speed / last[1], 0.999999) if last[1] > 0 else 0.0
        ends = state.t + interval * ratio / (1.0 - ratio)
        detail = {"accumulation_time [s]": ends, "speed [m/s]": speed}
        name = self._bodies.contacts.names[contact]
        state.events.append(Event(state.t, kinds.ZENO, name, detail))
        return True

    def _hold_what_hardly_lifts(self, state: State, which: np.ndarray) -> None:
        """Keep closed contacts closed that the impact moves by next to nothing.

        A limit that is reached somewhere else in the body lifts the corners of a
        standing foot by nanometres: they would come back at once, one after the other.
        """
        slow = self._options.zeno_speed
        motion = self._bodies.terms(state.q, state.v, which).jacobian @ state.v
        before = self._motion.mode[which]
        stays = (before != OPEN) & (motion[:, 0] < slow)
        if not (stays & (motion[:, 0] > SPEED)).any():
            return
        stays |= motion[:, 0] <= SPEED
        speed = np.hypot(motion[:, 1], motion[:, 2])
        stuck = which[stays & (before == STICK) & (speed < slow)]
        self._project_velocity(state, which[stays], stuck)

    def _end_accumulation(self, state: State, which: np.ndarray) -> np.ndarray:
        """Close every contact that takes part in impacts that pile up.

        A foot that lands on an edge hands tiny impacts from corner to corner; all
        corners that hardly move come to rest together.
        """
        gap, rate = self._bodies.gap_rates(state.q, state.v)
        near = (gap <= _NEAR) & (np.abs(rate) <= self._options.zeno_speed)
        near[self._motion.modes.which] = True
        together = np.flatnonzero(near)
        state.q = self._closed_at(state.q, together)
        self._project_velocity(state, together, NO_CONTACTS)
        return np.union1d(which, together)

    def _project_velocity(
        self, state: State, which: np.ndarray, stopped: np.ndarray
    ) -> np.ndarray:
        """Take out what is left of velocities that are zero; which contacts slide."""
        table = self._bodies.contacts
        tangents, friction = table.tangents[which], table.friction[which]
        terms = self._bodies.terms(state.q, state.v, which)
        motion = terms.jacobian @ state.v
        speed = np.hypot(motion[:, 1], motion[:, 2])
        slides = (tangents > 0) & np.isfinite(friction) & (speed > SPEED)
        slides &= ~np.isin(which, stopped)
        if self._motion.creep_speed is not None:
            slides = (tangents > 0) & np.isfinite(friction)
        k = len(which)
        frictionless = (friction == 0) & (tangents > 0)
        mode = np.where(slides | frictionless, SLIDE, STICK)
        jump, impulses, residual = constrained_acceleration(
            terms.mass,
            np.zeros(self._bodies.nv),
            terms.jacobian,
            motion,
            ModeArrays(
                mode=mode,
                tangents=tangents,
                friction=np.zeros(k),
                direction=np.zeros((k, 2)),
                reference=np.zeros((k, 3)),
                idle=idle_forces(terms.mass, terms.jacobian, mode, tangents),
            ),
        )
        if math.isfinite(residual):
            state.v = state.v + jump
            self._recorder.note(terms.jacobian, impulses)
        return slides
