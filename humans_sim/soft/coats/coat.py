# SPDX-License-Identifier: Apache-2.0
"""Coats: pieces of cloth, strands of hair and packs that hang on links of a body.

A coat is a network (thesis, section 5.5: a physical coat). The first masses of a piece
are fixed on a link; balls on other links keep it off the body. One way, the body drives
it and feels nothing of it; both ways, the body feels the forces of what it carries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from humans_sim.core.budget import COAT_MASSES, LINKS
from humans_sim.soft.coats.packed_tracks import packed_tracks
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.laws import Stop, ViscoSpring
from humans_sim.soft.networks.network import Network

if TYPE_CHECKING:
    from humans_sim.soft.coats.coat_influence import CoatInfluence
    from humans_sim.soft.coats.coat_reaction import CoatReaction

Kind = Literal["sheet", "strands", "pack"]
KINDS: tuple[Kind, ...] = ("sheet", "strands", "pack")


@dataclass(frozen=True)
class Piece:
    """A piece of a coat.

    Attributes:
        name: of the piece.
        kind: ``sheet`` (cloth that hangs from one edge), ``strands`` (hair) or ``pack``
            (a box whose side is fixed).
        link: that carries it.
        at: middle of the edge that is fixed, in the link's frame [m].
        size: width and length of a sheet or of strands; width, height and depth of a
            pack [m].
        counts: masses along the same.
        mass: of all of it [kg].
        stiffness: of a link [N/m].
        viscosity: of a link [N s/m].
        lean: how far a sheet or strands hang backwards for each metre of length.
    """

    name: str
    kind: Kind
    link: str
    at: tuple[float, float, float]
    size: tuple[float, ...]
    counts: tuple[int, ...]
    mass: float
    stiffness: float
    viscosity: float
    lean: float = 0.15

    def __post_init__(self) -> None:
        """Refuse what cannot hang."""
        wanted = 3 if self.kind == "pack" else 2
        if len(self.size) != wanted or len(self.counts) != wanted:
            raise SoftError(f"{self.name}: a {self.kind} has {wanted} sizes and counts")
        if min(self.size) <= 0.0 or not self.mass > 0.0:
            raise SoftError(f"{self.name}: its sizes and its mass must be above 0")
        if min(self.counts) < 1 or self.counts[-1] < 2:
            raise SoftError(f"{self.name}: too few masses: {self.counts}")
        COAT_MASSES.check(self.name, *self.counts, error=SoftError)
        if self.kind == "pack":  # all masses of a row are linked, and with the next
            across = self.counts[0] * self.counts[1]
            LINKS.check(self.name, self.counts[2], across, across, error=SoftError)

    def points(self) -> np.ndarray:
        """Masses in the link's frame, those that are fixed first (rows, across, 3)."""
        across = np.linspace(-0.5, 0.5, self.counts[0]) if self.counts[0] > 1 else [0.0]
        if self.kind == "pack":
            width, height, depth = self.size
            up = np.linspace(-0.5, 0.5, self.counts[1])
            side = [(0.0, width * y, height * z) for y in across for z in up]
            back = np.linspace(0.0, -depth, self.counts[2])
            rows = [[(x, y, z) for _, y, z in side] for x in back]
        else:
            width, length = self.size
            down = np.linspace(0.0, length, self.counts[1])
            rows = [[(-self.lean * d, width * y, -d) for y in across] for d in down]
        return np.array(rows) + np.array(self.at)

    def pairs(self) -> list[tuple[int, int]]:
        """Masses that are linked, by their numbers over the rows."""
        rows, across = self.points().shape[:2]
        found = []
        for row in range(rows):
            for k in range(across):
                own = row * across + k
                if row + 1 < rows:
                    found.append((own, own + across))
                if self.kind == "strands":
                    continue
                if self.kind == "sheet" and k + 1 < across:
                    found.append((own, own + 1))
                    if row + 1 < rows:
                        found.append((own, own + across + 1))
                        found.append((own + 1, own + across))
                if self.kind == "pack":
                    near = range(k + 1, across)
                    found += [(own, row * across + other) for other in near]
                    if row + 1 < rows:
                        found += [
                            (own, own - k + across + other)
                            for other in range(across)
                            if other != k
                        ]
        return found


@dataclass(frozen=True)
class BodyBall:
    """A ball on a link that coats stay outside of. Attributes: at, radius [m]."""

    link: str
    at: tuple[float, float, float]
    radius: float
    stiffness: float = 60.0
    viscosity: float = 0.1


@dataclass
class Coat:
    """What a body wears.

    Attributes:
        pieces: of the coat.
        balls: of the body.
        two_way: whether the body feels it.
        period: of a sample [s].
        tolerance: what the body's motion may err by where it feels nothing.
        name: of the surface, as a scene knows it.
        influences: of its pieces on the body, known from the first sample on.
        lines: masses that are linked, for drawing (n, 2).
    """

    pieces: tuple[Piece, ...]
    balls: tuple[BodyBall, ...] = ()
    two_way: bool = False
    period: float = 1e-3
    tolerance: float = 0.02
    name: str = "coat"
    record_key: ClassVar[str] = "coat"
    influences: tuple[CoatInfluence, ...] = ()
    lines: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), int))
    _reaction: CoatReaction | None = field(default=None, repr=False)

    @property
    def anchors(self) -> list[tuple[str, np.ndarray]]:
        """Links and places of all that is driven: fixed masses, then balls."""
        found: list[tuple[str, np.ndarray]] = []
        for piece in self.pieces:
            found += [(piece.link, place) for place in piece.points()[0]]
        return found + [(ball.link, np.array(ball.at)) for ball in self.balls]

    def network(self, poses: dict[str, tuple[np.ndarray, np.ndarray]]) -> Network:
        """The coat where the links have these rotations and places.

        Driven masses are those of :attr:`anchors`, in their order.
        """
        network = Network()
        hung, links = [], []
        for piece in self.pieces:
            turn, shift = poses[piece.link]
            rows = piece.points() @ turn.T + shift
            across = rows.shape[1]
            each = piece.mass / (rows.shape[0] - 1) / across
            own = [
                network.add_driven(place, f"{piece.name} fixed {k}")
                for k, place in enumerate(rows[0])
            ]
            hung.append((piece, rows, each, own))
        balls = []
        for k, ball in enumerate(self.balls):
            turn, shift = poses[ball.link]
            place = turn @ np.array(ball.at) + shift
            balls.append(network.add_driven(place, f"ball {k}"))
        for piece, rows, each, own in hung:
            points = list(own)
            for row in rows[1:]:
                points += [network.add_mass(each, place) for place in row]
            for a, b in piece.pairs():
                if b < rows.shape[1]:
                    continue  # both are fixed
                apart = network.positions[points[a].index]
                apart = apart - network.positions[points[b].index]
                rest = float(np.linalg.norm(apart))
                law = ViscoSpring(piece.stiffness, piece.viscosity, rest)
                network.add_link(points[a], points[b], law)
                links.append((points[a].index, points[b].index))
            if piece.kind == "pack":
                continue
            for ball, point in zip(self.balls, balls, strict=True):
                stop = Stop(ball.radius, ball.stiffness, ball.viscosity, True)
                for mass in points[rows.shape[1] :]:
                    network.add_link(point, mass, stop)
        self.lines = np.array(links, dtype=int)
        return network

    def reaction(self, system: Any) -> CoatReaction:
        """What it does to a biped (a ``SurfaceReaction``).

        Raises:
            CouplingError: one way is asked for, and the body would feel it.
        """
        from humans_sim.soft.coats.coat_reaction import CoatReaction

        self._reaction = CoatReaction(self, system)
        return self._reaction

    def record(self) -> dict[str, Any]:
        """What a run keeps of it."""
        reaction = self._reaction
        if reaction is None:
            return {"name": self.name, "pieces": [piece.name for piece in self.pieces]}
        places = list(reaction.tracks.values())
        tracks = np.array(places).reshape(-1, len(reaction.masses), 3)
        return {
            "name": self.name,
            "pieces": [piece.name for piece in self.pieces],
            "two_way": self.two_way,
            "period": self.period,
            "longest_period": reaction.longest_period,
            "energy_growth": reaction.energy_growth,
            "largest_stretch": reaction.largest_stretch,
            "influences": [influence.as_dict() for influence in self.influences],
            "lines": self.lines.tolist(),
            "times": list(reaction.tracks),
            "shape": list(tracks.shape),
            "tracks": packed_tracks(tracks),
        }
