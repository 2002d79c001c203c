# SPDX-License-Identifier: Apache-2.0
r"""Admittances Y = F / V of masses, springs, dampers, networks and bodies.

The thesis calls F / V an admittance (force as what flows through, (3.1)); robotics
calls it a mechanical impedance. Side by side (one velocity) admittances add; one after
the other (one force) their inverses add. The text of the thesis has them exchanged.
"""

from __future__ import annotations

import numpy as np

from humans_sim.models import Model
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.simulation import NetworkSimulation
from humans_sim.soft.networks.stability import matrices


def of_mass(mass: float, omega: np.ndarray | float) -> np.ndarray:
    """Of a mass: j m ω, (3.2) [N s/m]."""
    return np.asarray(1j * mass * np.asarray(omega, dtype=float))


def of_link(
    stiffness: float, viscosity: float, omega: np.ndarray | float
) -> np.ndarray:
    """Of a spring and damper: k / j ω + z, (3.3) and (3.4) [N s/m]."""
    return np.asarray(stiffness / (1j * np.asarray(omega, dtype=float)) + viscosity)


def side_by_side(*admittances: np.ndarray) -> np.ndarray:
    """Sum of admittances that share a velocity."""
    return np.asarray(sum(admittances))


def in_a_row(*admittances: np.ndarray) -> np.ndarray:
    """Inverse of the sum of inverses, of admittances that share a force."""
    return np.asarray(1.0 / sum(1.0 / y for y in admittances))


def of_network(
    simulation: NetworkSimulation,
    mass: str,
    omega: np.ndarray | float,
    direction: np.ndarray,
) -> np.ndarray:
    """Admittance of a network at a mass, along a direction.

    It is linearised where it is: links count in their states of now.

    Args:
        simulation: the network.
        mass: at which it is felt.
        omega: angular frequencies [rad/s].
        direction: of force and velocity (3,).

    Returns:
        One for each frequency [N s/m].

    Raises:
        SoftError: the mass cannot move.
    """
    index = simulation.network.point(mass).index
    free = np.flatnonzero(np.array(simulation.network.masses) > 0.0)
    if index not in free:
        raise SoftError(f"'{mass}' does not move: its admittance is without bounds")
    row = int(np.flatnonzero(free == index)[0])
    k, z, masses = (np.asarray(_dense(part)) for part in matrices(simulation))
    along = np.zeros(len(masses))
    along[3 * row : 3 * row + 3] = direction / np.linalg.norm(direction)
    values = []
    for w in np.atleast_1d(omega):
        dynamic = 1j * w * np.diag(masses) + z + k / (1j * w)
        values.append(1.0 / (along @ np.linalg.solve(dynamic, along)))
    return np.array(values)


def of_body(
    model: Model,
    q: np.ndarray,
    jacobian: np.ndarray,
    omega: np.ndarray | float,
    damping: np.ndarray | None = None,
    stiffness: np.ndarray | None = None,
) -> np.ndarray:
    r"""Admittance of an articulated body at a point.

    :math:`Y = [J (j \omega M + D + K / j \omega)^{-1} J^T]^{-1}`

    Args:
        model: gives the mass matrix.
        q: configuration.
        jacobian: of the point's velocity: one to three rows (r, nv).
        omega: angular frequencies [rad/s].
        damping: of the coordinates (nv,) [N m s/rad]; none where None.
        stiffness: of the coordinates (nv,) [N m/rad]; none where None.

    Returns:
        Matrices (frequencies, r, r) [N s/m].
    """
    inertia = model.inertia(q)
    return of_inertia(inertia, jacobian, omega, damping, stiffness)


def of_inertia(
    inertia: np.ndarray,
    jacobian: np.ndarray,
    omega: np.ndarray | float,
    damping: np.ndarray | None = None,
    stiffness: np.ndarray | None = None,
) -> np.ndarray:
    """The same of any mass matrix (nv, nv)."""
    jacobian = np.atleast_2d(jacobian)
    size = len(inertia)
    d = np.diag(np.zeros(size) if damping is None else damping)
    k = np.diag(np.zeros(size) if stiffness is None else stiffness)
    values = []
    for w in np.atleast_1d(omega):
        dynamic = 1j * w * inertia + d + k / (1j * w)
        values.append(np.linalg.inv(jacobian @ np.linalg.solve(dynamic, jacobian.T)))
    return np.array(values)


def _dense(part: object) -> np.ndarray:
    return part.toarray() if hasattr(part, "toarray") else np.asarray(part)
