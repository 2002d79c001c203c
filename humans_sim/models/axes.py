# SPDX-License-Identifier: Apache-2.0
"""The one conversion between HuMAnS axes and ROS axes.

HuMAnS: x forward, y up, z right. ROS (REP-103): x forward, y left, z up.
:math:`(x, y, z)_{ros} = (x, -z, y)_{humans}`.
"""

from __future__ import annotations

import numpy as np

ROS_FROM_HUMANS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Rotation that turns components on HuMAnS axes into components on ROS axes."""

_UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def to_ros(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) on HuMAnS axes, expressed on ROS axes."""
    return np.asarray(vectors, float) @ ROS_FROM_HUMANS.T


def to_humans(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) on ROS axes, expressed on HuMAnS axes."""
    return np.asarray(vectors, float) @ ROS_FROM_HUMANS


def matrix_to_ros(matrix: np.ndarray) -> np.ndarray:
    """A rotation or inertia matrix on HuMAnS axes, expressed on ROS axes."""
    return ROS_FROM_HUMANS @ matrix @ ROS_FROM_HUMANS.T


def signed_axis(word: str) -> np.ndarray:
    """Unit vector of ``"x"``, ``"-y"``, ... on the axes the word is meant in."""
    sign = -1.0 if word.startswith("-") else 1.0
    return sign * np.array(_UNIT[word.lstrip("-")])
