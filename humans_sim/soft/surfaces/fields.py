# SPDX-License-Identifier: Apache-2.0
r"""Implicit surfaces: fields around points and segments (thesis, chapter 9).

A surface is where a field has a given value. Fields fall off with the distance from a
skeleton: Blinn's :math:`C e^{-a r^2}`, Wyvill's polynomial that ends at a radius, or
the integral of a Gaussian along a segment, which does not bulge where segments meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy.special import erf

from humans_sim.soft.errors import SoftError


class Field(Protocol):
    """Something with a value and a gradient everywhere."""

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3), one number each (n,)."""
        ...

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3) (n, 3) [1/m]."""
        ...


@dataclass(frozen=True)
class Blob:
    """Blinn's field of a point. Attributes: centre [m]; strength C; decay a [1/m²]."""

    centre: Sequence[float]
    strength: float = 1.0
    decay: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a field that grows outwards."""
        if not self.decay > 0.0:
            raise SoftError(f"a blob: its decay is {self.decay:g}, must be above 0")

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        square = np.sum((points - np.asarray(self.centre)) ** 2, axis=-1)
        return np.asarray(self.strength * np.exp(-self.decay * square))

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        away = points - np.asarray(self.centre)
        return np.asarray(-2 * self.decay * self.value(points)[..., None] * away)


@dataclass(frozen=True)
class DistanceField:
    """Wyvill's polynomial of the distance from a segment, nothing beyond a radius.

    Attributes:
        start: of the segment [m].
        end: of the segment; the start again for a point [m].
        radius: R, where the field ends; it is a half at R / 2 [m].
    """

    start: Sequence[float]
    end: Sequence[float]
    radius: float

    def __post_init__(self) -> None:
        """Refuse a radius of 0 or less."""
        if not self.radius > 0.0:
            raise SoftError(f"a field: its radius is {self.radius:g}, must be above 0")

    def _away(self, points: np.ndarray) -> np.ndarray:
        start, end = np.asarray(self.start, float), np.asarray(self.end, float)
        along = end - start
        length = float(along @ along)
        offset = points - start
        share = np.clip(offset @ along / length, 0, 1) if length > 0 else 0.0
        return np.asarray(offset - np.multiply.outer(share, along))

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        s = np.sum(self._away(points) ** 2, axis=-1) / self.radius**2
        return np.where(s < 1, wyvill(np.minimum(s, 1.0)), 0.0)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        away = self._away(points)
        s = np.sum(away**2, axis=-1) / self.radius**2
        slope = np.where(s < 1, -4 / 3 * s**2 + 34 / 9 * s - 22 / 9, 0.0)
        return np.asarray(slope[..., None] * 2 * away / self.radius**2)


def wyvill(square: np.ndarray) -> np.ndarray:
    """1 - 22/9 s + 17/9 s² - 4/9 s³ of s = (r / R)²: 0 with no slope at s = 1."""
    return np.asarray(1 + square * (-22 / 9 + square * (17 / 9 - 4 / 9 * square)))


@dataclass(frozen=True)
class SegmentField:
    r"""A Gaussian integrated along a segment: a convolution surface.

    :math:`\int e^{-\|\sigma - M\|^2 / 2 w^2} d\sigma / w`; a segment cut in two gives
    the same field.

    Attributes:
        start: of the segment [m].
        end: of the segment [m].
        width: w of the Gaussian [m].
        strength: factor.
    """

    start: Sequence[float]
    end: Sequence[float]
    width: float = 1.0
    strength: float = 1.0

    def __post_init__(self) -> None:
        """Refuse segments without length and widths of 0 or less."""
        length = np.linalg.norm(np.subtract(self.end, self.start))
        if not (self.width > 0.0 and length > 0.0):
            raise SoftError("a segment's field needs a length and a width above 0")

    def _parts(self, points: np.ndarray) -> tuple[np.ndarray, ...]:
        start, end = np.asarray(self.start, float), np.asarray(self.end, float)
        length = np.linalg.norm(end - start)
        u = (end - start) / length
        offset = (points - start) / self.width
        along = offset @ u
        away = offset - np.multiply.outer(along, u)
        across = np.exp(-0.5 * np.sum(away**2, axis=-1))
        return along, away, across, along - length / self.width, u

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        near, _, across, far, _ = self._parts(points)
        reach = erf(near / np.sqrt(2)) - erf(far / np.sqrt(2))
        return np.asarray(self.strength * np.sqrt(np.pi / 2) * across * reach)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        near, away, across, far, u = self._parts(points)
        ends = np.exp(-0.5 * near**2) - np.exp(-0.5 * far**2)
        slope = -self.value(points)[..., None] * away
        slope = slope + np.multiply.outer(self.strength * across * ends, u)
        return np.asarray(slope / self.width)


@dataclass(frozen=True)
class Blend:
    """Fields blended with their neighbours alone.

    At each point the strongest element rules, and its neighbours are added: a hand near
    a thigh does not fuse with it. With no neighbours given, all fields add up.

    Attributes:
        elements: the fields.
        neighbours: pairs of elements that blend; None for all.
    """

    elements: Sequence[Field]
    neighbours: Sequence[tuple[int, int]] | None = None
    _matrix: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Set up who blends with whom."""
        count = len(self.elements)
        if not count:
            raise SoftError("a blend of no fields")
        matrix = np.ones((count, count)) if self.neighbours is None else np.eye(count)
        for a, b in self.neighbours or ():
            if not (0 <= a < count and 0 <= b < count):
                raise SoftError(f"({a}, {b}): there are {count} elements to blend")
            matrix[a, b] = matrix[b, a] = 1.0
        object.__setattr__(self, "_matrix", matrix)

    def value(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        values = np.stack([element.value(points) for element in self.elements])
        weights = self._matrix[np.argmax(values, axis=0)]
        return np.asarray(np.sum(weights.T * values, axis=0))

    def gradient(self, points: np.ndarray) -> np.ndarray:
        """At points (n, 3)."""
        values = np.stack([element.value(points) for element in self.elements])
        slopes = np.stack([element.gradient(points) for element in self.elements])
        weights = self._matrix[np.argmax(values, axis=0)]
        return np.asarray(np.sum(weights.T[..., None] * slopes, axis=0))
