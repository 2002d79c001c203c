# SPDX-License-Identifier: Apache-2.0
"""Pictures of height fields: the Chroma operator (thesis, chapter 10).

A number w is taken from each pin and its neighbours, and coloured by a linear law.
Beyond the edges a field goes on with the heights of its edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import zoom

from humans_sim.soft.errors import SoftError

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
    """The number w of each pin [m].

    Args:
        heights: (n, m) [m].
        operator: of :data:`OPERATORS`.
        light: weights of both directions, for the operator ``light``.

    Raises:
        SoftError: there is no such operator, or the field is none.
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
    values = {
        "laplacian": (
            (centre - up) + (centre - down) + (centre - left) + (centre - right)
        )
        / 4,
        "vertical_gradient": np.abs(a),
        "horizontal_gradient": np.abs(b),
        "gradient": np.hypot(a, b),
        "cadoz2": (np.abs(a) + np.abs(b)) / 2,
        "light": light[0] * a + light[1] * b,
    }
    return np.asarray(values[operator])


@dataclass(frozen=True)
class ColourLaw:
    """Colours of numbers w: black at one, a colour at another, linear, clamped.

    Attributes:
        black: w_noir [m].
        full: w_col, where the colour is as given [m].
        colour: red, green and blue there, 0 to 255.
    """

    black: float
    full: float
    colour: Sequence[float] = (255.0, 255.0, 255.0)

    def __post_init__(self) -> None:
        """Refuse a law without slope, and colours that are none."""
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

    Args:
        heights: (n, m) [m].
        law: of its colours.
        operator: of :data:`OPERATORS`.
        light: for the operator ``light``.
        pixels: 1, 2 or 3 for each pin along a side; between pins colours are linear.
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
