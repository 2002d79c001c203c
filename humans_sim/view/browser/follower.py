# SPDX-License-Identifier: Apache-2.0
"""Whoever goes along with a body: calmly, for a body sways."""

from __future__ import annotations

import math

import numpy as np

_LAG = 0.4
"""Time in which the follower comes to where the body is [s]."""
_JUMP = 1.0
"""Distance that no body goes at once: the follower jumps along [body heights]."""


class Follower:
    """A place on the ground that goes along with a body.

    Attributes:
        on: whether it follows; else it stays.
        place: where it is (2,) [m].
    """

    def __init__(self, size: float) -> None:
        """At the origin, following a body of some height [m]."""
        self._size, self._last = size, -math.inf
        self.on, self.place = True, np.zeros(2)

    def update(self, body: np.ndarray, wall: float) -> np.ndarray:
        """Go along; gives the place.

        Args:
            body: place of the body, x and y first [m].
            wall: time of the wall [s].
        """
        distance = np.array(body[:2], float) - self.place
        share = 1.0 - math.exp(-max(0.0, wall - self._last) / _LAG)
        self._last = wall
        if self.on:
            far = float(np.linalg.norm(distance)) > _JUMP * self._size
            self.place = self.place + (1.0 if far else share) * distance
        return self.place
