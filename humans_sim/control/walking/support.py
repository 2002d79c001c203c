# SPDX-License-Identifier: Apache-2.0
"""Support polygons: convex hulls of soles, as half-planes with a margin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.control.walking.footsteps import Footprint, Side
from humans_sim.control.walking.settings import SettingError, WalkSettings
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.soles import corner_places, sole_named

_FLAT = 1e-12
"""Twice the area of a corner that is none [m^2]."""


class HalfPlanes(NamedTuple):
    """The points p with ``normals @ p <= bounds``.

    Attributes:
        normals: outward, of unit length (n, 2).
        bounds: (n,) [m].
    """

    normals: np.ndarray
    bounds: np.ndarray

    def depth(self, point: np.ndarray) -> float:
        """Distance of a point to the nearest edge, negative outside [m]."""
        return float((self.bounds - self.normals @ point).min())


def convex_hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull of points (n, 2), counter-clockwise (m, 2).

    Andrew's monotone chain.
    """
    ordered = sorted(map(tuple, points.tolist()))

    def half(places: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
        chain: list[tuple[float, ...]] = []
        for p in places:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2], chain[-1]
                if (bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > _FLAT:
                    break
                chain.pop()
            chain.append(p)
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def inside(corners: np.ndarray, margin: float = 0.0) -> HalfPlanes:
    """Half-planes of a convex polygon, each moved inwards by a margin [m]."""
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.column_stack([edges[:, 1], -edges[:, 0]])
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return HalfPlanes(normals, np.einsum("ij,ij->i", normals, corners) - margin)


@dataclass(frozen=True)
class SolePair:
    """The soles of a biped.

    Attributes:
        corners: of each sole in its frame, counter-clockwise (n, 2) [m].
        preferred: place of the zero-moment point in each sole's frame (2,) [m].
        margin: that the zero-moment point keeps to the edges [m].
    """

    corners: Mapping[Side, np.ndarray]
    preferred: Mapping[Side, np.ndarray]
    margin: float

    @classmethod
    def of_model(cls, model: Model, settings: WalkSettings) -> SolePair:
        """The soles that the settings name.

        Raises:
            SettingError: no room is left for the zero-moment point.
        """
        names = {Side.LEFT: settings.left, Side.RIGHT: settings.right}
        pair = cls(
            {side: _corners(model, name) for side, name in names.items()},
            {
                side: np.array([settings.zmp_forward, -side * settings.zmp_inward])
                for side in Side
            },
            settings.zmp_margin,
        )
        for side, corners in pair.corners.items():
            room = inside(corners, pair.margin).depth(pair.preferred[side])
            if room <= 0:
                raise SettingError(
                    "zmp_margin",
                    f"is {-room:g} m too much at the preferred place in {names[side]}",
                )
        return pair

    @property
    def edges(self) -> int:
        """Largest number of edges of a support polygon."""
        return sum(len(corners) for corners in self.corners.values())

    def polygon(
        self, feet: Mapping[Side, Footprint], standing: Iterable[Side]
    ) -> np.ndarray:
        """Corners of the support, counter-clockwise (n, 2) [m]."""
        return convex_hull(
            np.vstack([feet[side].points(self.corners[side]) for side in standing])
        )

    def pivot(self, side: Side, turn: float) -> np.ndarray:
        """The point of a sole on which it turns: the middle of its toes or its heel.

        The foot on the side of the turn stands on its toes, the other one on its heel:
        so far from each other, the feet do not slide instead of turning.
        """
        corners = self.corners[side]
        x = corners[:, 0].max() if side * turn > 0 else corners[:, 0].min()
        return np.array([x, corners[:, 1].mean()])

    def turned(
        self, feet: Mapping[Side, Footprint], turn: float
    ) -> dict[Side, Footprint]:
        """The feet, each turned about its pivot."""
        return {
            side: foot.turned(turn, self.pivot(side, turn))
            for side, foot in feet.items()
        }

    def place(self, feet: Mapping[Side, Footprint], side: Side) -> np.ndarray:
        """Preferred zero-moment point on one foot, in the world (2,) [m]."""
        return feet[side].points(self.preferred[side])

    def middle(self, feet: Mapping[Side, Footprint]) -> np.ndarray:
        """Preferred zero-moment point on both feet, in the world (2,) [m]."""
        return 0.5 * (self.place(feet, Side.LEFT) + self.place(feet, Side.RIGHT))


def _corners(model: Model, name: str) -> np.ndarray:
    """Corners of a sole in its own frame."""
    sole = sole_named(model, name)
    # Margins of a walk are given to the outline, on balls, too.
    corners = convex_hull(corner_places(model, sole)[:, :2])
    if len(corners) < 3:
        raise ParameterError(f"the contact points of {name} span no area")
    return corners
