# SPDX-License-Identifier: Apache-2.0
"""Footsteps on uneven ground: each sole whole on one level, as near as it gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from humans_sim.control.walking.footsteps import (
    Footprint,
    FootstepPlanner,
    Side,
    Velocity,
)
from humans_sim.control.walking.settings import WalkSettings

Heights = Callable[[np.ndarray], np.ndarray]
"""Places (n, 2) to heights of the ground (n,) [m], NaN where there is none."""

_LEVEL = 1e-3
"""Difference of heights below a sole that lies flat [m]."""
_PLACES = 9
"""Along and across a sole at which heights are looked at."""
_TRIES = 200
"""Places that are tried between the two ends of the reach."""
_LONGER = 1.0 + 1e-9
"""Share by which a step may be beyond a limit: rounding."""
_ROOM, _TOE_ROOM = 0.01, 0.04
"""Of its size, that a sole keeps to an edge on each side, and before its toes: they go
up along a riser."""


class Treads:
    """Levels that a biped can stand on.

    Args:
        settings: of the walk: a level may be a foot's lift above or below the other.
        corners: of each sole in its frame (n, 2) [m].
        heights: of the ground.
    """

    def __init__(
        self,
        settings: WalkSettings,
        corners: Mapping[Side, np.ndarray],
        heights: Heights,
    ) -> None:
        """Choose where heights are looked at."""
        self._settings, self._heights = settings, heights
        self._grid = {side: _grid(places) for side, places in corners.items()}

    def onto(self, side: Side, place: Footprint) -> Footprint | None:
        """The same place on the level that is there; None where there is none."""
        (level,) = self._levels(side, [place])
        return None if math.isnan(level) else place._replace(z=level)

    def nearest(
        self, side: Side, wanted: Footprint, support: Footprint
    ) -> Footprint | None:
        """The place nearest to a wanted one, along its heading, where the sole is flat.

        Within the reach of a step from the foot that stands, and no higher or lower
        than a foot is lifted; None where there is no such place. Places that lie at
        least half as far ahead as the wanted one are preferred: else a walk would wait
        before a riser.
        """
        limits = self._settings
        ahead = _ahead(wanted, support)
        longest = max(limits.max_forward, limits.max_level_step)
        span = (-limits.max_backward - ahead, longest - ahead)
        shifts = np.linspace(min(*span, 0.0), max(*span, 0.0), _TRIES).tolist()
        places = [wanted.moved(shift, 0.0) for shift in sorted([0.0, *shifts], key=abs)]
        found = None
        for place, level in zip(places, self._levels(side, places), strict=True):
            rise, gone = abs(level - support.z), _ahead(place, support)
            least = _LEVEL if gone > _LONGER * limits.max_forward else 0.0
            if not least <= rise <= limits.foot_lift + _LEVEL:
                continue
            found = found or place._replace(z=level)
            if gone * math.copysign(1.0, ahead) >= 0.5 * abs(ahead):
                return place._replace(z=level)
        return found

    def _levels(self, side: Side, places: Sequence[Footprint]) -> list[float]:
        """Heights of the ground below a sole; NaN where it is not flat [m]."""
        grid = self._grid[side]
        points = np.vstack([place.points(grid) for place in places])
        heights = self._heights(points).reshape(len(places), len(grid))
        flat = np.ptp(heights, axis=1) <= _LEVEL
        return np.where(flat, heights.max(axis=1), np.nan).tolist()


class TreadPlanner(FootstepPlanner):
    """Plans from a velocity, and puts each foot on a level of the ground.

    Where no level is in reach (an edge that is too high, a gap) the feet come side by
    side and the biped marks time.

    Args:
        settings: of the walk.
        treads: levels of the ground.
    """

    def __init__(self, settings: WalkSettings, treads: Treads) -> None:
        """A planner for one biped on one ground."""
        super().__init__(settings)
        self._treads = treads

    def next(self, support: Footprint, side: Side, velocity: Velocity) -> Footprint:
        """Where the foot of one side lands, beside the foot that stands."""
        wanted = super().next(support, side, velocity)
        beside = super().next(support, side, Velocity())
        return self._treads.nearest(side, wanted, support) or beside


def _grid(corners: np.ndarray) -> np.ndarray:
    """Places all over the box of a sole, and a little beyond it (n, 2) [m]."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    room, toes = _ROOM * (high - low), (_TOE_ROOM - _ROOM) * (high[0] - low[0])
    ends = high + room + (toes, 0.0)
    axes = [np.linspace(a, b, _PLACES) for a, b in zip(low - room, ends, strict=True)]
    return np.array([(x, y) for x in axes[0] for y in axes[1]])


def _ahead(place: Footprint, support: Footprint) -> float:
    """How far a place lies before a foot [m]."""
    c, s = math.cos(support.yaw), math.sin(support.yaw)
    return c * (place.x - support.x) + s * (place.y - support.y)
