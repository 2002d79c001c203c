# SPDX-License-Identifier: Apache-2.0
r"""Steps for stiff coats: backward Euler, linearised once a step.

The explicit sample needs K + 2 Z < 4 for the stiffest mode. A thin coat with stiff
links would ask for periods far below those of the body that wears it. Here

.. math:: (M + T Z + T^2 K) v_{n+1} = (M + T Z) v_n + T f_n, \quad
          x_{n+1} = x_n + T v_{n+1}

is stable for any period where K and Z have no negative eigenvalue; stiffness across a
pressed link, which has one, is left out. The price is damping of order T. Not of the
thesis, which knows explicit samples alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.network import Network
from humans_sim.soft.networks.simulation import Floor, NetworkSimulation


class ImplicitSimulation(NetworkSimulation):
    """A network in motion by implicit steps; the same calls as explicit ones."""

    def __init__(
        self,
        network: Network,
        period: float,
        gravity: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
        floor: Floor | None = None,
    ) -> None:
        """Set positions and forces of the first sample.

        Raises:
            SoftError: the network has one-way links or crowds, whose stiffness is not
                in the matrices.
        """
        if any(link.one_way for link in network.links):
            raise SoftError("implicit steps take no one-way links: replay them")
        if network.crowds:
            raise SoftError("implicit steps take no crowds: use NetworkSimulation")
        super().__init__(network, period, gravity, floor)

    def step(self, driven: np.ndarray | None = None) -> None:
        """One sample: solve for the next velocities, then links act.

        Args:
            driven: next positions of the driven masses, in their order (d, 3) [m].
        """
        now, before, force = self._motion
        period = self.period
        free = np.flatnonzero(self._masses > 0.0)
        k, z = self._full_matrices()
        target = now.copy()
        if driven is not None and len(self._driven):
            target[self._driven] = driven
        coordinates = (3 * free[:, None] + np.arange(3)).ravel()
        held = np.setdiff1d(np.arange(3 * len(now)), coordinates)
        velocity = ((now - before) / period).ravel()
        held_velocity = ((target - now) / period).ravel()[held]
        mass = np.repeat(self._masses[free], 3)
        system = (period * z + period**2 * k).tocsr()
        inner = system[coordinates][:, coordinates] + sp.diags(mass)
        load = mass * velocity[coordinates]
        load += period * (z[coordinates] @ velocity)
        load += period * force.ravel()[coordinates]
        load -= system[coordinates][:, held] @ held_velocity
        solution = splu(inner.tocsc()).solve(load)
        if not np.isfinite(solution).all():
            raise SoftError(f"the implicit step at {self.time:.4g} s has no solution")
        before[:] = now
        now[:] = target
        now[free] = before[free] + period * solution.reshape(-1, 3)
        force[:] = self._table.weight
        self._add_forces()
        self.time += period

    def _full_matrices(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """Stiffness and viscosity of all masses, held ones among them."""
        links = self.stiffness_now()
        x = self._motion.now
        i, j = links["ends"].T
        d = np.maximum(links["distance"], 1e-300)
        u = (x[j] - x[i]) / d[:, None]
        outer = u[:, :, None] * u[:, None, :]
        tension = np.maximum(links["stiffness"] * (d - links["rest"]) / d, 0.0)
        axial = np.maximum(links["stiffness"], 0.0)
        flat = np.eye(3) - outer
        k_blocks = axial[:, None, None] * outer + tension[:, None, None] * flat
        z_blocks = links["viscosity"][:, None, None] * outer
        floor = np.zeros((2, len(x)))
        if self.floor is not None:
            below = x[:, 2] < self.floor.height
            floor[0], floor[1] = self.floor.stiffness * below, below
            floor[1] *= self.floor.viscosity
        found = [
            _assemble(links["ends"], blocks, diagonal)
            for blocks, diagonal in zip((k_blocks, z_blocks), floor, strict=True)
        ]
        return found[0], found[1]


def _assemble(
    ends: np.ndarray, blocks: np.ndarray, vertical: np.ndarray
) -> sp.csr_matrix:
    """The matrix of blocks of links, with entries along z on its diagonal."""
    size = len(vertical)
    i, j = ends.T
    rows = np.concatenate([i, j, i, j])
    columns = np.concatenate([i, j, j, i])
    order = np.argsort(rows, kind="stable")
    values = np.concatenate([blocks, blocks, -blocks, -blocks])[order]
    starts = np.searchsorted(rows[order], np.arange(size + 1))
    shape = (3 * size, 3 * size)
    matrix = sp.bsr_matrix((values, columns[order], starts), shape=shape)
    diagonal = np.zeros(3 * size)
    diagonal[2::3] = vertical
    return (matrix.tocsr() + sp.diags(diagonal)).tocsr()
