# SPDX-License-Identifier: Apache-2.0
r"""Models simulated in stages, and the scales of their signals.

*Stages* are simulated first, recorded, and replayed to the rest. A link one way lets a
model drive another. Models that drive each other, along any path, stay together; they
are the strongly connected parts of the graph of models (the thesis' E2MI, section 3.3).
The parts have ranks: the longest path from a source. They are simulated in that order,
each fed with recorded motion of those before it.

*Scales*: the information of signals and models (thesis, chapter 2). A signal has a band
in time, a band in space and a range of values; its information is

.. math:: I = \frac{F_T^{max} F_X^{max}}{F_T^{min} F_X^{min}}
   \log_2 \frac{\Delta s_{max}}{\Delta s_{min}}

(2.5). Signals in bands of their own need less of several models than of one (2.7).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from humans_sim.soft.errors import CouplingError, SoftError
from humans_sim.soft.networks.laws import LinkLaw
from humans_sim.soft.networks.network import MPoint, Network
from humans_sim.soft.networks.simulation import NetworkSimulation


@dataclass(frozen=True)
class Partition:
    """Models in parts that must stay together, in order of their rank."""

    parts: tuple[tuple[str, ...], ...]
    ranks: tuple[int, ...]

    def report(self) -> str:
        """A line for each stage."""
        rows = zip(self.ranks, self.parts, strict=True)
        return "\n".join(f"rank {rank}: {', '.join(part)}" for rank, part in rows)


def partition(
    models: Sequence[str],
    one_way: Sequence[tuple[str, str]],
    two_way: Sequence[tuple[str, str]] = (),
) -> Partition:
    """Part models by their links.

    One way, from a model to one that it drives; two ways, between models that act on
    each other. CouplingError: a link names no model.
    """
    index = {name: row for row, name in enumerate(models)}
    for link in (*one_way, *two_way):
        for name in link:
            if name not in index:
                link_text = f"{link[0]} - {link[1]}"
                raise CouplingError(f"the link {link_text}: no model '{name}'")
    arcs = [(index[a], index[b]) for a, b in one_way]
    arcs += [(index[a], index[b]) for a, b in two_way]
    arcs += [(index[b], index[a]) for a, b in two_way]
    size = len(models)
    rows, columns = np.array(arcs, dtype=int).reshape(-1, 2).T
    graph = sp.csr_matrix((np.ones(len(arcs)), (rows, columns)), shape=(size, size))
    count, labels = connected_components(graph, directed=True, connection="strong")
    above: list[set[int]] = [set() for _ in range(count)]
    for a, b in arcs:
        if labels[a] != labels[b]:
            above[labels[b]].add(int(labels[a]))
    ranks: dict[int, int] = {}
    while len(ranks) < count:
        for part in range(count):
            if part not in ranks and all(other in ranks for other in above[part]):
                higher = (ranks[other] for other in above[part])
                ranks[part] = 1 + max(higher, default=-1)
    first = [int(np.flatnonzero(labels == part)[0]) for part in range(count)]
    order = sorted(range(count), key=lambda part: (ranks[part], first[part]))
    parts = tuple(
        tuple(name for name in models if labels[index[name]] == part) for part in order
    )
    return Partition(parts, tuple(ranks[part] for part in order))


@dataclass(frozen=True)
class ModelLink:
    """A link between masses of two models, each given as model and mass.

    One way, the first feels nothing of it.
    """

    first: tuple[str, str]
    second: tuple[str, str]
    law: LinkLaw
    one_way: bool = False


class StagedSimulation:
    """Networks with links between them, simulated together or in stages."""

    def __init__(
        self,
        models: Mapping[str, Network],
        links: Sequence[ModelLink],
        period: float,
        gravity: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> None:
        self._models, self._links = dict(models), list(links)
        self._period, self._gravity = period, gravity
        ways: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
        for link in links:
            ways[link.one_way].append((link.first[0], link.second[0]))
        self.partition = partition(list(models), ways[True], ways[False])

    def run_together(self, steps: int) -> dict[str, np.ndarray]:
        """All models in one network: positions (steps + 1, masses, 3) by model [m]."""
        return self._run(tuple(self._models), steps, {})

    def run_in_stages(
        self, steps: int, parts: Sequence[Sequence[str]] | None = None
    ) -> dict[str, np.ndarray]:
        """Part after part, each fed with records of those before it.

        By default the parts are those of the partition; CouplingError: parts that act
        on each other cannot be staged.
        """
        chosen = self.partition.parts if parts is None else parts
        seen: set[str] = set()
        records: dict[str, np.ndarray] = {}
        for part in chosen:
            for link in self._links:
                a, b = link.first[0], link.second[0]
                if (b in part and a not in part and a not in seen) or (
                    a in part and b not in part and not link.one_way
                ):
                    raise CouplingError(
                        f"{', '.join(part)} cannot be a stage: it is coupled with "
                        f"{a if b in part else b}; simulate them together"
                    )
            records.update(self._run(tuple(part), steps, records))
            seen |= set(part)
        return records

    def _run(
        self, names: tuple[str, ...], steps: int, records: dict[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Some models together; links from others replay their records."""
        network, places = Network(), {}
        for name in self._models:
            if name in names:
                points = network.add_module(self._models[name], f"{name}.")
                places[name] = points
        replayed: list[np.ndarray] = []
        for number, link in enumerate(self._links):
            (a, mass_a), (b, mass_b) = link.first, link.second
            if b not in names:
                continue
            index = self._models[a].point(mass_a).index
            if a in names:
                first: MPoint = places[a][index]
            else:
                track = records[a][:, index]
                first = network.add_driven(track[0], f"replay {number}")
                speed = self._models[a].velocities[index]
                network.velocities[first.index] = speed.copy()
                replayed.append(track[1:])
            second = places[b][self._models[b].point(mass_b).index]
            network.add_link(first, second, link.law, link.one_way)
        simulation = NetworkSimulation(network, self._period, self._gravity)
        driven = np.stack(replayed, axis=1) if replayed else None
        record = simulation.run(steps, driven)
        return {
            name: record[:, [point.index for point in points]]
            for name, points in places.items()
        }


_LIGHT = 299_792_458.0
"""Speed of light [m/s]."""


@dataclass(frozen=True)
class Scale:
    """The scale of some independent signals of one kind.

    Lowest and highest frequency in time [Hz] and space [1/m], both 1 for a signal of
    one point; least and largest difference of values.
    """

    count: int
    time: tuple[float, float]
    values: tuple[float, float]
    space: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        for low, high in (self.time, self.values, self.space):
            if not 0.0 < low <= high:
                raise SoftError(f"a band from {low:g} to {high:g} is none")
        if self.count < 1:
            raise SoftError(f"{self.count} signals: one or more are needed")

    @property
    def information(self) -> float:
        """Of all signals, (2.5) and (2.6) [bit]."""
        ratio = self.time[1] / self.time[0] * self.space[1] / self.space[0]
        return self.count * ratio * math.log2(self.values[1] / self.values[0])

    @property
    def bits(self) -> int:
        """Of a value, (2.3)."""
        return int(math.log2(self.values[1] / self.values[0])) + 1


def information_rate(signals: int, rate: float, bits: int) -> float:
    """Information of so many signals at a sampling rate [bit/s]."""
    return float(signals) * rate * bits


def recorded_bytes(signals: int, rate: float, bits: int, duration: float) -> float:
    """Size of a record of signals, half a sample for each period (2.4) [byte]."""
    return information_rate(signals, rate, bits) * duration / 2.0 / 8.0


def light_pressure(irradiance: float, reflected: bool = True) -> float:
    """Of light on a surface across it [W/m²], (5.6) and (5.7) [Pa].

    All of it is sent back, or absorbed.
    """
    return (2.0 if reflected else 1.0) * irradiance / _LIGHT


def joint_scale(signals: Sequence[Scale]) -> Scale:
    """The smallest scale of one model that holds all signals."""
    if not signals:
        raise SoftError("no signals")

    def hull(bands: Iterable[tuple[float, float]]) -> tuple[float, float]:
        low, high = zip(*bands, strict=True)
        return min(low), max(high)

    count = sum(signal.count for signal in signals)
    time, values = hull(s.time for s in signals), hull(s.values for s in signals)
    return Scale(count, time, values, hull(signal.space for signal in signals))


def gain_of_parting(signals: Sequence[Scale]) -> float:
    """How many times less several models produce than one of all bands (2.4.3.2)."""
    return joint_scale(signals).information / sum(s.information for s in signals)


@dataclass(frozen=True)
class Prototypes:
    """Signals as functions of a few, and what is left of them (section 2.4.2.1).

    The part that the prototypes give, the deviations (samples, signals), and the share
    of the energy in these.
    """

    followed: np.ndarray
    deviations: np.ndarray
    energy: float


def prototypes(signals: np.ndarray, count: int) -> Prototypes:
    """Part signals (samples, signals) into prototypes and deviations.

    By singular values.
    """
    signals = np.asarray(signals, dtype=float)
    mean = signals.mean(axis=0)
    left, sizes, right = np.linalg.svd(signals - mean, full_matrices=False)
    followed = mean + (left[:, :count] * sizes[:count]) @ right[:count]
    total = float(np.sum(sizes**2))
    rest = float(np.sum(sizes[count:] ** 2))
    return Prototypes(followed, signals - followed, rest / total if total else 0.0)


def rigid_deviation(points: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Deviation of moved points from the best rigid motion (Kabsch) (n, 3) [m]."""
    a, b = points - points.mean(axis=0), moved - moved.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return np.asarray(b - a @ (left @ turn @ right))
