# SPDX-License-Identifier: Apache-2.0
"""Settings of a walk: files of the package, faults with file and line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.derived import (
    AnkleReach,
    ankle_reaches,
    pressure_point,
)
from humans_sim.control.walking.sole_legs import sole_legs
from humans_sim.core.resources import resource
from humans_sim.core.settings import SettingError


def edited(tmp_path: Path, old: str, new: str) -> Path:
    """The KHR-1's file with one change."""
    text = resource("config", "walking", "khr1.yaml").read_text()
    assert old in text
    path = tmp_path / "walk.yaml"
    path.write_text(text.replace(old, new, 1))
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("left: l_sole", "left: l_hand", "no sole 'l_hand' .it has: l_sole, r_sole"),
        ("right: r_sole", "right: l_sole", "is the left sole, too"),
        ("turns: slip", "turns: wheels", "not one of hip_yaw, slip"),
        ("l_knee: 50", "l_toe: 50", "no joint 'l_toe'"),
        ("l_knee: 50", "l_knee: 150", "beyond the limits"),
        ("com_height: 0.190", "com_height: -1", "above zero"),
        ("com_height: 0.190", "com_height: high", "high"),
        ("foot_lift: 0.015", "foot_lift: 0", "above zero"),
        ("step_duration: 0.48", "step_duration: 0.47", "multiple of mpc_period"),
        ("double_support: 1/6", "double_support: 1.5", "below 1"),
        ("double_support: 1/6", "double_support: 0.01", "less than two"),
        ("mpc_horizon: 0.96", "mpc_horizon: 0.4", "shorter than a step"),
        ("pivot_duration: 0.24", "pivot_duration: 0", "less than two"),
        ("pivot_duration: 0.24", "pivot_duration: 1e6", "is more than"),
        ("pivot_share: 0.7", "pivot_share: 1.2", "1 at most"),
        ("pivot_share: 0.7", "pivot_share: 0", "above zero"),
        ("zmp_margin", "zmp_border", "unknown key"),
    ],
)
def test_faults(
    khr1: hs.Model, tmp_path: Path, old: str, new: str, message: str
) -> None:
    """Every fault is reported with its line."""
    path = edited(tmp_path, old, new)
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        WalkSettings.from_file(khr1, path)
    line = path.read_text().splitlines()[(caught.value.line or 0) - 1]
    assert new.split(":")[0] in line


def test_missing_keys_are_derived(khr1: hs.Model, tmp_path: Path) -> None:
    """What a file leaves out follows from the robot; what it says stays."""
    path = edited(tmp_path, "foot_lift: 0.015", "")
    settings = WalkSettings.from_file(khr1, path)
    usual = WalkSettings.of_model(khr1)
    assert settings.foot_lift == pytest.approx(0.06 * 0.13)
    assert dataclasses.replace(settings, foot_lift=0.015) == usual


def test_legs_must_turn_as_the_file_says(khr1: hs.Model) -> None:
    """Five joints a leg do not turn in the hip."""
    settings = dataclasses.replace(WalkSettings.of_model(khr1), turns="hip_yaw")
    with pytest.raises(SettingError, match="turns: hip_yaw needs 6 joints.*has 5"):
        WalkPattern(khr1, settings)


def test_stature_scales(human: hs.Model) -> None:
    """One file serves humans of any stature."""
    tall = human.with_height(2.0 * human.height)
    small, large = WalkSettings.of_model(human), WalkSettings.of_model(tall)
    assert large.com_height == pytest.approx(2.0 * small.com_height)
    assert large.max_turn == small.max_turn


def test_no_file(khr1: hs.Model, tmp_path: Path) -> None:
    """A robot without a file has derived settings, or those of a file beside it."""
    path = khr1.save(tmp_path / "other.urdf")
    path.write_text(path.read_text().replace('name="khr1"', 'name="other"', 1))
    other = hs.load_model(path)
    derived = WalkSettings.of_model(other)
    assert (derived.left, derived.right, derived.turns) == ("l_sole", "r_sole", "slip")
    assert derived.com_height == pytest.approx(0.2, rel=0.02)
    file = resource("config", "walking", "khr1.yaml")
    assert WalkSettings.from_file(other, file) == WalkSettings.of_model(khr1)
    (tmp_path / "other.walk.yaml").write_text("foot_lift: 0.02\n")
    assert WalkSettings.of_model(other) == dataclasses.replace(derived, foot_lift=0.02)
    (tmp_path / "other.walk.yaml").write_text("step_duration: 0.5\n")
    slower = WalkSettings.of_model(other)
    assert slower.mpc_period == pytest.approx(0.5 / 12)
    assert slower.swing_knots == derived.swing_knots
    (tmp_path / "other.walk.yaml").write_text("step_duration: 0.5\nmpc_period: 0.03\n")
    with pytest.raises(
        hs.errors.ModelFileError, match="multiple of mpc_period"
    ) as caught:
        WalkSettings.of_model(other)
    assert caught.value.line == 1


@pytest.mark.parametrize("name", ["khr1", "bip", "human36"])
def test_derived_settings_are_like_those_by_hand(name: str) -> None:
    """Heights, widths and times within a third of what the package's files say."""
    model = hs.load_model(name)
    usual = WalkSettings.of_model(model)
    derived = WalkSettings.of_names(model, usual.left, usual.right)
    assert derived.turns == usual.turns
    for key in ("com_height", "stance_width", "step_duration", "max_forward"):
        ratio = getattr(derived, key) / getattr(usual, key)
        assert 0.7 < ratio < 1.35, key
    for joint, angle in derived.posture.items():
        assert angle * usual.posture[joint] > 0, joint
    standing = WalkPattern(model, derived).standing()
    for sole in (usual.left, usual.right):
        pose = model.frame_pose(standing, sole)
        assert abs(pose.translation[2]) < 1e-6
        assert pose.rotation[2, 2] == pytest.approx(1.0)


def test_periods_without_number(khr1: hs.Model) -> None:
    """A period so short that no number counts them is refused, not a crash."""
    with pytest.raises(SettingError, match="is more than"):
        dataclasses.replace(WalkSettings.of_model(khr1), mpc_period=1e-320)


@given(
    st.lists(st.floats(0.02, 0.2), min_size=6, max_size=6),
    st.lists(st.floats(-0.1, 0.1), min_size=2, max_size=2),
    st.lists(st.floats(-0.01, 0.01), min_size=2, max_size=2),
)
def test_the_pressure_point_is_inside_both_soles(
    sides: list[float], middle: list[float], apart: list[float]
) -> None:
    """Wherever soles lie beside their frames, by more than the margin."""
    front, back, out, inner, more, less = sides
    left = np.array([[front, out], [-back, out], [-back, -inner], [front, -inner]])
    right = left + np.array([more, 0.0]) * [[1], [0], [0], [1]] * (less / 0.2)
    left, right = left + middle, right + middle + np.array(apart)
    found = {name: item.value for name, item in pressure_point(left, right).items()}
    place = np.array([found["zmp_forward"], -found["zmp_inward"]])
    assert found["zmp_margin"] > 0.0
    for sole in (left, right):
        low, high = sole.min(axis=0), sole.max(axis=0)
        room = min((place - low).min(), (high - place).min())
        assert room >= 1.9 * found["zmp_margin"]


def test_a_pressure_point_that_is_inside_stays() -> None:
    """Symmetric soles around their ankles keep the shares that robots walk with."""
    sole = np.array([[0.12, 0.04], [-0.08, 0.04], [-0.08, -0.04], [0.12, -0.04]])
    found = {name: item.value for name, item in pressure_point(sole, sole).items()}
    expected = {"zmp_margin": 0.008, "zmp_forward": 0.02, "zmp_inward": 0.008}
    assert found == pytest.approx(expected)
    with pytest.raises(hs.errors.ParameterError, match="no place in common"):
        pressure_point(sole, sole + 1.0)


def test_the_pressure_point_is_where_ankles_hold_the_weight() -> None:
    """A weak ankle has it near its axis, one beyond the sole changes nothing."""
    sole = np.array([[0.12, 0.04], [-0.08, 0.04], [-0.08, -0.04], [0.12, -0.04]])
    weak = AnkleReach("ankle", 0, -0.03, 0.02)
    found = {k: v.value for k, v in pressure_point(sole, sole, [weak.held]).items()}
    margin, ahead = found["zmp_margin"], found["zmp_forward"]
    assert margin == pytest.approx(0.008) and abs(ahead + 0.03) <= 0.02 - 2 * margin
    beside = AnkleReach("ankle", 1, 0.1, 0.02)
    assert pressure_point(sole, sole, [beside.held]) == pressure_point(sole, sole)


def test_a_torque_over_the_weight_is_how_far_an_ankle_holds_it(khr1: hs.Model) -> None:
    """Its axes are above the frame of a KHR-1's sole, which lies below them."""
    left = WalkSettings.of_model(khr1).left
    leg = sole_legs(khr1, left, WalkSettings.of_model(khr1).right)[0]
    pitch, roll = ankle_reaches(khr1, leg, left)
    assert (pitch.along, roll.along) == (0, 1)
    assert pitch.place == pytest.approx(0.0, abs=1e-9)
    weight = khr1.mass * float(np.linalg.norm(khr1.pin.gravity.linear))
    assert pitch.reach == pytest.approx(0.85 / weight)
