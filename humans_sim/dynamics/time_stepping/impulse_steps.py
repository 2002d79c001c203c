# SPDX-License-Identifier: Apache-2.0
"""Steps of the time-stepping method: impulses, velocities, then gaps put right."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.bounded_kernels import BoundedGroups
from humans_sim.contact.problem.contact_problem import solve_contact
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.contact_kernels import add_diagonal
from humans_sim.dynamics.event_records import mode_events
from humans_sim.dynamics.penetration import project_out_of_penetration
from humans_sim.dynamics.state import State
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.bounded_steps import Bounded, take_bounded_step
from humans_sim.dynamics.time_stepping.impulses import (
    ACCEPTED,
    StepEquations,
    closing_shift,
    step_end,
    take_step,
    unsettled,
)

_TOLERATED = 1e-5
"""Residual with which a step is still accepted; it is counted."""
_SETTLED = 1e-10
"""How far from its surface a closed contact may be [m, rad]."""
_SETTLINGS = 5


class ImpulseSteps:
    """Takes a state through steps of any length.

    Args:
        system: what moves.
        loads: what acts on it.
        state: where it is; steps change it.

    Attributes:
        mode: of all contacts in the last step (nc,).
        forces: of all contacts, means over the last step (nc, 3) [N].
        gaps: of all contacts at its end (nc,) [m, rad].
        count: of the steps.
        bounded: forces of bounded size, means over the last step: dry friction of all
            velocities, then torsional and rolling moments of all contacts
            (nv + 3 nc,) [N m].
        rough_steps: those whose contact problem kept a residual above 1e-8, relative;
            above 1e-5 it is an error.
        worst_residual: the largest of those residuals.
    """

    def __init__(self, system: System, loads: AppliedLoads, state: State) -> None:
        """No step yet."""
        self._system, self._loads, self._state = system, loads, state
        nc = len(system.contacts)
        self.mode = np.zeros(nc, dtype=np.int64)
        self.forces = np.zeros((nc, 3))
        self.gaps = system.gaps(state.q)
        self._still = np.zeros(system.nv)
        # Asked once: a step without them costs nothing more.
        self._dissipating: Bounded | None = None
        if isinstance(system, Bounded) and system.dissipates:
            self._dissipating = system
        self.bounded = np.zeros(system.nv + 3 * nc)
        self.count = self.rough_steps = 0
        self.worst_residual = 0.0

    def take(self, h: float) -> np.ndarray:
        """Make a step of length ``h`` [s].

        Returns:
            which signals of the actuation changed sign in it.
        """
        system, table = self._system, self._system.contacts
        state, loads = self._state, self._loads
        before = loads.signals(state)
        # Forces at the middle of the step, contacts at its predicted end.
        chart = system.chart(state.q)
        half = chart.configuration(0.5 * h * chart.rates(self._still, state.v))
        _, applied, rates = loads.at(state.t, state.q, state.v, state.z)
        which, terms = system.active_contact_terms(half, state.v, 0.5 * h, self.mode)
        contacts = (  # the fields of StepContacts
            which,
            self.gaps,
            table.restitution,
            table.tangents,
            table.friction,
            self.forces,
            self.mode,
        )
        motion = (terms.mass, applied - terms.bias, state.v)
        step = (h, terms.jacobian, contacts)
        groups = self._groups(half, which, terms.mass, h)
        if groups is None:
            equations, impulses, residual, end = take_step(*motion, *step)
        else:
            guess = self.bounded[groups.place]
            equations, impulses, residual, end, means = take_bounded_step(
                motion, *step, tuple(groups), guess
            )
            self.bounded[:] = 0.0
            self.bounded[groups.place] = means
        if not residual <= ACCEPTED:
            impulses = self._rough(equations, which, impulses, residual)
            end = step_end(equations, impulses, which, h, table.tangents, self.mode)
        v, mode, forces, closed, changed = end
        self.count += 1
        mean = 0.5 * (state.v + v)
        x = h * chart.rates(0.5 * h * mean, mean)
        state.q, self.gaps = self._settled(chart, x, equations, which, closed)
        state.v, state.t = v, state.t + h
        if state.z.size:
            state.z = state.z + h * rates
        self.forces = forces
        if changed:
            state.events += mode_events(state.t, table, self.mode, mode)
            self.mode = mode
        fired: np.ndarray = np.sign(before) * np.sign(loads.signals(state)) < 0
        return fired

    def _groups(
        self, q: np.ndarray, which: np.ndarray, mass: np.ndarray, h: float
    ) -> BoundedGroups | None:
        """Forces of bounded size; damping goes into the mass matrix.

        Damping acts at the mean of the velocities before and after the step: it takes
        energy out however strong it is.
        """
        system = self._dissipating
        if system is None:
            return None
        if system.damped:
            add_diagonal(mass, 0.5 * h * system.dissipation.damping)
        return system.bounded_groups(q, which)

    def _rough(
        self,
        equations: tuple[np.ndarray, ...],
        which: np.ndarray,
        impulses: np.ndarray,
        residual: float,
    ) -> np.ndarray:
        """Impulses where the residual is large: better ones, or these, counted."""
        if not residual <= _TOLERATED:
            table, problem = self._system.contacts, StepEquations(*equations)
            solution = solve_contact(
                problem.delassus,
                problem.motion,
                table.tangents[which],
                table.friction[which],
            )
            impulses, residual = solution.forces, solution.residual
        self.rough_steps += 1
        self.worst_residual = max(self.worst_residual, residual)
        return impulses

    def _settled(
        self,
        chart: Chart,
        x: np.ndarray,
        equations: tuple[np.ndarray, ...],
        which: np.ndarray,
        closed: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The configuration with closed contacts on their surfaces, nothing inside.

        The equations of the step serve again, which saves new ones: gaps go down by
        the size of the step each time.
        """
        system = self._system
        q = chart.configuration(x)
        gap = system.gaps(q)
        for attempt in range(_SETTLINGS):
            closed, worst, known = unsettled(gap, closed, which, _SETTLED)
            if worst <= _SETTLED:
                break
            if known and attempt < _SETTLINGS - 1:
                shift = closing_shift(*equations[:3], which, closed, gap)
                x = x + chart.rates(x, shift)
                q = chart.configuration(x)
            else:
                q = project_out_of_penetration(
                    system, q, np.flatnonzero(closed), deep=True
                )
                chart, x = system.chart(q), self._still
            gap = system.gaps(q)
        return q, gap
