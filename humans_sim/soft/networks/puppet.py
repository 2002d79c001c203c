# SPDX-License-Identifier: Apache-2.0
"""Puppets and coats of points, and a network in motion as a run.

*Figures* of the thesis: a puppet of 14 masses, bricks, a ball with a skin (section
5.5). The thesis gives numbers of masses only; sizes, stiffness and viscosity are
assumed, such that a puppet of one metre stands on the feet that an operator holds.

*Coats without mass*: points that follow others by weights (thesis, section 5.5). A
point of such a coat is a mean of control points, with weights that sum to one. What
pushes it is handed on to the control points by the same weights, so that power, force
and moment are kept: a transmitting skin.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from humans_sim.core.budget import SAMPLES
from humans_sim.results.records import ContactTable
from humans_sim.results.run import Run
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks.laws import Stop, ViscoSpring
from humans_sim.soft.networks.network import MPoint, Network, box
from humans_sim.soft.networks.simulation import NetworkSimulation
from humans_sim.soft.networks.stability import safe_period, stability_report

_SUM = 1e-9
"""How far a sum of weights may be from one."""


@dataclass(frozen=True)
class GeometricCoat:
    """Points that follow control points by weights (points, controls).

    Rows sum to one.
    """

    weights: np.ndarray

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        if weights.ndim != 2 or not np.isfinite(weights).all():
            raise SoftError("weights of a coat are a table of points by controls")
        off = np.abs(weights.sum(axis=1) - 1.0)
        if len(off) and off.max() > _SUM:
            row = int(np.argmax(off))
            raise SoftError(f"point {row}: its weights sum to {1 + off[row]:g}, not 1")

    @classmethod
    def of_points(cls, points: np.ndarray, controls: np.ndarray) -> GeometricCoat:
        """Barycentres: each point by the weights of least size that give its place.

        For points (n, 3) [m] of control points that are not all in one plane (k, 3)
        [m]; SoftError: they do not span the points.
        """
        rows = np.vstack([np.asarray(controls, float).T, np.ones(len(controls))])
        targets = np.vstack([np.asarray(points, float).T, np.ones(len(points))])
        weights = np.linalg.pinv(rows) @ targets
        if np.abs(rows @ weights - targets).max() > 1e-8:
            raise SoftError("the control points do not span the points of the coat")
        return cls(weights.T)

    @classmethod
    def spline(
        cls, controls: np.ndarray, count: int, closed: bool = False
    ) -> GeometricCoat:
        """A number of points along a cubic spline through control points (k, 3) [m].

        Lengths between them at the beginning are the parameter of the curve; closed, it
        returns to the first.
        """
        controls = np.asarray(controls, dtype=float)
        number = len(controls)
        if number < 3 or count < 2:
            raise SoftError("a spline needs 3 control points and 2 points or more")
        basis = np.eye(number)
        if closed:
            controls, basis = (np.vstack([a, a[:1]]) for a in (controls, basis))
        steps = np.linalg.norm(np.diff(controls, axis=0), axis=1)
        if not (steps > 0.0).all():
            raise SoftError("two control points of a spline are at one place")
        along = np.concatenate([[0.0], np.cumsum(steps)])
        kind = "periodic" if closed else "natural"
        curve = CubicSpline(along, basis, bc_type=kind)
        return cls(curve(np.linspace(0.0, along[-1], count)))

    def points(self, controls: np.ndarray) -> np.ndarray:
        """Where the points are (..., points, 3) for control points elsewhere [m]."""
        return np.asarray(self.weights @ np.asarray(controls, dtype=float))

    def transmitted(self, forces: np.ndarray) -> np.ndarray:
        """Forces on the control points of forces on the points (controls, 3) [N]."""
        return np.asarray(self.weights.T @ np.asarray(forces, dtype=float))


PLACES = {
    "head_top": (0.0, 1.0),
    "l_head": (0.07, 0.92),
    "r_head": (-0.07, 0.92),
    "chin": (0.0, 0.84),
    "shoulder": (0.0, 0.74),
    "l_elbow": (0.2, 0.62),
    "r_elbow": (-0.2, 0.62),
    "l_hand": (0.3, 0.44),
    "r_hand": (-0.3, 0.44),
    "hip": (0.0, 0.46),
    "l_knee": (0.09, 0.24),
    "r_knee": (-0.09, 0.24),
    "l_foot": (0.12, 0.0),
    "r_foot": (-0.12, 0.0),
}
"""To the left and up, of the 14 masses: 4 of the head, 5 of the arms, 5 of the legs."""
FEET = ("l_foot", "r_foot")
"""What the operator holds."""
_HEAD = ("head_top", "l_head", "r_head", "chin")
_BONES = (
    ("chin", "shoulder"),
    ("l_head", "shoulder"),
    ("r_head", "shoulder"),
    ("shoulder", "l_elbow"),
    ("shoulder", "r_elbow"),
    ("l_elbow", "l_hand"),
    ("r_elbow", "r_hand"),
    ("shoulder", "hip"),
    ("hip", "l_knee"),
    ("hip", "r_knee"),
    ("l_knee", "l_foot"),
    ("r_knee", "r_foot"),
)
_POSTURE = (
    ("chin", "hip"),
    ("shoulder", "l_knee"),
    ("shoulder", "r_knee"),
    ("hip", "l_foot"),
    ("hip", "r_foot"),
    ("l_knee", "r_knee"),
    ("hip", "l_elbow"),
    ("hip", "r_elbow"),
    ("l_hand", "shoulder"),
    ("r_hand", "shoulder"),
    ("shoulder", "l_foot"),
    ("shoulder", "r_foot"),
    ("head_top", "hip"),
    ("l_head", "l_elbow"),
    ("r_head", "r_elbow"),
)
_CLOTH = {
    "l_sleeve": ("l_elbow", "l_hand"),
    "r_sleeve": ("r_elbow", "r_hand"),
    "l_thigh_cloth": ("hip", "l_knee"),
    "r_thigh_cloth": ("hip", "r_knee"),
    "l_shank_cloth": ("l_knee", "l_foot"),
    "r_shank_cloth": ("r_knee", "r_foot"),
}
"""Masses of a physical coat, one on each arm and two on each leg, and their bones."""
CURVES = (
    (("head_top", "l_head", "chin", "r_head"), True),
    (("l_hand", "l_elbow", "shoulder", "r_elbow", "r_hand"), False),
    (("chin", "shoulder", "hip"), False),
    (("l_foot", "l_knee", "hip", "r_knee", "r_foot"), False),
)
"""Control points of the splines that are drawn, and whether they are closed."""
COAT_CURVES = (
    (("shoulder", "l_elbow", "l_sleeve", "l_hand"), False),
    (("shoulder", "r_elbow", "r_sleeve", "r_hand"), False),
    (("hip", "l_thigh_cloth", "l_knee", "l_shank_cloth", "l_foot"), False),
    (("hip", "r_thigh_cloth", "r_knee", "r_shank_cloth", "r_foot"), False),
)
"""The same of the coat."""


_MASS, _CLOTH_MASS = 0.05, 0.002
"""Of each mass of the puppet, and of its coat [kg]."""
_BONE_LAW, _POSTURE_LAW, _CLOTH_LAW = (1500.0, 0.6), (600.0, 1.0), (8.0, 0.02)
"""Of bones, of links that keep it upright, of the coat [N/m, N s/m]."""


def puppet(coat: bool = False) -> Network:
    """The puppet of 14 masses, its feet driven; with its coat of 6 where asked for."""
    network, points = Network(), {}
    for name, (left, up) in PLACES.items():
        place = (0.0, left, up)
        if name in FEET:
            points[name] = network.add_driven(place, name)
        else:
            points[name] = network.add_mass(_MASS, place, name=name)
    bones = (*itertools.combinations(_HEAD, 2), *_BONES)
    for pairs, law in ((bones, _BONE_LAW), (_POSTURE, _POSTURE_LAW)):
        for a, b in pairs:
            _join(network, points[a], points[b], law)
    if coat:
        for name, ends in _CLOTH.items():
            first, second = (network.positions[points[end].index] for end in ends)
            side = 0.03 if name.startswith("l_") else -0.03
            place = (first + second) / 2 + np.array([0.0, side, 0.0])
            mass = network.add_mass(_CLOTH_MASS, place, name=name)
            for end in ends:
                _join(network, mass, points[end], _CLOTH_LAW)
    return network


def curves_of(network: Network) -> list[tuple[list[int], bool]]:
    """Control points of the splines of a puppet, by their numbers."""
    chosen = CURVES + (COAT_CURVES if "l_sleeve" in network.names else ())
    number = network.point
    return [([number(name).index for name in names], way) for names, way in chosen]


def drawn_curves(
    positions: np.ndarray, curves: list[tuple[list[int], bool]], count: int = 40
) -> list[np.ndarray]:
    """Splines through masses at one time, each of so many points (count, 3) [m]."""
    found = []
    for rows, closed in curves:
        controls = positions[rows]
        found.append(GeometricCoat.spline(controls, count, closed).points(controls))
    return found


def bricks(count: int = 4) -> Network:
    """Bricks of 3 x 3 x 5 masses over each other, with stops between them."""
    network, parts = Network(), []
    law = ViscoSpring(1500.0, 1.0)
    for k in range(count):
        brick = box((3, 3, 5), 0.05, 0.02, law)
        shift = np.array([0.0, 0.0, 0.01 + 0.27 * k])
        parts.append(network.add_module(brick, f"brick{k}.", shift))
    masses = [point for part in parts for point in part]
    apart = [k for k, part in enumerate(parts) for _ in part]
    network.add_crowd(masses, Stop(0.06, 800.0, 1.0), apart)
    return network


def skin_ball(inner: int = 6, outer: int = 20, radius: float = 0.1) -> Network:
    """Masses inside, and a ring of contour masses around them that touch the world."""
    network = Network()

    def around(number: int, far: float, mass: float, word: str) -> list[MPoint]:
        angles = 2 * np.pi * np.arange(number) / number
        places = zip(far * np.cos(angles), far * np.sin(angles), strict=True)
        return [
            network.add_mass(mass, (0.0, y, z), name=f"{word}{k}")
            for k, (y, z) in enumerate(places)
        ]

    deep = around(inner, 0.5 * radius, 0.05, "deep")
    contour = around(outer, radius, 0.002, "contour")
    for a, b in itertools.combinations(deep, 2):
        _join(network, a, b, (400.0, 0.5))
    for k, point in enumerate(contour):
        _join(network, point, contour[(k + 1) % outer], (40.0, 0.02))
        places = np.array([network.positions[d.index] for d in deep])
        away = np.linalg.norm(places - network.positions[point.index], axis=1)
        for near in np.argsort(away)[:2]:
            _join(network, point, deep[int(near)], (60.0, 0.05))
    return network


def _join(network: Network, a: MPoint, b: MPoint, law: tuple[float, float]) -> None:
    """Link two masses at the distance that they have."""
    apart = network.positions[a.index] - network.positions[b.index]
    rest = float(np.linalg.norm(apart))
    network.add_link(a, b, ViscoSpring(*law, rest))


ENERGY = 5e-3
"""How much the energy of an explicit network may grow, relative: it is known to the
order of its period."""


def run_network(
    simulation: NetworkSimulation,
    end: float,
    sampling_period: float,
    name: str,
    driven: Callable[[float], np.ndarray] | None = None,
    curves: Sequence[tuple[list[int], bool]] = (),
) -> Run:
    """Simulate a network from its beginning to an end [s].

    The energy of the run is that of the network less the work of what drives it, so it
    never grows. Driven masses are at places of a time (d, 3) [m], or still; curves are
    masses of splines to draw, and whether they are closed. The sampling period is
    rounded to samples of the network [s].

    Raises:
        UnstableStepError: the period is too long for the network.
        SoftError: the motion has left all bounds.
    """
    network = simulation.network
    longest = safe_period(network)
    if longest < simulation.period:
        report = stability_report(simulation)
        report.raise_where_unstable()
        longest = float(report.longest_period)
    steps = SAMPLES.check(name, round(end / simulation.period), error=SoftError)
    every = max(1, round(sampling_period / simulation.period))
    rows = np.array(network.driven, dtype=int)
    times, places, speeds, energies = [], [], [], []
    work = 0.0
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            energy = simulation.energy()
            times.append(step * simulation.period)
            places.append(simulation.positions.ravel())
            speeds.append(simulation.velocities.ravel())
            energies.append((energy.kinetic, energy.elastic + energy.weight - work))
        if step == steps:
            break
        before, old = simulation.forces[rows], simulation.positions[rows]
        target = None if driven is None else driven((step + 1) * simulation.period)
        simulation.step(target)
        moved = simulation.positions[rows] - old
        work -= 0.5 * float(np.sum((before + simulation.forces[rows]) * moved))
    simulation.check_finite()
    count = len(times)
    names = tuple(f"{mass}/{axis}" for mass in network.names for axis in "xyz")
    links = [list(link.ends) for link in network.links]
    return Run(
        t=np.array(times),
        q=np.array(places),
        v=np.array(speeds),
        z=np.zeros((count, 0)),
        torques=np.zeros((count, len(names))),
        contacts=np.zeros((count, 0), dtype=np.int8),
        forces=np.zeros((count, 0, 3)),
        gaps=np.zeros((count, 0)),
        energy=np.array(energies),
        events=(),
        table=ContactTable.of((), (), 0, 0.0, 0.0),
        position_names=names,
        velocity_names=names,
        info={
            "system": name,
            "method": "network",
            "passive": True,
            "energy_tolerance": ENERGY,
            "z_names": [],
            "network": {
                "masses": list(network.names),
                "links": links,
                "curves": [[list(rows), closed] for rows, closed in curves],
                "period": simulation.period,
                "longest_period": longest,
            },
        },
        signals=np.zeros((count, 0)),
    )
