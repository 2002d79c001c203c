# SPDX-License-Identifier: Apache-2.0
"""Steps of a plan in a frame that has drifted."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("viser")
pin = pytest.importorskip("pinocchio")

from humans_sim.view.browser.walk_layer import PlannedStep  # noqa: E402


def test_steps_go_with_their_frame() -> None:
    """Corners are turned and shifted; the step itself stays as it was."""
    corners = np.array([[0.1, 0.0, 0.0], [0.1, 0.05, 0.0]])
    step = PlannedStep(corners, (1, 2, 3))
    pose = pin.SE3(pin.utils.rotate("z", math.pi / 2), np.array([1.0, 2.0, 0.5]))
    moved = step.moved(pose)
    expected = [[1.0, 2.1, 0.5], [0.95, 2.1, 0.5]]
    np.testing.assert_allclose(moved.corners, expected, atol=1e-12)
    assert moved.colour == (1, 2, 3)
    np.testing.assert_array_equal(step.corners, corners)
