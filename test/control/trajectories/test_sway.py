# SPDX-License-Identifier: Apache-2.0
"""The demonstration's motion stays inside the limits and on flat feet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.trajectories.trajectory import Sway


def test_inside_limits_and_smooth(model: hs.Model) -> None:
    """Angles stay in their limits; speeds are the derivative of angles."""
    sway = Sway.of_model(model)
    for t in np.linspace(0, sway.period, 41):
        joints, speeds = sway.at(t)
        assert (joints >= model.lower_limits).all()
        assert (joints <= model.upper_limits).all()
        step = 1e-6
        expected = (sway.at(t + step)[0] - sway.at(t - step)[0]) / (2 * step)
        np.testing.assert_allclose(speeds, expected, atol=1e-6)


def test_flat_feet(model: hs.Model) -> None:
    """Both soles stay on the ground while the knees bend."""
    sway = Sway.of_model(model)
    feet = [model.contact_names.index(n) for s in model.soles for n in s.contacts]
    heights = []
    for t in np.linspace(0, sway.period, 17):
        q = model.standing(sway.at(t)[0])
        np.testing.assert_allclose(model.contact(q)[feet, 2], 0.0, atol=1e-9)
        heights.append(q[2])
    assert np.ptp(heights) > 0.01 * model.neutral()[2]


def test_unknown_joint(khr1: hs.Model, tmp_path: Path) -> None:
    """A motion for another robot is refused with its line."""
    path = tmp_path / "motion.yaml"
    path.write_text("period: 2.0\njoints:\n  r_toe: [0, 1, 0]\n")
    with pytest.raises(hs.errors.ModelFileError, match="no joint 'r_toe'") as caught:
        Sway.from_file(khr1, path)
    assert caught.value.line == 3
