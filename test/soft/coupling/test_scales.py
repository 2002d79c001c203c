# SPDX-License-Identifier: Apache-2.0
"""Scales: rates of the thesis (with its units corrected), prototypes and deviations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from humans_sim.soft import SoftError
from humans_sim.soft.networks.stages import (
    Scale,
    gain_of_parting,
    information_rate,
    joint_scale,
    light_pressure,
    prototypes,
    recorded_bytes,
    rigid_deviation,
)


@pytest.mark.parametrize(
    ("signals", "rate", "bits", "megabits"),
    [
        (768 * 576, 25.0, 24, 265.4),
        (4, 44100.0, 16, 2.82),
        (16, 1050.0, 16, 0.269),
        (4, 44100.0, 64, 11.3),
        (768 * 576, 25.0, 32, 353.894),
        (16, 1050.0, 64, 1.0752),
        (768 * 576, 44100.0, 64, 1_248_539.4432),
    ],
)
def test_rates_of_the_thesis(
    signals: int, rate: float, bits: int, megabits: float
) -> None:
    """Picture, sound and gesture; they are megabits a second, not megabytes."""
    found = information_rate(signals, rate, bits) / 1e6
    assert found == pytest.approx(megabits, rel=2e-3)


def test_records_of_the_thesis() -> None:
    """Section 5.2.1: motion and picture of a minute; the coat is 444 times cheaper."""
    motion = recorded_bytes(1000, 1000.0, 64, 60.0)
    picture = recorded_bytes(100_000, 25.0, 32, 60.0)
    assert (motion, picture) == (240e6, 300e6)
    all_in_one = recorded_bytes(1_000_000, 1000.0, 64, 60.0)
    assert all_in_one / (motion + picture) == pytest.approx(444, abs=1)


def test_light_does_not_push() -> None:
    """Sunlight on a foil of 10 um: 9.3 uPa, 1.73 m in 100 s, 9.3e-8 N on 0.01 m²."""
    pressure = light_pressure(1400.0)
    assert pressure == pytest.approx(9.33e-6, rel=2e-3)
    assert 0.01 * pressure == pytest.approx(9.33e-8, rel=2e-3)
    acceleration = pressure / (2700.0 * 1e-5)
    assert 0.5 * acceleration * 100.0**2 == pytest.approx(1.73, abs=0.005)
    assert light_pressure(1400.0, reflected=False) == pytest.approx(pressure / 2)


def test_several_scales_need_less_than_one() -> None:
    """A slow fine signal and a fast coarse one: parted they need less; alike not."""
    slow = Scale(3, (0.1, 10.0), (1e-5, 1.0))
    fast = Scale(1, (10.0, 500.0), (1e-2, 1e-1))
    assert gain_of_parting([slow, fast]) > 10.0
    assert gain_of_parting([slow, slow]) == pytest.approx(1.0)
    one = joint_scale([slow, fast])
    assert one.time == (0.1, 500.0) and one.count == 4
    assert slow.bits == int(np.log2(1e5)) + 1
    with pytest.raises(SoftError, match="is none"):
        Scale(1, (2.0, 1.0), (1.0, 2.0))


def test_deviations_fall_with_the_prototypes() -> None:
    """Energy left falls monotonically; all prototypes leave nothing."""
    signals = np.random.default_rng(0).normal(size=(50, 8))
    left = [prototypes(signals, count).energy for count in range(9)]
    assert (np.diff(left) < 0).all()
    assert left[0] == pytest.approx(1.0) and left[-1] < 1e-12
    parts = prototypes(signals, 3)
    np.testing.assert_allclose(parts.followed + parts.deviations, signals)


def test_rigid_points_do_not_deviate() -> None:
    """Six parameters follow a rigid cloud to 1e-12; a bent one deviates."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(20, 3))
    moved = Rotation.from_rotvec([0.3, -1.0, 2.0]).apply(points) + [1, 2, 3]
    assert np.abs(rigid_deviation(points, moved)).max() < 1e-12
    moved[0] += [0.1, 0.0, 0.0]
    assert np.abs(rigid_deviation(points, moved)).max() > 0.01
