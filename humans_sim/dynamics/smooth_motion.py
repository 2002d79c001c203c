"""Smooth motion with the contacts as they are: what holds between two events."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.dynamics import integrators
from humans_sim.dynamics.acceleration import idle_forces
from humans_sim.dynamics.hooks import Actuation
from humans_sim.dynamics.interior import Share, best_share, margins
from humans_sim.dynamics.phase import STABILISATION, phase_acceleration
from humans_sim.dynamics.stepper import Options, Sample, StepError, Stepper
from humans_sim.dynamics.system import System, Terms

FORCE = 5e-9
"""Force below which a contact bears nothing [N, N m]."""
_CONTRADICTION = 1e-4
_FIRST_STEP = 1e-3
"""First step of a run [s]; the integrator lengthens or shortens it at once."""


@dataclass
class Phase:
    """The closed contacts between two events and what they do."""

    which: np.ndarray
    mode: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    direction: np.ndarray
    reference: np.ndarray
    idle: np.ndarray


class Evaluation(NamedTuple):
    """The right-hand side at one state, kept for those who look at it."""

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


class SmoothMotion(Stepper):
    """The right-hand side, its forces, and where the integrator stands."""

    def __init__(
        self,
        system: System,
        actuation: Actuation,
        options: Options,
        t: float,
        q: np.ndarray,
        v: np.ndarray,
    ) -> None:
        """Start at (t, q, v) with all contacts open."""
        super().__init__(system, actuation, options, t, q, v)
        self._lowest = (math.inf, math.inf)
        self._idle_age = self._work_done = 0
        self._open_all()
        self._first_step: float | None = _FIRST_STEP
        self._solver: integrators.Integrator | None = None
        self._pending: tuple[float, list[tuple[float, int, str]]] | None = None
        self._chart = system.chart(self.q)

    @property
    def mode(self) -> np.ndarray:
        """Modes of all contacts: OPEN, STICK or SLIDE (nc,)."""
        mode = np.zeros(len(self.system.contacts), dtype=np.int64)
        mode[self._phase.which] = self._phase.mode
        return mode

    def sample(self) -> Sample:
        """Everything there is to know at the time reached."""
        nc = len(self.system.contacts)
        state = self._evaluate(self.t, self.q, self.v, self.z)
        forces = self._bare_forces(state)
        phase = self._phase
        if (
            margins(forces, phase.mode, phase.tangents, phase.friction).min(
                initial=math.inf
            )
            < -1e-10
        ):
            forces = self._shared(forces, state).forces
        all_forces = np.zeros((nc, 3))
        all_forces[phase.which] = forces
        kinetic, potential = self.system.energies(self.q, self.v)
        return Sample(
            self.t,
            self.q,
            self.v,
            self.z,
            state.torques,
            self.mode,
            all_forces,
            self.system.gaps(self.q),
            kinetic,
            potential,
        )

    def _set(self, t: float, y: np.ndarray) -> None:
        nv = self.system.nv
        self.t = t
        self.q = self._chart.configuration(y[:nv])
        self.v, self.z = y[nv : 2 * nv].copy(), y[2 * nv :].copy()

    def _rhs(self, t: float, y: np.ndarray) -> np.ndarray:
        nv = self.system.nv
        x, v, z = y[:nv], y[nv : 2 * nv], y[2 * nv :]
        q = self._chart.configuration(x)
        torques, applied, rates = self._loads(t, q, v, z)
        phase = self._phase
        terms = self.system.terms(q, v, phase.which)
        acceleration, forces, residual, motion, direction, least = phase_acceleration(
            terms.mass,
            applied - terms.bias,
            v,
            terms.gap,
            terms.jacobian,
            terms.drift,
            phase.mode,
            phase.tangents,
            phase.friction,
            phase.direction,
            phase.reference,
            phase.idle,
            STABILISATION,
        )
        if not residual < _CONTRADICTION:
            self._refuse(residual)
        self.evaluations += 1
        self._work_done += 1
        if least < self._lowest[0]:
            self._lowest = (least, t)
        self._last = Evaluation(
            t, q, v, z, torques, applied, terms, acceleration, forces, motion, direction
        )
        return np.concatenate([self._chart.rates(x, v), acceleration, rates])

    def _refuse(self, residual: float) -> None:
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

    def _evaluate(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> Evaluation:
        """The right-hand side at a state given by its parts."""
        chart, self._chart = self._chart, self.system.chart(q)
        try:
            self._rhs(t, np.concatenate([np.zeros(self.system.nv), v, z]))
        finally:
            self._chart = chart
        return self._last

    def _bare_forces(self, state: Evaluation) -> np.ndarray:
        """Contact forces without what pulls numerical drift back."""
        phase, terms = self._phase, state.terms
        if phase.which.size == 0:
            return state.forces
        return phase_acceleration(
            terms.mass,
            state.applied - terms.bias,
            state.v,
            terms.gap,
            terms.jacobian,
            terms.drift,
            phase.mode,
            phase.tangents,
            phase.friction,
            state.direction,
            phase.reference,
            phase.idle,
            0.0,
        )[1]

    def _sliding_speeds(self, state: Evaluation) -> np.ndarray:
        """Speed of each closed contact along the direction it slides in."""
        along = state.motion[:, 1:] * self._phase.direction
        return along.sum(axis=1)

    def _margin(self, state: Evaluation) -> float:
        """Least margin of the closed contacts, the forces shared at their best."""
        phase = self._phase
        forces = self._bare_forces(state)
        least = margins(forces, phase.mode, phase.tangents, phase.friction).min()
        if least >= -FORCE:
            return float(least)
        return self._shared(forces, state).margin

    def _shared(self, forces: np.ndarray, state: Evaluation) -> Share:
        phase = self._phase
        return best_share(
            forces,
            state.terms.jacobian,
            phase.mode,
            phase.tangents,
            phase.friction,
            state.direction,
        )

    def _restart(self) -> None:
        if self._solver is not None:
            self._first_step = self._solver.step_size  # type: ignore[attr-defined]
        self._solver = self._pending = None

    def _open_all(self) -> None:
        none = np.zeros(0, dtype=np.int64)
        self._phase = Phase(
            none,
            none,
            none,
            np.zeros(0),
            np.zeros((0, 2)),
            np.zeros((0, 3)),
            np.zeros((0, 0)),
        )

    def _set_phase(
        self,
        which: np.ndarray,
        mode: np.ndarray,
        direction: np.ndarray,
        forces: np.ndarray,
    ) -> None:
        table = self.system.contacts
        self._phase = Phase(
            which,
            mode,
            table.tangents[which],
            table.friction[which],
            direction,
            forces,
            np.zeros((0, 0)),
        )
        self._find_idle_forces(self.q)

    def _find_idle_forces(self, q: np.ndarray) -> None:
        """Which shares of the contact forces do nothing, in this posture."""
        phase = self._phase
        terms = self.system.terms(q, np.zeros(self.system.nv), phase.which)
        phase.idle = idle_forces(terms.mass, terms.jacobian, phase.mode, phase.tangents)
        self._idle_age = 0
