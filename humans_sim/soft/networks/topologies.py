# SPDX-License-Identifier: Apache-2.0
"""Networks of the shapes that the thesis names: line, ring, sheet, box, agglomerate."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from humans_sim.core.budget import LINKS, MASSES
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.laws import LinkLaw, ViscoSpring
from humans_sim.soft.networks.network import Network


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
    """Equal masses at points with equal links between pairs.

    Springs are at rest where the masses are: their rest lengths are the distances.

    Args:
        points: (n, 3) [m].
        mass: of each [kg].
        law: of each link.
        pairs: of points.
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
