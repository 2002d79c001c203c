# SPDX-License-Identifier: Apache-2.0
"""The heights of the ground that a run ended on, and a picture of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from humans_sim.core.errors import MALFORMED_CONTENT
from humans_sim.results.run import Run
from humans_sim.soft.chroma import ColourLaw, picture
from humans_sim.soft.errors import SoftError
from humans_sim.soft.screens.packed_heights import unpacked_heights, unpacked_series

_SAND = (205, 170, 110)


@dataclass(frozen=True)
class Footprints:
    """A field of heights.

    Attributes:
        heights: above the ground at rest, along x and y (n, m) [m].
        spacing: of the pins [m].
        origin: place of the first pin in the world (3,) [m].
    """

    heights: np.ndarray
    spacing: float
    origin: np.ndarray

    def steepest(self) -> float:
        """Largest difference between neighbouring pins [m]."""
        return max(float(np.abs(np.diff(self.heights, axis=k)).max()) for k in (0, 1))

    def picture(
        self, colour: tuple[int, int, int] = _SAND, steepest: float | None = None
    ) -> np.ndarray:
        """Seen from above in slanting light, x to the right (rows, columns, 3).

        It is the chroma operator ``light``, with the steepest slope in half the colour.

        Args:
            colour: of the ground where it is level, red, green and blue, 0 to 255.
            steepest: difference of neighbours in half the colour [m]; its own unless
                given.
        """
        rise = self.steepest() if steepest is None else steepest
        law = ColourLaw(-4.0 * max(rise, 1e-6), 0.0, colour)
        image = picture(self.heights, law, "light", light=(0.7, -0.7), pixels=3)
        turned: np.ndarray = image.transpose(1, 0, 2)[::-1]
        return turned


@dataclass(frozen=True)
class GroundHistory:
    """A field of heights in the course of a run.

    Attributes:
        times: of its pictures (k,) [s].
        heights: above the ground at rest, to 10 um (k, n, m) [m].
        spacing: of the pins [m].
        origin: place of the first pin in the world (3,) [m].
    """

    times: np.ndarray
    heights: np.ndarray
    spacing: float
    origin: np.ndarray

    def cut(self, rows: slice, columns: slice) -> GroundHistory:
        """A part of the field."""
        corner = self.spacing * np.array([rows.start or 0, columns.start or 0, 0.0])
        part = self.heights[:, rows, columns]
        return GroundHistory(self.times, part, self.spacing, self.origin + corner)

    def at(self, t: float) -> Footprints:
        """The field at a time [s]: the last picture before it."""
        k = max(0, int(np.searchsorted(self.times, t + 1e-9, side="right")) - 1)
        return Footprints(self.heights[k], self.spacing, self.origin)


def footprints_of(run: Run) -> Footprints:
    """What a run left in its ground.

    Raises:
        SoftError: its ground is rigid, or the record is damaged.
    """
    surface = _surface(run)
    try:
        heights = unpacked_heights(str(surface["heights"]), _shape(surface))
        origin = np.array(surface["origin"], dtype=float).reshape(3)
        return Footprints(heights, float(surface["spacing"]), origin)
    except MALFORMED_CONTENT as error:
        raise SoftError(f"the run's record of its ground is damaged: {error}") from None


def ground_history(run: Run) -> GroundHistory:
    """How the ground of a run was deformed in its course.

    Raises:
        SoftError: its ground is rigid, its course was not kept, or the record is
            damaged.
    """
    surface = _surface(run)
    if not surface.get("history"):
        raise SoftError("the run has no record of its ground's course")
    try:
        times = np.array(surface["history"]["times"], dtype=float).reshape(-1)
        text, shape = str(surface["history"]["heights"]), _shape(surface)
        heights = unpacked_series(text, (len(times), *shape))
        origin = np.array(surface["origin"], dtype=float).reshape(3)
        return GroundHistory(times, heights, float(surface["spacing"]), origin)
    except MALFORMED_CONTENT as error:
        raise SoftError(f"the run's record of its ground is damaged: {error}") from None


def _surface(run: Run) -> dict[str, Any]:
    surface = run.info.get("surface")
    if surface is None:
        raise SoftError("the run's ground is rigid: there are no footprints")
    return dict(surface)


def _shape(surface: dict[str, Any]) -> tuple[int, int]:
    return (int(surface["shape"][0]), int(surface["shape"][1]))
