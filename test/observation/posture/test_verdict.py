# SPDX-License-Identifier: Apache-2.0
"""What makes a reconstruction doubtful, one reason at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.posture.result import (
    DOUBTFUL,
    FAILED,
    GOOD,
    MarkerStatus,
    Reconstruction,
)


@pytest.fixture(scope="module")
def result(human: hs.Model) -> Reconstruction:
    """A good one: 50 frames of 28 markers to 2 mm."""
    return hs.reconstruct(human, synthetic_trial(human, duration=0.5, noise=0.002))


def scaled(result: Reconstruction, rms: float) -> Reconstruction:
    """With larger distances [m]."""
    return replace(result, differences=rms / result.rms * result.differences)


def one_off(result: Reconstruction) -> Reconstruction:
    """With one marker 8 cm from its place."""
    differences = result.differences.copy()
    differences[:, 3] = [0.08, 0.0, 0.0]
    return replace(result, differences=differences)


def with_status(
    result: Reconstruction, status: MarkerStatus, share: float, columns: slice
) -> Reconstruction:
    """With a status of some markers in a share of the frames."""
    changed, differences = result.status.copy(), result.differences.copy()
    rows = slice(0, int(share * len(changed)))
    changed[rows, columns] = status
    if status == MarkerStatus.OCCLUDED:
        differences[rows, columns] = np.nan
    return replace(result, status=changed, differences=differences)


def unsettled(result: Reconstruction, share: float) -> Reconstruction:
    """With a share of frames that ended at no minimum."""
    return replace(result, converged=np.arange(len(result.t)) >= share * len(result.t))


def interpolated(result: Reconstruction, share: float) -> Reconstruction:
    """With a share of the samples made up by the filling of gaps."""
    filled = np.zeros(result.status.shape, dtype=bool)
    filled[: int(share * len(filled))] = True
    return replace(result, trial=replace(result.trial, filled=filled))


def at_limit(result: Reconstruction, joint: str, share: float) -> Reconstruction:
    """With a joint at its upper limit in a share of the frames."""
    q, place = result.q.copy(), result.model.joint_names.index(joint)
    q[: int(share * len(q)), 7 + place] = result.model.upper_limits[place]
    return replace(result, q=q)


def hidden(result: Reconstruction, joint: str, share: float) -> Reconstruction:
    """With a joint that a share of the frames does not show."""
    bridged = np.zeros((len(result.t), len(result.model.joint_names)), dtype=bool)
    place = result.model.joint_names.index(joint)
    bridged[: int(share * len(bridged)), place] = True
    return replace(result, bridged=bridged)


ALL, FIRST = slice(None), slice(0, 1)
REJECTED, OCCLUDED = MarkerStatus.REJECTED, MarkerStatus.OCCLUDED
CASES = {
    "as it is": (lambda r: r, GOOD, ""),
    "19 mm": (lambda r: scaled(r, 0.019), GOOD, ""),
    "21 mm": (lambda r: scaled(r, 0.021), DOUBTFUL, "rms distance is 21 mm"),
    "41 mm": (lambda r: scaled(r, 0.041), FAILED, "rms distance is 41 mm"),
    "a marker off": (one_off, DOUBTFUL, "markers are not where their labels say"),
    "a marker rejected": (
        lambda r: with_status(r, REJECTED, 0.4, FIRST),
        DOUBTFUL,
        "markers are not where their labels say",
    ),
    "few markers": (
        lambda r: with_status(r, OCCLUDED, 0.2, slice(0, 15)),
        DOUBTFUL,
        "20 % of the frames have few markers",
    ),
    "few samples": (
        lambda r: with_status(r, OCCLUDED, 1.0, slice(0, 8)),
        DOUBTFUL,
        "29 % of the samples were not seen",
    ),
    "nothing seen": (
        lambda r: with_status(r, OCCLUDED, 1.0, ALL),
        FAILED,
        "no marker was used",
    ),
    "a frame unsettled": (lambda r: unsettled(r, 0.05), GOOD, ""),
    "frames unsettled": (lambda r: unsettled(r, 0.2), DOUBTFUL, "20 % of the frames"),
    "most unsettled": (lambda r: unsettled(r, 0.6), FAILED, "60 % of the frames"),
    "gaps filled": (lambda r: interpolated(r, 0.3), DOUBTFUL, "are interpolated"),
    "a joint at its limit": (
        lambda r: at_limit(r, "l_elbow_pitch", 1.0),
        DOUBTFUL,
        "joints are at their limits: l_elbow_pitch (100 %)",
    ),
    "at its limit for a moment": (lambda r: at_limit(r, "l_knee", 0.1), GOOD, ""),
    "no marker sees it": (
        lambda r: at_limit(replace(r, unobservable=("l_knee",)), "l_knee", 1.0),
        GOOD,
        "",
    ),
    "a joint hidden": (
        lambda r: hidden(r, "r_knee", 0.4),
        DOUBTFUL,
        "markers do not show joints, which are interpolated: r_knee (40 %)",
    ),
    "hidden for a moment": (lambda r: hidden(r, "r_knee", 0.1), GOOD, ""),
    "doubted before": (
        lambda r: replace(r, doubts=("it is upside down",)),
        DOUBTFUL,
        "it is upside down",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_verdict(result: Reconstruction, case: str) -> None:
    """Each reason gives its grade, and no other."""
    change, grade, reason = CASES[case]
    verdict = change(result).verdict
    assert verdict.grade == grade and verdict.good == (grade == GOOD), verdict
    assert (reason in verdict.reasons[0]) if reason else verdict.reasons == ()
    assert str(verdict).startswith(grade)
