# SPDX-License-Identifier: Apache-2.0
r"""Shapes of synthetic bones: rounded parts that grow together, cut where bones meet.

A part is a function of space, about the distance to its surface and negative inside. A
bone is the smooth union of its parts less its grooves. Where two bones would meet, one
cups the other (it ends a gap before the other's surface, as the lunate does around the
head of the capitate), or both end half a gap before the surface halfway between them:
joint faces that fit each other, and bones that never overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.errors import AnatomyError


class Part(Protocol):
    """A rounded body."""

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface, about, negative inside: of points (..., 3) [m]."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of a box around it (3,) each [m]."""


@dataclass(frozen=True)
class Cone:
    """Balls of changing radius along a line.

    Attributes:
        start, end: of the line (3,) [m].
        radii: at its ends [m].
    """

    start: np.ndarray
    end: np.ndarray
    radii: tuple[float, float]

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface."""
        along = self.end - self.start
        square = max(float(along @ along), 1e-30)
        share = np.clip((points - self.start) @ along / square, 0.0, 1.0)
        nearest = self.start + share[..., None] * along
        radius = self.radii[0] + share * (self.radii[1] - self.radii[0])
        return np.asarray(np.linalg.norm(points - nearest, axis=-1) - radius)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of both balls."""
        low = np.minimum(self.start - self.radii[0], self.end - self.radii[1])
        return low, np.maximum(self.start + self.radii[0], self.end + self.radii[1])


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid.

    Attributes:
        centre: (3,) [m].
        semi_axes: (3,) [m].
        frame: its axes as columns (3, 3).
    """

    centre: np.ndarray
    semi_axes: np.ndarray
    frame: np.ndarray

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface, of first order."""
        local = (points - self.centre) @ self.frame
        level = np.linalg.norm(local / self.semi_axes, axis=-1)
        slope = np.linalg.norm(local / self.semi_axes**2, axis=-1)
        middle = slope < 1e-12
        value = level * (level - 1) / np.where(middle, 1.0, slope)
        return np.where(middle, -self.semi_axes.min(), value)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of its axes."""
        reach = np.linalg.norm(self.frame * self.semi_axes, axis=1)
        return self.centre - reach, self.centre + reach


@dataclass(frozen=True)
class RoundedBox:
    """A box with rounded edges.

    Attributes:
        centre: (3,) [m].
        half: half its size (3,) [m].
        rounding: radius of its edges [m].
        frame: its axes as columns (3, 3).
    """

    centre: np.ndarray
    half: np.ndarray
    rounding: float
    frame: np.ndarray

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface."""
        local = np.abs((points - self.centre) @ self.frame)
        over = local - (self.half - self.rounding)
        outside = np.linalg.norm(np.maximum(over, 0.0), axis=-1)
        inside = np.minimum(over.max(axis=-1), 0.0)
        return np.asarray(outside + inside - self.rounding)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of its corners."""
        reach = np.abs(self.frame) @ self.half
        return self.centre - reach, self.centre + reach


@dataclass(frozen=True)
class BoneShape:
    """A bone of parts.

    Attributes:
        parts: that grow together.
        grooves: that are cut out.
        blend: how far parts grow together [m].
        cups: bones around which it ends, by name.
    """

    parts: tuple[Part, ...]
    grooves: tuple[Part, ...] = ()
    blend: float = 2e-3
    cups: tuple[str, ...] = ()

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface, before it is cut by others."""
        value = self.parts[0].distance(points)
        for part in self.parts[1:]:
            value = -smooth_max(-value, -part.distance(points), self.blend)
        for groove in self.grooves:
            value = smooth_max(value, -groove.distance(points), self.blend / 2)
        return value

    def bounds(self, margin: float) -> tuple[np.ndarray, np.ndarray]:
        """A box around it with a margin (3,) each [m]."""
        boxes = [part.bounds() for part in self.parts]
        low = np.min([box[0] for box in boxes], axis=0)
        high = np.max([box[1] for box in boxes], axis=0)
        return low - margin, high + margin


def smooth_max(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """The larger of two, rounded where they differ by less than a width."""
    if width <= 0:
        return np.maximum(a, b)
    share = np.maximum(width - np.abs(a - b), 0.0) / width
    return np.maximum(a, b) + share**2 * width / 4


def frame_of(turn: Sequence[float] | np.ndarray) -> np.ndarray:
    """Axes of a part turned about x, y and z in turn [deg]."""
    return np.asarray(Rotation.from_euler("xyz", list(turn), degrees=True).as_matrix())


class CutShapes:
    """Bones cut by each other.

    Args:
        shapes: by name.
        gap: between joint faces [m].
        edge: rounding of the rims of joint faces [m].

    Raises:
        AnatomyError: a bone cups one that is not there, or two cup each other.
    """

    def __init__(
        self, shapes: Mapping[str, BoneShape], gap: float = 6e-4, edge: float = 1.5e-3
    ) -> None:
        """Look for neighbours."""
        self.shapes, self.gap, self.edge = dict(shapes), gap, edge
        for name, shape in self.shapes.items():
            for other in shape.cups:
                if other not in self.shapes or other == name:
                    raise AnatomyError(f"{name} cups '{other}', which is no other bone")
                if name in self.shapes[other].cups:
                    raise AnatomyError(f"{name} and {other} cup each other")
        self._boxes = {n: s.bounds(2 * edge + gap) for n, s in self.shapes.items()}

    def bounds(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A box around a bone (3,) each [m]."""
        return self._boxes[name]

    def distance(self, name: str, points: np.ndarray) -> np.ndarray:
        """To the surface of a bone, about, negative inside: of points (..., 3) [m]."""
        shape = self.shapes[name]
        own = shape.distance(points)
        value = own.copy()
        for other, neighbour in self.shapes.items():
            if other == name or name in neighbour.cups or not self._near(name, other):
                continue
            low, high = self._boxes[other]
            # Outside the bone, and far from the neighbour, nothing is cut.
            met = own < self.edge
            met &= np.all((points > low) & (points < high), axis=-1)
            theirs = neighbour.distance(points[met])
            if other in shape.cups:
                cut = self.gap - theirs
            else:
                cut = (own[met] - theirs + self.gap) / 2
            value[met] = smooth_max(value[met], cut, self.edge)
        return value

    def _near(self, name: str, other: str) -> bool:
        (low, high), (first, last) = self._boxes[name], self._boxes[other]
        return bool(np.all(low < last) and np.all(first < high))
