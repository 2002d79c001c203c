# SPDX-License-Identifier: Apache-2.0
r"""Whether a network's samples stay bounded: the triangle in the plane (K, Z).

One cell with :math:`K = k T^2 / m` and :math:`Z = z T / m` follows

.. math:: X_{n+1} = (2 - Z - K) X_n + (Z - 1) X_{n-1}

(8.21). Its roots are inside the unit circle where K > 0, Z > 0 and K + 2 Z < 4. For a
network with symmetric matrices the same holds mode by mode: the first root to leave is
-1, and none has left as long as :math:`4 M - 2 T Z - T^2 K` is positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.sparse.linalg import eigsh

from humans_sim.soft.errors import UnstableStepError
from humans_sim.soft.networks.link_kernels import is_plain
from humans_sim.soft.networks.network import Network
from humans_sim.soft.networks.simulation import NetworkSimulation

DENSE = 900
"""Largest number of coordinates for dense eigenvalues."""
SLACK = 1e-9
"""Rounding allowed at the edges of the triangle."""


def is_in_triangle(stiffness: float, viscosity: float) -> bool:
    """Whether K and Z are of a bounded cell, edges counted."""
    inside = stiffness + 2 * viscosity <= 4 + SLACK
    return inside and stiffness >= -SLACK and viscosity >= -SLACK


def cell_radius(stiffness: float, viscosity: float) -> float:
    """Modulus of the slowest root of (8.21): deviations shrink by it each sample."""
    roots = np.roots([1.0, stiffness + viscosity - 2, 1 - viscosity])
    return float(np.abs(roots).max())


@dataclass(frozen=True)
class StabilityReport:
    """Stability of a linearised network.

    Attributes:
        stable: whether no mode leaves the triangle.
        radius: largest modulus of the roots; None for networks too large for it.
        longest_period: beyond which samples grow [s].
        stiffness: K of the mode nearest to the bound.
        viscosity: Z of the same mode.
        mass: the mass that this mode moves most.
    """

    stable: bool
    radius: float | None
    longest_period: float
    stiffness: float
    viscosity: float
    mass: str

    def raise_where_unstable(self) -> None:
        """Refuse an unstable network: UnstableStepError."""
        if not self.stable:
            longest = f"longest period {self.longest_period:.6g} s"
            where = f"the mode about '{self.mass}' ({longest})"
            raise UnstableStepError(where, self.stiffness, self.viscosity)


def matrices(
    simulation: NetworkSimulation,
) -> tuple[sp.csr_matrix, sp.csr_matrix, np.ndarray]:
    """Stiffness and viscosity of the moving masses now, and their masses.

    Links count in their states of now; tension stiffens them across.

    Returns:
        K (3 n, 3 n) [N/m], Z [N s/m], and masses of the coordinates (3 n,) [kg].
    """
    links = simulation.stiffness_now()
    x = simulation.positions
    i, j = links["ends"].T
    across = x[j] - x[i]
    d = np.maximum(links["distance"], 1e-300)
    u = across / d[:, None]
    outer = u[:, :, None] * u[:, None, :]
    tension = links["stiffness"] * (d - links["rest"]) / d
    flat = np.eye(3) - outer
    k_blocks = links["stiffness"][:, None, None] * outer + tension[:, None, None] * flat
    z_blocks = links["viscosity"][:, None, None] * outer
    masses = np.array(simulation.network.masses)
    free = np.flatnonzero(masses > 0.0)
    column = np.full(len(masses), -1)
    column[free] = np.arange(len(free))
    plain = [link for link in simulation.network.links if is_plain(link.law)]
    others = [link for link in simulation.network.links if not is_plain(link.law)]
    one_way = np.array([link.one_way for link in (*plain, *others)], dtype=bool)
    size = 3 * len(free)
    found = []
    for blocks in (k_blocks, z_blocks):
        rows, columns, values = [], [], []
        for a, b, sign in ((i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)):
            keep = (column[a] >= 0) & (column[b] >= 0)
            if a is i and len(one_way):
                keep &= ~one_way
            grid = 3 * column[a][keep][:, None, None] + np.arange(3)[None, :, None]
            other = 3 * column[b][keep][:, None, None] + np.arange(3)[None, None, :]
            shape = (int(keep.sum()), 3, 3)
            rows.append(np.broadcast_to(grid, shape).ravel())
            columns.append(np.broadcast_to(other, shape).ravel())
            values.append(sign * blocks[keep].ravel())
        if simulation.floor is not None:
            below = np.flatnonzero(x[free, 2] < simulation.floor.height)
            floor = simulation.floor
            number = floor.stiffness if blocks is k_blocks else floor.viscosity
            rows.append(3 * below + 2)
            columns.append(3 * below + 2)
            values.append(np.full(len(below), number))
        where = (np.concatenate(rows), np.concatenate(columns))
        found.append(sp.csr_matrix((np.concatenate(values), where), shape=(size, size)))
    return found[0], found[1], np.repeat(masses[free], 3)


def stability_report(simulation: NetworkSimulation) -> StabilityReport:
    """Linearise a network where it is, and look for the mode nearest to the bound.

    Args:
        simulation: of the network.
    """
    k, z, masses = matrices(simulation)
    scale = sp.diags(1.0 / np.sqrt(masses))
    k, z = scale @ k @ scale, scale @ z @ scale
    k, z = 0.5 * (k + k.T), 0.5 * (z + z.T)
    period = simulation.period
    value, mode = _largest(period**2 * k + 2 * period * z)

    def excess(t: float) -> float:
        return _largest(t**2 * k + 2 * t * z)[0] - 4.0

    longest = np.inf
    if value > 0.0:
        high = 2.1 * period * np.sqrt(4.0 / value) + period
        while excess(high) < 0.0:
            high *= 2.0
        longest = float(brentq(excess, 0.0, high, xtol=1e-9 * high))
    mode_k = float(mode @ (k @ mode)) * period**2
    mode_z = float(mode @ (z @ mode)) * period
    radius = None
    lowest = _largest(-k)
    if len(masses) <= DENSE // 2:
        # The largest root of X_{n+1} = (2 - Z - K) X_n + (Z - 1) X_{n-1}.
        full_k, full_z = period**2 * k.toarray(), period * z.toarray()
        one = np.eye(len(masses))
        blocks = [[2 * one - full_z - full_k, full_z - one], [one, 0.0 * one]]
        radius = float(np.abs(scipy.linalg.eigvals(np.block(blocks))).max())
    if -lowest[0] * period**2 < -1e-7:
        mode = lowest[1]
        mode_k, mode_z = -lowest[0] * period**2, float(mode @ (z @ mode)) * period
    free = np.flatnonzero(np.array(simulation.network.masses) > 0.0)
    moved = np.sum(mode.reshape(-1, 3) ** 2, axis=1)
    name = simulation.network.names[free[int(np.argmax(moved))]]
    stable = period <= longest * (1 + SLACK) and mode_k >= -1e-7
    return StabilityReport(stable, radius, longest, mode_k, mode_z, name)


def _largest(matrix: sp.csr_matrix) -> tuple[float, np.ndarray]:
    """Largest eigenvalue of a symmetric matrix with its vector."""
    size = matrix.shape[0]
    if size <= DENSE:
        last = [size - 1, size - 1]
        values, vectors = scipy.linalg.eigh(matrix.toarray(), subset_by_index=last)
        return float(values[0]), vectors[:, 0]
    start = np.random.default_rng(0).standard_normal(size)
    values, vectors = eigsh(matrix, k=1, which="LA", v0=start, tol=1e-10)
    return float(values[0]), vectors[:, 0]


def safe_period(network: Network) -> float:
    r"""A period with which a network of springs and stops surely stays bounded [s].

    Without a decomposition: no mode has more than the largest
    :math:`2 \sum_j k_{ij} / m_i` of a mass (once for links to what is held), all stops
    acting; the same with viscosities, and K + 2 Z = 4.
    """
    masses = np.array(network.masses)
    sums = np.zeros((len(masses), 2))
    for link in network.links:
        numbers = link.law.automaton().states
        law = np.max([(state.stiffness, state.viscosity) for state in numbers], axis=0)
        a, b = (int(end) for end in link.ends if end is not None)
        for own, other in ((a, b), (b, a)):
            if masses[own] > 0.0:
                sums[own] += law * (2.0 if masses[other] > 0.0 else 1.0)
    moving = masses > 0.0
    k, z = (sums[moving] / masses[moving, None]).max(axis=0)
    if k == 0.0:
        return float(np.inf if z == 0.0 else 2.0 / z)
    return float((np.sqrt(z**2 + 4.0 * k) - z) / k)
