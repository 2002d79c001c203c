# SPDX-License-Identifier: Apache-2.0
"""KHR-1: masses, tags, senses of rotation."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.models.points import frame_index


def test_size(khr1: hs.Model) -> None:
    """17 servos, 24 lengths, 34 tags, 1.3 kg, 340 mm."""
    assert len(khr1.joint_names) == 17
    assert len(khr1.lengths) == 24
    assert len(khr1.tag_names) == 34
    assert khr1.mass == pytest.approx(1.3, abs=1e-12)
    lengths = khr1.lengths
    top = khr1.neutral()[2] + lengths["neck_height"] + lengths["head_height"]
    assert top == pytest.approx(0.340, abs=1e-9)


def test_senses_of_the_manual(khr1: hs.Model) -> None:
    """Frontal: positive away from the sagittal plane; sagittal: positive to -x."""
    names, h = khr1.humans.coordinate_names, khr1.humans
    zero = h.tags(np.zeros(23))

    def moved(joint: str, tag: str) -> np.ndarray:
        q = np.zeros(23)
        q[names.index(joint)] = 0.2
        index = khr1.tag_names.index(tag)
        return h.tags(q)[index] - zero[index]

    for side, sign in (("r", 1), ("l", -1)):
        assert sign * moved(f"{side}_hip_roll", f"Kondo_{side}_ankle")[2] > 0
        assert sign * moved(f"{side}_shoulder_roll", f"{side}_fist")[2] > 0
        assert moved(f"{side}_hip_pitch", f"Kondo_{side}_knee")[0] < 0
        assert moved(f"{side}_knee", f"Kondo_{side}_ankle")[0] < 0
        assert moved(f"{side}_shoulder_pitch", f"{side}_fist")[0] < 0
        assert moved(f"{side}_elbow", f"{side}_middle_finger_tip")[0] < 0
    # counter-clockwise from above: the nose goes to the left, z < 0
    assert moved("head_yaw", "nose")[2] < 0


def test_flat_feet_in_a_crouch(khr1: hs.Model) -> None:
    """Hip + knee + ankle = 0 keeps the soles flat, as the factory poses rely on."""
    joints = dict.fromkeys(khr1.joint_names, 0.0)
    for side in ("r", "l"):
        joints[f"{side}_hip_pitch"] = -0.6
        joints[f"{side}_knee"] = 1.0
        joints[f"{side}_ankle_pitch"] = -0.4
    q = khr1.standing(np.array([joints[name] for name in khr1.joint_names]))
    np.testing.assert_allclose(khr1.contact(q)[:, 2], 0.0, atol=1e-12)


def test_box_inertia(khr1: hs.Model) -> None:
    """The trunk is a box: I = m (b^2 + c^2) / 12 about its centre (section 4.3.3)."""
    trunk = khr1.pin.inertias[1]
    lengths = khr1.lengths
    a, b, c = (lengths[f"trunk_{word}"] for word in ("depth", "height", "width"))
    mass = 0.4038 * 1.3
    np.testing.assert_allclose(trunk.lever, [0, 0, b / 2], atol=1e-15)
    # ROS axes: x forward (a), y left (c), z up (b)
    expected = mass / 12 * np.array([b * b + c * c, a * a + b * b, a * a + c * c])
    np.testing.assert_allclose(np.diag(trunk.inertia), expected, rtol=1e-12)


# Manual, tables 4.2 (mass, per cent) and 4.3 (centre of mass, share of the size).
TABLES = {
    "base_link": (40.38, (0, 0.5, 0), ("trunk_depth", "trunk_height", "trunk_width")),
    "r_hip": (0.77, (0, -0.5, 0), ("", "hip_link", "")),
    "r_thigh": (7.69, (0, -0.5, 0), ("", "thigh", "")),
    "r_shank": (3.85, (0, -0.6, 0), ("", "shank", "")),
    "r_ankle": (0.77, (0, -0.5, 0), ("", "ankle_link", "")),
    "r_foot": (5.38, (0, 0, 0.25), ("", "", "foot_width")),
    "r_shoulder": (0.77, (0, 0, -0.5), ("", "", "shoulder_link")),
    "r_arm": (3.85, (0, -0.4, 0), ("", "upper_arm", "")),
    "r_hand": (5.00, (0, -0.5, 0), ("", "forearm", "")),
    "head": (3.46, (0.4, 0.6, 0), ("head_size", "head_height", "")),
}


def test_tables_of_the_manual(khr1: hs.Model) -> None:
    """Each solid has its mass and centre of mass; left ones mirror the right ones."""
    lengths = {**khr1.lengths, "": 0.0}
    lengths["foot_width"] = lengths["foot_inner"] + lengths["foot_outer"]
    total = 0.0
    for name, (percent, ratio, sizes) in TABLES.items():
        x, y, z = (r * lengths[s] for r, s in zip(ratio, sizes, strict=True))
        pairs = [(name, z)]
        if name.startswith("r_"):
            pairs.append(("l_" + name[2:], -z))
        for link, lateral in pairs:
            frame = khr1.pin.frames[frame_index(khr1.pin, link)]
            inertia = khr1.pin.inertias[frame.parentJoint]
            assert inertia.mass == pytest.approx(1.3 * percent / 100, rel=1e-12)
            np.testing.assert_allclose(inertia.lever, [x, -lateral, y], atol=1e-15)
            total += percent
    assert total == pytest.approx(100.0)
