# SPDX-License-Identifier: Apache-2.0
r"""Coats: pieces of cloth, strands of hair and packs that hang on links of a body.

A coat is a network (thesis, section 5.5: a physical coat). The first masses of a piece
are fixed on a link; balls on other links keep it off the body. One way, the body drives
it and feels nothing of it; both ways, the body feels the forces of what it carries.

*As a stage after the body*, driven by the recorded motion of a run. Between two samples
of the run, what the coat hangs on moves along cubic polynomials through its places and
velocities.

*In step with the body.* At each sample the coat's fixed masses are put where the links
are, the coat moves by one step, and its forces on the links are held until the next
sample. One way, these forces are none: then the coat is a stage after the body, fed
with its motion.

*Does a body feel its coat?* By admittances at the points that carry it. The body's is
:math:`[J (j \omega M)^{-1} J^T]^{-1}` with the joints that are not locked, along the
direction in which it gives way most. A piece that hangs on the point by springs (K, Z
in all) is its whole mass behind them: no softer part of it loads the body more, but
near :math:`\sqrt{K / m}`. Feet on a floor and feedback make the body stiffer, so the
error is rather less than predicted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicHermiteSpline

from humans_sim.core.budget import COAT_MASSES, LINKS, SAMPLES
from humans_sim.models.points import frame_index
from humans_sim.results.records import Sample
from humans_sim.results.run import Run
from humans_sim.soft.errors import CouplingError, SoftError
from humans_sim.soft.networks.admittance import (
    Influence,
    classify,
    in_a_row,
    of_inertia,
    of_link,
    of_mass,
)
from humans_sim.soft.networks.laws import Stop, ViscoSpring
from humans_sim.soft.networks.network import Network
from humans_sim.soft.networks.simulation import NetworkSimulation
from humans_sim.soft.networks.stability import safe_period, stability_report
from humans_sim.soft.packed_numbers import packed_heights

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
        dimensions = 3 if self.kind == "pack" else 2
        if len(self.size) != dimensions or len(self.counts) != dimensions:
            need = f"{dimensions} sizes and counts"
            raise SoftError(f"{self.name}: a {self.kind} has {need}")
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
        count = self.counts[0]
        across = np.linspace(-0.5, 0.5, count) if count > 1 else np.zeros(1)
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
                        below = own - k + across
                        others = (j for j in range(across) if j != k)
                        found += [(own, below + j) for j in others]
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
    """The coat of a body.

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
        fixed = [(p.link, place) for p in self.pieces for place in p.points()[0]]
        return fixed + [(ball.link, np.array(ball.at)) for ball in self.balls]

    def network(self, poses: dict[str, tuple[np.ndarray, np.ndarray]]) -> Network:
        """The coat where the links have these rotations and places.

        Driven masses are those of :attr:`anchors`, in their order.
        """
        network, hung, links = Network(), [], []
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
        """Its reaction on a biped (a ``SurfaceReaction``)."""
        self._reaction = CoatReaction(self, system)
        return self._reaction

    def record(self) -> dict[str, Any]:
        """Its record in a run."""
        reaction = self._reaction
        record = {"name": self.name, "pieces": [piece.name for piece in self.pieces]}
        if reaction is None:
            return record
        places = list(reaction.tracks.values())
        tracks = np.array(places).reshape(-1, len(reaction.masses), 3)
        return {
            **record,
            "two_way": self.two_way,
            "period": self.period,
            "longest_period": reaction.longest_period,
            "energy_growth": reaction.energy_growth,
            "largest_stretch": reaction.largest_stretch,
            "influences": [influence.as_dict() for influence in self.influences],
            "lines": self.lines.tolist(),
            "times": list(reaction.tracks),
            "shape": list(tracks.shape),
            "tracks": packed_heights(np.diff(tracks, axis=0, prepend=0.0)),
        }


BAND = (0.5, 5.0)
"""Frequencies of a body's motion, lowest and highest [Hz]."""
_FREQUENCIES = 40


@dataclass(frozen=True)
class CoatInfluence:
    """The influence of a piece [kg] on the link that carries it.

    Attributes:
        carried_by: mass that the body has at the point, where it is least [kg].
        influence: the verdict, with the errors expected.
    """

    piece: str
    link: str
    mass: float
    carried_by: float
    influence: Influence

    @property
    def one_way(self) -> bool:
        """Whether the body may do without it."""
        return self.influence.verdict in ("first drives", "independent")

    def report(self) -> str:
        """A line."""
        there = f"{self.carried_by:.3g} kg there"
        head = f"{self.piece} ({self.mass:g} kg) on {self.link}, which has {there}: "
        return head + self.influence.report("the body", self.piece)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "report": self.report()}


def coat_influences(
    system: Any, q: np.ndarray, coat: Coat
) -> tuple[CoatInfluence, ...]:
    """Look at all pieces of a coat on a biped, with its locks, in a configuration."""
    model = system.model
    free = np.setdiff1d(np.arange(model.nv), system.locked)
    inertia = model.inertia(q)[np.ix_(free, free)]
    omega = 2 * np.pi * np.geomspace(*BAND, _FREQUENCIES)
    influences = []
    for piece in coat.pieces:
        jacobian = point_jacobian(model, q, piece.link, np.array(piece.at))[:, free]
        mobility = jacobian @ np.linalg.solve(inertia, jacobian.T)
        along = np.linalg.eigh(mobility)[1][:, -1]
        body = of_inertia(inertia, along @ jacobian, omega)[:, 0, 0]
        load = piece_admittance(piece, omega)
        influence = classify(body, load, omega, tolerance=coat.tolerance)
        least = 1.0 / float(along @ mobility @ along)
        name, link, mass = piece.name, piece.link, piece.mass
        influences.append(CoatInfluence(name, link, mass, least, influence))
    return tuple(influences)


def piece_admittance(piece: Piece, omega: np.ndarray) -> np.ndarray:
    """Of a piece at what carries it: its mass behind the links that hold it."""
    across = piece.points().shape[1]
    held = [pair for pair in piece.pairs() if pair[0] < across <= pair[1]]
    link = of_link(len(held) * piece.stiffness, len(held) * piece.viscosity, omega)
    return in_a_row(link, of_mass(piece.mass, omega))


def refuse_two_way(influences: tuple[CoatInfluence, ...]) -> None:
    """Refuse to drive a coat one way where the body would feel it: CouplingError."""
    heavy = [one for one in influences if not one.one_way]
    if heavy:
        reasons = "; ".join(one.report() for one in heavy)
        raise CouplingError(
            f"the coat cannot be a stage of its own: {reasons}. Use coupling: two_way"
        )


def point_jacobian(
    model: Any, q: np.ndarray, link: str, place: np.ndarray
) -> np.ndarray:
    """Of the velocity in the world of a point of a link (3, nv)."""
    data = model.data()
    pin.computeJointJacobians(model.pin, data, q)
    pin.updateFramePlacements(model.pin, data)
    frame, axes = frame_index(model.pin, link), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    full = pin.getFrameJacobian(model.pin, data, frame, axes)
    offset = data.oMf[frame].rotation @ place
    return np.asarray(full[:3] - pin.skew(offset) @ full[3:])


_STEP = 1e-6
"""Time of a difference that gives velocities [s]."""


def with_coat(run: Run, system: Any, coat: Coat) -> Run:
    """A run of a biped, with its locks, that wears a coat one way.

    CouplingError: the body would feel it.
    """
    reaction = coat.reaction(system)
    reaction.put_on(run.q[0])
    reaction.keep(float(run.t[0]))
    places, rates = [], []
    for q, v in zip(run.q, run.v, strict=True):
        here = reaction.places(q)
        ahead = reaction.places(pin.integrate(system.model.pin, q, _STEP * v))
        places.append(here)
        rates.append((ahead - here) / _STEP)
    track = CubicHermiteSpline(run.t, np.array(places), np.array(rates))
    samples = np.floor((run.t[-1] - run.t[0]) / coat.period + 1e-9)
    steps = SAMPLES.check(coat.name, samples, error=SoftError)
    times = run.t[0] + coat.period * np.arange(1, steps + 1)
    due = 1
    for t, driven in zip(times, track(times), strict=True):
        reaction.follow(driven)
        if due < len(run) and t >= run.t[due] - 0.5 * coat.period:
            reaction.keep(float(run.t[due]))
            due += 1
    return replace(run, info={**run.info, coat.record_key: coat.record()})


class CoatReaction:
    """Forces of a coat on a biped, from sample to sample.

    Attributes:
        held: generalised force until the next sample (nv,) [N m, N].
        due: time of the next sample [s].
        tracks: positions of all masses by times of samples (masses, 3) [m].
        masses: names of the masses.
        longest_period: of a sample with which the coat surely stays bounded [s].
        energy_growth: of the coat beyond the work of the body, relative.
        largest_stretch: of a link beyond its rest length, relative.
    """

    def __init__(self, coat: Coat, system: Any) -> None:
        self._coat, self.system = coat, system
        self._data = system.model.data()
        self._anchors = coat.anchors
        self._frames = [
            frame_index(system.model.pin, link) for link, _ in self._anchors
        ]
        self._network: NetworkSimulation | None = None
        self.held = np.zeros(system.nv)
        self.due = self._start = 0.0
        self._count = 0
        self.tracks: dict[float, np.ndarray] = {}
        self._old = np.zeros((0, 3))
        self.masses: list[str] = []
        self.longest_period = np.inf
        self._rest = np.zeros(0)
        self.largest_stretch = 0.0
        self._work, self._least, self._scale, self.energy_growth = 0.0, 0.0, 0.0, 0.0

    def start(self, t: float) -> None:
        """Begin at a time [s]; the coat is put on at the first sample."""
        self._network = None
        self.held = np.zeros(self.system.nv)
        self.due = self._start = t
        self._count = 0
        self.tracks.clear()

    def update(
        self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray
    ) -> None:
        """Make a sample: the coat follows the links, and pulls at them."""
        self._count += 1
        self.due = self._start + self._count * self._coat.period
        places = self.places(q)
        if self._network is None:
            self.put_on(q)
            return
        pull = self.follow(places)
        if self._coat.two_way:
            self.held = self._generalised(q, pull)

    def places(self, q: np.ndarray) -> np.ndarray:
        """Where all that is driven is in a configuration (d, 3) [m]."""
        model = self.system.model
        pin.forwardKinematics(model.pin, self._data, q)
        pin.updateFramePlacements(model.pin, self._data)
        pairs = zip(self._frames, self._anchors, strict=True)
        return np.array([self._data.oMf[k].act(place) for k, (_, place) in pairs])

    def follow(self, places: np.ndarray) -> np.ndarray:
        """One step of the coat to places of what is driven; its forces on them [N]."""
        before, old = self._pull(), self._old
        self._worn.step(places)
        after = self._pull()
        self._work -= 0.5 * float(np.sum((before + after) * (places - old)))
        self._old = places
        self._balance()
        return after

    def put_on(self, q: np.ndarray) -> None:
        """Look at the coupling, and hang the coat on the links.

        CouplingError: one way is asked for, and the body would feel it;
        UnstableStepError: the coat's period is too long for it.
        """
        coat, system = self._coat, self.system
        coat.influences = coat_influences(system, q, coat)
        if not coat.two_way:
            refuse_two_way(coat.influences)
        self._old = self.places(q)
        names = [piece.link for piece in coat.pieces] + [b.link for b in coat.balls]
        poses = {}
        for name in names:
            pose = self._data.oMf[frame_index(system.model.pin, name)]
            poses[name] = (np.array(pose.rotation), np.array(pose.translation))
        network = NetworkSimulation(coat.network(poses), coat.period, system.gravity)
        self.longest_period = safe_period(network.network)
        if self.longest_period < coat.period:
            stability_report(network).raise_where_unstable()
        self.masses = list(network.network.names)
        self._network = network
        self._rest = self._lengths()
        self._work = 0.0
        self._least = network.energy().total
        self._scale = self.energy_growth = self.largest_stretch = 0.0

    @property
    def _worn(self) -> NetworkSimulation:
        assert self._network is not None
        return self._network

    def _pull(self) -> np.ndarray:
        """Forces of the coat on what is driven (d, 3) [N]."""
        return self._worn.forces[np.array(self._worn.network.driven)]

    def _balance(self) -> None:
        """Energy of the coat less the work of the body: it must not grow."""
        energy = self._worn.energy()
        own = energy.total - self._work
        self._scale = max(self._scale, energy.kinetic, abs(self._work))
        self._least = min(self._least, own)
        if self._scale > 0.0:
            growth = (own - self._least) / self._scale
            self.energy_growth = max(self.energy_growth, growth)
        stretch = self._lengths() / self._rest - 1.0
        self.largest_stretch = max(self.largest_stretch, float(stretch.max()))

    def _lengths(self) -> np.ndarray:
        """Of all links of the pieces (n,) [m]."""
        ends = self._worn.positions[self._coat.lines]
        return np.asarray(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1))

    def _generalised(self, q: np.ndarray, forces: np.ndarray) -> np.ndarray:
        total = np.zeros(self.system.nv)
        for (link, place), force in zip(self._anchors, forces, strict=True):
            if force.any():
                total += self.system.point_force(q, link, place, force)
        return total

    def keep(self, t: float) -> None:
        """Keep where the coat is at a time [s]."""
        if self._network is not None:
            self.tracks[t] = self._network.positions

    def complete(self, sample: Sample) -> Sample:
        """A sample with the energy of the coat, where the body feels it."""
        if self._network is None:
            return sample
        self.keep(sample.t)
        if not self._coat.two_way:
            return sample
        energy = self._network.energy()
        return sample._replace(
            kinetic=sample.kinetic + energy.kinetic,
            potential=sample.potential + energy.elastic + energy.weight,
        )
