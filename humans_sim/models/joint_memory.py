# SPDX-License-Identifier: Apache-2.0
"""Poses and motions of many joints, read from pinocchio's data in one copy.

The vectors of a data object are equally spaced in memory: an array over all of them is
a view, and what some joints need is one indexed copy, whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin


class JointMemory:
    """What a data object holds of some joints.

    Attributes:
        data: the object; it must live as long as this does.
    """

    def __init__(self, data: pin.Data, joints: Sequence[int]) -> None:
        """Look up where the joints are."""
        self.data = data
        self._joints = np.array(joints, dtype=np.intp)
        count = len(data.oMi)
        self._rotations = _over([data.oMi[j].rotation for j in (0, 1)], count)
        self._places = _over([data.oMi[j].translation for j in (0, 1)], count)
        self._velocities = _over([data.v[j].vector for j in (0, 1)], count)
        self._accelerations = _over([data.a_gf[j].vector for j in (0, 1)], count)

    def read_poses(self, poses: np.ndarray) -> None:
        """Rotations and places in the world, into (m, 3, 4)."""
        poses[:, :, :3] = self._rotations[self._joints]
        poses[:, :, 3] = self._places[self._joints]

    def read_velocities(self, motions: np.ndarray) -> None:
        """Spatial velocities in the joints' frames, into (m, 0, 6) of (m, 2, 6)."""
        motions[:, 0] = self._velocities[self._joints]

    def read_accelerations(self, motions: np.ndarray) -> None:
        """Spatial accelerations against gravity's, into (m, 1, 6) of (m, 2, 6)."""
        motions[:, 1] = self._accelerations[self._joints]


def _over(first_two: list[np.ndarray], count: int) -> np.ndarray:
    """A view over all entries of a vector of arrays, by the first two of them."""
    first, second = (entry.__array_interface__["data"][0] for entry in first_two)
    entry = first_two[0]
    return np.lib.stride_tricks.as_strided(
        entry,
        shape=(count, *entry.shape),
        strides=(second - first, *entry.strides),
        writeable=False,
    )
