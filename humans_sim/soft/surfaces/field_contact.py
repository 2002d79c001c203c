# SPDX-License-Identifier: Apache-2.0
"""Contact of implicit surfaces: forces where two fields overlap (thesis, chapter 9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.soft.errors import SoftError
from humans_sim.soft.surfaces.fields import Field


@dataclass(frozen=True)
class FieldContact:
    """Forces between two bodies whose surfaces are where fields have a level.

    Points on the surface of one that lie inside the other are pushed out along the
    normal of the other, by a stiffness for each area; the other takes the opposite.

    Attributes:
        level: of both surfaces.
        stiffness: for each area [N/m³].
    """

    level: float
    stiffness: float

    def forces(
        self, points: np.ndarray, areas: np.ndarray, other: Field
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forces on points of a surface, and on the other body there (n, 3) [N].

        Args:
            points: on the surface of one body (n, 3) [m].
            areas: that they stand for (n,) [m²].
            other: field of the other body.
        """
        if not self.stiffness > 0.0:
            raise SoftError(f"a stiffness of {self.stiffness:g} N/m³, must be above 0")
        excess = other.value(points) - self.level
        slope = other.gradient(points)
        steep = np.linalg.norm(slope, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            depth = np.where(steep > 0, np.maximum(excess, 0.0) / steep, 0.0)
            normal = np.where(steep[:, None] > 0, -slope / steep[:, None], 0.0)
        own = (self.stiffness * depth * areas)[:, None] * normal
        return own, -own
