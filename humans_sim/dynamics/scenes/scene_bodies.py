# SPDX-License-Identifier: Apache-2.0
"""Bodies of a scene: a ball, a box, or points; with mass and friction."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from humans_sim.bodies.mass_properties import (
    BodyError,
    MassProperties,
    of_box,
    of_sphere,
)
from humans_sim.contact.geometry.solids import Ball, Box


@dataclass(frozen=True)
class SceneBody:
    """A free body that can touch and be touched.

    Attributes:
        name: of the body.
        properties: its mass.
        points: of it that touch, in its frame (n, 3) [m].
        radius: of the balls around these points [m].
        solid: what others touch of it, in its frame; None: they go through it, but for
            the floor.
        friction: Coulomb's coefficient; of two that touch, the lower one counts; None:
            the scene's.
    """

    name: str
    properties: MassProperties
    points: np.ndarray
    radius: float = 0.0
    solid: Box | Ball | None = None
    friction: float | None = field(default=None)

    def __post_init__(self) -> None:
        points = np.array(self.points, dtype=float)
        if points.ndim != 2 or points.shape[1] != 3 or not np.isfinite(points).all():
            raise BodyError(f"{self.name}: its points must be rows of 3 numbers")
        if not (np.isfinite(self.radius) and self.radius >= 0):
            raise BodyError(f"{self.name}: the radius must be 0 or more")
        if self.friction is not None and not self.friction >= 0:
            raise BodyError(f"{self.name}: friction must not be negative")
        object.__setattr__(self, "points", points)

    @classmethod
    def ball(
        cls, name: str, mass: float, radius: float, friction: float | None = None
    ) -> SceneBody:
        """A solid ball."""
        properties = of_sphere(mass, radius)
        solid = Ball(radius, name=name, friction=friction)
        return cls(name, properties, np.zeros((1, 3)), radius, solid, friction)

    @classmethod
    def box(
        cls,
        name: str,
        mass: float,
        size: tuple[float, float, float],
        friction: float | None = None,
    ) -> SceneBody:
        """A solid box; its corners touch the floor and balls touch its faces."""
        properties = of_box(mass, size)
        signs = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
        solid = Box(size, name=name, friction=friction)
        return cls(name, properties, signs * np.array(size), 0.0, solid, friction)

    def named(self, name: str) -> SceneBody:
        """The same body under another name."""
        solid = None if self.solid is None else replace(self.solid, name=name)
        return replace(self, name=name, solid=solid)

    def record(self) -> dict[str, Any]:
        """Name and shape as plain data: a ball, or the box around its points."""
        if isinstance(self.solid, Ball):
            shape: dict[str, Any] = {"shape": "ball", "radius": self.solid.radius}
        elif isinstance(self.solid, Box):
            shape = {"shape": "box", "size": [float(x) for x in self.solid.size]}
        else:
            size = np.ptp(self.points, axis=0) + 2 * self.radius
            shape = {"shape": "box", "size": size.tolist()}
        return {"name": self.name, "mass": self.properties.mass, **shape}
