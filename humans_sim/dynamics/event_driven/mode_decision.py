# SPDX-License-Identifier: Apache-2.0
"""Which of the touching contacts stick, slide or open from now on."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.contact_problem import solve_contact
from humans_sim.contact.problem.law import OPEN, SLIDE, STICK
from humans_sim.core.constants import GRAVITY
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.smooth_motion import FORCE, SmoothMotion
from humans_sim.dynamics.stepper import StepError
from humans_sim.dynamics.system import State, Terms

SPEED = 1e-8
"""Speed below which a contact is at rest [m/s, rad/s]."""
_ACCELERATION = 1e-8
"""Acceleration below which a contact stays, relative to the free one or gravity."""


class Touching(NamedTuple):
    """Contacts that touch and do not separate, at one state.

    Attributes:
        which: their indices (k,).
        terms: the equations of motion with them.
        tangents: number of tangential directions (k,).
        friction: Coulomb's coefficients (k,).
        slides: which of them slide already (k,).
        direction: in which they slide, zero where they do not (k, 2).
    """

    which: np.ndarray
    terms: Terms
    tangents: np.ndarray
    friction: np.ndarray
    slides: np.ndarray
    direction: np.ndarray


class ModeDecision:
    """Decides the modes of touching contacts, and gives them to the motion.

    Attributes:
        patient: whether slow methods are tried where quick ones find no solution.
    """

    def __init__(self, loads: AppliedLoads, motion: SmoothMotion) -> None:
        self.patient = True
        self._bodies, self._loads, self._motion = motion.bodies, loads, motion

    def decide(self, state: State, which: np.ndarray, slides: np.ndarray) -> None:
        """Set the modes from a state on.

        Three ways, the cheap ones first: all contacts stay; a few leave; the contact
        problem in accelerations decides.
        """
        touching = self._touching(state, which, slides)
        if self._motion.creep_speed is not None:
            # Contacts that creep hold, let go and slip by themselves: all are closed.
            mode = np.where(self._motion.mode[which] == SLIDE, SLIDE, STICK)
            forces = np.zeros((len(which), 3))
            self._motion.close(state.q, which, mode, touching.direction, forces)
            modes, motion = self._motion.modes, touching.terms.jacobian @ state.v
            modes.sticks = modes.sticking_of_creeping(motion, self._motion.creep_speed)
            return
        if not _is_paradox(touching):
            if self._all_stay(state, touching):
                return
            if self._few_leave(state, touching):
                return
        self._solve(state, touching)

    def _touching(
        self, state: State, which: np.ndarray, slides: np.ndarray
    ) -> Touching:
        table = self._bodies.contacts
        terms = self._bodies.terms(state.q, state.v, which)
        motion = terms.jacobian @ state.v
        speed = np.hypot(motion[:, 1], motion[:, 2])
        slides = slides & (speed > SPEED)
        direction = np.zeros((len(which), 2))
        direction[slides] = motion[slides, 1:] / speed[slides, None]
        tangents, friction = table.tangents[which], table.friction[which]
        return Touching(which, terms, tangents, friction, slides, direction)

    def _all_stay(self, state: State, touching: Touching) -> bool:
        """Whether no contact need open or begin to slip: then nothing is to decide."""
        which, _, tangents, friction, slides, direction = touching
        frictionless = (friction == 0) & (tangents > 0)
        mode = np.where(slides | frictionless, SLIDE, STICK)
        no_forces = np.zeros((len(which), 3))
        self._motion.close(state.q, which, mode, direction, no_forces)
        try:
            now = self._motion.evaluate(state)
        except StepError:
            return False
        forces, modes = self._motion.bare_forces(now), self._motion.modes
        if modes.least_margin(forces) < 0.0:
            best = self._motion.best_distribution(forces, now)
            if best.margin < 0.0:
                return False
            forces = best.forces
        modes.reference = forces
        return True

    def _few_leave(self, state: State, touching: Touching) -> bool:
        """Whether letting the worst contacts go, one by one, obeys the contact law.

        From the modes in which all stay: contacts that pull are opened, contacts beyond
        their cones let slip. That is a solution if what opened moves away and what
        slips moves along its direction. Most events are of this kind; the others are
        left to the contact problem.
        """
        try:
            self._let_go(state)
            now = self._motion.evaluate(state)
        except StepError:
            return False
        which, terms, modes = touching.which, touching.terms, self._motion.modes
        motion = terms.jacobian @ now.acceleration + terms.drift
        level = _ACCELERATION * max(GRAVITY, float(np.abs(terms.drift).max(initial=0)))
        opened = ~np.isin(which, modes.which)
        if (motion[opened, 0] < -level).any():
            return False
        for c in np.flatnonzero(modes.mode == SLIDE):
            i = int(np.flatnonzero(which == modes.which[c])[0])
            if touching.slides[i] or modes.friction[c] == 0:
                continue
            along = float(motion[i, 1:] @ modes.direction[c])
            across = float(np.hypot(motion[i, 1], motion[i, 2])) - along
            if along < -level or across > level + 0.01 * along:
                return False
        return True

    def _solve(self, state: State, touching: Touching) -> None:
        """Modes by the contact problem in accelerations."""
        which, terms, tangents, friction, slides, direction = touching
        applied = self._loads.at(state.t, state.q, state.v, state.z).applied
        keep = np.arange(len(which))
        while True:
            flat = terms.jacobian[keep].reshape(-1, self._bodies.nv)
            solved = np.linalg.solve(
                terms.mass, np.column_stack([applied - terms.bias, flat.T])
            )
            free = terms.jacobian[keep] @ solved[:, 0] + terms.drift[keep]
            solution = solve_contact(
                flat @ solved[:, 1:],
                free,
                tangents[keep],
                friction[keep],
                direction[keep] * (friction[keep] > 0)[:, None],
                patient=self.patient,
            )
            size = max(GRAVITY, float(np.abs(free).max()))
            level = max(_ACCELERATION, 20 * solution.residual) * size
            stays = solution.motion[:, 0] <= level
            if stays.all() or not np.isinf(friction[keep]).any():
                break
            # A contact that lifts lets go of its tangents: the others ask again.
            keep = keep[stays]
            if keep.size == 0:
                self._motion.open_all()
                return
        sideways = np.hypot(solution.motion[:, 1], solution.motion[:, 2])
        chosen = keep[stays]
        mode = np.full(len(chosen), STICK)
        along = direction[chosen]
        for c, i in enumerate(chosen):
            if tangents[i] == 0 or np.isinf(friction[i]):
                continue
            if slides[i] or friction[i] == 0:
                mode[c] = SLIDE
            elif sideways[stays][c] > level:
                mode[c] = SLIDE
                along[c] = solution.motion[stays][c, 1:] / sideways[stays][c]
        self._motion.close(state.q, which[chosen], mode, along, solution.forces[stays])
        self._let_go(state)

    def _let_go(self, state: State) -> None:
        """Open contacts that support nothing, let slip those on their cones."""
        for _ in range(2 * len(self._motion.modes.which) + 1):
            modes = self._motion.modes
            if not modes.any_closed:
                return
            now = self._motion.evaluate(state)
            forces = self._motion.bare_forces(now)
            if modes.least_margin(forces) >= -FORCE / 2:
                modes.reference = forces
                return
            best = self._motion.best_distribution(forces, now)
            forces = best.forces
            if best.margin >= -FORCE / 2:
                modes.reference = forces
                return
            mode, direction = modes.mode.copy(), modes.direction.copy()
            worst = modes.margins(forces) <= best.margin + 2 * FORCE
            for c in np.flatnonzero(worst):
                along = math.hypot(forces[c, 1], forces[c, 2])
                if forces[c, 0] <= 4 * FORCE or mode[c] == SLIDE or along == 0:
                    mode[c] = OPEN
                else:
                    mode[c] = SLIDE
                    direction[c] = -forces[c, 1:] / along
            stay = mode != OPEN
            which = modes.which[stay]
            self._motion.close(
                state.q, which, mode[stay], direction[stay], forces[stay]
            )
        raise StepError("the contacts find no modes that fit their forces")


def _is_paradox(touching: Touching) -> bool:
    """Whether friction pulls a sliding contact in as it presses (Painleve).

    Then the equations of the closed contact can have a solution that the motion never
    takes; only the contact problem may decide.
    """
    _, terms, tangents, friction, slides, direction = touching
    for c in np.flatnonzero(slides & (friction > 0)):
        push = terms.jacobian[c, 0].copy()
        for i in range(tangents[c]):
            push -= friction[c] * direction[c, i] * terms.jacobian[c, 1 + i]
        if terms.jacobian[c, 0] @ np.linalg.solve(terms.mass, push) <= 0.0:
            return True
    return False
