# SPDX-License-Identifier: Apache-2.0
"""Tests of the strides of a reconstructed walk."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from strolls import STRIDE, walking

import humans_sim as hs
from humans_sim.analysis.footfalls import Stride, find_strides


def test_strides(human: hs.Model) -> None:
    """Both feet strike once a stride, half a stride apart, wherever the walk leads."""
    q = walking(human)
    t = np.arange(len(q)) / 100
    strides = find_strides(human, t, q)
    assert {stride.side for stride in strides} == {"l", "r"}
    assert len(strides) == 5
    for stride in strides:
        assert stride.end - stride.start == pytest.approx(STRIDE, abs=0.01)
    left = next(s.start for s in strides if s.side == "l")
    right = next(s.start for s in strides if s.side == "r")
    assert abs(left - right) == pytest.approx(STRIDE / 2, abs=0.01)
    assert find_strides(human, t, np.tile(human.neutral(), (len(t), 1))) == ()
    assert find_strides(human, t[:1], q[:1]) == ()


def test_strides_resample_their_curves() -> None:
    """From start to end in hundredths."""
    t = np.linspace(0.0, 10.0, 1001)
    curve = Stride("l", 2.0, 4.0).curve(t, 3 * t)
    assert curve == pytest.approx(np.linspace(6.0, 12.0, 101))


def test_strides_in_any_direction(human: hs.Model) -> None:
    """On a treadmill, and turned about: the same strikes."""
    q = walking(human)
    t = np.arange(len(q)) / 100
    expected = find_strides(human, t, q)
    q[:, :2] = (3.0, -1.0)
    q[:, 3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.0, 2.0)).coeffs()
    for stride, other in zip(find_strides(human, t, q), expected, strict=True):
        assert stride.side == other.side
        assert stride.start == pytest.approx(other.start, abs=1e-9)
