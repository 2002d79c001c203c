# SPDX-License-Identifier: Apache-2.0
"""A fall is known from which way is down, whatever the heading."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.control.falls.fall_detector import (
    FallDetector,
    Lying,
    lying,
    tilt_of,
)

STILL = np.zeros(3)
HEADINGS = st.floats(-math.pi, math.pi)


def attitude(roll: float, pitch: float, heading: float = 0.0) -> np.ndarray:
    """A base that leans by angles in degrees."""
    return np.asarray(
        pin.rpy.rpyToMatrix(math.radians(roll), math.radians(pitch), heading)
    )


@given(HEADINGS, st.floats(-40.0, 40.0))
def test_sides(heading: float, more: float) -> None:
    """What points down is named as people name it, also where it is not level."""
    for roll, pitch, side in (
        (0.0, 90.0, Lying.FRONT),
        (0.0, -90.0, Lying.BACK),
        (-90.0, 0.0, Lying.LEFT),
        (90.0, 0.0, Lying.RIGHT),
    ):
        lean = attitude(roll, pitch, heading)
        assert lying(lean) is side
        # Head or feet lower than the rest: still the same side.
        about = [0.0, 1.0, 0.0] if pitch else [1.0, 0.0, 0.0]
        tipped = lean @ pin.exp3(math.radians(more) * np.array(about))
        assert lying(tipped) is side
    assert lying(attitude(more, 0.0, heading)) is Lying.NOT


@given(HEADINGS, st.floats(-179.0, 179.0))
def test_tilt(heading: float, pitch: float) -> None:
    """The tilt is the angle to the vertical."""
    tilt = tilt_of(attitude(0.0, pitch, heading))
    assert tilt == pytest.approx(abs(math.radians(pitch)), abs=1e-9)


def test_fall_and_rest() -> None:
    """It stays fallen until a reset, and rests only after some time without motion."""
    detector = FallDetector(math.radians(35.0), rest_speed=0.2, rest_time=0.4)
    detector.update(0.0, attitude(0.0, 30.0), STILL)
    assert not detector.fallen and not detector.at_rest
    detector.update(0.1, attitude(0.0, 40.0), np.array([0.0, 3.0, 0.0]))
    assert detector.fallen
    for k in range(3):
        detector.update(0.2 + 0.1 * k, attitude(0.0, 90.0), 0.1 * np.ones(3))
        assert detector.fallen and not detector.at_rest
    detector.update(0.5, attitude(0.0, 90.0), np.array([0.0, 0.5, 0.0]))
    detector.update(0.7, attitude(0.0, 90.0), STILL)
    assert not detector.at_rest
    detector.update(1.15, attitude(0.0, 90.0), STILL)
    assert detector.at_rest and detector.side is Lying.FRONT
    detector.reset()
    assert not detector.fallen and not detector.at_rest


def test_misuse() -> None:
    """Limits without meaning are refused."""
    with pytest.raises(hs.errors.ParameterError, match="rest_time"):
        FallDetector(0.6, rest_time=0.0)
