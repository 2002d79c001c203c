# SPDX-License-Identifier: Apache-2.0
"""Footsteps from a list, along a path, and on uneven ground.

On uneven ground each sole stands whole on one level, as near as it gets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn

import numpy as np

from humans_sim.control.walking.footsteps import (
    Footprint,
    FootstepPlanner,
    Side,
    Velocity,
)
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SLIP
from humans_sim.core.budget import FOOTSTEPS
from humans_sim.core.errors import ParameterError

_LONGER = 1.001
"""Share by which a step may be beyond a limit: rounding of files."""
_NEAREST = 0.6
"""Of the stance, that feet keep between them."""
_PACE = 0.8
"""Of the longest step, that steps along a path have."""
_BEND = 0.2
"""Farther aside from its heading [rad] a walk that cannot turn does not go."""
_HERE = 1e-3
"""A point this near is reached [m]."""
_ROUNDING, _PLACE_ROUNDING = 1e-9, 1e-6
"""Rounding of computed shares, and of places in files [m, rad]."""


class ListedStep(NamedTuple):
    """A step that is given: the foot, and where it lands in the world."""

    side: Side
    place: Footprint


class ListedFootsteps(FootstepPlanner):
    """A planner that knows where each foot goes.

    Feet stand at first where they are given; ParameterError: a step is beyond the legs,
    or sides do not alternate.
    """

    def __init__(
        self,
        settings: WalkSettings,
        feet: Mapping[Side, Footprint],
        steps: Sequence[ListedStep],
    ) -> None:
        super().__init__(settings)
        if not steps:
            raise ParameterError("a list of footsteps has one at least")
        self._steps = tuple(steps)
        self._first, places = dict(feet), dict(feet)
        for n, step in enumerate(self._steps):
            if n and step.side is self._steps[n - 1].side:
                raise ParameterError(f"footstep {n + 1}: the same foot steps twice")
            _check(settings, n + 1, step, places[step.side.other])
            places[step.side] = step.place

    def next(self, support: Footprint, side: Side, velocity: Velocity) -> Footprint:
        """Where a foot lands: as listed, after the step that put down the other one.

        A foot that has no step left comes beside the other one.
        """
        n = self._after(support, side)
        if n < len(self._steps) and self._steps[n].side is side:
            return self._steps[n].place
        return super().next(support, side, Velocity())

    def _after(self, support: Footprint, side: Side) -> int:
        """Number of the step after the one that put down a foot."""
        for n, step in enumerate(self._steps):
            if step.place is support:
                return n + 1
        if support is self._first[side.other]:
            return 0
        # A step that was moved on its way: the nearest one of that foot.
        others = [n for n, step in enumerate(self._steps) if step.side is not side]
        if not others:
            return 0
        return 1 + min(
            others, key=lambda n: math.dist(support[:2], self._steps[n].place[:2])
        )


def path_footsteps(
    settings: WalkSettings, feet: Mapping[Side, Footprint], path: np.ndarray
) -> list[ListedStep]:
    """Steps of both feet in turn along a path, heading where it goes.

    From where the feet stand through points in the world (n, 2) [m]; they end side by
    side. ParameterError: there are no points, or the path bends and the hips do not
    turn.
    """
    points = np.asarray(path, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ParameterError(f"a path has points (n, 2), not shape {points.shape}")
    if not np.isfinite(points).all():
        raise ParameterError("a point of the path is not finite")
    left, right = feet[Side.LEFT], feet[Side.RIGHT]
    body = Footprint(
        0.5 * (left.x + right.x), 0.5 * (left.y + right.y), 0.5 * (left.yaw + right.yaw)
    )
    side, steps = Side.LEFT, []
    longest, stance = _PACE * settings.max_forward, settings.stance_width
    apart = np.linalg.norm(np.diff([body[:2], *points], axis=0), axis=1)
    FOOTSTEPS.check("the path", float(apart.sum()) / longest)
    turn = 0.0 if settings.turns == SLIP else 0.5 * _PACE * settings.max_turn

    def put(place: Footprint) -> None:
        """The next foot beside a place of the body."""
        nonlocal side
        steps.append(ListedStep(side, place.moved(0.0, side * 0.5 * stance)))
        side = side.other

    for goal in points:
        if turn == 0.0:
            for ahead, aside in _straight_leg(settings, body, goal):
                body = body.moved(ahead, aside)
                put(body)
            continue
        while (distance := math.dist(goal, body[:2])) > _HERE:
            away = math.atan2(goal[1] - body.y, goal[0] - body.x) - body.yaw
            away = math.remainder(away, math.tau)
            turned = min(max(away, -turn), turn)
            # Turn first: a step that still points elsewhere stays where it is.
            ahead = 0.0 if abs(away) > turn else min(longest, distance)
            if turned and len(steps) == 0:
                side = Side.LEFT if turned > 0 else Side.RIGHT
            body = body.moved(0.0, 0.0, turned).moved(ahead, 0.0)
            put(body)
    put(body)
    return steps


def _straight_leg(
    settings: WalkSettings, body: Footprint, goal: np.ndarray
) -> list[tuple[float, float]]:
    """Steps of a body that does not turn, forwards and to the left [m].

    A goal a little to the side is reached by steps that go a little to the side; one
    elsewhere than ahead is refused.
    """
    ahead, aside = body.seen(goal[0], goal[1])
    longest = _PACE * settings.max_forward
    if math.hypot(ahead, aside) > longest and abs(math.atan2(aside, ahead)) > _BEND:
        raise ParameterError(
            "the path bends, and this walk follows paths by yaw joints alone"
        )
    if ahead <= _HERE:
        return []
    count = math.ceil(ahead / longest - _ROUNDING)
    most = 0.5 * _PACE * settings.max_sideways
    return [(ahead / count, min(max(aside / count, -most), most))] * count


def _check(
    settings: WalkSettings, number: int, step: ListedStep, support: Footprint
) -> None:
    """Refuse a step that the legs do not reach from the other foot."""

    def refuse(reason: str) -> NoReturn:
        raise ParameterError(f"footstep {number}: {reason}")

    ahead, left = support.seen(step.place.x, step.place.y)
    aside = step.side * left
    turn = step.side * (step.place.yaw - support.yaw)
    rise = step.place.z - support.z
    level_step = settings.max_level_step if rise else 0.0
    for word, value, most in (
        ("forwards", ahead, max(settings.max_forward, level_step)),
        ("backwards", -ahead, settings.max_backward),
        ("aside", aside - settings.stance_width, settings.max_sideways),
    ):
        if value > _LONGER * most + _PLACE_ROUNDING:
            refuse(f"{value:.3f} m {word}, beyond {most:.3f} m")
    if abs(rise) > _LONGER * settings.foot_lift + _PLACE_ROUNDING:
        refuse(f"{rise:+.3f} m in height, beyond {settings.foot_lift:.3f} m")
    least = _NEAREST * settings.stance_width
    if aside < least:
        refuse(f"{aside:.3f} m beside the other foot, nearer than {least:.3f} m")
    limit = 0.0 if settings.turns == SLIP else settings.max_turn
    if abs(turn) > _LONGER * limit + _PLACE_ROUNDING:
        degrees, most = math.degrees(turn), math.degrees(limit)
        refuse(f"turned by {degrees:.1f} degrees, beyond {most:.1f}")


Heights = Callable[[np.ndarray], np.ndarray]
"""Places (n, 2) to heights of the ground (n,) [m], NaN where there is none."""

_LEVEL = 1e-3
"""Difference of heights below a sole that lies flat [m]."""
_PLACES = 9
"""Along and across a sole at which heights are looked at."""
_TRIES = 200
"""Places that are tried between the two ends of the reach."""
_HALF_WAY = 0.5
"""Of the way to a wanted place: at least as far ahead a level is preferred to one that
is nearer, else a walk would wait before a riser."""
_ROOM, _TOE_ROOM = 0.01, 0.04
"""Of its size, that a sole keeps to an edge on each side, and before its toes: they go
up along a riser."""


class Treads:
    """Levels that a biped can stand on.

    A level may be a foot's lift above or below the other; corners are those of each
    sole in its frame (n, 2) [m].
    """

    def __init__(
        self,
        settings: WalkSettings,
        corners: Mapping[Side, np.ndarray],
        heights: Heights,
    ) -> None:
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
        than a foot is lifted; None where there is no such place.
        """
        limits = self._settings
        ahead = support.seen(wanted.x, wanted.y)[0]
        longest = max(limits.max_forward, limits.max_level_step)
        span = (-limits.max_backward - ahead, longest - ahead)
        shifts = np.linspace(min(*span, 0.0), max(*span, 0.0), _TRIES).tolist()
        places = [wanted.moved(shift, 0.0) for shift in sorted([0.0, *shifts], key=abs)]
        found = None
        for place, level in zip(places, self._levels(side, places), strict=True):
            rise, gone = abs(level - support.z), support.seen(place.x, place.y)[0]
            farther = gone > (1.0 + _ROUNDING) * limits.max_forward
            least = _LEVEL if farther else 0.0
            if not least <= rise <= limits.foot_lift + _LEVEL:
                continue
            found = found or place._replace(z=level)
            if gone * math.copysign(1.0, ahead) >= _HALF_WAY * abs(ahead):
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
    """

    def __init__(self, settings: WalkSettings, treads: Treads) -> None:
        super().__init__(settings)
        self._treads = treads

    def next(self, support: Footprint, side: Side, velocity: Velocity) -> Footprint:
        """As of a planner on level ground."""
        footprint = super().next(support, side, velocity)
        beside = super().next(support, side, Velocity())
        return self._treads.nearest(side, footprint, support) or beside


def _grid(corners: np.ndarray) -> np.ndarray:
    """Places all over the box of a sole, and a little beyond it (n, 2) [m]."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    room, toes = _ROOM * (high - low), (_TOE_ROOM - _ROOM) * (high[0] - low[0])
    ends = high + room + (toes, 0.0)
    axes = [np.linspace(a, b, _PLACES) for a, b in zip(low - room, ends, strict=True)]
    return np.array([(x, y) for x in axes[0] for y in axes[1]])
