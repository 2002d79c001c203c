# SPDX-License-Identifier: Apache-2.0
"""Networks of masses and links, as a language of communication points.

A mass has one M point: it takes forces and gives its position. A link has two L points
that take positions and give forces. An M point takes any number of L points, an L point
exactly one M point; nothing else may be connected (thesis, section 1.5.2).

Shapes of the thesis: line, ring, sheet, box, agglomerate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from humans_sim.core.budget import LINKS, MASSES
from humans_sim.core.expressions import shortened
from humans_sim.soft.errors import NetworkConnectionError, SoftError
from humans_sim.soft.networks.laws import LinkLaw, ViscoSpring, check_automaton

_Vector = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class MPoint:
    """The communication point of a mass. Attributes: index: of the mass."""

    index: int


@dataclass(frozen=True)
class LPoint:
    """A communication point of a link. Attributes: link: its index; end: 0 or 1."""

    link: int
    end: int


@dataclass(frozen=True)
class Crowd:
    """Masses of which all pairs are linked by one law: grains, bricks that may touch.

    Attributes:
        masses: indices.
        law: one whose state follows from the distance, such as a stop.
        apart: number of the part that each mass belongs to; pairs of one part are
            left out. None where all pairs count.
    """

    masses: tuple[int, ...]
    law: LinkLaw
    apart: tuple[int, ...] | None = None


@dataclass
class Link:
    """A link: its law, and the masses of its L points, None where one is open.

    One way, the first mass feels nothing of it.
    """

    law: LinkLaw
    ends: list[int | None] = field(default_factory=lambda: [None, None])
    one_way: bool = False


class Network:
    """Masses and links, built piece by piece.

    Attributes:
        names: of the masses, in their order.
        masses: 0 for those that are held or driven [kg].
        positions: at the beginning [m].
        velocities: at the beginning [m/s].
        driven: indices of the masses whose motion is given.
        links: in their order.
        crowds: groups of masses with a law between all pairs.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._index: dict[str, int] = {}
        self.masses: list[float] = []
        self.positions: list[np.ndarray] = []
        self.velocities: list[np.ndarray] = []
        self.driven: list[int] = []
        self.links: list[Link] = []
        self.crowds: list[Crowd] = []

    def add_mass(
        self,
        mass: float,
        position: _Vector,
        velocity: _Vector = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> MPoint:
        """Add a mass [kg] at a position [m] with a velocity [m/s].

        Its name must be new: SoftError.
        """
        if not (np.isfinite(mass) and mass > 0.0):
            shown = name or f"mass {len(self.names)}"
            raise SoftError(f"{shown}: its mass is {mass:g} kg, must be above 0")
        return self._add(float(mass), position, velocity, name)

    def add_fixed(self, position: _Vector, name: str = "") -> MPoint:
        """Add a point of the ground [m]."""
        return self._add(0.0, position, (0.0, 0.0, 0.0), name)

    def add_driven(self, position: _Vector, name: str = "") -> MPoint:
        """Add a point whose motion is given in each run; here it begins [m]."""
        point = self._add(0.0, position, (0.0, 0.0, 0.0), name)
        self.driven.append(point.index)
        return point

    def _add(
        self, mass: float, position: _Vector, velocity: _Vector, name: str
    ) -> MPoint:
        name = name or f"mass {len(self.names)}"
        if name in self._index:
            raise SoftError(f"the network has a mass '{shortened(name)}' already")
        vectors = [np.array(v, dtype=float) for v in (position, velocity)]
        for vector in vectors:
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise SoftError(f"{name}: a position or velocity has 3 finite numbers")
        self._index[name] = len(self.names)
        self.names.append(name)
        self.masses.append(mass)
        self.positions.append(vectors[0])
        self.velocities.append(vectors[1])
        return MPoint(len(self.names) - 1)

    def add_open_link(self, law: LinkLaw, one_way: bool = False) -> list[LPoint]:
        """Add a link of which both L points are open still; :meth:`connect` them."""
        check_automaton(law.automaton())
        self.links.append(Link(law, one_way=one_way))
        return [LPoint(len(self.links) - 1, end) for end in (0, 1)]

    def add_link(
        self, first: MPoint, second: MPoint, law: LinkLaw, one_way: bool = False
    ) -> int:
        """Link two masses by a law; the link's index. One way: see :class:`Link`."""
        ends = self.add_open_link(law, one_way)
        for end, mass in zip(ends, (first, second), strict=True):
            self.connect(end, mass)
        return ends[0].link

    def connect(self, first: MPoint | LPoint, second: MPoint | LPoint) -> None:
        """Connect an L point with an M point, in either order.

        Raises:
            NetworkConnectionError: two M points, two L points, an L point that is
                connected already, or a link with both ends at one mass.
        """
        if isinstance(first, MPoint) and isinstance(second, MPoint):
            raise NetworkConnectionError(
                f"{self._name(first)} and {self._name(second)}: two masses cannot be "
                "connected without a link between them"
            )
        if isinstance(first, LPoint) and isinstance(second, LPoint):
            raise NetworkConnectionError(
                f"links {first.link} and {second.link}: two links cannot be connected "
                "without a mass between them"
            )
        end, mass = (first, second) if isinstance(first, LPoint) else (second, first)
        assert isinstance(end, LPoint) and isinstance(mass, MPoint)
        name = self._name(mass)
        if not 0 <= end.link < len(self.links):
            raise NetworkConnectionError(f"the network has no link {end.link}")
        ends = self.links[end.link].ends
        if ends[end.end] is not None:
            raise NetworkConnectionError(
                f"link {end.link}: its end {end.end} has a mass, "
                f"'{self.names[ends[end.end] or 0]}'; '{name}' would be a second"
            )
        if ends[1 - end.end] == mass.index:
            raise NetworkConnectionError(f"link {end.link}: both ends are at '{name}'")
        ends[end.end] = mass.index

    def _name(self, point: MPoint) -> str:
        if not 0 <= point.index < len(self.names):
            raise NetworkConnectionError(f"the network has no mass {point.index}")
        return self.names[point.index]

    def add_crowd(
        self, masses: Sequence[MPoint], law: LinkLaw, apart: Sequence[int] | None = None
    ) -> None:
        """Put a law between all pairs of masses; near ones are looked up by a tree.

        SoftError: the law remembers more than the distance, or has no reach.
        """
        check_automaton(law.automaton())
        crowd_reach(law)
        if apart is not None and len(apart) != len(masses):
            raise SoftError("a crowd: as many parts as masses are needed")
        parts = None if apart is None else tuple(int(part) for part in apart)
        self.crowds.append(Crowd(tuple(m.index for m in masses), law, parts))

    def add_module(
        self,
        module: Network,
        prefix: str = "",
        offset: _Vector = (0.0, 0.0, 0.0),
        velocity: _Vector = (0.0, 0.0, 0.0),
    ) -> list[MPoint]:
        """Add another network as a part of this one.

        Args:
            module: it is copied.
            prefix: before the names of its masses.
            offset: of its positions [m].
            velocity: added to those of its masses [m/s].

        Returns:
            The M points of its masses here, in their order.
        """
        base, shift = len(self.names), len(self.links)
        MASSES.check("the network", base + len(module.names), error=SoftError)
        LINKS.check("the network", shift + len(module.links), error=SoftError)
        moving = np.asarray(velocity, dtype=float)
        for index, name in enumerate(module.names):
            free = module.masses[index] > 0.0
            self._add(
                module.masses[index],
                module.positions[index] + np.asarray(offset, dtype=float),
                module.velocities[index] + (moving if free else 0.0),
                f"{prefix}{name}" if prefix or name not in self._index else "",
            )
        self.driven += [base + index for index in module.driven]
        for link in module.links:
            ends = [None if end is None else end + base for end in link.ends]
            self.links.append(Link(link.law, ends, link.one_way))
        for crowd in module.crowds:
            masses = tuple(base + index for index in crowd.masses)
            self.crowds.append(Crowd(masses, crowd.law, crowd.apart))
        return [MPoint(base + index) for index in range(len(module.names))]

    def point(self, name: str) -> MPoint:
        """The M point of a mass by name; SoftError: there is none."""
        if name not in self._index:
            raise SoftError(f"the network has no mass '{shortened(name)}'")
        return MPoint(self._index[name])

    def check(self) -> None:
        """Look for holes.

        Raises:
            NetworkConnectionError: a link has an open end; the network has no mass.
        """
        if not any(mass > 0.0 for mass in self.masses):
            raise NetworkConnectionError("the network has no mass that can move")
        for index, link in enumerate(self.links):
            for end in (0, 1):
                if link.ends[end] is None:
                    raise NetworkConnectionError(
                        f"link {index} ({type(link.law).__name__}): its end {end} is "
                        "connected to no mass"
                    )


def crowd_reach(law: LinkLaw) -> float:
    """Distance beyond which a law does nothing [m].

    SoftError: the law reaches any distance, or remembers its past.
    """
    states = law.automaton().states
    name = type(law).__name__
    if any(state.anchored or np.isfinite(state.limit) for state in states):
        raise SoftError(f"{name}: remembers its past and cannot be of a crowd")
    last = states[-1]
    if last.stiffness or last.viscosity or len(states) < 2:
        raise SoftError(f"{name}: reaches any distance and cannot be of a crowd")
    return max(t.threshold for state in states for t in state.transitions)


def line(count: int, spacing: float, mass: float, law: LinkLaw) -> Network:
    """Masses along x, each linked with the next."""
    return box((count, 1, 1), spacing, mass, law)


def ring(count: int, radius: float, mass: float, law: LinkLaw) -> Network:
    """Masses on a circle about z, each linked with the next around it."""
    if count < 3:
        raise SoftError(f"a ring of {count} masses: 3 or more are needed")
    MASSES.check("a ring", count, error=SoftError)
    angles = 2 * np.pi * np.arange(count) / count
    points = radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    pairs = ((i, (i + 1) % count) for i in range(count))
    return linked(points, mass, law, pairs)


def sheet(shape: tuple[int, int], spacing: float, mass: float, law: LinkLaw) -> Network:
    """A rectangle in the plane z = 0, linked with its 8 neighbours."""
    return box((*shape, 1), spacing, mass, law)


def box(shape: Sequence[int], spacing: float, mass: float, law: LinkLaw) -> Network:
    """A cuboid of masses, each linked with its 26 neighbours.

    A brick of the thesis has the shape (3, 3, 5).
    """
    counts = tuple(int(count) for count in shape)
    if len(counts) != 3 or min(counts) < 1:
        raise SoftError(
            f"a box of {shape} masses: three counts of 1 or more are needed"
        )
    MASSES.check("a box", *counts, error=SoftError)
    cells = list(itertools.product(*map(range, counts)))
    index = {cell: row for row, cell in enumerate(cells)}
    steps = [s for s in itertools.product((-1, 0, 1), repeat=3) if s > (0, 0, 0)]
    pairs = [
        (index[cell], index[other])
        for cell in cells
        for step in steps
        if (other := (cell[0] + step[0], cell[1] + step[1], cell[2] + step[2])) in index
    ]
    return linked(spacing * np.array(cells, dtype=float), mass, law, pairs)


def agglomerate(points: np.ndarray, mass: float, law: LinkLaw) -> Network:
    """Masses at points (n, 3) [m], each linked with all others."""
    count = len(points)
    LINKS.check("an agglomerate", count, (count - 1) / 2, error=SoftError)
    return linked(points, mass, law, itertools.combinations(range(count), 2))


def linked(
    points: np.ndarray, mass: float, law: LinkLaw, pairs: Iterable[tuple[int, int]]
) -> Network:
    """Equal masses [kg] at points (n, 3) [m] with equal links between pairs of them.

    Springs are at rest where the masses are: their rest lengths are the distances.
    """
    network = Network()
    places = [network.add_mass(mass, point) for point in points]
    ends = np.array(list(pairs), dtype=int).reshape(-1, 2)
    lengths = np.linalg.norm(points[ends[:, 1]] - points[ends[:, 0]], axis=1).tolist()
    known: dict[float, LinkLaw] = {}  # links of one length share their law
    for (i, j), length in zip(ends.tolist(), lengths, strict=True):
        own = law
        if isinstance(law, ViscoSpring):
            own = known.setdefault(length, law)
            if own is law:
                own = known[length] = replace(law, rest=length)
        network.add_link(places[i], places[j], own)
    return network
