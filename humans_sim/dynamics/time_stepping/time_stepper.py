# SPDX-License-Identifier: Apache-2.0
r"""The time-stepping method of Moreau and Jean: fixed steps, velocities and impulses.

.. math:: M (v_{k+1} - v_k) = h (\tau - N) + \sum_i J_i^T p_i

with the contact problem between the impulses p and the velocities at the end of the
step, for every contact that would close in the step. Impacts and persistent contact are
the same thing here; nothing is located in time, so the error is of the order of h and
any number of contacts costs one contact problem. Gaps are put right after each step.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.problem.contact_problem import solve_contact
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.control_clock import ControlClock
from humans_sim.dynamics.event_records import mode_events
from humans_sim.dynamics.penetration import project_out_of_penetration
from humans_sim.dynamics.stepper import Options, Stepper
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.impulses import (
    ACCEPTED,
    StepEquations,
    closing_shift,
    step_end,
    take_step,
    unsettled,
)
from humans_sim.results.sample import Sample

_ROUNDING = 1e-9
_TOLERATED = 1e-5
"""Residual with which a step is still accepted; it is counted."""
_SETTLED = 1e-10
"""How far from its surface a closed contact may be [m, rad]."""
_SETTLINGS = 5


class TimeStepper(Stepper):
    """Fixed steps; events are recorded at the end of the step they happened in.

    Args:
        system: what moves.
        actuation: what drives it.
        options: how to integrate.
        t: where to start [s].
        q: configuration at the start.
        v: velocity at the start.
        control: when a controller commands the actuation, or None.

    Attributes:
        rough_steps: steps whose contact problem kept a residual above 1e-8, relative;
            above 1e-5 it is an error.
        worst_residual: the largest of those residuals.
    """

    GAP_TOLERANCE = 1e-8

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
        control: ControlClock | None = None,
    ) -> None:
        """Start at (t, q, v)."""
        super().__init__(system, actuation, options, t, q, v, control)
        nc = len(system.contacts)
        self._mode = np.zeros(nc, dtype=np.int64)
        self._steps = 0
        self._forces = np.zeros((nc, 3))
        self._gaps = system.gaps(self.q)
        self._still = np.zeros(system.nv)
        self.rough_steps, self.worst_residual = 0, 0.0
        self.handle_due_events()

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts in the last step (nc,)."""
        return self._mode

    @property
    def evaluations(self) -> int:
        """How often the equations of motion were evaluated: once a step."""
        return self._steps

    def sample(self) -> Sample:
        """Everything at the time reached.

        Torques are those at this state; contact forces are means over the last step,
        in which alone the method knows them.
        """
        kinetic, potential = self.system.energies(self.q, self.v)
        return Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            self.loads.at(self.t, self.q, self.v, self.z).torques,
            self._mode,
            self._forces,
            self._gaps,
            kinetic,
            potential,
        )

    def command(self, command: np.ndarray) -> None:
        """Give a command to the actuation; it acts from now on."""
        self.actuation.command(self.t, command)

    def push(
        self, link: str, point: np.ndarray, impulse: np.ndarray, duration: float = 0.0
    ) -> None:
        """Push a link: over one step, or by a constant force over a duration."""
        duration = max(duration, self.options.time_step)
        self.loads.add_push(self.state, link, point, impulse, duration)

    def advance(self, t_end: float, bound: float | None = None) -> None:
        """Step to ``t_end``; the last step is cut so as to end there."""
        step = self.options.time_step
        while self.t < t_end:
            due = self.next_event()
            if due <= self.t:
                self.handle_events()
                continue
            pushes = self.loads.pushes
            if pushes.active:
                pushes.expire(self.t)
                due = min(due, pushes.next_time(self.t))
            due = min(due, t_end)
            left = due - self.t
            if left <= _ROUNDING * step:
                # Two events at what is meant as one time: no step could be that short.
                self.state.t = due
                continue
            # Equal steps, so that a run does not depend on how it is cut to pieces;
            # the last one before something is due is stretched or cut.
            self._step(left if left < 1.5 * step else step)
            if due - self.t <= _ROUNDING * step:
                self.state.t = due
        self.handle_due_events()

    def _step(self, h: float) -> None:
        system, table = self.system, self.system.contacts
        state = self.state
        before = self.loads.signals(state)
        # Forces at the middle of the step, contacts at its predicted end.
        chart = system.chart(self.q)
        half = chart.configuration(0.5 * h * chart.rates(self._still, self.v))
        _, applied, rates = self.loads.at(self.t, self.q, self.v, self.z)
        which, terms = system.active_contact_terms(half, self.v, 0.5 * h, self._mode)
        contacts = (  # the fields of StepContacts
            which,
            self._gaps,
            table.restitution,
            table.tangents,
            table.friction,
            self._forces,
            self._mode,
        )
        equations, impulses, residual, end = take_step(
            terms.mass, applied - terms.bias, self.v, h, terms.jacobian, contacts
        )
        if not residual <= ACCEPTED:
            impulses = self._rough(equations, which, impulses, residual)
            end = step_end(equations, impulses, which, h, table.tangents, self._mode)
        v, mode, forces, closed, changed = end
        self._steps += 1
        mean = 0.5 * (self.v + v)
        x = h * chart.rates(0.5 * h * mean, mean)
        state.q, self._gaps = self._settled(chart, x, equations, which, closed)
        state.v, state.t = v, self.t + h
        if self.z.size:
            state.z = self.z + h * rates
        self._forces = forces
        if changed:
            state.events += mode_events(self.t, table, self._mode, mode)
            self._mode = mode
        if before.size:
            fired = np.sign(before) * np.sign(self.loads.signals(state)) < 0
            if fired.any():
                self.handle_events(fired)

    def _rough(
        self,
        equations: tuple[np.ndarray, ...],
        which: np.ndarray,
        impulses: np.ndarray,
        residual: float,
    ) -> np.ndarray:
        """Impulses where the residual is large: better ones, or these, counted."""
        if not residual <= _TOLERATED:
            table, problem = self.system.contacts, StepEquations(*equations)
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
        system = self.system
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
