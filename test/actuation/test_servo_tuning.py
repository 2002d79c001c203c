# SPDX-License-Identifier: Apache-2.0
"""Step responses of servos against the formulas of a damped oscillator; tuned gains."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.servo_set import (
    ServoNumbers,
    ServoSet,
    reflected_inertias,
    step_response,
    tuned_servos,
)

INERTIA = 0.02


def ideal(bandwidth: float, ratio: float, **limits: float) -> ServoNumbers:
    """A servo without friction or rotor, strong and fast unless limits are given."""
    return ServoNumbers(
        gain=INERTIA * bandwidth**2,
        damping=2.0 * ratio * bandwidth * INERTIA,
        viscous=0.0,
        coulomb=0.0,
        rotor_inertia=0.0,
        **{"stall_torque": 1e6, "no_load_speed": 1e6, **limits},
    )


@pytest.mark.parametrize("ratio", [0.3, 0.7, 1.0])
def test_the_response_is_that_of_a_damped_oscillator(ratio: float) -> None:
    """Every angle, and the overshoot exp(-pi z / sqrt(1 - z^2))."""
    w = 30.0
    response = step_response(ideal(w, ratio), INERTIA)
    t = response.times
    if ratio < 1.0:
        d = math.sqrt(1.0 - ratio**2)
        wave = np.cos(w * d * t) + ratio / d * np.sin(w * d * t)
        exact = 1.0 - np.exp(-ratio * w * t) * wave
        peak = math.exp(-math.pi * ratio / d)
    else:
        exact, peak = 1.0 - np.exp(-w * t) * (1.0 + w * t), 0.0
    np.testing.assert_allclose(response.angles, exact, atol=2e-3)
    assert response.overshoot == pytest.approx(peak, abs=2e-3)
    low, high = (float(np.interp(x, exact[:80], t[:80])) for x in (0.1, 0.9))
    if high < t[79]:
        assert response.rise_time == pytest.approx(high - low, abs=1e-3)
    assert response.limited == 0.0


def test_a_weak_servo_rises_at_its_torque() -> None:
    """It is said that it is limited; one with friction above its torque never rises."""
    strong = step_response(ideal(60.0, 0.7), INERTIA, 0.5)
    weak = step_response(ideal(60.0, 0.7, stall_torque=2.0), INERTIA, 0.5)
    assert weak.limited > 0.5 and weak.rise_time > 1.5 * strong.rise_time
    stuck = ServoNumbers(gain=1.0, stall_torque=0.01, coulomb=0.02)
    assert math.isinf(step_response(stuck, INERTIA).rise_time)


def test_tuned_gains_give_their_bandwidth(khr1: hs.Model) -> None:
    """Gains are J w^2 with the inertia of what each joint carries and its rotor."""
    servos, inertias = tuned_servos(khr1, 40.0, 0.8), reflected_inertias(khr1)
    own = ServoSet.of_model(khr1)
    for name, inertia in zip(khr1.joint_names, inertias, strict=True):
        whole = inertia + servos[name].rotor_inertia
        assert servos[name].gain == pytest.approx(whole * 1600.0)
        assert servos[name].damping / servos[name].gain == pytest.approx(0.04)
        assert servos[name].stall_torque == own.of_joint(name).stall_torque
    # A hip carries the knee, and more.
    names = list(khr1.joint_names)
    hip, knee = (inertias[names.index(f"l_{j}")] for j in ("hip_pitch", "knee"))
    assert hip > knee > 0.0


@pytest.mark.parametrize("arguments", [(0.0, 0.7), (30.0, -1.0), (math.nan, 0.7)])
def test_numbers_without_meaning(
    khr1: hs.Model, arguments: tuple[float, float]
) -> None:
    """They are refused."""
    with pytest.raises(hs.errors.ParameterError, match="above zero"):
        tuned_servos(khr1, *arguments)
    with pytest.raises(hs.errors.ParameterError, match="inertia"):
        step_response(ServoNumbers(), 0.0)
