# SPDX-License-Identifier: Apache-2.0
"""How far a reconstruction can be relied on, and why not further."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # a result judges itself by this file
    from humans_sim.observation.posture.result import Reconstruction

GOOD, DOUBTFUL, FAILED = "good", "doubtful", "failed"
"""Grades of a reconstruction."""
GOOD_FIT, BAD_FIT = 0.02, 0.04
"""Rms distances up to which a fit is good, and above which it failed [m]."""
_OFF = 0.045
"""Mean distance of a marker that is not where its label says [m]."""
_REJECTED = 0.25
"""Share of its frames in which such a marker is rejected."""
_UNSETTLED, _LOST = 0.1, 0.5
"""Shares of frames without a minimum: of a doubtful result, of a failed one."""
_FEW = 0.6
"""Share of the markers that hold a posture; fewer are few."""
_FEW_FRAMES = 0.1
_FILLED, _UNSEEN = 0.2, 0.2
"""Shares of interpolated and of missing samples from which a result is doubtful."""
_AT_LIMIT, _LIMIT_FRAMES = 1e-3, 0.2
"""Distance to a limit that is at it [rad]; share of frames that is too often."""
_HIDDEN_FRAMES = 0.2
"""Share of frames in which a joint may be hidden."""
_LISTED = 6


@dataclass(frozen=True)
class Verdict:
    """A grade, and why it is no better.

    Attributes:
        grade: ``good``, ``doubtful`` (look at it before you use it) or ``failed``.
        reasons: for a grade that is not good.
    """

    grade: str
    reasons: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether nothing speaks against the result."""
        return self.grade == GOOD

    def __str__(self) -> str:
        """The grade with its reasons."""
        return self.grade + (f": {'; '.join(self.reasons)}" if self.reasons else "")


def judge(result: Reconstruction) -> Verdict:
    """The verdict on a reconstruction."""
    failures = list(_failures(result))
    reasons = (*failures, *result.doubts, *_doubts(result))
    grade = FAILED if failures else DOUBTFUL if reasons else GOOD
    return Verdict(grade, reasons)


def _failures(result: Reconstruction) -> Iterable[str]:
    if not np.isfinite(result.rms):
        yield "no marker was used"
        return
    if result.rms > BAD_FIT:
        yield f"the rms distance is {1e3 * result.rms:.0f} mm"
    unsettled = 1.0 - float(np.mean(result.converged))
    if unsettled > _LOST:
        yield f"{100 * unsettled:.0f} % of the frames ended at no minimum"


def _doubts(result: Reconstruction) -> Iterable[str]:
    if GOOD_FIT < result.rms <= BAD_FIT:
        yield f"the rms distance is {1e3 * result.rms:.0f} mm"
    names = np.array(result.names)
    seen = ~np.isnan(result.residuals)
    rejected = result.rejected.sum(axis=0) / np.maximum(seen.sum(axis=0), 1)
    off = (np.nan_to_num(result.marker_means) > _OFF) | (rejected > _REJECTED)
    if off.any():
        yield f"markers are not where their labels say: {_listed(names[off])}"
    unsettled = 1.0 - float(np.mean(result.converged))
    if _UNSETTLED < unsettled <= _LOST:
        yield f"{100 * unsettled:.0f} % of the frames ended at no minimum"
    few = result.used.sum(axis=1) < _FEW * len(names)
    if few.mean() > _FEW_FRAMES:
        yield f"{100 * few.mean():.0f} % of the frames have few markers"
    filled, unseen = result.trial.filled.mean(), (~seen).mean()
    if filled > _FILLED:
        yield f"{100 * filled:.0f} % of the samples are interpolated"
    if unseen > _UNSEEN:
        yield f"{100 * unseen:.0f} % of the samples were not seen"
    for what, joints in (
        ("joints are at their limits", at_limits(result)),
        ("markers do not show joints, which are interpolated", often_hidden(result)),
    ):
        if joints:
            words = [f"{name} ({100 * share:.0f} %)" for name, share in joints.items()]
            yield f"{what}: {_listed(words)}"


def at_limits(result: Reconstruction) -> dict[str, float]:
    """Share of the frames in which a joint is at a limit, where that is too often.

    Joints that no marker sees are left out: they stay near rest, wherever that is.
    """
    angles, model = result.q[:, 7:], result.model
    at = angles < np.asarray(model.lower_limits) + _AT_LIMIT
    at |= angles > np.asarray(model.upper_limits) - _AT_LIMIT
    return _too_often(result, at, _LIMIT_FRAMES)


def often_hidden(result: Reconstruction) -> dict[str, float]:
    """Share of the frames that do not show a joint, where that is too often."""
    if result.bridged is None:
        return {}
    return _too_often(result, result.bridged, _HIDDEN_FRAMES)


def _too_often(
    result: Reconstruction, frames: np.ndarray, limit: float
) -> dict[str, float]:
    """Joints that markers see, with their shares of the frames above a limit."""
    names = result.model.joint_names
    shares = zip(names, frames.mean(axis=0).tolist(), strict=True)
    return {
        name: share
        for name, share in shares
        if share > limit and name not in result.unobservable
    }


def _listed(words: Iterable[str]) -> str:
    words = list(words)
    return ", ".join(words[:_LISTED]) + (", ..." if len(words) > _LISTED else "")
