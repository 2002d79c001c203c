# SPDX-License-Identifier: Apache-2.0
r"""Motion of a network by the thesis' own discretisation.

.. math:: X_{n+1} = 2 X_n - X_{n-1} + \frac{T^2}{m} F_n

with centred accelerations and velocities backwards, :math:`V_n = (X_n - X_{n-1}) / T`
((1.2), (1.3) and (1.6)).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.core.budget import RATE
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks import link_kernels as kernels
from humans_sim.soft.networks.near_pairs import NearPairs
from humans_sim.soft.networks.network import Network
from humans_sim.soft.networks.tables import link_tables, state_table


@dataclass(frozen=True)
class Floor:
    """A level visco-elastic stop under all masses.

    Attributes:
        height: [m].
        stiffness: for each mass [N/m].
        viscosity: for each mass [N s/m].
    """

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
        """Set positions and forces of the first sample."""
        network.check()
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
        self._springs, self._conditional, self._memory = link_tables(
            network, period, before
        )
        self._driven = np.array(network.driven, dtype=np.int64)
        self._crowds = [
            (NearPairs(crowd), state_table([crowd.law.automaton()], period))
            for crowd in network.crowds
        ]
        self._extra = np.zeros_like(x)
        self._add_forces()

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
        difference: np.ndarray = (self._motion.now - self._motion.before) / self.period
        return difference

    @property
    def forces(self) -> np.ndarray:
        """On all masses now, weights included (n, 3) [N]."""
        return self._motion.force.copy()

    @property
    def link_states(self) -> np.ndarray:
        """States of the conditional links, counted over their laws (c,)."""
        return self._memory.state.copy()

    @property
    def rest_lengths(self) -> np.ndarray:
        """Of the conditional links: they follow where links yield (c,) [m]."""
        rest: np.ndarray = self._memory.rest[:, 0].copy()
        return rest

    def push(self, mass: str, force: Sequence[float] | np.ndarray) -> None:
        """Add a force [N] on a mass for the next sample."""
        self._motion.force[self.network.point(mass).index] += np.asarray(force)

    def step(self, driven: np.ndarray | None = None) -> None:
        """One sample: masses move, then links act.

        Args:
            driven: next positions of the driven masses, in their order (d, 3) [m];
                they stay where they are where none are given.
        """
        kernels.move_masses(self._table, self._motion)
        if len(self._driven):
            if driven is None:
                driven = self._motion.now[self._driven]
            positions = np.ascontiguousarray(driven, dtype=float)
            if positions.shape != (len(self._driven), 3):
                raise SoftError(
                    f"{len(self._driven)} driven masses need 3 numbers each"
                )
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
        """Refuse a motion without bounds.

        Raises:
            SoftError: which mass.
        """
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
            elastic += _pair_energy(near.at(x), states, x)
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


def _pair_energy(pairs: np.ndarray, states: kernels.StateTable, x: np.ndarray) -> float:
    total, numbers = 0.0, states.numbers
    last = len(numbers) - 1
    for i, j in pairs:
        d = float(np.linalg.norm(x[j] - x[i]))
        state, rest, _ = kernels.next_state(states, last, numbers[last, 2], d, 0.0)
        total += 0.5 * numbers[state, 0] * (d - rest) ** 2 + numbers[state, 5]
    return total
