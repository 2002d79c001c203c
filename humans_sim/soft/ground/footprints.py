# SPDX-License-Identifier: Apache-2.0
"""Footprints: heights of the ground that a run ended on, and pictures of them.

*Pictures*: the Chroma operator (thesis, chapter 10). A number w is taken from each pin
and its neighbours, and coloured by a linear law. Beyond the edges a field continues
with the heights of its edge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import zoom

from humans_sim.core.errors import MALFORMED_CONTENT
from humans_sim.results.run import Run
from humans_sim.soft.errors import SoftError
from humans_sim.soft.packed_numbers import unpacked_heights, unpacked_series

OPERATORS = (
    "identity",
    "laplacian",
    "vertical_gradient",
    "horizontal_gradient",
    "gradient",
    "cadoz1",
    "cadoz2",
    "light",
)
"""The eight operators, in the order of the thesis."""


def relief(
    heights: np.ndarray, operator: str, light: tuple[float, float] = (0.7, 0.7)
) -> np.ndarray:
    """The number w of each pin by one of :data:`OPERATORS`, of heights (n, m) [m].

    Both directions have weights for the operator ``light``.
    """
    field = np.asarray(heights, dtype=float)
    if field.ndim != 2 or min(field.shape) < 2:
        raise SoftError(f"a field of {field.shape} heights: two sides of 2 or more")
    if operator not in OPERATORS:
        raise SoftError(f"'{operator}' is no operator (known: {', '.join(OPERATORS)})")
    if operator == "identity":
        return field.copy()
    p = np.pad(field, 1, mode="edge")
    centre = p[1:-1, 1:-1]
    up, down, left, right = p[:-2, 1:-1], p[2:, 1:-1], p[1:-1, :-2], p[1:-1, 2:]
    a, b = down - up, right - left
    if operator == "cadoz1":
        i, j = np.indices(field.shape)
        even = np.abs(centre - p[:-2, :-2])
        return np.where((i + j) % 2 == 0, even, np.abs(left - up))
    ahead, aside = (centre - up) + (centre - down), (centre - left)
    values = {
        "laplacian": (ahead + aside + (centre - right)) / 4,
        "vertical_gradient": np.abs(a),
        "horizontal_gradient": np.abs(b),
        "gradient": np.hypot(a, b),
        "cadoz2": (np.abs(a) + np.abs(b)) / 2,
        "light": light[0] * a + light[1] * b,
    }
    return np.asarray(values[operator])


@dataclass(frozen=True)
class ColourLaw:
    """Colours of numbers w [m]: black at one, a colour at another, linear, clamped.

    The colour is red, green and blue, 0 to 255.
    """

    black: float
    full: float
    colour: Sequence[float] = (255.0, 255.0, 255.0)

    def __post_init__(self) -> None:
        if self.full == self.black:
            raise SoftError("a colour law needs two numbers that differ")
        if len(self.colour) != 3 or not all(0 <= c <= 255 for c in self.colour):
            raise SoftError(f"{self.colour} is no colour: three numbers, 0 to 255")

    def saturation(self) -> np.ndarray:
        """Numbers w at which red, green and blue reach 255 (3,) [m]."""
        with np.errstate(divide="ignore"):
            scale = 255.0 / np.asarray(self.colour, dtype=float)
        return self.black + (self.full - self.black) * scale

    def colours(self, w: np.ndarray) -> np.ndarray:
        """Red, green and blue of each number (..., 3), 0 to 255."""
        share = (np.asarray(w, dtype=float) - self.black) / (self.full - self.black)
        return np.clip(share[..., None] * np.asarray(self.colour), 0.0, 255.0)


def picture(
    heights: np.ndarray,
    law: ColourLaw,
    operator: str = "light",
    light: tuple[float, float] = (0.7, 0.7),
    pixels: int = 1,
) -> np.ndarray:
    """A picture of a height field (rows, columns, 3), bytes.

    Of heights (n, m) [m] by one of :data:`OPERATORS`; 1, 2 or 3 pixels for each pin
    along a side, colours linear between pins.
    """
    if pixels not in (1, 2, 3):
        raise SoftError(f"{pixels} pixels a pin: 1, 2 or 3 are known")
    colours = law.colours(relief(heights, operator, light))
    if pixels > 1:
        rows, columns = colours.shape[:2]
        size = ((rows - 1) * pixels + 1, (columns - 1) * pixels + 1)
        factors = (size[0] / rows, size[1] / columns, 1)
        colours = zoom(colours, factors, order=1)
    return np.round(colours).astype(np.uint8)


_SAND = (205, 170, 110)


@dataclass(frozen=True)
class Footprints:
    """Heights above the ground at rest, along x and y (n, m) [m].

    Spacing of the pins, and place of the first one in the world (3,) [m].
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

        It is the chroma operator ``light``. Level ground has a colour, 0 to 255; half
        of it where neighbours differ most, or by as much as is given [m].
        """
        rise = self.steepest() if steepest is None else steepest
        law = ColourLaw(-4.0 * max(rise, 1e-6), 0.0, colour)
        image = picture(self.heights, law, "light", light=(0.7, -0.7), pixels=3)
        return image.transpose(1, 0, 2)[::-1]


@dataclass(frozen=True)
class GroundHistory:
    """Footprints in the course of a run, to 10 um (k, n, m) [m], at times (k,) [s]."""

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
    """The footprints of a run in its ground.

    Raises:
        SoftError: its ground is rigid, or the record is damaged.
    """
    surface = _surface(run)
    with _damaged():
        heights = unpacked_heights(str(surface["heights"]), _shape(surface))
        return Footprints(heights, *_place(surface))


def ground_history(run: Run) -> GroundHistory:
    """How the ground of a run was deformed in its course.

    Raises:
        SoftError: its ground is rigid, its course was not kept, or the record is
            damaged.
    """
    surface = _surface(run)
    if not surface.get("history"):
        raise SoftError("the run has no record of its ground's course")
    with _damaged():
        times = np.array(surface["history"]["times"], dtype=float).reshape(-1)
        text, shape = str(surface["history"]["heights"]), _shape(surface)
        heights = unpacked_series(text, (len(times), *shape))
        return GroundHistory(times, heights, *_place(surface))


@contextmanager
def _damaged() -> Iterator[None]:
    try:
        yield
    except MALFORMED_CONTENT as error:
        raise SoftError(f"the run's record of its ground is damaged: {error}") from None


def _place(surface: dict[str, Any]) -> tuple[float, np.ndarray]:
    """Spacing of the pins [m], and where the first one is (3,) [m]."""
    origin = np.array(surface["origin"], dtype=float).reshape(3)
    return float(surface["spacing"]), origin


def _surface(run: Run) -> dict[str, Any]:
    surface = run.info.get("surface")
    if surface is None:
        raise SoftError("the run's ground is rigid: there are no footprints")
    return dict(surface)


def _shape(surface: dict[str, Any]) -> tuple[int, int]:
    return (int(surface["shape"][0]), int(surface["shape"][1]))
