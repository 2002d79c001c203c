# SPDX-License-Identifier: Apache-2.0
"""A reconstructed motion: postures, and how well they explain the markers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.mot_file import write_mot
from humans_sim.observation.posture.result_writer import save_reconstruction
from humans_sim.observation.posture.verdict import Verdict, judge


class MarkerStatus(IntEnum):
    """What became of a marker in one frame; numbers as in the ROS message."""

    USED = 0
    OCCLUDED = 1
    INTERPOLATED = 2
    REJECTED = 3
    UNKNOWN = 4


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Postures of a person found from markers.

    Attributes:
        model: the person's model.
        trial: the markers used, after filters and in the order of ``names``.
        q: configurations (n, nq).
        differences: measured minus reconstructed (n, m, 3) [m]; NaN where not seen.
        status: of each marker (n, m), numbers of :class:`MarkerStatus`.
        converged: whether the solver ended at a minimum (n,).
        iterations: of the solver (n,).
        solve_times: wall time of each frame, averaged over a few (n,) [s].
        unobservable: joints that no marker of the trial can see; they stay near rest.
        mode: ``static`` or ``smooth``.
        doubts: what a look at the recording before speaks against it.
        missing: markers of the set that the recording does not have.
        ignored: labels of the recording that the set does not have.
    """

    model: Model
    trial: MarkerTrial
    q: np.ndarray
    differences: np.ndarray
    status: np.ndarray
    converged: np.ndarray
    iterations: np.ndarray
    solve_times: np.ndarray
    unobservable: tuple[str, ...]
    mode: str
    doubts: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def t(self) -> np.ndarray:
        """Times of the frames (n,) [s]."""
        return self.trial.times

    @property
    def names(self) -> tuple[str, ...]:
        """Markers, one column each."""
        return self.trial.names

    @property
    def residuals(self) -> np.ndarray:
        """Distances, measured to reconstructed (n, m) [m]; NaN where not seen."""
        distance: np.ndarray = np.linalg.norm(self.differences, axis=2)
        return distance

    @property
    def occluded(self) -> np.ndarray:
        """Markers that were not seen, interpolated ones included (n, m)."""
        missing: np.ndarray = (self.status == MarkerStatus.OCCLUDED) | self.trial.filled
        return missing

    @property
    def used(self) -> np.ndarray:
        """Markers that hold the posture (n, m)."""
        held: np.ndarray = (self.status == MarkerStatus.USED) | (
            self.status == MarkerStatus.INTERPOLATED
        )
        return held

    @property
    def rejected(self) -> np.ndarray:
        """Markers that were left aside, too far from their places (n, m)."""
        left: np.ndarray = self.status == MarkerStatus.REJECTED
        return left

    @cached_property
    def verdict(self) -> Verdict:
        """How far the result can be relied on: good, doubtful or failed, and why."""
        return judge(self)

    @property
    def rms(self) -> float:
        """Root mean square distance over all markers used [m]."""
        return float(_rms(self._squares().ravel(), 0))

    @property
    def frame_rms(self) -> np.ndarray:
        """Root mean square distance of each frame (n,) [m]; NaN without markers."""
        return _rms(self._squares(), 1)

    @property
    def marker_rms(self) -> np.ndarray:
        """Root mean square distance of each marker (m,) [m]; NaN for one never used."""
        return _rms(self._squares(), 0)

    @property
    def marker_means(self) -> np.ndarray:
        """Mean distance of each marker (m,) [m]; NaN for one never used."""
        return _mean(np.where(self.used, self.residuals, np.nan), 0)

    def worst_frames(self, count: int = 5) -> np.ndarray:
        """Rows of the frames with the largest rms, worst first."""
        rms = np.nan_to_num(self.frame_rms, nan=-1.0)
        worst: np.ndarray = np.argsort(-rms, kind="stable")[:count]
        return worst

    def joint(self, name: str) -> np.ndarray:
        """Angle of a joint over time (n,) [rad]."""
        column: np.ndarray = self.q[:, 7 + self.model.joint_names.index(name)]
        return column

    def save(self, path: Path | str) -> Path:
        """Write everything (``.npz``); :func:`humans_sim.load_reconstruction` reads it.

        Returns:
            The path.
        """
        return save_reconstruction(self, path)

    def to_mot(self, path: Path | str) -> Path:
        """Write the motion for OpenSim (``.mot``).

        Returns:
            The path.
        """
        return write_mot(self, path)

    def _squares(self) -> np.ndarray:
        return np.where(self.used, self.residuals**2, np.nan)


def _mean(values: np.ndarray, axis: int) -> np.ndarray:
    """Mean over what is not NaN; NaN where there is nothing."""
    present = ~np.isnan(values)
    count = present.sum(axis=axis)
    total = np.where(present, values, 0.0).sum(axis=axis)
    mean: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _rms(squares: np.ndarray, axis: int) -> np.ndarray:
    root: np.ndarray = np.sqrt(_mean(squares, axis))
    return root
