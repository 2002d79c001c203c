# SPDX-License-Identifier: Apache-2.0
"""Forces from markers alone against force plates, on recorded walks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from strolls import known, walking

import humans_sim as hs
from humans_sim.analysis.force_comparison import (
    ForceComparison,
    compare_with_plates,
    peak_moments,
    residual_summary,
)
from humans_sim.analysis.inverse_dynamics import inverse_dynamics
from humans_sim.applications.person import calibrate_recordings
from humans_sim.core.errors import ParameterError

WALKS = {
    "rajagopal": ("mocap", "static_walk.trc", "walk.trc", "walk_forces.mot"),
    "gait2354": (
        "mocap_gait2354",
        "subject01_static.trc",
        "subject01_walk1.trc",
        "subject01_walk1_grf.mot",
    ),
}
"""Folder, static trial, walk and forces, by the marker set."""


@pytest.fixture(scope="module", params=WALKS)
def walk(request: pytest.FixtureRequest, shared_data: Path) -> ForceComparison:
    """A recorded walk, over plates or on a treadmill."""
    folder, static, motion, forces = WALKS[request.param]
    place = shared_data / folder
    if not place.is_dir():
        pytest.skip(f"the public recordings of {folder} are not at hand")
    subject = calibrate_recordings([place / static], request.param).subject
    result = hs.reconstruct(subject.model(), place / motion, subject.marker_set())
    return compare_with_plates(result, hs.read_force_file(place / forces))


@pytest.mark.study
def test_markers_alone_agree_with_plates(walk: ForceComparison) -> None:
    """Vertical force of each foot: r above 0.98, within 8 % of body weight."""
    assert set(walk.feet) == {"l_sole", "r_sole"}
    for foot in (*walk.feet.values(), walk.vertical):
        assert foot.correlation > 0.98
        assert foot.rms < 0.08
        assert foot.frames > 80
    assert walk.total.rms < 0.06


def test_plates_leave_little_over(walk: ForceComparison) -> None:
    """Residual forces below 5 % of body weight, moments below 3 % with stature."""
    assert walk.covered > 0.5
    assert walk.residual.frames > 100
    assert (walk.residual.force_rms < 0.05).all()
    assert walk.residual.moment_norm_rms < 0.03
    left = walk.plates.residual[walk.plates.measured & walk.plates.inner, :3]
    rms = np.sqrt((left**2).mean(axis=0)) / (9.81 * walk.mass)
    np.testing.assert_allclose(walk.residual.force_rms, rms)


def test_plates_weigh_who_walks(walk: ForceComparison) -> None:
    """The weight that plates carry is that of an adult, whatever the tables say."""
    assert 60.0 < walk.mass < 90.0
    assert not any("not used" in note for note in walk.plates.notes)


def test_moments_of_a_walk(walk: ForceComparison) -> None:
    """Ankles push off with 1.0 to 2.2 N m/kg; knees and hips take less."""
    peaks = {peak.joint: peak for peak in peak_moments(walk.plates)}
    for side in "lr":
        ankle = peaks[f"{side}_ankle_pitch"]
        assert 1.0 < -ankle.low < 2.2
        for joint in ("knee", "hip_pitch"):
            peak = peaks[f"{side}_{joint}"]
            assert 0.2 < max(peak.high, -peak.low) < 1.5


def test_what_cannot_be_compared(human: hs.Model) -> None:
    """No plates, or plates on which nobody stepped."""
    result = known(human, walking(human, 60))
    with pytest.raises(ParameterError, match="no force plates"):
        compare_with_plates(result)
    t, zero = result.t, np.zeros((60, 3))
    empty = hs.GroundReaction("empty", t, zero, np.full((60, 3), np.nan), zero)
    with pytest.raises(ParameterError, match="no foot"):
        compare_with_plates(result, [empty])


def test_a_summary_without_plates(human: hs.Model) -> None:
    """Of markers alone, over all samples but the ends."""
    forces = inverse_dynamics(known(human, walking(human, 60)))
    summary = residual_summary(forces)
    assert summary.frames == forces.inner.sum() < 60
    assert summary.force_max >= summary.force_rms.max() >= 0.0
