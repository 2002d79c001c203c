# SPDX-License-Identifier: Apache-2.0
"""Joint angles in the conventions of others."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation

import humans_sim as hs
from humans_sim.models.angles import joint_angles, split_turns
from humans_sim.models.conventions import (
    PROGRESSION,
    TurnGroup,
    convention_names,
    load_convention,
)
from humans_sim.models.points import ROS_FROM_HUMANS, frame_index, to_humans

OTHERS = [name for name in convention_names() if name != "humans"]
FORWARD, UP, RIGHT = np.eye(3)


def orientation(model: hs.Model, q: np.ndarray, link: str) -> np.ndarray:
    """Of a link in the world by pinocchio, HuMAnS axes."""
    data = model.data()
    pin.framesForwardKinematics(model.pin, data, q)
    rotation = data.oMf[frame_index(model.pin, link)].rotation
    matrix: np.ndarray = ROS_FROM_HUMANS.T @ rotation @ ROS_FROM_HUMANS
    return matrix


@pytest.mark.parametrize("name", OTHERS)
def test_angles_give_the_orientation_back(
    human: hs.Model, rng: np.random.Generator, name: str
) -> None:
    """Turning by the angles, axis after axis, puts each segment where it is."""
    q = np.array([human.random_configuration(rng) for _ in range(5)])
    q[:, 7:] *= 0.5
    angles = joint_angles(human, q, name)
    checked = 0
    for group in load_convention(name, human).groups:
        if None in group.names or group.of == PROGRESSION:
            continue
        if len(group.turns) == 1 and "forearm" in group.body:
            continue  # Plug-in Gait leaves the turning of the forearm out
        for row, posture in enumerate(q):
            turned = np.eye(3)
            for turn, column in zip(group.turns, group.names, strict=True):
                axis = np.eye(3)["xyz".index(turn[-1])]
                axis = -axis if turn.startswith("-") else axis
                if group.side == "l":
                    axis = axis * [-1, -1, 1]
                angle = angles[str(column)][row]
                turned = turned @ Rotation.from_rotvec(angle * axis).as_matrix()
            parent = orientation(human, posture, group.of)
            expected = parent.T @ orientation(human, posture, group.body)
            np.testing.assert_allclose(turned, expected, atol=1e-9)
            checked += 1
    assert checked >= 55


@pytest.mark.parametrize("name", OTHERS)
def test_equal_angles_are_a_symmetric_posture(
    human: hs.Model, rng: np.random.Generator, name: str
) -> None:
    """Left and right of a symmetric posture have the same angles."""
    q = human.neutral()
    for place, joint in enumerate(human.joint_names):
        if joint.startswith("r_"):
            angle = rng.uniform(0.1, 0.5)
            q[7 + place] = angle
            q[7 + human.joint_names.index(f"l_{joint[2:]}")] = angle
    angles = joint_angles(human, q[None], name)
    sides: dict[str, dict[str, float]] = {}
    for column, value in zip(angles.joints, angles.values[0], strict=True):
        sides.setdefault(column.title, {})[column.side] = value
    pairs = [pair for pair in sides.values() if len(pair) == 2]
    assert len(pairs) >= 14
    for pair in pairs:
        assert pair["r"] == pytest.approx(pair["l"], abs=1e-9)


# An angle, the joint of the model that makes it, and where what follows the joint goes.
MEANINGS = {
    "opensim": [
        ("hip_flexion_r", "r_hip_pitch", "r_shank", FORWARD),
        ("hip_adduction_r", "r_hip_roll", "r_shank", -RIGHT),
        ("hip_adduction_l", "l_hip_roll", "l_shank", RIGHT),
        ("lumbar_extension", "thorax_pitch", "head", -FORWARD),
        ("lumbar_bending", "thorax_roll", "head", RIGHT),
        ("arm_flex_l", "l_shoulder_pitch", "l_forearm", FORWARD),
        ("arm_add_r", "r_shoulder_roll", "r_forearm", -RIGHT),
        ("clavicle_protraction_r", "r_clavicle_yaw", "r_arm", FORWARD),
        ("clavicle_depression_l", "l_clavicle_roll", "l_arm", -UP),
        ("knee_angle_r", "r_knee", "r_foot", FORWARD),
    ],
    "rajagopal": [("knee_angle_l", "l_knee", "l_foot", -FORWARD)],
    "isb": [
        ("left_hip_adduction", "l_hip_roll", "l_shank", RIGHT),
        ("right_knee_flexion", "r_knee", "r_foot", -FORWARD),
        ("trunk_flexion", "thorax_pitch", "head", FORWARD),
        ("right_elbow_flexion", "r_elbow_pitch", "r_hand", FORWARD),
    ],
    "plug-in-gait": [
        ("RKneeAngles_X", "r_knee", "r_foot", -FORWARD),
        ("RHipAngles_Y", "r_hip_roll", "r_shank", -RIGHT),
        ("LSpineAngles_X", "thorax_pitch", "head", FORWARD),
        ("RSpineAngles_Y", "thorax_roll", "head", RIGHT),
        ("LSpineAngles_Y", "thorax_roll", "head", -RIGHT),
        ("LShoulderAngles_Y", "l_shoulder_roll", "l_forearm", -RIGHT),
    ],
}


@pytest.mark.parametrize("name", OTHERS)
def test_positive_angles_mean_what_they_say(human: hs.Model, name: str) -> None:
    """A joint that is turned so that an angle grows moves what follows it there."""
    data = human.data()
    for angle, joint, link, direction in MEANINGS[name]:
        q = human.neutral()
        frame = frame_index(human.pin, link)
        pin.framesForwardKinematics(human.pin, data, q)
        before = to_humans(data.oMf[frame].translation.copy())
        place = 7 + human.joint_names.index(joint)
        q[place] = 0.2
        q[place] *= np.sign(joint_angles(human, q[None], name)[angle][0])
        assert joint_angles(human, q[None], name)[angle][0] == pytest.approx(0.2)
        pin.framesForwardKinematics(human.pin, data, q)
        moved = to_humans(data.oMf[frame].translation) - before
        assert moved @ direction > 0.01, angle


@pytest.mark.parametrize(
    ("angle", "joint", "convention", "link", "fixed", "goes"),
    [
        ("hip_rotation_r", "r_hip_yaw", "opensim", "r_foot", FORWARD, -RIGHT),
        ("hip_rotation_l", "l_hip_yaw", "opensim", "l_foot", FORWARD, RIGHT),
        ("subtalar_angle_r", "r_ankle_roll", "opensim", "r_foot", -UP, -RIGHT),
        ("left_ankle_inversion", "l_ankle_roll", "isb", "l_foot", -UP, RIGHT),
        ("ankle_angle_r", "r_ankle_pitch", "opensim", "r_foot", FORWARD, UP),
        ("right_elbow_pronation", "r_elbow_yaw", "isb", "r_hand", RIGHT, FORWARD),
        ("wrist_flex_r", "r_wrist_pitch", "opensim", "r_hand", -UP, FORWARD),
        ("wrist_dev_r", "r_wrist_roll", "opensim", "r_hand", -UP, -RIGHT),
        ("LHipAngles_Z", "l_hip_yaw", "plug-in-gait", "l_foot", FORWARD, RIGHT),
        ("RAnkleAngles_Y", "r_ankle_roll", "plug-in-gait", "r_foot", -UP, RIGHT),
    ],
)
def test_positive_turns_mean_what_they_say(
    human: hs.Model,
    angle: str,
    joint: str,
    convention: str,
    link: str,
    fixed: np.ndarray,
    goes: np.ndarray,
) -> None:
    """Internal rotation turns toes inwards, inversion the sole, pronation the thumb."""
    q = human.neutral()
    place = 7 + human.joint_names.index(joint)
    q[place] = 0.2
    q[place] *= np.sign(joint_angles(human, q[None], convention)[angle][0])
    assert (orientation(human, q, link) @ fixed) @ goes > 0.1


def test_the_arm_of_the_isb(human: hs.Model) -> None:
    """Abduction is elevation in the plane 0, flexion in that of 90 degrees."""
    q = human.neutral()
    q[7 + human.joint_names.index("r_shoulder_roll")] = 1.0
    angles = joint_angles(human, q[None], "isb")
    assert angles["right_shoulder_elevation"][0] == pytest.approx(-1.0)
    assert angles["right_shoulder_plane_of_elevation"][0] == pytest.approx(0.0)
    q = human.neutral()
    q[7 + human.joint_names.index("l_shoulder_pitch")] = 1.0
    angles = joint_angles(human, q[None], "isb")
    assert angles["left_shoulder_elevation"][0] == pytest.approx(-1.0)
    plane = angles["left_shoulder_plane_of_elevation"][0]
    assert plane == pytest.approx(math.pi / 2)


def test_angles_do_not_jump() -> None:
    """An arm swung over the head keeps one of the two solutions."""
    group = TurnGroup("arm", "torso", ("z", "x", "y"), ("a", "b", "c"), ("",) * 3)
    path = np.linspace(0.0, 3.0, 100)
    swing = np.column_stack([0.4 * path, -path, 0.2 * path])
    angles = split_turns(Rotation.from_euler("ZXY", swing), group)
    np.testing.assert_allclose(angles, swing, atol=1e-6)


def test_renamed_joints_keep_their_limits(human: hs.Model) -> None:
    """Where a convention turns about the model's axes its limits are the model's."""
    angles = joint_angles(human, human.neutral()[None], "rajagopal")
    limits = {column.name: np.degrees(column.limits) for column in angles.joints}
    np.testing.assert_allclose(limits["knee_angle_r"], [-5, 150])
    np.testing.assert_allclose(limits["subtalar_angle_l"], [-35, 35])
    assert not np.isfinite(limits["hip_flexion_r"]).any()
    joints = {column.name: column.joints for column in angles.joints}
    assert joints["hip_rotation_l"] == ("l_hip_yaw",)


def test_walks_along_any_axis(human: hs.Model) -> None:
    """The pelvis of Plug-in Gait is seen along the axis on which one walks."""
    q = human.neutral()
    for quarter in range(4):
        turn = Rotation.from_euler("z", 90 * quarter + 7, degrees=True)
        q[3:7] = turn.as_quat()
        angles = joint_angles(human, q[None], "plug-in-gait")
        assert np.degrees(angles["RPelvisAngles_Z"][0]) == pytest.approx(7.0)
        assert np.degrees(angles["LPelvisAngles_Z"][0]) == pytest.approx(-7.0)


def test_unknown_angles_are_refused(human: hs.Model) -> None:
    """An angle that a convention does not have is an error, not a column of zeros."""
    angles = joint_angles(human, human.neutral()[None])
    assert angles["r_knee"].shape == (1,) and angles["base_ty"][0] > 0.8
    with pytest.raises(
        hs.errors.ParameterError, match="no angle called 'knee_angle_r'"
    ):
        angles["knee_angle_r"]


SEGMENTS = {"base_link": "PEL", "thigh": "FE", "shank": "TI", "foot": "FO"}


def test_plug_in_gait_is_vicons(human: hs.Model, shared_data: Path) -> None:
    """Vicon's segments in a recorded walk give Vicon's own angles, to 0.001 degrees."""
    from humans_sim.observation.markers.c3d_writer import ezc3d_module

    recorded = ezc3d_module().c3d(str(shared_data / "c3d" / "vicon_pig_walk.c3d"))
    labels = recorded["parameters"]["POINT"]["LABELS"]["value"]
    points = dict(
        zip(labels, recorded["data"]["points"][:3].swapaxes(0, 1), strict=True)
    )

    def segment(link: str) -> Rotation:
        side = link[0].upper() if link[1] == "_" else ""
        name = side + SEGMENTS[link[2:] if side else link]
        axes = [points[name + axis] - points[name + "O"] for axis in "ALP"]
        ahead, left, up = (axis / np.linalg.norm(axis, axis=0) for axis in axes)
        if name.endswith("FO"):  # Vicon's foot: its long axis up, turned by 90 degrees
            ahead, up = -up, ahead
        world = np.stack([ahead, up, -left]).transpose(2, 1, 0)
        return Rotation.from_matrix(ROS_FROM_HUMANS.T @ world)

    lab = Rotation.from_euler("y", 90, degrees=True)  # this person walks along y
    checked = 0
    for group in load_convention("plug-in-gait", human).groups:
        names = [name for name in group.names if name is not None]
        if f"{names[0][:-2]}V" not in points:  # Vicon was given legs only
            continue
        of = lab if group.of == PROGRESSION else segment(group.of)
        angles = np.degrees(split_turns(of.inv() * segment(group.body), group))
        for name, column in zip(group.names, angles.T, strict=True):
            if name is None:
                continue
            vicon = points[name[:-2] + "V"]["XYZ".index(name[-1])]
            seen = vicon != 0
            np.testing.assert_allclose(column[seen], vicon[seen], atol=1e-3)
            checked += 1
    assert checked == 2 * (3 + 3 + 1 + 2 + 2)
