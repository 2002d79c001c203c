# SPDX-License-Identifier: Apache-2.0
"""The thesis' figures: a puppet of 14 masses, bricks, a ball with a skin (section 5.5).

The thesis gives numbers of masses only; sizes, stiffness and viscosity are assumed,
such that a puppet of one metre stands on the feet that an operator holds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from humans_sim.soft.layers.geometric_coat import GeometricCoat
from humans_sim.soft.networks.laws import Stop, ViscoSpring
from humans_sim.soft.networks.network import MPoint, Network
from humans_sim.soft.networks.topologies import box

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


@dataclass(frozen=True)
class PuppetSizes:
    """What a puppet is made of.

    Attributes:
        mass: of each mass that moves [kg].
        bone: stiffness [N/m] and viscosity [N s/m] of bones.
        posture: the same of the links that keep it upright.
        cloth_mass: of each mass of the coat [kg].
        cloth: stiffness and viscosity of the coat.
    """

    mass: float = 0.05
    bone: tuple[float, float] = (1500.0, 0.6)
    posture: tuple[float, float] = (600.0, 1.0)
    cloth_mass: float = 0.002
    cloth: tuple[float, float] = (8.0, 0.02)


def puppet(coat: bool = False, sizes: PuppetSizes | None = None) -> Network:
    """The puppet of 14 masses, its feet driven; with its coat of 6 where asked for."""
    sizes = PuppetSizes() if sizes is None else sizes
    network, points = Network(), {}
    for name, (left, up) in PLACES.items():
        place = (0.0, left, up)
        if name in FEET:
            points[name] = network.add_driven(place, name)
        else:
            points[name] = network.add_mass(sizes.mass, place, name=name)
    bones = (*itertools.combinations(_HEAD, 2), *_BONES)
    for pairs, law in ((bones, sizes.bone), (_POSTURE, sizes.posture)):
        for a, b in pairs:
            _join(network, points[a], points[b], law)
    if coat:
        for name, ends in _CLOTH.items():
            first, second = (network.positions[points[end].index] for end in ends)
            side = 0.03 if name.startswith("l_") else -0.03
            place = (first + second) / 2 + np.array([0.0, side, 0.0])
            mass = network.add_mass(sizes.cloth_mass, place, name=name)
            for end in ends:
                _join(network, mass, points[end], sizes.cloth)
    return network


def curves_of(network: Network) -> list[tuple[list[int], bool]]:
    """Control points of the splines of a puppet, by their numbers."""
    chosen = CURVES + (COAT_CURVES if "l_sleeve" in network.names else ())
    return [
        ([network.point(name).index for name in names], closed)
        for names, closed in chosen
    ]


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
        return [
            network.add_mass(
                mass, (0.0, far * np.cos(a), far * np.sin(a)), name=f"{word}{k}"
            )
            for k, a in enumerate(angles)
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
