# SPDX-License-Identifier: Apache-2.0
"""Channels: homes, senses, mirrors, trims, and faults of their files."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.resources import resource
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.motion.motion_file import UNUSED, KondoMotion, Pose, read_motion

HOME = bytes.fromhex("05005AE1E15AAFB45AE1E1E1 5873735A5CE15C41415A58E1")
"""The home position in the frames that the two boards are sent."""


def test_home_is_the_zero_position(khr1: hs.Model) -> None:
    """The home frames of the boards are all joints at zero."""
    channels = load_channels()
    assert bytes(channels.home()) == HOME
    angles = channels.angles(tuple(HOME))
    assert set(angles) == set(khr1.joint_names)
    assert not any(angles.values())


def test_angles_and_values_are_inverse(
    khr1: hs.Model, rng: np.random.Generator
) -> None:
    """Whole degrees go to joint angles and back."""
    channels = load_channels()
    for _ in range(20):
        values = [UNUSED] * 24
        for number, channel in channels.channels.items():
            values[number - 1] = int(rng.integers(channel.lower, channel.upper + 1))
        assert channels.values(channels.angles(values)) == tuple(values)


def test_senses_by_the_factory_stance(khr1: hs.Model, shared_data: Path) -> None:
    """Standing in the factory walk: flexed legs, soles side by side and flat."""
    pose = read_motion(shared_data / "khr1" / "walk_forward.csv").poses[0]
    angles = load_channels().angles(pose.channels)
    degrees = {name: round(math.degrees(angle)) for name, angle in angles.items()}
    for side in "lr":
        assert degrees[f"{side}_hip_pitch"] == -35
        assert degrees[f"{side}_knee"] == 52
        assert degrees[f"{side}_ankle_pitch"] == -21
        assert degrees[f"{side}_hip_roll"] == degrees[f"{side}_ankle_roll"] == 0
    q = khr1.standing(np.array([angles[name] for name in khr1.joint_names]))
    left, right = (khr1.frame_pose(q, f"{side}_sole") for side in "lr")
    between = left.actInv(right)
    np.testing.assert_allclose(between.rotation, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(between.translation[[0, 2]], 0.0, atol=1e-12)


def test_single_supports_of_the_factory_walk(khr1: hs.Model, shared_data: Path) -> None:
    """Where one foot is lifted, the centre of mass is above the other sole.

    A wrong sense or home of any leg joint would put it elsewhere: it is an oracle of
    the whole map. Lifted means by more than 2 cm in the standing foot's frame.
    """
    channels, lifted = load_channels(), 0
    for pose in read_motion(shared_data / "khr1" / "walk_forward.csv").poses:
        angles = channels.angles(pose.channels)
        q = khr1.standing(np.array([angles[name] for name in khr1.joint_names]))
        feet = [khr1.frame_pose(q, f"{side}_sole") for side in "lr"]
        for support, other in (feet, feet[::-1]):
            if support.actInv(other.translation)[2] > 0.02:
                lifted += 1
                over = support.actInv(khr1.com(q))
                assert -0.005 < over[0] < 0.03
                assert abs(over[1]) < 0.01
    assert lifted == 9


def test_mirrored(khr1: hs.Model, shared_data: Path) -> None:
    """A mirrored pose exchanges the joints of the sides; twice is the motion again."""
    channels = load_channels()
    motion = read_motion(shared_data / "khr1" / "side_left.csv")
    other = channels.mirrored(motion, "side_right")
    assert channels.mirrored(other, "side_left") == motion
    for pose, mirror in zip(motion.poses, other.poses, strict=True):
        angles, turned = (channels.angles(p.channels) for p in (pose, mirror))
        for name, angle in angles.items():
            swapped = {"l": "r", "r": "l"}.get(name[0], name[0]) + name[1:]
            sign = -1 if name == "head_yaw" else 1
            assert turned[swapped] == pytest.approx(sign * angle)
    home = replace(motion, poses=(Pose(1, channels.home()),))
    assert channels.mirrored(home, home.name) == home


def test_trims_shift_their_joint(tmp_path: Path) -> None:
    """A trim of 3 degrees turns its joint by 3 degrees in the channel's sense."""
    text = resource("config", "kondo", "khr1.yaml").read_text()
    line = next(line for line in text.splitlines() if "l_knee" in line)
    path = tmp_path / "mine.yaml"
    path.write_text(text.replace(line, line.replace("trim: 0", "trim: 3")))
    mine = load_channels(path)
    assert math.degrees(mine.angles(HOME)["l_knee"]) == pytest.approx(-3.0)
    assert mine.home() == tuple(HOME)
    assert mine.values({"l_knee": 0.0})[14] == 112


def test_out_of_range() -> None:
    """Values beyond a channel's range are refused, with the joint's name."""
    values = list(HOME)
    values[22] = 149
    with pytest.raises(
        hs.errors.ParameterError, match=r"ch23 \(r_ankle_roll\) must be 0 to"
    ):
        load_channels().angles(values)
    with pytest.raises(hs.errors.ParameterError, match="no channel turns .* 'tail'"):
        load_channels().values({"tail": 0.0})
    with pytest.raises(
        hs.errors.ParameterError, match="no channel map is called 'khr9'"
    ):
        load_channels("khr9")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  6: {", "  25: {", "channels are called 1 to 24"),
        ("sense: 1,", "sense: 2,", "not one of 1, -1"),
        ("mirror: 19", "mirror: 18", "mirror 18"),
        ("range: [32, 180]", "range: [93, 180]", "home 92"),
        ("trim: 0", "trim: 25", "a trim is -20 to 19"),
        ("joint: l_knee", "joint: r_knee", "another channel"),
        ("home: 115, ", "", "'home' is missing"),
    ],
)
def test_faults_of_the_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A fault of the channel file is reported with its line."""
    text = resource("config", "kondo", "khr1.yaml").read_text()
    path = tmp_path / "broken.yaml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        load_channels(path)
    assert caught.value.line is not None


def test_motion_of_one_pose_mirrors() -> None:
    """Unused channels stay unused on the other side."""
    values = [UNUSED] * 24
    values[12] = 70
    one = KondoMotion("one", (Pose(3, tuple(values)),))
    other = load_channels().mirrored(one, "other").poses[0].channels
    assert other[18] == 110
    assert other.count(UNUSED) == 23
