# SPDX-License-Identifier: Apache-2.0
"""One time step: impulses, then gaps and energy corrected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.mesh_contact_kernels import ABSENT
from humans_sim.contact.problem.contact_problem import (
    ContactProblemError,
    solve_contact,
)
from humans_sim.contact.problem.law import STICK
from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.actuation_interface import DriveTable
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.recording import mode_change_events, mode_events
from humans_sim.dynamics.stepper import StepError
from humans_sim.dynamics.system import Chart, State, System
from humans_sim.dynamics.time_stepping.bounded_steps import BoundedSteps
from humans_sim.dynamics.time_stepping.impulses import (
    ACCEPTED,
    HALVED,
    HALVINGS,
    IMPROVED,
    REPEATED,
    SETTLED,
    SINGULAR,
    StepEquations,
    closing_shift,
    energy_error,
    energy_scale,
    factor_of,
    free_translation,
    spread_of,
    step_end,
    take_step,
    unsettled,
    without_excess,
)
from humans_sim.dynamics.time_stepping.model_step_kernels import (
    DONE,
    ELSEWHERE,
    HOOKED,
    UNSETTLED,
    borne_gaps,
    hold_turned,
)
from humans_sim.dynamics.time_stepping.model_steps import (
    REACHED,
    ModelSteps,
)


def check_speed(
    system: System, chart: Chart, x: np.ndarray, v: np.ndarray, h: float
) -> None:
    """Refuse velocities that are no numbers, or turn too far in a step."""
    if np.isfinite(v).all() and not chart.worn(x):
        return
    worst = int(np.argmax(np.where(np.isfinite(v), np.abs(v), np.inf)))
    raise StepError(
        f"velocities grow beyond bounds ({system.velocity_names[worst]} "
        f"{v[worst]:.3g}): the torques are too stiff for a step of {h:g} s; "
        "shorten time_step, lower gains and damping, or add the rotor inertia of "
        "the drives"
    )


class StepResult(NamedTuple):
    """The result of a step.

    Attributes:
        gaps: of all contacts at the end (nc,) [m, rad].
        mode: of all contacts in it (nc,).
        forces: of all contacts, means over it (nc, 3) [N].
        energies: kinetic and potential at the end [J].
        acceleration: to predict the next step with (nv,).
        error: of the energy before it was put right, relative.
        taken: energy taken out of the velocity [J].
        carried: excess of energy left for the next step, of each root [J].
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
    carried: np.ndarray
    bounces: bool
    changed: bool


def singular_mass_text(mass: np.ndarray, names: Sequence[str]) -> str:
    """The message for a singular mass matrix, and what to do."""
    if not np.isfinite(mass).all():
        return "the mass matrix is not finite: a shorter step may help"
    # On the scale of its diagonal, a motion without inertia is an eigenvector.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(mass), 1e-300))
    _, vectors = np.linalg.eigh(scale[:, None] * mass * scale)
    motion = np.abs(vectors[:, 0])
    moved = np.flatnonzero(motion > 0.3 * motion.max())
    joints = ", ".join(names[j] for j in moved[:4])
    return (
        f"the mass matrix is singular: {joints} can move without inertia; lock one of "
        "them, keep it away from this posture by its limits, or give it the rotor "
        "inertia of a drive"
    )


_TOLERATED = 1e-5
"""Residual with which a step is still accepted; it is counted."""
_SETTLINGS, _RENEWED = 8, 4
"""How often gaps are put right, the last times with equations of their own."""
_ATTEMPTS = 3
"""How often a step is made, each time with the last velocity predicted."""
_LITTLE = 1e-4
"""Links are put onto each other by less than twice the step's motion, and this."""
_LOOKS = 4
"""How often pairs are looked at where a step ends."""
_NOTHING = np.zeros(0, dtype=bool)
_SHIFT = 1e-9
"""Rate of a gap per speed of the base from which on a contact holds the body; links
that touch each other, and joint limits, do not."""


class ImpulseSteps:
    """Takes a state through steps of any length.

    Attributes:
        mode: of all contacts in the last step (nc,).
        forces: of all contacts, means over the last step (over its last part where it
            was halved) (nc, 3) [N].
        gaps: of all contacts at its end (nc,) [m, rad]; of points far from the ground a
            lower bound, of links far apart 1 m.
        bounded: damping and forces of bounded size; None where there are none.
        rough_steps: those whose contact problem kept a residual above 1e-8, relative;
            above 1e-5 it is an error.
        worst_residual: the largest of those residuals.
        halved_steps: those that were made in parts, because their energy was wrong by
            more than 1e-4.
        worst_energy_error: the largest error of a step's energy before it was put
            right, relative.
        spared_steps: those at rest, which were not computed.
        energy_taken: energy that was taken out of velocities in all [J]; what free
            flight lacked, and got back, counts negative.
    """

    def __init__(self, system: System, loads: AppliedLoads, state: State) -> None:
        self._system, self._loads, self._state = system, loads, state
        nc = len(system.contacts)
        self.mode = np.zeros(nc, dtype=np.int64)
        self.forces = np.zeros((nc, 3))
        self.gaps = system.gaps(state.q)
        self._still = np.zeros(system.nv)
        self._restitution = getattr(
            system, "step_restitution", system.contacts.restitution
        )
        self._onto = self._restitution >= 0.0
        # Asked once: a step without them costs nothing more.
        self.bounded = BoundedSteps.of(system)
        self._acceleration = self._still
        self._floats = isinstance(system, ModelSystem) and not (
            system.bodies or system.others or (system.locked < 6).any()
        )
        self._fly = getattr(system, "fly", None)
        forces = None if self.bounded is None else self.bounded.forces
        self._compiled = None if self._fly else ModelSteps.of(system, forces)
        self._patient = True
        self._carried = np.zeros(1 if self._compiled is None else self._compiled.roots)
        self._known: tuple[np.ndarray, np.ndarray, tuple[float, float]] | None = None
        self._conservative = getattr(system, "conservative", True)
        self._predicts = not getattr(system, "bias_at_midpoint", False)
        self.count = self.rough_steps = self.halved_steps = 0
        self._rest = self.spared_steps = 0
        self.worst_residual = self.worst_energy_error = self.energy_taken = 0.0

    def take(self, h: float) -> np.ndarray:
        """Make a step of length ``h`` [s]; returns which signals changed sign."""
        state, loads = self._state, self._loads
        before = loads.signals(state)
        try:
            _, applied, rates = loads.at(state.t, state.q, state.v, state.z)
            result = self._whole_or_halves(applied, h, self.energies(), HALVINGS)
        except ConfigurationError as error:
            raise StepError(str(error)) from error
        except ContactProblemError as error:
            raise StepError(f"{error}; a shorter time_step may help") from error
        self.count += 1
        self._rest = 0
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
        return np.sign(before) * np.sign(loads.signals(state)) < 0

    def take_until(self, due: float, length: float) -> bool:
        """Steps in one compiled call up to ``due`` [s]; whether that was enough."""
        state, loads, compiled = self._state, self._loads, self._compiled
        drives = loads.drives()
        if compiled is None or drives is None or loads.signals(state).size:
            return False
        return self._take_series(compiled, drives, (state.t, due, length)) == REACHED

    def _take_series(
        self,
        compiled: ModelSteps,
        drives: DriveTable,
        clock: tuple[float, float, float],
    ) -> int:
        """Make steps as far as one call goes; returns how that ended."""
        state = self._state
        start = (
            (state.q, state.v, self._acceleration, self.forces, self.mode),
            self.gaps,
            self._carried,
            (
                *(self.worst_energy_error, self.energy_taken, self.halved_steps),
                *(self._rest, self.spared_steps),
            ),
        )
        series = compiled.series(drives, start, clock)
        ending, steps, state.t, end, energies, changes = series
        if steps:
            at, self.gaps, self._carried, totals = end
            state.q, state.v, self._acceleration, self.forces, self.mode = at
            self.worst_energy_error, self.energy_taken, self.halved_steps = totals[:3]
            self._rest, self.spared_steps = totals[3:]
            self._known = (state.q, state.v, energies)
            self.count += steps
            self._patient = True
            state.events += mode_change_events(changes, self._system.contacts)
        return int(ending)

    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy at the state; the last step's, if that is it."""
        q, v = self._state.q, self._state.v
        if self._known is not None and self._known[0] is q and self._known[1] is v:
            return self._known[2]
        if self._compiled is not None:
            return self._compiled.energies(q, v)
        return self._system.energies(q, v)

    def measured(self, gaps: np.ndarray) -> np.ndarray:
        """Gaps at the state, but of contacts that had a force in the last step theirs.

        These are the gaps of the points that bore it. A further contact of a point with
        terrain may be none where the step ends: there its gap is that of the nearest.
        """
        if not self.count:
            return gaps
        bearing = self.mode != 0
        gaps = np.where(bearing, self.gaps, gaps)
        for c in np.flatnonzero(bearing & (gaps > ABSENT)):
            gaps[c] = gaps[c - 1]  # they follow one another, the nearest first
        return gaps

    def _whole_or_halves(
        self,
        applied: np.ndarray,
        h: float,
        energies: tuple[float, float],
        halvings: int,
    ) -> StepResult:
        """A step; two of half its length where the energy of one is far off.

        So, too, where what touches cannot all be put onto its surfaces: how far it is
        off them goes by the square of the length. Where the shortest steps do not help,
        none are made until a whole one is right again.
        """
        state = self._state
        status, result = self._compiled_step(applied, h)
        off = status in (HOOKED, UNSETTLED)
        if status == DONE and halvings == HALVINGS:
            self._patient = True
        elif off and not halvings:
            self._patient = False
        far = off and self._patient
        if status not in (DONE, HOOKED) and not (far and halvings):
            result = self._general_step(applied, h, energies)
        if result is not None:
            self.worst_energy_error = max(self.worst_energy_error, result.error)
            far |= result.error > HALVED and not result.bounces and self._predicts
            if not (far and halvings):
                self.energy_taken += result.taken
                return result
        if halvings == HALVINGS:
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
        return second._replace(changed=bool((second.mode != self.mode).any()))

    def _compiled_step(
        self, applied: np.ndarray, h: float
    ) -> tuple[int, StepResult | None]:
        """A step in one compiled call, and how it ends; None where there is no such."""
        state, compiled = self._state, self._compiled
        if compiled is None:
            return ELSEWHERE, None
        start = (state.q, state.v, self._acceleration, self.forces, self.mode)
        status, *result = compiled.step(start, applied, h, self._carried)
        if status not in (DONE, HOOKED):
            return status, None
        return status, StepResult._make(result)

    def _general_step(
        self, applied: np.ndarray, h: float, energies: tuple[float, float]
    ) -> StepResult:
        """A step through the functions of the system."""
        system, state, table = self._system, self._state, self._system.contacts
        mean, error = state.v, np.inf
        if self._predicts:
            mean = mean + 0.5 * h * self._acceleration
        near = self.mode
        if isinstance(system, ModelSystem):
            system.gaps_anew(state.q, state.v, 0.5 * h)
        for attempt in range(_ATTEMPTS):
            # Forces at the middle of the step, contacts at its predicted end.
            chart = system.chart(state.q)
            half = chart.configuration(0.5 * h * chart.rates(self._still, state.v))
            which, terms = system.active_contact_terms(half, mean, 0.5 * h, near)
            contacts = (
                which,
                terms.gap,
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
            check_speed(self._system, chart, x, v, h)
            late = self._late(chart, x, which)
            if late.size and attempt < _ATTEMPTS - 1:
                near = near.copy()
                near[which] = near[late] = STICK
                continue
            q, gaps = self._put_right(chart, x, equations, which, closed)
            q, gaps = self._looked_again((q, v), gaps, (closed, mode), equations, h)
            flight = None
            if self._fly is not None:
                flight = self._fly(state, self._loads, (q, v), h, which)
            if flight is not None:
                q, v, gaps = flight[:3]
            kinetic, potential = system.energies(q, v)
            excess = kinetic + potential - sum(energies) + float(self._carried.sum())
            excess -= h * float(applied @ mean)
            if self.bounded is not None:
                excess += h * self.bounded.power(mean)
            if flight is not None:
                excess -= flight.gained - h * float((applied * mean) @ flight.flying)
            loaded = impulses[:, 0] > 0.0
            both = self._floats and not loaded.any()
            scale = max(energy_scale(*energies), energy_scale(kinetic, potential))
            before, error = error, energy_error(excess, both, scale)
            if error <= REPEATED or error > IMPROVED * before or not self._predicts:
                break
        taken, left = 0.0, float(self._carried.sum())
        if self._conservative and (loaded.any() or self._floats):
            kept, share = self._still, 0.0
            shifts = np.abs(terms.jacobian[loaded][:, :, :3]).max(initial=0.0)
            if self._floats and shifts < _SHIFT:
                kept = free_translation(terms.mass, v)
                share = 0.5 * float(terms.mass[0, 0] * (kept @ kept))
            if flight is not None:
                kept, share = flight.velocity, flight.kinetic
            taken = excess if both else max(excess, 0.0)
            ignored = SETTLED * float(np.abs(terms.bias).max())
            v, kinetic, left = without_excess(v, kept, taken, kinetic, share, ignored)
            taken -= left
        carried = np.zeros(len(self._carried))
        carried[0] = left
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
            carried,
            bool((self._restitution[which][loaded] > 0.0).any()),
            changed,
        )

    def moments(self) -> np.ndarray:
        """Torsional and rolling moments, means over the last step [N m]."""
        if self.bounded is None:
            return np.zeros((0, 3))
        return self.bounded.forces[self._system.nv :].reshape(-1, 3)

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
                tolerated=_TOLERATED,
            )
            impulses, residual = solution.forces, solution.residual
        self.rough_steps += 1
        self.worst_residual = max(self.worst_residual, residual)
        return impulses

    def _late(self, chart: Chart, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Contacts that the impulses of others close, which the step does not have.

        Put right by position alone, they would push what touches elsewhere apart.
        """
        inside = self._system.gaps(chart.configuration(x)) < -SETTLED
        inside[which] = False
        return np.flatnonzero(inside)

    def _put_right(
        self,
        chart: Chart,
        x: np.ndarray,
        equations: tuple[np.ndarray, ...],
        which: np.ndarray,
        closed: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The end of a step with what touches put onto its surfaces, nothing inside.

        Links, too, where there is such a configuration near; where they hook into each
        other there is none, and they are only pushed apart.
        """
        links = closed & ~self._onto
        if links.any():
            farthest = _LITTLE + 2.0 * float(np.abs(x).max())
            q, gaps = self._settled(chart, x, equations, which, closed, farthest)
            if gaps.min() >= -SETTLED and np.abs(gaps[closed]).max() <= SETTLED:
                return q, gaps
        return self._settled(chart, x, equations, which, closed & ~links, np.inf)

    def _looked_again(
        self,
        end: tuple[np.ndarray, np.ndarray],
        gaps: np.ndarray,
        contacts: tuple[np.ndarray, np.ndarray],
        equations: tuple[np.ndarray, ...],
        h: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The end of a step where solids that turned are in touch, and in no other.

        ``contacts``: which are closed and stay so, and modes of all in the step.
        """
        system, (q, v), (closed, mode) = self._system, end, contacts
        if not isinstance(system, ModelSystem) or not len(system.pairs):
            return q, gaps
        pairs, none = system.pairs, np.zeros(0, dtype=np.int64)
        used, first = pairs.chosen, len(closed) - len(pairs)
        held = closed.copy()
        for _ in range(_LOOKS):
            gaps = system.gaps_anew(q, v, 0.5 * h)
            slots = pairs.chosen[0]
            own = np.zeros(len(slots), dtype=np.bool_)
            stays, there = closed[first + used[0]], gaps[first + slots]
            off = hold_turned(used[0], stays, slots, there, own)
            if not off and gaps.min() >= -SETTLED:
                break
            held[first:] = False
            held[first + slots] = own
            chart = system.chart(q)
            q, gaps = self._put_right(chart, self._still, equations, none, held)
        slots, bore = pairs.chosen[0], mode[first + used[0]] != 0
        borne = borne_gaps(used[0], pairs.gaps_of(used), slots, gaps[first + slots])
        gaps[first + used[0][bore]] = borne[bore]
        return q, gaps

    def _settled(
        self,
        chart: Chart,
        x: np.ndarray,
        equations: tuple[np.ndarray, ...],
        which: np.ndarray,
        closed: np.ndarray,
        farthest: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The configuration with closed contacts on their surfaces, nothing inside.

        The equations of the step serve again, which saves new ones: gaps go down by
        the size of the step each time. It is left as it is where a change would be
        larger than ``farthest``.
        """
        system, seen = self._system, closed
        q = chart.configuration(x)
        gap = system.gaps(q)
        for attempt in range(_SETTLINGS):
            wrong, worst, known = unsettled(gap, closed, which, SETTLED)
            if worst <= SETTLED:
                break
            seen = wrong | (seen & (gap < ABSENT))
            held = closed & (gap < ABSENT)
            if known and attempt < _SETTLINGS - _RENEWED:
                rows, own = which, tuple(equations[:3])
            else:
                rows = np.union1d(which, np.flatnonzero(seen))
                terms = system.terms(q, self._still, rows)
                factored = factor_of(terms.mass)
                jacobian = terms.jacobian.reshape(3 * len(rows), system.nv)
                own = (factored[0], *spread_of(factored, jacobian))
                chart, x = system.chart(q), self._still
            change = closing_shift(own, rows, held, gap)
            if not np.abs(change).max() < farthest:
                break
            x = x + chart.rates(x, change)
            q = chart.configuration(x)
            gap = system.gaps(q)
        return q, gap
