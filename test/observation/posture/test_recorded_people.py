# SPDX-License-Identifier: Apache-2.0
"""Three recorded people: standing and walking as other programs have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from marker_validation import RECORDINGS, Recording, measure, misses


@pytest.mark.study
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda each: each.name)
def test_a_motion_improves_calibration(recording: Recording, shared_data: Path) -> None:
    """A lower residual, upright standing, and angles that agree with other programs'.

    Hip, knee and ankle against OpenSim's and Vicon's own, no worse than from the
    static trial alone.
    """
    static = measure(shared_data, recording, motion=False)
    both = measure(shared_data, recording, motion=True)
    assert both.calibration.unusual == ()
    assert misses(recording, static, both) == []
    if recording.name == "Plug-in Gait":
        assert both.walk.rms < 0.9 * static.walk.rms
