# SPDX-License-Identifier: Apache-2.0
"""What a method needs for an error, and how methods compare."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

GOAL = 1e-6
"""Error at which the methods are compared [m]."""
OURS, PEER = "event-driven", "MuJoCo"
FLOOR = 1e-16
"""Errors below this are rounding; plots and fits end here [m]."""
LEAST_ORDER = 0.3
"""A trend of errors over wall time that falls slower is no trend."""


@dataclass
class Row:
    """One setting of one method on one scene.

    Attributes:
        scene: its name.
        method: its name.
        setting: tolerance or time step, with its unit.
        wall: [s]; None where the method gave up.
        error: to the reference [m].
        own: to the method's own finest setting [m].
        note: why it gave up.
    """

    scene: str
    method: str
    setting: str
    wall: float | None = None
    error: float | None = None
    own: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Cost:
    """What a method needs for an error.

    Attributes:
        wall: [s]; infinite where its error falls no further.
        kind: ``measured`` (between two points), ``bound`` (the cheapest setting is
            better already) or ``extrapolated``.
        best: smallest error measured [m].
        best_wall: what it took [s].
    """

    wall: float
    kind: str
    best: float
    best_wall: float

    def __str__(self) -> str:
        if self.kind == "measured":
            return f"needs {_ms(self.wall)}"
        if self.kind == "bound":
            return f"needs at most {_ms(self.wall)}"
        text = f"does not reach it: best {self.best:.1e} m at {_ms(self.best_wall)}, "
        if math.isinf(self.wall):
            return text + "and falls no further"
        return text + f"{_ms(self.wall)} by extrapolation"


def _ms(seconds: float) -> str:
    if seconds >= 10:
        return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0e} s"
    return f"{1e3 * seconds:.{1 if seconds < 0.1 else 0}f} ms"


def cost(points: Sequence[tuple[float, float]], goal: float) -> Cost:
    """Wall time at an error, between the measured points (wall, error).

    Only points count that no cheaper one beats. If none is good enough, the trend of
    the four most expensive continues from the best one, where it falls at all.
    """
    points = sorted((wall, max(error, FLOOR)) for wall, error in points)
    front = points[:1]
    for wall, error in points:
        if error < front[-1][1]:
            front.append((wall, error))
    best_wall, best = front[-1]
    if front[0][1] <= goal:
        return Cost(front[0][0], "bound", best, best_wall)
    for (w0, e0), (w1, e1) in zip(front, front[1:], strict=False):
        if e1 <= goal:
            share = math.log(e0 / goal) / math.log(e0 / e1)
            return Cost(w0 * (w1 / w0) ** share, "measured", best, best_wall)
    order = -np.polyfit(*np.log(np.array(points[-4:])).T, 1)[0]
    wall = best_wall * (best / goal) ** (1 / order) if order > LEAST_ORDER else math.inf
    return Cost(wall, "extrapolated", best, best_wall)


def answers(rows: Sequence[Row]) -> dict[str, Cost]:
    """What each method needs for GOAL, on one scene."""
    methods = dict.fromkeys(row.method for row in rows)
    measured = {method: _points(rows, method) for method in methods}
    return {method: cost(points, GOAL) for method, points in measured.items() if points}


def _points(rows: Sequence[Row], method: str) -> list[tuple[float, float]]:
    """Wall times and errors of the methods whose names begin so."""
    return [
        (row.wall, row.error)
        for row in rows
        if row.method.startswith(method)
        and row.wall is not None
        and row.error is not None
    ]


def compare(scene: str, rows: Sequence[Row], costs: dict[str, Cost]) -> str:
    """A line that compares the methods, in either one's favour."""
    text = f"{scene}: at {GOAL:.0e} m error, "
    text += "; ".join(f"{name} {needed}" for name, needed in costs.items()) + "."
    theirs = {name: c for name, c in costs.items() if name.startswith(PEER)}
    ours = costs.get(OURS)
    if not theirs or ours is None:
        return text
    about = "at least " if ours.kind == "bound" else ""
    name, least = min(theirs.items(), key=lambda item: item[1].wall)
    if least.kind != "extrapolated":
        text += f" {name} / {OURS}: {about}{least.wall / ours.wall:.2g}."
    else:
        name, closest = min(theirs.items(), key=lambda item: item[1].best)
        text += (
            f" The best of {name}, {closest.best:.1e} m, takes {about}"
            f"{closest.best_wall / ours.wall:.2g} times as long as {OURS} at "
            f"{GOAL:.0e} m."
        )
        if math.isfinite(least.wall):
            ratio = least.wall / ours.wall
            text += f" Extrapolated to {GOAL:.0e} m: {about}{ratio:.2g} times."
    cheapest = min(wall for wall, _ in _points(rows, OURS))
    within = [error for wall, error in _points(rows, PEER) if wall <= cheapest]
    if within:
        text += (
            f" Within {_ms(cheapest)}, the cheapest {OURS} run, {PEER} gets to "
            f"{min(within):.1e} m."
        )
    return text
