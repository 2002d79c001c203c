# SPDX-License-Identifier: Apache-2.0
"""Key poses are reached at their times, straight in between."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.falls.fall_detector import PoseSequence

MOTION = PoseSequence(
    "wave", np.array([0.0, 1.0, 3.0]), np.array([[0.0, 1.0], [1.0, 1.0], [0.0, -1.0]])
)


def test_between_poses() -> None:
    """Half way is half way; the ends hold."""
    np.testing.assert_allclose(MOTION.at(-1.0), [0.0, 1.0])
    np.testing.assert_allclose(MOTION.at(0.5), [0.5, 1.0])
    np.testing.assert_allclose(MOTION.at(2.0), [0.5, 0.0])
    np.testing.assert_allclose(MOTION.at(9.0), [0.0, -1.0])
    assert MOTION.duration == 3.0


def test_from_elsewhere() -> None:
    """The first pose is reached at the speed that is given, the rest follows."""
    later = MOTION.after(np.array([0.0, 5.0]), speed=2.0)
    np.testing.assert_allclose(later.at(0.0), [0.0, 5.0])
    np.testing.assert_allclose(later.at(1.0), [0.0, 3.0])
    np.testing.assert_allclose(later.at(2.0), MOTION.angles[0])
    np.testing.assert_allclose(later.at(3.0), MOTION.angles[1])
    assert later.duration == 5.0
    assert MOTION.after(MOTION.angles[0], speed=2.0).duration == 3.0


def test_misuse() -> None:
    """Times that fall and angles that are no numbers are refused."""
    with pytest.raises(hs.errors.ParameterError, match="must rise"):
        PoseSequence("back", np.array([1.0, 0.5]), np.zeros((2, 3)))
    with pytest.raises(hs.errors.ParameterError, match="angles"):
        PoseSequence("nan", np.array([0.0]), np.full((1, 3), np.nan))
