# SPDX-License-Identifier: Apache-2.0
"""Free bodies with smooth surfaces on a fixed one: coins, ellipsoids, rattlebacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.bodies.mass_properties import BodyError, MassProperties
from humans_sim.contact.joint.surface_implicit import Ellipsoid
from humans_sim.contact.joint.surface_shapes import Plane, Sphere, Torus
from humans_sim.contact.joint.surfaces import Surface
from humans_sim.core.constants import DOWNWARD
from humans_sim.dynamics.surfaces.surface_contact import WORLD, SurfaceContact
from humans_sim.dynamics.surfaces.surface_system import SurfaceSystem


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
    """What a surface looks like: a coin of a ring, a ball, an ellipsoid."""
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
        raise BodyError(f"bodies with names of their own are wanted, not {names}")
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
