# SPDX-License-Identifier: Apache-2.0
"""Steps of the time-stepping method: impulses, then gaps and energy put right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.contact_problem import solve_contact
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.event_records import mode_events
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.penetration import project_out_of_penetration
from humans_sim.dynamics.singular_mass import singular_mass_text
from humans_sim.dynamics.state import State
from humans_sim.dynamics.stepper import StepError
from humans_sim.dynamics.system import System
from humans_sim.dynamics.time_stepping.bounded_steps import BoundedSteps
from humans_sim.dynamics.time_stepping.energy_balance import (
    HALVED,
    IMPROVED,
    REPEATED,
    energy_error,
    energy_scale,
    free_translation,
    without_excess,
)
from humans_sim.dynamics.time_stepping.impulses import (
    ACCEPTED,
    SETTLED,
    SINGULAR,
    StepEquations,
    closing_shift,
    step_end,
    take_step,
    unsettled,
)
from humans_sim.dynamics.time_stepping.model_step_kernels import DONE
from humans_sim.dynamics.time_stepping.model_steps import ModelSteps
from humans_sim.results.contact_table import LINK

_TOLERATED = 1e-5
"""Residual with which a step is still accepted; it is counted."""
_SETTLINGS = 5
_ATTEMPTS = 3
"""How often a step is made, each time with the velocity before it as prediction."""
_HALVINGS = 6
_LITTLE = 1e-4
"""How far links are moved to be put onto each other [m, rad]."""
_NOTHING = np.zeros(0, dtype=bool)
_SHIFT = 1e-9
"""Rate of a gap per speed of the base from which on a contact holds the body; links
that touch each other, and joint limits, do not."""


class StepResult(NamedTuple):
    """What a step leads to.

    Attributes:
        q: configuration at the end.
        v: velocity at the end.
        gaps: of all contacts at the end (nc,) [m, rad].
        mode: of all contacts in it (nc,).
        forces: of all contacts, means over it (nc, 3) [N].
        energies: kinetic and potential at the end [J].
        acceleration: to predict the next step with (nv,).
        error: of the energy before it was put right, relative.
        taken: energy taken out of the velocity [J].
        carried: excess of energy left for the next step [J].
        bounces: whether a contact with restitution had an impulse.
        changed: whether a mode is another than before.
    """

    q: np.ndarray
    v: np.ndarray
    gaps: np.ndarray
    mode: np.ndarray
    forces: np.ndarray
    energies: tuple[float, float]
    acceleration: np.ndarray
    error: float
    taken: float
    carried: float
    bounces: bool
    changed: bool


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
        bounded: damping and forces of bounded size; None where there are none.
        rough_steps: those whose contact problem kept a residual above 1e-8, relative;
            above 1e-5 it is an error.
        worst_residual: the largest of those residuals.
        halved_steps: those that were made in parts, because their energy was wrong by
            more than 1e-4.
        worst_energy_error: the largest error of a step's energy before it was put
            right, relative.
        energy_taken: energy that was taken out of velocities in all [J]; what free
            flight lacked, and got back, counts negative.
    """

    def __init__(self, system: System, loads: AppliedLoads, state: State) -> None:
        """No step yet."""
        self._system, self._loads, self._state = system, loads, state
        nc = len(system.contacts)
        self.mode = np.zeros(nc, dtype=np.int64)
        self.forces = np.zeros((nc, 3))
        self.gaps = system.gaps(state.q)
        self._still = np.zeros(system.nv)
        self._onto = np.array([kind != LINK for kind in system.contacts.kinds], bool)
        # Asked once: a step without them costs nothing more.
        self.bounded = BoundedSteps.of(system)
        self._restitution = np.where(self._onto, system.contacts.restitution, -1.0)
        self._acceleration = self._still
        self._floats = isinstance(system, ModelSystem) and not (system.locked < 6).any()
        self._compiled = None if self.bounded else ModelSteps.of(system)
        self._carried = 0.0
        self._known: tuple[np.ndarray, np.ndarray, tuple[float, float]] | None = None
        self._conservative = getattr(system, "conservative", True)
        self._predicts = not getattr(system, "bias_at_midpoint", False)
        self.count = self.rough_steps = self.halved_steps = 0
        self.worst_residual = self.worst_energy_error = self.energy_taken = 0.0

    def take(self, h: float) -> np.ndarray:
        """Make a step of length ``h`` [s].

        Returns:
            which signals of the actuation changed sign in it.

        Raises:
            StepError: it cannot be made; the state is that before it.
        """
        state, loads = self._state, self._loads
        before = loads.signals(state)
        try:
            _, applied, rates = loads.at(state.t, state.q, state.v, state.z)
            result = self._whole_or_halves(applied, h, self._energies(), _HALVINGS)
        except ConfigurationError as error:
            raise StepError(str(error)) from error
        self.count += 1
        state.q, state.v, state.t = result.q, result.v, state.t + h
        if state.z.size:
            state.z = state.z + h * rates
        self.gaps, self.forces = result.gaps, result.forces
        self._acceleration, self._carried = result.acceleration, result.carried
        self._known = (state.q, state.v, result.energies)
        if result.changed:
            table = self._system.contacts
            state.events += mode_events(state.t, table, self.mode, result.mode)
            self.mode = result.mode
        if not before.size:
            return _NOTHING
        fired: np.ndarray = np.sign(before) * np.sign(loads.signals(state)) < 0
        return fired

    def _energies(self) -> tuple[float, float]:
        """Kinetic and potential energy at the state; the last step's, if that is it."""
        q, v = self._state.q, self._state.v
        if self._known is not None and self._known[0] is q and self._known[1] is v:
            return self._known[2]
        if self._compiled is not None:
            return self._compiled.energies(q, v)
        return self._system.energies(q, v)

    def _whole_or_halves(
        self,
        applied: np.ndarray,
        h: float,
        energies: tuple[float, float],
        halvings: int,
    ) -> StepResult:
        """A step; two of half its length where the energy of one is far off."""
        state = self._state
        result = self._compiled_step(applied, h, energies)
        if result is None:
            result = self._general_step(applied, h, energies)
        self.worst_energy_error = max(self.worst_energy_error, result.error)
        far = result.error > HALVED and not result.bounces and self._predicts
        if not (far and halvings):
            self.energy_taken += result.taken
            return result
        if halvings == _HALVINGS:
            self.halved_steps += 1
        start = (state.q, state.v, self.gaps, self.mode, self.forces)
        memory = (self._acceleration, self._carried)
        try:
            first = self._whole_or_halves(applied, 0.5 * h, energies, halvings - 1)
            state.q, state.v, self.gaps, self.mode, self.forces = first[:5]
            self._acceleration, self._carried = first.acceleration, first.carried
            second = self._whole_or_halves(
                applied, 0.5 * h, first.energies, halvings - 1
            )
        finally:
            state.q, state.v, self.gaps, self.mode, self.forces = start
            self._acceleration, self._carried = memory
        return second._replace(
            forces=0.5 * (first.forces + second.forces),
            changed=bool((second.mode != self.mode).any()),
        )

    def _compiled_step(
        self, applied: np.ndarray, h: float, energies: tuple[float, float]
    ) -> StepResult | None:
        """A step in one compiled call; None where that is not enough."""
        state, compiled = self._state, self._compiled
        if compiled is None or not compiled.serves(state.q, state.v, h):
            return None
        start = (  # the fields of StepStart
            state.q,
            state.v,
            self._acceleration,
            self.gaps,
            self.forces,
            self.mode,
        )
        status, *result = compiled.step(start, applied, h, (*energies, self._carried))
        return StepResult._make(result) if status == DONE else None

    def _general_step(
        self, applied: np.ndarray, h: float, energies: tuple[float, float]
    ) -> StepResult:
        """A step through the functions of the system."""
        system, state, table = self._system, self._state, self._system.contacts
        mean, error = state.v, np.inf
        if self._predicts:
            mean = mean + 0.5 * h * self._acceleration
        for _ in range(_ATTEMPTS):
            # Forces at the middle of the step, contacts at its predicted end.
            chart = system.chart(state.q)
            half = chart.configuration(0.5 * h * chart.rates(self._still, state.v))
            which, terms = system.active_contact_terms(half, mean, 0.5 * h, self.mode)
            contacts = (  # the fields of StepContacts
                which,
                self.gaps,
                self._restitution,
                table.tangents,
                table.friction,
                self.forces,
                self.mode,
            )
            motion = (terms.mass, applied - terms.bias, state.v)
            step = (h, terms.jacobian, contacts)
            if self.bounded is None:
                equations, impulses, residual, end = take_step(*motion, *step)
            else:
                places = (half, mean)
                equations, impulses, residual, end = self.bounded.take(
                    motion, places, *step
                )
            if residual == SINGULAR:
                raise StepError(singular_mass_text(terms.mass, system.velocity_names))
            if not residual <= ACCEPTED:
                impulses = self._rough(equations, which, impulses, residual)
                end = step_end(equations, impulses, which, h, table.tangents, self.mode)
            v, mode, forces, closed, changed = end
            mean = 0.5 * (state.v + v)
            x = h * chart.rates(0.5 * h * mean, mean)
            self._check_speed(chart, x, v, h)
            if (closed & ~self._onto).any():
                x = self._pulled(chart, x, equations, which, closed)
                closed &= self._onto
            q, gaps = self._settled(chart, x, equations, which, closed)
            kinetic, potential = system.energies(q, v)
            excess = kinetic + potential - sum(energies) + self._carried
            excess -= h * float(applied @ mean)
            if self.bounded is not None:
                excess += h * self.bounded.power(mean)
            loaded = impulses[:, 0] > 0.0
            both = self._floats and not loaded.any()
            scale = max(energy_scale(*energies), energy_scale(kinetic, potential))
            before, error = error, energy_error(excess, both, scale)
            if error <= REPEATED or error > IMPROVED * before or not self._predicts:
                break
        taken, left = 0.0, self._carried
        if self._conservative and (loaded.any() or self._floats):
            kept, share = self._still, 0.0
            shifts = np.abs(terms.jacobian[loaded][:, :, :3]).max(initial=0.0)
            if self._floats and shifts < _SHIFT:
                kept = free_translation(terms.mass, v)
                share = 0.5 * float(terms.mass[0, 0] * (kept @ kept))
            taken = excess if both else max(excess, 0.0)
            ignored = SETTLED * float(np.abs(terms.bias).max())
            v, kinetic, left = without_excess(v, kept, taken, kinetic, share, ignored)
            taken -= left
        return StepResult(
            q,
            v,
            gaps,
            mode,
            forces,
            (kinetic, potential),
            self._still if changed else (v - state.v) / h,
            error,
            taken,
            left,
            bool((self._restitution[which][loaded] > 0.0).any()),
            changed,
        )

    def _check_speed(
        self, chart: Chart, x: np.ndarray, v: np.ndarray, h: float
    ) -> None:
        """Refuse a step that turns further than its coordinates reach."""
        if np.isfinite(v).all() and not chart.worn(x):
            return
        worst = int(np.argmax(np.where(np.isfinite(v), np.abs(v), np.inf)))
        raise StepError(
            f"velocities grow beyond bounds ({self._system.velocity_names[worst]} "
            f"{v[worst]:.3g}): the torques are too stiff for a step of {h:g} s; "
            "shorten time_step, lower gains and damping, or add the rotor inertia of "
            "the drives"
        )

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

    def _pulled(
        self,
        chart: Chart,
        x: np.ndarray,
        equations: tuple[np.ndarray, ...],
        which: np.ndarray,
        closed: np.ndarray,
    ) -> np.ndarray:
        """Coordinates with links that touch put onto each other, where that is little.

        Links are only pushed apart later: points of several pairs that hook into each
        other contradict each other in the last digits, and a small gap would then cost
        a large motion.
        """
        gap = self._system.gaps(chart.configuration(x))
        shift = closing_shift(*equations[:3], which, closed, gap)
        if not np.abs(shift).max() < _LITTLE:
            return x
        near = x + chart.rates(x, shift)
        after = self._system.gaps(chart.configuration(near))
        better = np.abs(after[closed]).max() < np.abs(gap[closed]).max()
        return near if better else x

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
            closed, worst, known = unsettled(gap, closed, which, SETTLED)
            if worst <= SETTLED:
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
