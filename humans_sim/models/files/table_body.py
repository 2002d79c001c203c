# SPDX-License-Identifier: Apache-2.0
"""A body of a model file, before it becomes links and joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.models.description import Inertial, Shape


@dataclass(frozen=True)
class TableBody:
    """A body on HuMAnS axes, its frame parallel to the reference in the zero position.

    Attributes:
        name: of the link.
        parent: name of the body it hangs on; empty for the base.
        origin: joint centre in the parent's frame [m].
        rotations: joints, the first rotation first, each with its axis.
        frame_rotation: 3x3, from the axes of the file's frame to the reference axes.
        inertial: mass properties, or None.
        shapes: what is drawn.
    """

    name: str
    parent: str
    origin: np.ndarray
    rotations: tuple[tuple[str, np.ndarray], ...]
    frame_rotation: np.ndarray
    inertial: Inertial | None
    shapes: tuple[Shape, ...]


def turned_shape(shape: Shape, rotation: np.ndarray) -> Shape:
    """The shape on turned axes."""
    return replaced_shape(shape, rotation @ shape.origin, rotation @ shape.rotation)


def replaced_shape(shape: Shape, origin: np.ndarray, rotation: np.ndarray) -> Shape:
    """The shape at another place."""
    return Shape(
        shape.kind, shape.size, origin, rotation, shape.material, shape.collides
    )
