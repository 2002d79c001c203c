# SPDX-License-Identifier: Apache-2.0
"""Footsteps that are given one by one, and footsteps along a path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.control.walking.footsteps import (
    Footprint,
    FootstepPlanner,
    Side,
    Velocity,
)
from humans_sim.control.walking.settings import SLIP, WalkSettings
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


class ListedStep(NamedTuple):
    """A step that is given.

    Attributes:
        side: the foot that steps.
        place: where it lands, in the world.
    """

    side: Side
    place: Footprint


class ListedFootsteps(FootstepPlanner):
    """A planner that knows where each foot goes.

    Args:
        settings: of the walk.
        feet: where the feet stand at first.
        steps: in their order.

    Raises:
        ParameterError: a step is beyond the legs, or sides do not alternate.
    """

    def __init__(
        self,
        settings: WalkSettings,
        feet: Mapping[Side, Footprint],
        steps: Sequence[ListedStep],
    ) -> None:
        """Check every step against the limits of the walk."""
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
    """Steps of a walk along a path, heading where it goes.

    Args:
        settings: of the walk.
        feet: where the feet stand.
        path: points in the world (n, 2) [m], one at least.

    Returns:
        Steps of both feet in turn, the feet side by side at the end of the path.

    Raises:
        ParameterError: the path has no points, or the hips do not turn and it bends.
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
    side, steps, standing = Side.LEFT, [], dict(feet)
    longest = _PACE * settings.max_forward
    apart = np.linalg.norm(np.diff([body[:2], *points], axis=0), axis=1)
    FOOTSTEPS.check("the path", float(apart.sum()) / longest)
    turn = 0.0 if settings.turns == SLIP else 0.5 * _PACE * settings.max_turn

    def put(place: Footprint) -> None:
        """The next foot beside a place of the body."""
        nonlocal side
        landed = place.moved(0.0, side * 0.5 * settings.stance_width)
        steps.append(ListedStep(side, landed))
        standing[side] = landed
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

    A goal a little to the side is reached by steps that go a little to the side.

    Raises:
        ParameterError: the goal is elsewhere than ahead.
    """
    c, s = math.cos(body.yaw), math.sin(body.yaw)
    dx, dy = goal[0] - body.x, goal[1] - body.y
    ahead, aside = c * dx + s * dy, c * dy - s * dx
    longest = _PACE * settings.max_forward
    if math.hypot(ahead, aside) > longest and abs(math.atan2(aside, ahead)) > _BEND:
        raise ParameterError(
            "the path bends, and this walk follows paths by yaw joints alone"
        )
    if ahead <= _HERE:
        return []
    count = math.ceil(ahead / longest - 1e-9)
    most = 0.5 * _PACE * settings.max_sideways
    return [(ahead / count, min(max(aside / count, -most), most))] * count


def _check(
    settings: WalkSettings, number: int, step: ListedStep, support: Footprint
) -> None:
    """Refuse a step that the legs do not reach from the other foot."""
    c, s = math.cos(support.yaw), math.sin(support.yaw)
    dx, dy = step.place.x - support.x, step.place.y - support.y
    ahead, aside = c * dx + s * dy, step.side * (c * dy - s * dx)
    turn = step.side * (step.place.yaw - support.yaw)
    rise = step.place.z - support.z
    level_step = settings.max_level_step if rise else 0.0
    for word, value, most in (
        ("forwards", ahead, max(settings.max_forward, level_step)),
        ("backwards", -ahead, settings.max_backward),
        ("aside", aside - settings.stance_width, settings.max_sideways),
    ):
        if value > _LONGER * most + 1e-6:
            raise ParameterError(
                f"footstep {number}: {value:.3f} m {word}, beyond {most:.3f} m"
            )
    if abs(rise) > _LONGER * settings.foot_lift + 1e-6:
        raise ParameterError(
            f"footstep {number}: {rise:+.3f} m in height, beyond "
            f"{settings.foot_lift:.3f} m"
        )
    if aside < _NEAREST * settings.stance_width:
        raise ParameterError(
            f"footstep {number}: {aside:.3f} m beside the other foot, nearer than "
            f"{_NEAREST * settings.stance_width:.3f} m"
        )
    limit = 0.0 if settings.turns == SLIP else settings.max_turn
    if abs(turn) > _LONGER * limit + 1e-6:
        raise ParameterError(
            f"footstep {number}: turned by {math.degrees(turn):.1f} degrees, beyond "
            f"{math.degrees(limit):.1f}"
        )
