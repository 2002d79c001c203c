# SPDX-License-Identifier: Apache-2.0
"""Legs of a stride: feet that roll on the ground, knees as in normal gait."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.control.gait.leg_fit import (
    LegFit,
    LegLengths,
    LegPath,
    StrideTimes,
    normal_angles,
)

LEGS = LegLengths(thigh=0.42, shank=0.43, ankle=0.04, heel=0.045, toe=0.21)
TIMES = StrideTimes()
PHASE = np.arange(80) / 80


@pytest.fixture(scope="module")
def path() -> LegPath:
    """A leg below a hip that moves evenly."""
    return fitted(0.0)


def fitted(slope: float) -> LegPath:
    """The same on a slope [rad]; the hips move level 0.26 strides behind the foot."""
    fit = LegFit(LEGS, TIMES, 1.27 / np.cos(slope), 1.27, 0.06, slope)
    none = 0.0 * PHASE
    return fit.fit(PHASE, 1.27 * (PHASE - 0.21), 0.02 + none, none, none)


def sole_point(path: LegPath, ahead: float) -> np.ndarray:
    """A point of the sole, before the ankle of the flat foot (n, 2) [m]."""
    sine, cosine = np.sin(path.pitch), np.cos(path.pitch)
    x = path.ankle[:, 0] + cosine * ahead + sine * LEGS.ankle
    return np.column_stack([x, path.ankle[:, 1] + sine * ahead - cosine * LEGS.ankle])


def test_the_foot_turns_about_heel_then_toe(path: LegPath) -> None:
    """The point that it stands on stays where it is; nothing is below the ground."""
    heel, toe = sole_point(path, -LEGS.heel), sole_point(path, LEGS.toe)
    landing = PHASE < TIMES.flat
    rolling = (PHASE >= TIMES.heel_off) & (PHASE < TIMES.toe_off)
    flat = ~landing & (PHASE < TIMES.heel_off)
    still = np.array([-LEGS.heel, 0.0])
    stands = heel[landing | flat]
    assert stands == pytest.approx(np.tile(still, (len(stands), 1)), abs=1e-9)
    assert toe[rolling, 1] == pytest.approx(0.0, abs=1e-9)
    assert toe[rolling, 0] == pytest.approx(LEGS.toe, abs=1e-9)
    assert path.pitch[0] > 0.25 and path.pitch[rolling][-1] < -0.4
    assert min(heel[:, 1].min(), toe[:, 1].min()) > -2e-3


def test_the_angles_close_the_leg(path: LegPath) -> None:
    """Thigh and shank at these angles lead from the hip to the ankle."""
    hip, knee, ankle = path.angles
    shank = hip - knee
    ahead = LEGS.thigh * np.sin(hip) + LEGS.shank * np.sin(shank)
    down = LEGS.thigh * np.cos(hip) + LEGS.shank * np.cos(shank)
    assert 1.27 * (PHASE - 0.21) + ahead == pytest.approx(path.ankle[:, 0], abs=1e-9)
    reach = np.hypot(path.hip_height - path.ankle[:, 1], 0.02)
    assert down == pytest.approx(reach, abs=1e-9)
    assert shank + ankle == pytest.approx(path.pitch)


def test_it_bends_as_in_normal_gait(path: LegPath) -> None:
    """Hip and knee as published; the knee straight in stance, bent in the air."""
    normal = np.radians(normal_angles(PHASE))
    for k in (0, 1):
        assert np.corrcoef(path.angles[k], normal[k])[0, 1] > 0.93
    knee = np.degrees(path.angles[1])
    stance = (PHASE > TIMES.flat) & (PHASE < TIMES.heel_off)
    assert knee[stance].max() < 20.0 and knee.max() > 50.0
    ankle = np.degrees(path.angles[2] - normal[2])
    assert np.sqrt(np.mean(ankle**2)) < 8.0


@pytest.mark.parametrize("slope", [-0.07, 0.07])
def test_on_a_slope_the_leg_reaches_the_ground(slope: float) -> None:
    """From the hip, by upright thigh and shank, to the ankle above the slope."""
    path = fitted(slope)
    cosine, sine = np.cos(slope), np.sin(slope)
    level = 1.27 * (PHASE - 0.21)
    hip = np.column_stack([level, np.tan(slope) * level + path.hip_height / cosine])
    x, z = path.ankle.T
    ankle = np.column_stack([cosine * x - sine * z, sine * x + cosine * z])
    thigh, knee, foot = path.angles
    shank = thigh - knee
    ahead = LEGS.thigh * np.sin(thigh) + LEGS.shank * np.sin(shank)
    assert ankle[:, 0] - hip[:, 0] == pytest.approx(ahead, abs=2e-3)
    down = LEGS.thigh * np.cos(thigh) + LEGS.shank * np.cos(shank)
    assert hip[:, 1] - ankle[:, 1] == pytest.approx(down, abs=2e-3)
    assert shank + foot == pytest.approx(path.pitch + slope)
