# SPDX-License-Identifier: Apache-2.0
"""What the dynamics asks of a mechanical system.

Two kinds fulfil it: a biped model in its scene
(:class:`~humans_sim.dynamics.model_system.ModelSystem`) and any system given by its
mass matrix, forces and gaps in general coordinates
(:class:`~humans_sim.dynamics.general_system.GeneralSystem`).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from humans_sim.dynamics.chart import Chart
from humans_sim.results.contact_table import ContactTable

EVENT_DRIVEN, TIME_STEPPING = "event_driven", "time_stepping"
"""Names of the methods."""
SLOW = 0.05
"""Speed that impulses at others may well give to a contact in a step [m/s, rad/s]."""


class Terms(NamedTuple):
    """The equations of motion at one state, with some of the contacts.

    ``mass @ a + bias = torques + sum of jacobian.T @ force``; rows of a contact are its
    normal and its tangents, unused ones are zero.

    Attributes:
        mass: (nv, nv).
        bias: nonlinear effects and gravity (nv,).
        gap: (k,) [m, or rad at a joint limit].
        jacobian: (k, 3, nv).
        drift: acceleration of the contacts at zero acceleration (k, 3).
    """

    mass: np.ndarray
    bias: np.ndarray
    gap: np.ndarray
    jacobian: np.ndarray
    drift: np.ndarray


class TouchingBodies(Protocol):
    """What of a system the laws of contact need at one state."""

    nv: int
    contacts: ContactTable

    def chart(self, q: np.ndarray) -> Chart:
        """Local coordinates around a configuration."""

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which`` (indices)."""

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts (nc,)."""

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates (nc,), (nc,)."""


class System(Protocol):
    """A mechanical system with unilateral contacts."""

    name: str
    nq: int
    nv: int
    contacts: ContactTable
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    locked: np.ndarray
    """Indices of velocities that stay zero, whatever acts on them."""
    thinnest: float
    """Least thickness of what may be touched [m]; infinity where nothing is thin."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods that its equations are enough for."""

    def chart(self, q: np.ndarray) -> Chart:
        """Local coordinates around a configuration."""

    def check_state(self, q: np.ndarray, v: np.ndarray) -> None:
        """Raise :class:`ConfigurationError` where q or v cannot be used."""

    def terms(self, q: np.ndarray, v: np.ndarray, which: np.ndarray) -> Terms:
        """The equations of motion with the contacts ``which`` (indices)."""

    def active_contact_terms(
        self, q: np.ndarray, v: np.ndarray, time: float, closed: np.ndarray
    ) -> tuple[np.ndarray, Terms]:
        """The equations with the contacts that the next moment may need.

        Args:
            q: configuration.
            v: velocity.
            time: contacts whose gaps close within it, at their rates or when others
                push them to the speed SLOW, belong to them [s].
            closed: (nc,) not zero where a contact belongs to them in any case.

        Returns:
            indices of the contacts, and the equations with them.
        """

    def gaps(self, q: np.ndarray) -> np.ndarray:
        """Gaps of all contacts (nc,)."""

    def gap_rates(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps of all contacts and their rates (nc,), (nc,)."""

    def energies(self, q: np.ndarray, v: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
