# SPDX-License-Identifier: Apache-2.0
"""Rolling bodies: coins, ellipsoids, rattlebacks, and how they start.

The rattleback has the numbers of Kane and Levinson (Realistic mathematical modeling of
the rattleback, International Journal of Non-Linear Mechanics 17, 1982).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.bodies.mass_properties import BodyError, MassProperties, of_cylinder
from humans_sim.contact.joint.surface_shapes import Plane, Sphere, Torus
from humans_sim.contact.joint.surfaces import Ellipsoid, Surface
from humans_sim.core.constants import DOWNWARD, GRAVITY
from humans_sim.dynamics.surfaces.surface_contact import WORLD, SurfaceContact
from humans_sim.dynamics.surfaces.surface_system import JointSprings, SurfaceSystem


@dataclass(frozen=True, eq=False)
class RollingBody:
    """A free body and the surfaces that it touches the floor with.

    Attributes:
        name: of the body.
        properties: mass, centre and inertia, in the frame that the surfaces are in.
        surfaces: of the body; several where it stands on more than one: a cylinder
            rolls on the rims of its two ends.
        size: about how far the surfaces reach from their origins [m].
        shape: what is drawn, as runs record it; None: as the first surface is.
    """

    name: str
    properties: MassProperties
    surfaces: tuple[Surface, ...]
    size: float
    shape: Mapping[str, Any] | None = None

    def record(self) -> dict[str, Any] | None:
        """Name and shape as plain data; None where nothing is known to be drawn."""
        shape = self.shape or _shape_of(self.surfaces[0])
        if shape is None:
            return None
        return {"name": self.name, "mass": self.properties.mass, **shape}


def _shape_of(surface: Surface) -> dict[str, Any] | None:
    """The shape of a surface: a coin of a ring, a ball, an ellipsoid."""
    place = surface.placement.translation.tolist()
    if isinstance(surface, Torus) and surface.placement.isIdentity():
        radius, edge = surface.ring_radius, surface.tube_radius
        return {"shape": "disk", "radius": radius + edge, "thickness": 2 * edge}
    if isinstance(surface, Sphere) and surface.placement.isIdentity():
        return {"shape": "ball", "radius": surface.radius}
    if isinstance(surface, Ellipsoid) and np.allclose(
        surface.placement.rotation, np.eye(3)
    ):
        return {"shape": "ellipsoid", "radii": list(surface.semi_axes), "at": place}
    return None


def rolling_bodies(
    bodies: Sequence[RollingBody],
    floor: Surface | None = None,
    *,
    friction: float = math.inf,
    restitution: float = 0.0,
    gravity: Sequence[float] = DOWNWARD,
) -> SurfaceSystem:
    """Free bodies on a floor.

    Configurations have seven numbers for each body: place of its frame and quaternion
    (x, y, z, w); velocities six: of the frame's origin and the spin, both in the frame.

    Args:
        bodies: what rolls.
        floor: what it rolls on; the plane z = 0 unless given.
        friction: Coulomb's coefficient; infinite: nothing slides.
        restitution: Newton's coefficient.
        gravity: [m/s^2].

    Raises:
        BodyError: there is no body, two have one name, or one has no surface.
    """
    names = [body.name for body in bodies]
    if not bodies or len(set(names)) != len(names):
        raise BodyError(f"bodies must have names of their own, not {names}")
    tree, pairs = pin.Model(), []
    tree.gravity.linear = np.asarray(gravity, dtype=float)
    ground = Plane() if floor is None else floor
    for body in bodies:
        if not body.surfaces:
            raise BodyError(f"{body.name} has no surface to roll on")
        joint = tree.addJoint(
            0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), body.name
        )
        mass = body.properties
        inertia = pin.Inertia(mass.mass, mass.center, mass.inertia)
        tree.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        for k, surface in enumerate(body.surfaces):
            one = len(body.surfaces) == 1
            pairs.append(
                SurfaceContact(
                    body.name if one else f"{body.name}_{k}",
                    ground,
                    surface,
                    WORLD,
                    body.name,
                    friction,
                    restitution,
                    body.size,
                )
            )
    drawn = [record for body in bodies if (record := body.record()) is not None]
    if floor is not None or len(drawn) < len(bodies):
        drawn = []  # a picture of a part would mislead
    return SurfaceSystem(tree, pairs, ", ".join(names), drawn)


_UP = np.array([0.0, 0.0, 1.0])


def coin(
    radius: float = 0.04,
    edge: float = 0.001,
    mass: float = 0.05,
    friction: float = math.inf,
) -> SurfaceSystem:
    """A thin disk on its rounded edge (Euler's disk); ``edge``: radius of that [m]."""
    across = mass * radius**2 / 4
    spread = MassProperties(mass, np.zeros(3), np.diag([across, across, 2 * across]))
    body = RollingBody("coin", spread, (Torus(radius, edge),), radius)
    return rolling_bodies([body], friction=friction)


def rolling_ellipsoid(
    long: float = 0.05,
    middle: float = 0.03,
    short: float = 0.02,
    mass: float = 0.5,
    friction: float = math.inf,
) -> SurfaceSystem:
    """A solid ellipsoid with these semi-axes [m]."""
    axes = np.array([long, middle, short])
    moments = mass / 5 * (np.sum(axes**2) - axes**2)
    spread = MassProperties(mass, np.zeros(3), np.diag(moments))
    body = RollingBody("ellipsoid", spread, (Ellipsoid((long, middle, short)),), long)
    return rolling_bodies([body], friction=friction)


def rattleback(skew: float = 2e-5) -> SurfaceSystem:
    """A boat-shaped stone that turns back when it is spun the wrong way.

    The sign of ``skew``, the product of inertia between length and breadth [kg m^2],
    is the side that it likes to spin to.
    """
    inertia = np.array([[2e-4, skew, 0.0], [skew, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])
    place = pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.01]))
    shape = Ellipsoid((0.2, 0.03, 0.02), place)
    spread = MassProperties(1.0, np.zeros(3), inertia)
    half = {"shape": "ellipsoid", "radii": [0.2, 0.03, 0.02], "at": [0, 0, 0.01]}
    stone = RollingBody("rattleback", spread, (shape,), 0.2, {**half, "top": 0.0})
    return rolling_bodies([stone])


def rolling_cylinder(
    radius: float = 0.03,
    length: float = 0.1,
    mass: float = 0.3,
    edge: float = 0.001,
    friction: float = math.inf,
) -> SurfaceSystem:
    """A solid cylinder, its axis along z, on the rounded rims of its two ends."""
    rims = tuple(
        Torus(radius - edge, edge, pin.SE3(np.eye(3), np.array([0.0, 0.0, place])))
        for place in (-length / 2, length / 2)
    )
    spread = of_cylinder(mass, radius, length)
    drawn = {"shape": "disk", "radius": radius, "thickness": length + 2 * edge}
    body = RollingBody("cylinder", spread, rims, radius, drawn)
    return rolling_bodies([body], friction=friction)


_ANKLE_HEIGHT, _SHANK, _THIGH = 0.06, 0.40, 0.42
"""Of the leg of :func:`rolling_knee` [m]."""


def rolling_knee(
    load: float = 30.0,
    condyle: float = 0.022,
    friction: float = math.inf,
    stiffness: float = 0.0,
    damping: float = 0.0,
) -> SurfaceSystem:
    """A leg whose thigh rolls on the shank: two condyles on a plateau.

    The pelvis slides up and down and bears a load, the hip is a ball, the ankle a
    hinge. Coordinates: ankle, pelvis, quaternion of the hip.
    """
    tree = pin.Model()
    tree.gravity.linear = -GRAVITY * _UP
    still, base = pin.SE3.Identity(), pin.SE3(np.eye(3), _ANKLE_HEIGHT * _UP)
    ankle = tree.addJoint(0, pin.JointModelRY(), base, "ankle")
    pelvis = tree.addJoint(0, pin.JointModelPZ(), base, "pelvis")
    hip = tree.addJoint(pelvis, pin.JointModelSpherical(), still, "hip")
    ball = 0.4 * load * 0.1**2 * np.eye(3)
    tree.appendBodyToJoint(pelvis, pin.Inertia(load, np.zeros(3), ball), still)
    for joint, mass, length in ((ankle, 3.5, _SHANK), (hip, 8.0, -_THIGH)):
        rod = of_cylinder(mass, 0.05, abs(length))
        middle = 0.5 * length * _UP
        tree.appendBodyToJoint(joint, pin.Inertia(mass, middle, rod.inertia), still)
    plateau = Plane(pin.SE3(np.eye(3), _SHANK * _UP))
    pairs = [
        SurfaceContact(
            name,
            plateau,
            Sphere(condyle, pin.SE3(np.eye(3), np.array([0.0, aside, -_THIGH]))),
            "ankle",
            "hip",
            friction,
            size=condyle,
        )
        for name, aside in (("medial", -0.022), ("lateral", 0.022))
    ]
    turns = np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    springs = JointSprings(stiffness * turns, damping * turns, pin.neutral(tree))
    return SurfaceSystem(tree, pairs, "rolling knee", _drawn_leg(condyle), springs)


def _drawn_leg(condyle: float) -> list[dict[str, Any]]:
    """Shapes of :func:`rolling_knee`: shafts, plateau, condyles, foot, load."""

    def shaft(name: str, joint: str, low: float, high: float) -> dict[str, Any]:
        size = {"radius": 0.018, "thickness": high - low}
        at = [0.0, 0.0, 0.5 * (low + high)]
        return {"name": name, "joint": joint, "shape": "disk", **size, "at": at}

    def box(
        name: str, joint: str, size: list[float], at: list[float]
    ) -> dict[str, Any]:
        return {"name": name, "joint": joint, "shape": "box", "size": size, "at": at}

    foot = box("foot", "universe", [0.2, 0.08, 0.03], [0.04, 0.0, 0.015])
    trunk = box("load", "pelvis", [0.2, 0.2, 0.12], [0.0, 0.0, 0.1])
    head = {"joint": "ankle", "shape": "ball", "radius": 0.03}
    plate = box("plateau", "ankle", [0.12, 0.13, 0.012], [0.0, 0.0, _SHANK - 0.006])
    ends = [
        {
            "name": f"{name} condyle",
            "joint": "hip",
            "shape": "ball",
            "radius": condyle,
            "at": [0.0, aside, -_THIGH],
        }
        for name, aside in (("medial", -0.022), ("lateral", 0.022))
    ]
    return [
        foot,
        {"name": "ankle", **head},
        shaft("shank", "ankle", 0.0, _SHANK - 0.012),
        plate,
        *ends,
        shaft("thigh", "hip", -_THIGH, 0.0),
        {"name": "hip", **head, "joint": "hip"},
        trunk,
    ]
