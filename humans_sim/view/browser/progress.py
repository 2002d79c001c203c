# SPDX-License-Identifier: Apache-2.0
"""How far and how fast something goes, and how fast its time runs."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

_STRIDES, _WALL = 2.0, 1.0
"""Times over which speeds are taken, its own (a body sways) and of the wall [s]."""


class Progress:
    """Keeps the path of a base and the pace of its time.

    Attributes:
        distance: from where it began, over the ground [m].
        speed: over the last two seconds of its own time [m/s].
        real_time_factor: its time over the wall's, over the last second of the wall.
    """

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self._start: np.ndarray | None = None
        self._places: deque[tuple[float, np.ndarray]] = deque()
        self._beats: deque[tuple[float, float]] = deque()
        self.distance = self.speed = self.real_time_factor = 0.0

    def update(self, t: float, place: np.ndarray, wall: float) -> bool:
        """Note a place; whether time went back, which begins anew.

        Args:
            t: its time [s].
            place: (2,) or longer; what is above x and y is not looked at [m].
            wall: time of the wall [s].
        """
        restarted = bool(self._places) and t < self._places[-1][0]
        if restarted:
            self.clear()
        here = np.array(place[:2], float)
        if self._start is None:
            self._start = here
        self.distance = float(np.linalg.norm(here - self._start))
        if not self._places or t > self._places[-1][0]:
            self._places.append((t, here))
            _forget(self._places, t - _STRIDES)
        first, there = self._places[0]
        span = t - first
        self.speed = float(np.linalg.norm(here - there)) / span if span > 0 else 0.0
        self._beats.append((wall, t))
        _forget(self._beats, wall - _WALL)
        span = wall - self._beats[0][0]
        passed = t - self._beats[0][1]
        self.real_time_factor = passed / span if span > 0 else 0.0
        return restarted

    def hold(self) -> None:
        """Time stands still: what comes later is not measured against now."""
        self._beats.clear()
        self.real_time_factor = 0.0


def _forget(
    kept: deque[tuple[float, np.ndarray]] | deque[tuple[float, float]], t: float
) -> None:
    """Leave out what is older than t, but one: the window begins with it."""
    while len(kept) > 1 and kept[1][0] <= t + 1e-9 * max(1.0, math.fabs(t)):
        kept.popleft()
