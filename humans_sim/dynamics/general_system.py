# SPDX-License-Identifier: Apache-2.0
"""A mechanical system in general coordinates: mass matrix, forces, gaps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from humans_sim.core.errors import ConfigurationError
from humans_sim.dynamics.chart import FlatChart
from humans_sim.dynamics.system import EVENT_DRIVEN, SLOW, TIME_STEPPING, Terms
from humans_sim.results.contact_table import ContactTable

Vector = np.ndarray


@dataclass(frozen=True)
class GeneralSystem:
    """A system given by functions of its coordinates q and velocities v = dq/dt.

    Attributes:
        name: what messages call it.
        position_names: the coordinates.
        mass: q -> (nv, nv).
        force: (q, v) -> (nv,): all forces but contact, gyroscopic terms included.
        potential: q -> potential energy of those forces [J].
        contacts: the contacts it may have.
        gap: q -> (nc,).
        jacobian: q -> (nc, 3, nv); rows normal and tangents, unused rows zero.
        drift: (q, v) -> (nc, 3): the rates of the rows times v; None where the rows
            do not change.
        conservative: whether the forces come from the potential, apart from what
            damps: then time stepping lets no step with contacts add energy. False
            where a force drives the system.
        position_units: of the coordinates, each ``m`` or ``rad``, for plots; without
            them the names decide.
    """

    methods: ClassVar[tuple[str, ...]] = (EVENT_DRIVEN, TIME_STEPPING)

    name: str
    position_names: tuple[str, ...]
    mass: Callable[[Vector], Vector]
    force: Callable[[Vector, Vector], Vector]
    potential: Callable[[Vector], float]
    contacts: ContactTable
    gap: Callable[[Vector], Vector]
    jacobian: Callable[[Vector], Vector]
    drift: Callable[[Vector, Vector], Vector] | None = None
    conservative: bool = True
    position_units: tuple[str, ...] = ()

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return len(self.position_names)

    @property
    def nv(self) -> int:
        """Number of velocities, the same."""
        return len(self.position_names)

    def record(self) -> dict[str, Any]:
        """What a run keeps of the system."""
        units = list(self.position_units)
        return {"position_units": units} if units else {}

    @property
    def velocity_names(self) -> tuple[str, ...]:
        """Names of the velocities: those of the coordinates."""
        return self.position_names

    @property
    def thinnest(self) -> float:
        """Nothing can be passed through."""
        return np.inf

    @property
    def locked(self) -> Vector:
        """Nothing is locked."""
        return np.zeros(0, dtype=np.int64)

    def chart(self, q: Vector) -> FlatChart:
        """Coordinates around q."""
        return FlatChart(q)

    def check_state(self, q: Vector, v: Vector) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used."""
        for name, vector in (("q", q), ("v", v)):
            if vector.shape != (self.nq,):
                raise ConfigurationError(
                    f"{name} of {self.name} has {self.nq} entries "
                    f"({', '.join(self.position_names)}), not shape {vector.shape}"
                )
            if not np.isfinite(vector).all():
                raise ConfigurationError(f"{name} of {self.name} is not finite")

    def terms(self, q: Vector, v: Vector, which: Vector) -> Terms:
        """The equations of motion with the contacts ``which``."""
        if len(which) == 0:
            none = np.zeros((0, 3))
            rows = np.zeros((0, 3, self.nv))
            return Terms(self.mass(q), -self.force(q, v), np.zeros(0), rows, none)
        rows = self.jacobian(q)[which]
        drift = np.zeros((len(which), 3))
        if self.drift is not None:
            drift = self.drift(q, v)[which]
        gap = self.gap(q)[which]
        return Terms(self.mass(q), -self.force(q, v), gap, rows, drift)

    def active_contact_terms(
        self, q: Vector, v: Vector, time: float, closed: Vector
    ) -> tuple[Vector, Terms]:
        """The contacts that are closed or close within a time, and their equations."""
        gap, rate = self.gap_rates(q, v)
        near = gap <= time * np.maximum(-rate, SLOW)
        which = np.flatnonzero(near | (closed != 0))
        return which, self.terms(q, v, which)

    def gaps(self, q: Vector) -> Vector:
        """Gaps of all contacts."""
        return np.asarray(self.gap(q), dtype=float)

    def gap_rates(self, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Gaps of all contacts and their rates."""
        return self.gaps(q), self.jacobian(q)[:, 0] @ v

    def energies(self, q: Vector, v: Vector) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        return float(0.5 * v @ self.mass(q) @ v), float(self.potential(q))
