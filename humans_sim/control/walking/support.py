# SPDX-License-Identifier: Apache-2.0
"""Support polygons: convex hulls of soles, as half-planes with a margin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from humans_sim.control.walking.footsteps import Footprint, Side
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SettingError
from humans_sim.core.convex_polygon import convex_hull, inside
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.soles import corner_places, sole_named


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
        if turn == 0.0:
            return dict(feet)
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
