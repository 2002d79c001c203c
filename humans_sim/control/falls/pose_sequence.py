# SPDX-License-Identifier: Apache-2.0
"""Motions as key poses: joint angles and when they are reached, straight in between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError


@dataclass(frozen=True)
class PoseSequence:
    """Key poses of a motion, one after the other.

    Attributes:
        name: of the motion.
        times: when each pose is reached, from the start of the motion (n,) [s].
        angles: of the joints then (n, njoints) [rad].
    """

    name: str
    times: np.ndarray
    angles: np.ndarray

    def __post_init__(self) -> None:
        """Refuse times that do not rise."""
        n = len(self.times)
        joints = np.shape(self.angles)[-1]
        finite_array(self.times, (n,), "times", ParameterError)
        finite_array(self.angles, (n, joints), "angles", ParameterError)
        if n == 0 or self.times[0] < 0 or (np.diff(self.times) < 0).any():
            raise ParameterError(f"{self.name}: times of poses must rise from zero")

    @property
    def duration(self) -> float:
        """Until the last pose [s]."""
        return float(self.times[-1])

    def after(self, joints: np.ndarray, speed: float) -> PoseSequence:
        """The same motion from other angles: the first pose is reached evenly.

        Args:
            joints: angles at the start (njoints,) [rad].
            speed: of the fastest joint on the way to the first pose [rad/s].
        """
        way = float(np.abs(self.angles[0] - joints).max()) / speed
        return PoseSequence(
            self.name,
            np.concatenate([[0.0, way], way + self.times[1:] - self.times[0]]),
            np.vstack([joints, self.angles]),
        )

    def at(self, t: float) -> np.ndarray:
        """Joint angles some time after the start (njoints,) [rad]; the ends hold."""
        k = int(np.searchsorted(self.times, t, side="right"))
        if k in (0, len(self.times)):
            return np.array(self.angles[max(k - 1, 0)])
        before, later = self.times[k - 1 : k + 1]
        share = (t - before) / (later - before)
        return np.asarray(
            (1.0 - share) * self.angles[k - 1] + share * self.angles[k], dtype=float
        )
