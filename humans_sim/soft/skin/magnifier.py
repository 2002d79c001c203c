# SPDX-License-Identifier: Apache-2.0
"""A grid that is finer around head and hands of a body with its arms spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

HEAD, HAND = 2.8, 3.2
"""How many times finer the grid is there."""
_RAMP = 0.08
"""Length over which it becomes finer [m]."""


@dataclass(frozen=True)
class HeadAndHands:
    """Shrinks what is above a height, and what is farther out than the wrists.

    Attributes:
        neck: height above which only the head is [m].
        wrist: of the left arm; only hands are farther from the middle (3,) [m].
        slope: how much lower hands are for each metre further out.
    """

    neck: float
    wrist: np.ndarray
    slope: float

    def to_world(self, places: np.ndarray) -> np.ndarray:
        """Points of the world (n, 3) [m]."""
        x, y, z = places.T
        reach = self.wrist[1]
        out, hand = _shrunk(np.abs(y) - reach, HAND)
        up, head = _shrunk(z - self.neck, HEAD)
        middle = self.wrist[2] - self.slope * np.maximum(out, 0.0)
        far = np.abs(y) > reach
        low = middle + (z - self.wrist[2] + self.slope * np.maximum(out, 0)) / hand
        return np.column_stack(
            [
                x / (hand * head),
                np.where(far, np.sign(y) * (reach + out), y / head),
                np.where(far, low, self.neck + up),
            ]
        )

    def magnification(self, places: np.ndarray) -> np.ndarray:
        """How many times larger the grid's space is there (n,)."""
        _, hand = _shrunk(np.abs(places[:, 1]) - self.wrist[1], HAND)
        _, head = _shrunk(places[:, 2] - self.neck, HEAD)
        return np.asarray(np.where(np.abs(places[:, 1]) > self.wrist[1], hand, head))

    def box(self, height: float) -> np.ndarray:
        """A box of the grid's space around a body of a height (2, 3) [m]."""
        out = self.wrist[1] + HAND * 0.16 * height / 1.741
        top = self.neck + HEAD * (height - self.neck) + 0.06
        depth = 0.25 * height
        return np.array([[-depth, -out, -0.06], [depth, out, top]])


def _shrunk(beyond: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """How far it is in the world, and the magnification, along one axis."""
    fine = np.linspace(0.0, 1.0, 401)
    scale = 1.0 + (factor - 1.0) * np.clip(fine / _RAMP, 0.0, 1.0)
    steps = np.diff(fine) * (scale[1:] + scale[:-1]) / 2
    grid = np.concatenate([[0.0], np.cumsum(steps)])
    world = np.where(beyond > 0, np.interp(beyond, grid, fine), beyond)
    return world, np.interp(np.maximum(world, 0.0), fine, scale)
