# SPDX-License-Identifier: Apache-2.0
"""Units and axes of laboratories: from what a file says to metres, z up."""

from __future__ import annotations

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models.points import ROS_FROM_HUMANS

METRES = {
    "mm": 1e-3,
    "millimeters": 1e-3,
    "millimetres": 1e-3,
    "cm": 1e-2,
    "centimeters": 1e-2,
    "centimetres": 1e-2,
    "dm": 1e-1,
    "m": 1.0,
    "meters": 1.0,
    "metres": 1.0,
    "in": 0.0254,
    "inches": 0.0254,
    "ft": 0.3048,
    "feet": 0.3048,
}
"""Length of each unit [m], by the words that files use, in small letters."""

_Z_UP_FROM = {
    "x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "-x": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [-1.0, 0.0, 0.0]]),
    "y": ROS_FROM_HUMANS,
    "-y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "z": np.eye(3),
    "-z": np.diag([1.0, -1.0, -1.0]),
}

UP_AXES = tuple(_Z_UP_FROM)
"""The axes that can point up."""


def check_up(up: str) -> str:
    """The word for an up axis, if it is one; else a ParameterError."""
    if up not in _Z_UP_FROM:
        raise ParameterError(f"no axis '{up}' can be up: one of {', '.join(UP_AXES)}")
    return up


def check_units(units: str) -> str:
    """The word for a unit of length in small letters; ParameterError for another."""
    word = units.strip().lower()
    if word not in METRES:
        raise ParameterError(
            f"the unit of length '{units[:40]}' is not known: one of "
            f"{', '.join(METRES)}"
        )
    return word


def full_units(word: str) -> str:
    """The word for a unit of length that a file cut to four letters, as ``mete``."""
    short = word.strip().lower()
    if short in METRES or len(short) < 4:
        return word
    return next((unit for unit in METRES if unit.startswith(short)), word)


def to_z_up(vectors: np.ndarray, up: str) -> np.ndarray:
    """Vectors (..., 3) on axes with ``up`` upwards, on axes with z upwards."""
    return np.asarray(vectors @ _Z_UP_FROM[check_up(up)].T)


def from_z_up(vectors: np.ndarray, up: str) -> np.ndarray:
    """Vectors (..., 3) on axes with z upwards, on axes with ``up`` upwards."""
    return np.asarray(vectors @ _Z_UP_FROM[check_up(up)])


def tallest_axis(positions: np.ndarray) -> str:
    """The axis along which markers (n, m, 3) lie furthest apart: a standing person's.

    ``x``, ``y`` or ``z``; ``z`` where the markers do not show it.
    """
    present = ~np.isnan(positions)
    counts = present.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # of a damaged file
        means = np.where(present, positions, 0.0).sum(axis=0) / np.maximum(counts, 1)
        means = means[counts.all(axis=1)]
        if len(means) < 2:
            return "z"
        return "zyx"[int(np.argmax(means.std(axis=0)[::-1]))]
