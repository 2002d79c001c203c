# SPDX-License-Identifier: Apache-2.0
r"""Motion of a network by the thesis' own discretisation.

.. math:: X_{n+1} = 2 X_n - X_{n-1} + \frac{T^2}{m} F_n

with centred accelerations and velocities backwards, :math:`V_n = (X_n - X_{n-1}) / T`
((1.2), (1.3) and (1.6)).

Near pairs of a crowd are looked up by a tree.

*Stiff coats*: backward Euler, linearised once a step. The explicit sample needs K + 2 Z
< 4 for the stiffest mode. A thin coat with stiff links would ask for periods far below
those of the body that wears it. Here

.. math:: (M + T Z + T^2 K) v_{n+1} = (M + T Z) v_n + T f_n, \quad
          x_{n+1} = x_n + T v_{n+1}

is stable for any period where K and Z have no negative eigenvalue; stiffness across a
pressed link, which has one, is left out. The price is damping of order T. Not of the
thesis, which knows explicit samples alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree

from humans_sim.core.budget import RATE
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks import link_kernels as kernels
from humans_sim.soft.networks.link_kernels import link_tables, state_table
from humans_sim.soft.networks.network import Crowd, Network, crowd_reach

MARGIN = 0.3
"""Of the reach: pairs are kept until a mass has moved half of it."""


class NearPairs:
    """The pairs of a crowd within its reach, and somewhat beyond."""

    def __init__(self, crowd: Crowd) -> None:
        self._masses = np.array(crowd.masses, dtype=np.int64)
        self._apart = None if crowd.apart is None else np.array(crowd.apart)
        self._reach = crowd_reach(crowd.law)
        self._seen: np.ndarray | None = None
        self._pairs = np.empty((0, 2), dtype=np.int64)

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Pairs of masses, sorted (p, 2), of positions of the network (n, 3) [m]."""
        points = positions[self._masses]
        margin = MARGIN * self._reach
        if not np.abs(points).max() < 1e9:
            raise SoftError(
                "a crowd has left all bounds; ask stability_report for the period"
            )
        if self._seen is not None:
            moved = float(np.max(np.sum((points - self._seen) ** 2, axis=1)))
            if moved < (0.5 * margin) ** 2:
                return self._pairs
        tree = cKDTree(points)
        near = tree.query_pairs(self._reach + margin, output_type="ndarray")
        if self._apart is not None:
            near = near[self._apart[near[:, 0]] != self._apart[near[:, 1]]]
        near = near[np.lexsort((near[:, 1], near[:, 0]))]
        self._pairs = np.ascontiguousarray(self._masses[near])
        self._seen = points
        return self._pairs


@dataclass(frozen=True)
class Floor:
    """A level visco-elastic stop at a height [m] for each mass [N/m, N s/m]."""

    height: float = 0.0
    stiffness: float = 0.0
    viscosity: float = 0.0


@dataclass(frozen=True)
class Energy:
    """Attributes: kinetic, elastic, weight [J]; their sum is :attr:`total`."""

    kinetic: float
    elastic: float
    weight: float

    @property
    def total(self) -> float:
        """All of it [J]."""
        return self.kinetic + self.elastic + self.weight


class NetworkSimulation:
    """A network in motion.

    Args:
        network: it is checked for holes.
        period: T, of one sample [s].
        gravity: acceleration of all masses [m/s²].
        floor: under all masses; None for none.

    Attributes:
        network: as it was given.
        period: [s].
        time: of the positions [s].
        floor: or None.
    """

    def __init__(
        self,
        network: Network,
        period: float,
        gravity: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
        floor: Floor | None = None,
    ) -> None:
        self._check(network)
        if not (np.isfinite(period) and period > 0.0):
            raise SoftError(f"the period is {period:g} s, must be above 0")
        RATE.check("the network", 1.0 / period, error=SoftError)
        self.network, self.period, self.time = network, float(period), 0.0
        self.gravity = np.array(gravity, dtype=float)
        self.floor = floor
        self._masses = np.array(network.masses)
        x = np.array(network.positions)
        before = x - period * np.array(network.velocities)
        moving = self._masses > 0.0
        gain = np.zeros(len(x))
        gain[moving] = period**2 / self._masses[moving]
        weight = self._masses[:, None] * self.gravity
        self._table = kernels.MassTable(gain, weight)
        self._motion = kernels.Motion(x, before, weight.copy())
        tables = link_tables(network, period, before)
        self._springs, self._conditional, self._memory = tables
        self._driven = np.array(network.driven, dtype=np.int64)
        self._crowds = [
            (NearPairs(crowd), state_table([crowd.law.automaton()], period))
            for crowd in network.crowds
        ]
        self._extra = np.zeros_like(x)
        self._add_forces()

    def _check(self, network: Network) -> None:
        network.check()

    def _add_forces(self) -> None:
        motion, memory = self._motion, self._memory
        kernels.add_springs(self._springs, motion.now, memory.springs, motion.force)
        if len(self._conditional.ends):
            kernels.add_conditional(self._conditional, motion.now, memory, motion.force)
        for near, states in self._crowds:
            pairs = near.at(motion.now)
            kernels.add_pairs(pairs, states, len(states.numbers) - 1, motion)
        if self.floor is not None:
            floor = self.floor
            numbers = (floor.height, floor.stiffness, floor.viscosity / self.period)
            kernels.add_floor(np.array(numbers), motion)

    @property
    def positions(self) -> np.ndarray:
        """Of all masses now (n, 3) [m]."""
        return self._motion.now.copy()

    @property
    def velocities(self) -> np.ndarray:
        """Of all masses, backwards (n, 3) [m/s]."""
        return (self._motion.now - self._motion.before) / self.period

    @property
    def forces(self) -> np.ndarray:
        """On all masses now, weights included (n, 3) [N]."""
        return self._motion.force.copy()

    @property
    def rest_lengths(self) -> np.ndarray:
        """Of the conditional links: they follow where links yield (c,) [m]."""
        return self._memory.rest[:, 0].copy()

    def push(self, mass: str, force: Sequence[float] | np.ndarray) -> None:
        """Add a force [N] on a mass for the next sample."""
        self._motion.force[self.network.point(mass).index] += np.asarray(force)

    def step(self, driven: np.ndarray | None = None) -> None:
        """One sample: masses move, then links act.

        Driven masses go to their next positions (d, 3) [m], or stay.
        """
        kernels.move_masses(self._table, self._motion)
        if len(self._driven):
            if driven is None:
                driven = self._motion.now[self._driven]
            positions = np.ascontiguousarray(driven, dtype=float)
            if positions.shape != (len(self._driven), 3):
                driven_count = len(self._driven)
                raise SoftError(f"{driven_count} driven masses need 3 numbers each")
            kernels.drive_masses(self._driven, positions, self._motion)
        self._add_forces()
        self.time += self.period

    def run(
        self,
        steps: int,
        driven: np.ndarray | None = None,
        watch: Sequence[str] | None = None,
    ) -> np.ndarray:
        """Many samples.

        Args:
            steps: number of samples.
            driven: positions of the driven masses in each (steps, d, 3) [m].
            watch: masses to record; all where None.

        Returns:
            Positions, those of the first sample before any step first
            (steps + 1, masses, 3) [m].

        Raises:
            SoftError: the motion has left all bounds.
        """
        names = self.network.names if watch is None else watch
        rows = np.array([self.network.point(name).index for name in names])
        record = np.empty((steps + 1, len(rows), 3))
        record[0] = self._motion.now[rows]
        for step in range(steps):
            self.step(None if driven is None else driven[step])
            record[step + 1] = self._motion.now[rows]
        self.check_finite()
        return record

    def check_finite(self) -> None:
        """Refuse a motion without bounds."""
        size = np.abs(self._motion.now).max(axis=1)
        worst = int(np.argmax(np.where(np.isfinite(size), size, np.inf)))
        if not size[worst] < 1e9:
            name = self.network.names[worst]
            raise SoftError(
                f"'{name}' has left all bounds at {self.time:.4g} s; ask "
                "stability_report for the longest period"
            )

    def energy(self) -> Energy:
        """Kinetic energy (of velocities backwards), that of links, and of weight."""
        v = self.velocities
        moving = self._masses > 0.0
        kinetic = 0.5 * float(self._masses[moving] @ np.sum(v[moving] ** 2, axis=1))
        x = self._motion.now
        stretch = self._memory.springs - self._springs.numbers[:, 2]
        elastic = 0.5 * float(self._springs.numbers[:, 0] @ stretch**2)
        numbers = self._conditional.states.numbers[self._memory.state]
        stretch = self._memory.distances - self._memory.rest[:, 0]
        elastic += float(np.sum(0.5 * numbers[:, 0] * stretch**2 + numbers[:, 5]))
        for near, states in self._crowds:
            numbers, total = states.numbers, 0.0
            last = len(numbers) - 1
            for i, j in near.at(x):
                d = float(np.linalg.norm(x[j] - x[i]))
                state, rest, _ = kernels.next_state(
                    states, last, numbers[last, 2], d, 0.0
                )
                total += 0.5 * numbers[state, 0] * (d - rest) ** 2 + numbers[state, 5]
            elastic += total
        if self.floor is not None:
            depth = np.minimum(x[:, 2] - self.floor.height, 0.0)
            elastic += 0.5 * self.floor.stiffness * float(depth @ depth)
        weight = -float(np.sum(self._masses[:, None] * self.gravity * x))
        return Energy(kinetic, elastic, weight)

    def stiffness_now(self) -> Mapping[str, np.ndarray]:
        """Ends, stiffness, viscosity, rest length and distance of all links now.

        Pairs of crowds are not among them.
        """
        springs, conditional, memory = self._springs, self._conditional, self._memory
        numbers = conditional.states.numbers[memory.state]
        rest = np.concatenate([springs.numbers[:, 2], memory.rest[:, 0]])
        viscosity = np.concatenate([springs.numbers[:, 1], numbers[:, 1]])
        return {
            "ends": np.concatenate([springs.ends, conditional.ends]),
            "stiffness": np.concatenate([springs.numbers[:, 0], numbers[:, 0]]),
            "viscosity": viscosity * self.period,
            "rest": rest,
            "distance": np.concatenate([memory.springs, memory.distances]),
        }


class ImplicitSimulation(NetworkSimulation):
    """A network in motion by implicit steps; the same calls as explicit ones.

    Raises:
        SoftError: the network has one-way links or crowds, whose stiffness is not in
            the matrices.
    """

    def _check(self, network: Network) -> None:
        if any(link.one_way for link in network.links):
            raise SoftError("implicit steps take no one-way links: replay them")
        if network.crowds:
            raise SoftError("implicit steps take no crowds: use NetworkSimulation")
        super()._check(network)

    def step(self, driven: np.ndarray | None = None) -> None:
        """One sample: solve for the next velocities, then links act."""
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
        k, z = (
            _assemble(links["ends"], blocks, diagonal)
            for blocks, diagonal in zip((k_blocks, z_blocks), floor, strict=True)
        )
        return k, z


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
