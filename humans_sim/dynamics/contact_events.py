"""What contacts do at an event: impacts, then who sticks, slides or opens."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.dynamics import events as kinds
from humans_sim.dynamics.acceleration import (
    OPEN,
    SLIDE,
    STICK,
    constrained_acceleration,
    idle_forces,
)
from humans_sim.dynamics.contact_problem import solve_contact
from humans_sim.dynamics.events import Event
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.impact import solve_impact
from humans_sim.dynamics.interior import margins
from humans_sim.dynamics.smooth_motion import FORCE, SmoothMotion
from humans_sim.dynamics.stepper import (
    Options,
    StepError,
    event_of_contact,
    impact_event,
    lift_out,
)
from humans_sim.dynamics.system import System, Terms

TOUCH = 1e-9
"""Gap below which a contact counts as touching [m, rad]."""
SPEED = 1e-8
"""Speed below which a contact is at rest [m/s, rad/s]."""
_NEAR = 1e-8
"""Gap below which a contact takes part in impacts that pile up [m, rad]."""
_ACCELERATION = 1e-8
"""Acceleration below which a contact stays, relative to the free one."""
_USUAL = 9.81
"""Size of accelerations that tolerances refer to [m/s^2]."""


class ContactEvents(SmoothMotion):
    """Decides the modes of the contacts where smooth motion ends."""

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """Start at (t, q, v): contacts that touch are found, impacts happen."""
        super().__init__(system, actuation, options, t, q, v)
        self._last_impact: dict[int, tuple[float, float]] = {}
        self._contact_event(np.zeros(0, dtype=np.int64), starting=True)

    def _contact_event(
        self,
        stopped: np.ndarray,
        starting: bool = False,
        shove: np.ndarray | None = None,
    ) -> None:
        """Impacts first, then the modes from here on."""
        self._restart()
        gap, rate = self.system.gap_rates(self.q, self.v)
        touching = (gap <= TOUCH) & (rate <= SPEED)
        touching[self._phase.which] = True
        if shove is not None:
            touching |= gap <= TOUCH
        which = np.flatnonzero(touching)
        self.q = lift_out(self.system, self.q, which)
        jumped = False
        approaching = which[rate[which] < -SPEED]
        if shove is not None or (
            approaching.size and not self._gentle(approaching, rate)
        ):
            which = self._impact(which, rate, shove)
            jumped = True
        before = self.mode
        self._settle(which, stopped)
        for i in stopped[(before[stopped] == SLIDE) & (self.mode[stopped] == SLIDE)]:
            name = self.system.contacts.names[i]
            self.events.append(Event(self.t, kinds.SLIP, name, {"text": "turns round"}))
        changed = not np.array_equal(before, self.mode)
        if (jumped or changed) and not starting:
            self.z = np.asarray(
                self.actuation.reset(self.t, self.q, self.v, self.z), dtype=float
            )

    def _gentle(self, approaching: np.ndarray, rate: np.ndarray) -> bool:
        """Whether contacts close so slowly that it is no impact.

        Where they do not bounce, their speed is taken out and nothing opens: otherwise
        a standing foot would hand on tiny impacts from corner to corner.
        """
        slow = rate[approaching].min() > -self.options.zeno_speed
        return bool(slow and not self.system.contacts.restitution[approaching].any())

    def _impact(
        self, which: np.ndarray, rate: np.ndarray, shove: np.ndarray | None
    ) -> np.ndarray:
        table, options = self.system.contacts, self.options
        restitution = table.restitution.copy()
        piles_up = False
        for i in which[rate[which] < -SPEED]:
            piles_up |= self._watch_accumulation(int(i), -float(rate[i]), restitution)
        terms = self.system.terms(self.q, self.v, which)
        impact = solve_impact(
            terms.mass,
            terms.jacobian,
            self.v,
            table.tangents[which],
            table.friction[which],
            restitution[which],
            options.impact,
            shove,
        )
        before = self.v
        self.v = impact.velocity
        names = [table.names[i] for i in which]
        self.events.append(impact_event(self.t, names, terms.mass, before, impact))
        if piles_up:
            return self._end_accumulation(which)
        self._hold_what_hardly_lifts(which)
        return which

    def _hold_what_hardly_lifts(self, which: np.ndarray) -> None:
        """Keep closed contacts closed that the impact moves by next to nothing.

        A limit that is reached somewhere else in the body lifts the corners of a
        standing foot by nanometres: they would come back at once, one after the other.
        """
        slow, table = self.options.zeno_speed, self.system.contacts
        motion = self.system.terms(self.q, self.v, which).jacobian @ self.v
        before = self.mode[which]
        stays = (before != OPEN) & (motion[:, 0] < slow)
        if not (stays & (motion[:, 0] > SPEED)).any():
            return
        stays |= motion[:, 0] <= SPEED
        speed = np.hypot(motion[:, 1], motion[:, 2])
        stuck = which[stays & (before == STICK) & (speed < slow)]
        held = which[stays]
        self._project_velocity(held, table.tangents[held], table.friction[held], stuck)

    def _end_accumulation(self, which: np.ndarray) -> np.ndarray:
        """Close every contact that takes part in impacts that pile up.

        A foot that lands on an edge hands tiny impacts from corner to corner; all
        corners that hardly move come to rest together.
        """
        gap, rate = self.system.gap_rates(self.q, self.v)
        near = (gap <= _NEAR) & (np.abs(rate) <= self.options.zeno_speed)
        near[self._phase.which] = True
        together = np.flatnonzero(near)
        self.q = lift_out(self.system, self.q, together)
        table = self.system.contacts
        slow = np.zeros(0, dtype=np.int64)
        self._project_velocity(
            together, table.tangents[together], table.friction[together], slow
        )
        return np.union1d(which, together)

    def _watch_accumulation(
        self, contact: int, speed: float, restitution: np.ndarray
    ) -> bool:
        """Whether the impacts of a contact pile up (Zeno); then it is plastic."""
        options = self.options
        last = self._last_impact.get(contact)
        self._last_impact[contact] = (self.t, speed)
        if last is None or speed > options.zeno_speed:
            return False
        interval = self.t - last[0]
        if interval > options.zeno_time:
            return False
        ratio = min(speed / last[1], 0.999999) if last[1] > 0 else 0.0
        ends = self.t + interval * ratio / (1.0 - ratio)
        restitution[contact] = 0.0
        detail = {"accumulation_time [s]": ends, "speed [m/s]": speed}
        name = self.system.contacts.names[contact]
        self.events.append(Event(self.t, kinds.ZENO, name, detail))
        return True

    def _settle(self, which: np.ndarray, stopped: np.ndarray) -> None:
        """Modes of the touching contacts from now on, by the contact problem."""
        old = self.mode
        table = self.system.contacts
        if which.size:
            rows = self.system.terms(self.q, self.v, which).jacobian
            which = which[(rows @ self.v)[:, 0] <= SPEED]
        if which.size == 0:
            self._open_all()
        else:
            tangents, friction = table.tangents[which], table.friction[which]
            slides = self._project_velocity(which, tangents, friction, stopped)
            self._decide(which, tangents, friction, slides)
        self._tell_changes(old)

    def _project_velocity(
        self,
        which: np.ndarray,
        tangents: np.ndarray,
        friction: np.ndarray,
        stopped: np.ndarray,
    ) -> np.ndarray:
        """Take out what is left of velocities that are zero; which contacts slide."""
        terms = self.system.terms(self.q, self.v, which)
        motion = terms.jacobian @ self.v
        speed = np.hypot(motion[:, 1], motion[:, 2])
        slides = (tangents > 0) & np.isfinite(friction) & (speed > SPEED)
        slides &= ~np.isin(which, stopped)
        k = len(which)
        frictionless = (friction == 0) & (tangents > 0)
        mode = np.where(slides | frictionless, SLIDE, STICK)
        jump, _, residual = constrained_acceleration(
            terms.mass,
            np.zeros(self.system.nv),
            terms.jacobian,
            motion,
            mode,
            tangents,
            np.zeros(k),
            np.zeros((k, 2)),
            np.zeros((k, 3)),
            idle_forces(terms.mass, terms.jacobian, mode, tangents),
        )
        if math.isfinite(residual):
            self.v = self.v + jump
        return slides

    def _decide(
        self,
        which: np.ndarray,
        tangents: np.ndarray,
        friction: np.ndarray,
        slides: np.ndarray,
    ) -> None:
        terms = self.system.terms(self.q, self.v, which)
        motion = terms.jacobian @ self.v
        speed = np.hypot(motion[:, 1], motion[:, 2])
        slides = slides & (speed > SPEED)
        direction = np.zeros((len(which), 2))
        direction[slides] = motion[slides, 1:] / speed[slides, None]
        _, torques, _ = self._loads(self.t, self.q, self.v, self.z)
        nv = self.system.nv
        keep = np.arange(len(which))
        if not _is_paradox(terms, tangents, friction, slides, direction):
            if self._all_stay(which, tangents, friction, slides, direction):
                return
            if self._few_leave(which, terms, slides):
                return
        while True:
            flat = terms.jacobian[keep].reshape(-1, nv)
            solved = np.linalg.solve(
                terms.mass, np.column_stack([torques - terms.bias, flat.T])
            )
            free = terms.jacobian[keep] @ solved[:, 0] + terms.drift[keep]
            solution = solve_contact(
                flat @ solved[:, 1:],
                free,
                tangents[keep],
                friction[keep],
                direction[keep] * (friction[keep] > 0)[:, None],
            )
            size = max(_USUAL, float(np.abs(free).max()))
            level = max(_ACCELERATION, 20 * solution.residual) * size
            stays = solution.motion[:, 0] <= level
            if stays.all() or not np.isinf(friction[keep]).any():
                break
            # A contact that lifts lets go of its tangents: the others ask again.
            keep = keep[stays]
            if keep.size == 0:
                self._open_all()
                return
        sideways = np.hypot(solution.motion[:, 1], solution.motion[:, 2])
        chosen = keep[stays]
        mode = np.full(len(chosen), STICK)
        along = direction[chosen]
        for c in range(len(chosen)):
            i = chosen[c]
            if tangents[i] == 0 or np.isinf(friction[i]):
                continue
            if slides[i] or friction[i] == 0:
                mode[c] = SLIDE
            elif sideways[stays][c] > level:
                mode[c] = SLIDE
                along[c] = solution.motion[stays][c, 1:] / sideways[stays][c]
        self._set_phase(which[chosen], mode, along, solution.forces[stays])
        self._verify()

    def _all_stay(
        self,
        which: np.ndarray,
        tangents: np.ndarray,
        friction: np.ndarray,
        slides: np.ndarray,
        direction: np.ndarray,
    ) -> bool:
        """Whether no contact need open or begin to slip: then nothing is to decide."""
        frictionless = (friction == 0) & (tangents > 0)
        mode = np.where(slides | frictionless, SLIDE, STICK)
        self._set_phase(which, mode, direction, np.zeros((len(which), 3)))
        try:
            state = self._evaluate(self.t, self.q, self.v, self.z)
        except StepError:
            return False
        forces, phase = self._bare_forces(state), self._phase
        if margins(forces, mode, tangents, friction).min() < 0.0:
            share = self._shared(forces, state)
            if share.margin < 0.0:
                return False
            forces = share.forces
        phase.reference = forces
        return True

    def _few_leave(self, which: np.ndarray, terms: Terms, slides: np.ndarray) -> bool:
        """Whether letting the worst contacts go, one by one, obeys the contact law.

        From the phase in which all stay: contacts that pull are opened, contacts beyond
        their cones let slip. That is a solution if what opened moves away and what
        slips moves along its direction. Most events are of this kind; the others are
        left to the contact problem.
        """
        try:
            self._verify()
            state = self._evaluate(self.t, self.q, self.v, self.z)
        except StepError:
            return False
        phase = self._phase
        motion = terms.jacobian @ state.acceleration + terms.drift
        level = _ACCELERATION * max(_USUAL, float(np.abs(terms.drift).max(initial=0)))
        opened = ~np.isin(which, phase.which)
        if (motion[opened, 0] < -level).any():
            return False
        for c in np.flatnonzero(phase.mode == SLIDE):
            i = int(np.flatnonzero(which == phase.which[c])[0])
            if slides[i] or phase.friction[c] == 0:
                continue
            along = float(motion[i, 1:] @ phase.direction[c])
            across = float(np.hypot(motion[i, 1], motion[i, 2])) - along
            if along < -level or across > level + 0.01 * along:
                return False
        return True

    def _verify(self) -> None:
        """Let go of contacts that bear nothing, let slip those on their cones."""
        for _ in range(2 * len(self._phase.which) + 1):
            phase = self._phase
            if phase.which.size == 0:
                return
            state = self._evaluate(self.t, self.q, self.v, self.z)
            forces = self._bare_forces(state)
            now = margins(forces, phase.mode, phase.tangents, phase.friction)
            if now.min() >= -FORCE / 2:
                phase.reference = forces
                return
            share = self._shared(forces, state)
            if share.margin >= -FORCE / 2:
                phase.reference = share.forces
                return
            forces = share.forces
            worst = margins(forces, phase.mode, phase.tangents, phase.friction)
            bad = worst <= share.margin + 2 * FORCE
            mode, direction = phase.mode.copy(), phase.direction.copy()
            for c in np.flatnonzero(bad):
                along = math.hypot(forces[c, 1], forces[c, 2])
                if forces[c, 0] <= 4 * FORCE or phase.mode[c] == SLIDE or along == 0:
                    mode[c] = OPEN
                else:
                    mode[c] = SLIDE
                    direction[c] = -forces[c, 1:] / along
            stay = mode != OPEN
            self._set_phase(
                phase.which[stay], mode[stay], direction[stay], forces[stay]
            )
        raise StepError("the contacts find no modes that fit their forces")

    def _tell_changes(self, old: np.ndarray) -> None:
        new = self.mode
        for i in np.flatnonzero(old != new):
            self.events.append(
                event_of_contact(self.t, self.system.contacts, int(i), old[i], new[i])
            )


def _is_paradox(
    terms: Terms,
    tangents: np.ndarray,
    friction: np.ndarray,
    slides: np.ndarray,
    direction: np.ndarray,
) -> bool:
    """Whether friction pulls a sliding contact in as it presses (Painleve).

    Then the equations of the closed contact can have a solution that the motion never
    takes; only the contact problem may decide.
    """
    for c in np.flatnonzero(slides & (friction > 0)):
        push = terms.jacobian[c, 0].copy()
        for i in range(tangents[c]):
            push -= friction[c] * direction[c, i] * terms.jacobian[c, 1 + i]
        if terms.jacobian[c, 0] @ np.linalg.solve(terms.mass, push) <= 0.0:
            return True
    return False
