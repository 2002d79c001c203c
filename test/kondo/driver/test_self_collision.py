# SPDX-License-Identifier: Apache-2.0
"""Links of the robot that would touch: refused before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from patient_boards import PAUSE, open_patient
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.kondo.driver.board import RobotState
from humans_sim.kondo.driver.joint_path import MotionPath, PathFollower, path_to
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import AllowedOverlap, load_robot
from humans_sim.kondo.driver.self_collision import (
    SPACING,
    SelfCollisionCheck,
    SelfCollisionError,
)
from humans_sim.kondo.driver.walk_stream import walk_stream
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.motion.motion_file import load_motion, read_motion
from humans_sim.models.collision_shapes import collision_shapes

SETTINGS = load_robot()
NAMES = SETTINGS.joint_names
ZERO = dict.fromkeys(NAMES, 0.0)
CROSSED = {"l_hip_roll": math.radians(-15), "r_hip_roll": math.radians(-15)}
"""The legs are crossed: the feet are in each other."""


@pytest.fixture(scope="module")
def check() -> SelfCollisionCheck:
    """Of the KHR-1, as its file has it."""
    assert SETTINGS.self_collision is not None
    return SelfCollisionCheck(SETTINGS, SETTINGS.self_collision)


def pose_of(angles: dict[str, float]) -> np.ndarray:
    """In the order of the channels [rad]."""
    return np.array([{**ZERO, **angles}[name] for name in NAMES])


def line(*poses: dict[str, float]) -> np.ndarray:
    """Straight from one to the next."""
    rows = [pose_of(poses[0])]
    for one, other in pairwise(map(pose_of, poses)):
        count = math.ceil(np.degrees(np.abs(other - one).max()) / SPACING)
        rows += [one + (other - one) * k / count for k in range(1, count + 1)]
    return np.array(rows)


def test_crossed_legs_are_refused(check: SelfCollisionCheck) -> None:
    """With the links and the place; the way before it is free."""
    with pytest.raises(SelfCollisionError, match="_(shank|ankle|foot) would touch"):
        check.check(line({}, CROSSED))
    check.check(line({}, {"head_yaw": 1.0, "l_knee": 1.0}))


def test_links_on_the_way_count(check: SelfCollisionCheck) -> None:
    """Both ends are free: a leg before the other one, and behind it; not between."""
    ends = [
        {"l_hip_roll": math.radians(-15), "l_hip_pitch": pitch} for pitch in (-1.0, 1.0)
    ]
    for end in ends:
        check.check(np.array([pose_of({}), pose_of(end)]))
    with pytest.raises(SelfCollisionError, match="on .* % of the path"):
        check.check(line(*ends))


def test_links_that_touch_already_may_part(check: SelfCollisionCheck) -> None:
    """Bent by hand: they go apart, and no deeper."""
    touching, deeper = (
        {j: share * a for j, a in CROSSED.items()} for share in (0.45, 0.7)
    )
    check.check(line(touching, {}))
    with pytest.raises(SelfCollisionError):
        check.check(line(touching, deeper))
    with pytest.raises(SelfCollisionError):  # what was allowed for once is not kept
        check.check(line({}, touching))


@pytest.mark.parametrize(
    "name", ["greeting", "getup-front", "getup-back", "getup-left", "getup-right"]
)
def test_motions_of_the_package_pass(
    check: SelfCollisionCheck, khr1: hs.Model, name: str
) -> None:
    """From home to their first pose, and to their end."""
    if name == "getup-right":
        motion = load_channels().mirrored(load_motion("getup-left"), name)
    else:
        motion = load_motion(name)
    first = ZERO | SETTINGS.channels.angles(motion.poses[0].channels)
    check.check_path(path_to(SETTINGS, ZERO, first), ZERO)
    check.check_path(MotionPath(khr1, SETTINGS, motion, first), first)


def depth_of(points: np.ndarray, solid: np.ndarray) -> float:
    """How deep a point is in the convex hull of others, by its faces [m]."""
    faces = ConvexHull(solid).equations
    return float((-(points @ faces[:, :3].T + faces[:, 3])).min(axis=1).max())


@pytest.mark.parametrize("name", ["walk_forward", "side_left"])
def test_motions_of_the_factory_pass(
    check: SelfCollisionCheck, khr1: hs.Model, shared_data: Path, name: str
) -> None:
    """Twice, and mirrored."""
    motion = read_motion(shared_data / "khr1" / f"{name}.csv")
    for played in (motion, SETTINGS.channels.mirrored(motion, "mirrored")):
        first = ZERO | SETTINGS.channels.angles(played.poses[0].channels)
        check.check_path(path_to(SETTINGS, ZERO, first), ZERO)
        path = MotionPath(khr1, SETTINGS, played, first, repetitions=2)
        check.check_path(path, first)


@pytest.mark.parametrize("velocity", [(0.05, 0.0, 0.0), (0.0, 0.02, 0.0), (0, 0, 0.3)])
def test_walks_pass(
    check: SelfCollisionCheck, khr1: hs.Model, velocity: tuple[float, float, float]
) -> None:
    """Forwards, sideways and on the spot, as fast as the legs follow."""
    check.check_path(walk_stream(khr1, SETTINGS, 6, velocity), ZERO)


@pytest.mark.study
def test_against_faces(check: SelfCollisionCheck, khr1: hs.Model) -> None:
    """Feet in random poses: a corner that is deep in the other foot is found."""
    rng, found, data = np.random.default_rng(3), 0, khr1.pin.createData()
    feet = [shape for shape in collision_shapes(khr1) if shape.link.endswith("_foot")]
    joints = ("hip_roll", "hip_pitch", "ankle_roll")
    for _ in range(150):
        size = math.radians(25)
        angles = {f"{s}_{j}": rng.uniform(-size, size) for s in "lr" for j in joints}
        q = khr1.neutral()
        for joint, angle in angles.items():
            q[7 + khr1.joint_names.index(joint)] = angle
        pin.forwardKinematics(khr1.pin, data, q)
        solids = [
            (foot.link, foot.vertices @ pose.rotation.T + pose.translation)
            for foot in feet
            for pose in [data.oMi[foot.joint]]
        ]
        deepest = max(
            depth_of(corners, solid)
            for one, corners in solids
            for other, solid in solids
            if one != other
        )
        if deepest > 0.0065:  # depth along a face's normal: no less than coal's
            found += 1
            with pytest.raises(SelfCollisionError):
                check.check(np.array([pose_of({}), pose_of(angles)]))
    assert found > 5


def test_the_file_says_how_deep(check: SelfCollisionCheck) -> None:
    """At home the hands lie in the drawn body: without an allowance that is refused."""
    strict = AllowedOverlap(0.0, (("l_hand", "base_link", 0.0),))
    with pytest.raises(SelfCollisionError, match="l_hand"):
        SelfCollisionCheck(SETTINGS, strict).check(
            line({"l_shoulder_roll": 1.0}, {"l_shoulder_roll": 0.0})
        )
    check.check(line({"l_shoulder_roll": 1.0}, {"l_shoulder_roll": 0.0}))
    with pytest.raises(hs.errors.ParameterError, match="no link 'tail'"):
        SelfCollisionCheck(
            SETTINGS, replace(strict, allow=(("tail", "base_link", 0.0),))
        )


@pytest.fixture
def robot(emulator: Emulator) -> Iterator[KondoRobot]:
    """A robot that holds, and whose watchdog does not act."""
    with KondoRobot(
        SETTINGS,
        emulator.port,
        command_timeout=0.0,
        free_timeout=0.0,
        pause_timeout=PAUSE,
        open_boards=open_patient,
    ) as made:
        made.energise()
        yield made


def test_a_refused_set_point_leaves_the_robot(
    robot: KondoRobot, emulator: Emulator
) -> None:
    """It is counted, and nothing moves."""
    before = emulator.angles()
    with pytest.raises(SelfCollisionError, match="turn self_collision off"):
        robot.command(CROSSED)
    assert (robot.health().refused, robot.health().given) == (1, 0)
    robot.read_back()
    assert robot.state == RobotState.HOLDING
    assert emulator.angles() == before


def test_a_refused_path_does_not_begin(robot: KondoRobot, emulator: Emulator) -> None:
    """Not even its free part; the path before it goes on."""
    follower, before = PathFollower(robot), emulator.angles()
    follower.begin(path_to(SETTINGS, robot.set_points(), {"head_yaw": 0.0}), "look")
    with pytest.raises(SelfCollisionError):
        follower.begin(path_to(SETTINGS, robot.set_points(), CROSSED), "crossed")
    assert follower.name == "look"
    robot.read_back()
    assert emulator.angles() == before


def test_it_can_be_turned_off(emulator: Emulator) -> None:
    """By the settings: the legs cross."""
    settings = replace(SETTINGS, self_collision=None)
    with KondoRobot(
        settings, emulator.port, command_timeout=0.0, open_boards=open_patient
    ) as robot:
        robot.energise()
        robot.command(CROSSED)
        assert robot.health().given == 1
