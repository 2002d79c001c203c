# SPDX-License-Identifier: Apache-2.0
"""Smooth motion between two events: contacts keep their modes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from humans_sim.contact.problem.force_distribution import (
    ContactForceSplit,
    best_split,
    margins,
)
from humans_sim.contact.problem.law import SLIDE, STICK, idle_forces
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.event_driven.creep_kernels import (
    CreepingContacts,
    LoadSlopes,
    chart_matrix,
    creeping_acceleration,
    creeping_response,
    stiff_derivatives,
)
from humans_sim.dynamics.event_driven.model_rates import (
    STABILISATION,
    CompiledModel,
    acceleration_in_modes,
)
from humans_sim.dynamics.event_driven.step_kernels import creep_step, mode_step
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.stepper import StepError
from humans_sim.dynamics.system import (
    Chart,
    FreeBaseChart,
    State,
    System,
    Terms,
    TouchingBodies,
)

_SLIPS, _RESTS = 10.0, 3.0
"""Speeds, in creep speeds, above and below which a creeping contact is said to slide
and to stick."""
_TURNED = 0.999
"""Cosine of the angle between a direction and the remembered one that is too large."""
_STEPS = 8
"""Steps after which the forces without effect are determined anew."""


@dataclass
class ContactModes:
    """The closed contacts (k of them) while smooth motion lasts.

    Attributes:
        which: their indices among all contacts (k,).
        mode: STICK or SLIDE (k,).
        tangents: number of tangential directions (k,).
        friction: Coulomb's coefficients (k,).
        direction: unit directions of sliding (k, 2).
        reference: forces that redundant contacts stay near to (k, 3) [N].
        idle: projector on forces without effect, by
            :func:`~humans_sim.contact.problem.law.idle_forces`.
        age: steps since that projector was determined.
        creeps: contacts whose friction follows their velocity; their mode is SLIDE
            (k,).
        sticks: which of these hardly move (k,).
    """

    which: np.ndarray
    mode: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    direction: np.ndarray
    reference: np.ndarray
    idle: np.ndarray
    creeps: np.ndarray
    sticks: np.ndarray
    age: int = 0

    @classmethod
    def all_open(cls) -> ContactModes:
        """No contact is closed."""
        none, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
        vectors = np.zeros((0, 2)), np.zeros((0, 3)), np.zeros((0, 0))
        return cls(none, none, none, numbers, *vectors, none > 0, none > 0)

    @classmethod
    def at(
        cls,
        system: TouchingBodies,
        q: np.ndarray,
        which: np.ndarray,
        mode: np.ndarray,
        direction: np.ndarray,
        reference: np.ndarray,
        creep: bool = False,
    ) -> ContactModes:
        """Contacts closed at a configuration; ``creep``: those with friction creep."""
        table = system.contacts
        tangents, friction = table.tangents[which], table.friction[which]
        creeps = np.zeros(len(which), dtype=bool)
        if creep:
            creeps = (tangents > 0) & np.isfinite(friction)
        modes = cls(
            which,
            np.where(creeps, SLIDE, mode),
            tangents,
            friction,
            direction,
            reference,
            np.zeros((0, 0)),
            creeps,
            creeps & (mode == STICK),
        )
        modes.determine_idle_forces(system, q)
        return modes

    def arrays(self, direction: np.ndarray) -> tuple[np.ndarray, ...]:
        """The arguments of :func:`acceleration_in_modes`."""
        return (
            self.mode,
            self.tangents,
            self.friction,
            direction,
            self.reference,
            self.idle,
        )

    def creeping(self, rate: float, creep_speed: float) -> tuple[Any, ...]:
        """Fields of a :class:`CreepingContacts`, as a plain tuple."""
        return tuple(
            CreepingContacts(
                self.mode, self.tangents, self.friction, self.idle, rate, creep_speed
            )
        )

    def closed(self, rate: float, creep_speed: float | None) -> tuple[Any, ...]:
        """The closed contacts as kernels take them."""
        own = self.arrays(self.direction)
        return (self.which, *own, rate, creep_speed or 0.0)

    @property
    def any_closed(self) -> bool:
        """Whether there is a closed contact at all."""
        return self.which.size > 0

    def of_all(self, count: int) -> np.ndarray:
        """Modes of all ``count`` contacts, the open ones among them."""
        mode = np.zeros(count, dtype=np.int64)
        mode[self.which] = np.where(self.sticks, STICK, self.mode)
        return mode

    def determine_idle_forces(self, system: TouchingBodies, q: np.ndarray) -> None:
        """Which parts of the contact forces do nothing, in this posture."""
        terms = system.terms(q, np.zeros(system.nv), self.which)
        self.idle = idle_forces(terms.mass, terms.jacobian, self.mode, self.tangents)
        self.age = 0

    def continue_after_step(
        self, system: TouchingBodies, q: np.ndarray, direction: np.ndarray
    ) -> bool:
        """Follow a step without events; returns whether the right-hand side changed."""
        any_turned = False
        if not self.creeps.all():
            turned = (self.direction * direction).sum(axis=1) < _TURNED
            turned &= (self.mode == SLIDE) & ~self.creeps
            any_turned = bool(turned.any())
            if any_turned:
                self.direction = np.where(turned[:, None], direction, self.direction)
        self.age += 1
        renewed = self.any_closed and self.age >= _STEPS
        if renewed:
            before = self.idle
            self.determine_idle_forces(system, q)
            renewed = bool(before.any() or self.idle.any())
        return renewed or any_turned

    def sticking_of_creeping(
        self, motion: np.ndarray, creep_speed: float
    ) -> np.ndarray:
        """Which of the creeping contacts are said to stick, not to slide (k,)."""
        square = motion[:, 1] ** 2 + motion[:, 2] ** 2
        bound = np.where(self.sticks, _SLIPS, _RESTS) * creep_speed
        return self.creeps & (square < bound**2)

    def margins(self, forces: np.ndarray) -> np.ndarray:
        """How far each contact is from lifting or slipping (k,) [N]."""
        return margins(forces, self.mode, self.tangents, self.friction)

    def least_margin(self, forces: np.ndarray) -> float:
        """The least of the margins [N]; infinite where no contact is closed."""
        return float(self.margins(forces).min(initial=math.inf))

    def best_distribution(
        self, forces: np.ndarray, jacobian: np.ndarray, direction: np.ndarray
    ) -> ContactForceSplit:
        """The forces of largest margin with the effect of ``forces`` (k, 3) [N]."""
        if self.creeps.any():
            return ContactForceSplit(forces, self.least_margin(forces))
        return best_split(
            forces, jacobian, self.mode, self.tangents, self.friction, direction
        )


FORCE = 5e-9
"""Force below which a contact supports nothing [N, N m]."""
_CONTRADICTION = 1e-4
_FAST = 1000.0
"""Rate at which drift decays where the integrator is implicit [1/s]."""

_NO_STATE = np.zeros(0)


class Evaluation(NamedTuple):
    """The right-hand side at one state, kept for those who look at it.

    Attributes:
        torques: of the actuation (nv,).
        applied: the same with pushes (nv,).
        terms: the equations of motion with the closed contacts.
        acceleration: (nv,).
        forces: of the closed contacts (k, 3) [N].
        motion: velocities of the closed contacts (k, 3) [m/s].
        direction: of sliding (k, 2).
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    applied: np.ndarray
    terms: Terms
    acceleration: np.ndarray
    forces: np.ndarray
    motion: np.ndarray
    direction: np.ndarray


class SmoothMotion:
    """The right-hand side, with the forces of the closed contacts.

    Args:
        creep_speed: of contacts whose friction follows their velocity [m/s]; None where
            contacts stick and slide by Coulomb's law, in modes.

    Attributes:
        modes: the closed contacts; all open at first.
        lowest_margin: the least margin of the closed contacts since it was set to
            infinity, and its time.
        compiled: the system where its right-hand side is one compiled call, or None.
        bodies: what gives the terms of contacts: this, or the system.
    """

    last: Evaluation

    def __init__(
        self, system: System, loads: AppliedLoads, creep_speed: float | None = None
    ) -> None:
        self._system, self._loads, self.creep_speed = system, loads, creep_speed
        self._stabilisation = STABILISATION if creep_speed is None else _FAST
        self._damping: np.ndarray | None = None
        if isinstance(system, ModelSystem) and system.damped:
            self._damping = system.dissipation.damping
        self.compiled = CompiledModel.of(system)
        self.bodies: TouchingBodies = self.compiled or system
        self.modes = ContactModes.all_open()
        self.lowest_margin = (math.inf, math.inf)
        self.evaluations = 0
        self._last_state = _NO_STATE

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""
        return self.modes.of_all(len(self._system.contacts))

    def open_all(self) -> None:
        """From now on no contact is closed."""
        self.modes = ContactModes.all_open()
        self._last_state = _NO_STATE

    def close(
        self,
        q: np.ndarray,
        which: np.ndarray,
        mode: np.ndarray,
        direction: np.ndarray,
        reference: np.ndarray,
    ) -> None:
        """From now on these contacts are closed, and no others."""
        creep = self.creep_speed is not None
        self.modes = ContactModes.at(
            self.bodies, q, which, mode, direction, reference, creep
        )
        self._last_state = _NO_STATE

    def derivative(self, chart: Chart, t: float, y: np.ndarray) -> np.ndarray:
        """Rates of y: the coordinates of the chart, v and z."""
        nv = self._system.nv
        x, v, z = y[:nv], y[nv : 2 * nv], y[2 * nv :]
        q = chart.configuration(x)
        torques, applied, z_rates = self._loads.at(t, q, v, z)
        if self.compiled is not None and isinstance(chart, FreeBaseChart):
            closed = self.modes.closed(self._stabilisation, self.creep_speed)
            rates, q, fields, contacts, residual, least = self.compiled.rates(
                closed, chart.centre, y, applied
            )
            if z.size:
                rates[2 * nv :] = z_rates
            self._accept(t, residual, least)
            last = Evaluation(t, q, v, z, torques, applied, Terms(*fields), *contacts)
        else:
            terms = self._system.terms(q, v, self.modes.which)
            *contacts, residual, least = self._acceleration(
                terms, applied - terms.bias, v, self.modes.direction
            )
            self._accept(t, residual, least)
            rates = np.concatenate([chart.rates(x, v), contacts[0], z_rates])
            last = Evaluation(t, q, v, z, torques, applied, terms, *contacts)
        self.last, self._last_state = last, y
        return rates

    def _accept(self, t: float, residual: float, least: float) -> None:
        """Count an evaluation, and remember the least margin; raise where it failed."""
        if not residual < _CONTRADICTION:
            if math.isinf(residual):
                raise StepError(
                    "the mass matrix is singular here: a chain of joints has lost a "
                    "direction (gimbal lock), or a body has no mass"
                )
            if math.isnan(residual):
                raise StepError("the forces or the torques are not finite numbers")
            raise StepError(
                f"the closed contacts contradict each other (residual {residual:.1e})"
            )
        self.evaluations += 1
        if least < self.lowest_margin[0]:
            self.lowest_margin = (least, t)

    def _acceleration(
        self,
        terms: Terms,
        force: np.ndarray,
        v: np.ndarray,
        direction: np.ndarray,
        rate: float | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float]:
        """Acceleration; forces, velocities, directions; residual and least margin."""
        modes, speed = self.modes, self.creep_speed
        rate = self._stabilisation if rate is None else rate
        equations = terms.mass, force, v, terms[2:]
        least = math.inf
        if speed is None:
            *result, least = acceleration_in_modes(
                *equations, modes.arrays(direction), rate
            )
        else:
            result = creeping_acceleration(*equations, modes.creeping(rate, speed))
        acceleration, forces, residual, motion, along = result
        return acceleration, forces, motion, along, residual, least

    def derivatives(
        self, chart: Chart, t: float, y: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The stiff part of the derivatives of :meth:`derivative`, by y and by time."""
        assert self.creep_speed is not None
        nv = self._system.nv
        now = self._evaluated(chart, t, y)
        response = creeping_response(
            now.terms.mass,
            now.v,
            now.terms.jacobian,
            now.forces,
            self.modes.creeping(self._stabilisation, self.creep_speed),
        )
        slopes = LoadSlopes(self._loads, chart, t, y, nv)
        if self._damping is not None:
            joints = np.arange(nv)
            slopes.torques[joints, nv + joints] -= self._damping
        return stiff_derivatives(slopes, chart_matrix(chart, y[:nv]), response)

    def _evaluated(self, chart: Chart, t: float, y: np.ndarray) -> Evaluation:
        """The right-hand side, evaluated anew only where that was not done last."""
        if self._last_state is not y or self.last.t != t:
            self.derivative(chart, t, y)
        return self.last

    def whole_step(
        self,
        chart: Chart,
        tolerances: tuple[float, np.ndarray],
        start: tuple[float, np.ndarray, np.ndarray],
        bound: float,
        size: float,
    ) -> tuple[float, float, np.ndarray, np.ndarray] | None:
        """A step in one compiled call, as integrators take a ``whole_step``."""
        drives, compiled = self._loads.drives(), self.compiled
        if drives is None or compiled is None or not isinstance(chart, FreeBaseChart):
            return None
        t, y, rates = start
        closed = self.modes.closed(self._stabilisation, self.creep_speed)
        if self.creep_speed is None:
            made, times, y, rates, evaluations, torques, result = mode_step(
                compiled.arrays,
                closed,
                tuple(drives),
                (chart.centre, t, y, rates),
                (bound, size, 10.0 * math.ulp(t), *tolerances, _CONTRADICTION),
            )
        else:
            now = self._evaluated(chart, t, y)
            made, times, y, rates, evaluations, torques, result = creep_step(
                compiled.arrays,
                closed,
                tuple(drives),
                (
                    chart.centre,
                    t,
                    y,
                    rates,
                    now.terms.mass,
                    now.terms.jacobian,
                    now.forces,
                ),
                (bound, size, *tolerances, _CONTRADICTION),
            )
        if not made:
            return None
        self.evaluations += evaluations
        t, size, *margin = times
        if margin[0] < self.lowest_margin[0]:
            self.lowest_margin = (margin[0], margin[1])
        nv = self._system.nv
        _, q, fields, contacts, _, _ = result
        self._last_state = y
        self.last = Evaluation(
            t, q, y[nv:], _NO_STATE, torques, torques, Terms(*fields), *contacts
        )
        return t, size, y, rates

    def evaluate(self, state: State) -> Evaluation:
        """The right-hand side at a state."""
        y = np.concatenate([np.zeros(self._system.nv), state.v, state.z])
        self.derivative(self._system.chart(state.q), state.t, y)
        return self.last

    def evaluate_aside(self, state: State) -> Evaluation:
        """The same, beside a motion that continues as if it had not been asked for."""
        names = ("last", "_last_state", "lowest_margin", "evaluations")
        kept = {name: vars(self)[name] for name in names if name in vars(self)}
        try:
            return self.evaluate(state)
        finally:
            vars(self).update(kept)

    def bare_forces(self, evaluation: Evaluation) -> np.ndarray:
        """Contact forces without what pulls numerical drift back (k, 3) [N]."""
        terms = evaluation.terms
        if not self.modes.any_closed:
            return evaluation.forces
        force = evaluation.applied - terms.bias
        return self._acceleration(
            terms, force, evaluation.v, evaluation.direction, 0.0
        )[1]

    def sliding_speeds(self, evaluation: Evaluation) -> np.ndarray:
        """Speed of each closed contact along the direction it slides in (k,) [m/s]."""
        along = evaluation.motion[:, 1:] * self.modes.direction
        return along.sum(axis=1)

    def best_distribution(
        self, forces: np.ndarray, evaluation: Evaluation
    ) -> ContactForceSplit:
        """The forces of largest margin with the effect of ``forces``."""
        return self.modes.best_distribution(
            forces, evaluation.terms.jacobian, evaluation.direction
        )

    def margin(self, evaluation: Evaluation) -> float:
        """Least margin of the closed contacts, forces distributed at their best [N]."""
        forces = self.bare_forces(evaluation)
        least = self.modes.least_margin(forces)
        if least >= -FORCE:
            return least
        return self.best_distribution(forces, evaluation).margin
