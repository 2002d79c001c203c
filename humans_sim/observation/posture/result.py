# SPDX-License-Identifier: Apache-2.0
"""A reconstructed motion: postures, and how well they explain the markers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path

import numpy as np

from humans_sim.core.disk_arrays import by_rows, release, row_slices
from humans_sim.models.angles import JointAngles, joint_angles
from humans_sim.models.conventions import HUMANS
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
        std: standard deviations of the coordinates (n, nv): base along the world's
            axes [m], base about them [rad], joints [rad]; None: not worked out.
        noise: of a marker of weight 1, one axis, from the residuals [m]; NaN: not
            worked out.
        bridged: joints that the markers of a frame do not show, led through by their
            motion before and after (n, nv - 6); None: none.
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
    std: np.ndarray | None = None
    noise: float = float("nan")
    bridged: np.ndarray | None = None

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
        return by_rows(lambda d: np.linalg.norm(d, axis=2), self.differences)

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
        total, count = self._sums(2, 1)
        return float(np.sqrt(_share(total.sum(), count.sum())))

    @property
    def frame_rms(self) -> np.ndarray:
        """Root mean square distance of each frame (n,) [m]; NaN without markers."""
        root: np.ndarray = np.sqrt(_share(*self._sums(2, 1)))
        return root

    @property
    def marker_rms(self) -> np.ndarray:
        """Root mean square distance of each marker (m,) [m]; NaN for one never used."""
        root: np.ndarray = np.sqrt(_share(*self._sums(2, 0)))
        return root

    @property
    def marker_means(self) -> np.ndarray:
        """Mean distance of each marker (m,) [m]; NaN for one never used."""
        return _share(*self._sums(1, 0))

    def worst_frames(self, count: int = 5) -> np.ndarray:
        """Rows of the frames with the largest rms, worst first."""
        rms = np.nan_to_num(self.frame_rms, nan=-1.0)
        worst: np.ndarray = np.argsort(-rms, kind="stable")[:count]
        return worst

    def joint(self, name: str) -> np.ndarray:
        """Angle of a joint over time (n,) [rad]."""
        column: np.ndarray = self.q[:, 7 + self.model.joint_names.index(name)]
        return column

    def angles(self, convention: str | Path = HUMANS) -> JointAngles:
        """Angles as a convention names and counts them.

        Args:
            convention: ``humans``, ``opensim``, ``rajagopal``, ``isb``,
                ``plug-in-gait`` or the path of one's own.
        """
        return joint_angles(self.model, self.q, convention)

    def joint_std(self, name: str) -> np.ndarray:
        """Standard deviation of a joint over time (n,) [rad]; NaN: not worked out."""
        if self.std is None:
            return np.full(len(self.q), np.nan)
        column: np.ndarray = self.std[:, 6 + self.model.joint_names.index(name)]
        return column

    def save(self, path: Path | str) -> Path:
        """Write everything (``.npz``); :func:`humans_sim.load_reconstruction` reads it.

        Returns:
            The path.
        """
        return save_reconstruction(self, path)

    def to_mot(self, path: Path | str, convention: str | Path = HUMANS) -> Path:
        """Write the motion for OpenSim (``.mot``), with the names of a convention.

        Returns:
            The path.
        """
        return write_mot(self, path, convention)

    def _sums(self, power: int, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Sums over markers used of a power of their distances, and how many.

        Args:
            power: of the distances.
            axis: over which they are added: 0 gives one a marker, 1 one a frame.
        """
        parts, counts = [], []
        for rows in row_slices(len(self.q)):
            used = (self.status[rows] == MarkerStatus.USED) | (
                self.status[rows] == MarkerStatus.INTERPOLATED
            )
            distances = np.linalg.norm(self.differences[rows], axis=2)
            used &= ~np.isnan(distances)
            parts.append(np.where(used, distances, 0.0) ** power)
            counts.append(used.sum(axis=axis))
            parts[-1] = parts[-1].sum(axis=axis)
        release(self.differences)
        join = np.concatenate if axis == 1 else _total
        return join(parts), join(counts)


def _total(parts: list[np.ndarray]) -> np.ndarray:
    total: np.ndarray = np.sum(parts, axis=0)
    return total


def _share(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """A mean; NaN where there is nothing."""
    mean: np.ndarray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean
