# SPDX-License-Identifier: Apache-2.0
"""Playing motions: times of poses, angles between them, servos that follow."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.core.constants import SPEED_STEPS
from humans_sim.dynamics.controller import ControlClock
from humans_sim.kondo import PosePlayer, PoseServo
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.motion.motion_file import UNUSED, KondoMotion, Pose, read_motion
from humans_sim.kondo.motion.player import MotionPlayer

HOME = load_channels().home()


def pose(speed: int, **changes: int) -> Pose:
    """The home pose with some channels elsewhere."""
    values = list(HOME)
    for name, value in changes.items():
        values[int(name[2:]) - 1] = value
    return Pose(speed, tuple(values))


NOD = KondoMotion(
    "nod", (pose(4), pose(3, ch6=120, ch1=15), pose(6, ch6=120, ch1=35), pose(7))
)


def test_poses_last_by_their_largest_change(khr1: hs.Model) -> None:
    """Largest change in degrees times the seconds a degree of the speed step."""
    player = MotionPlayer(khr1, NOD, start=0.5)
    durations = [0.0, 30 * SPEED_STEPS[3], 20 * SPEED_STEPS[6], 30 * SPEED_STEPS[7]]
    np.testing.assert_allclose(np.diff(player.times), durations)
    assert player.times[0] == 0.5
    assert player.duration == pytest.approx(sum(durations))


def test_all_channels_arrive_together(khr1: hs.Model) -> None:
    """Half way in time is half way in every joint; the ends hold outside."""
    player = MotionPlayer(khr1, NOD, start=0.5)
    head = khr1.joint_names.index("head_yaw")
    arm = khr1.joint_names.index("l_shoulder_pitch")
    middle = np.degrees(player.at(0.5 + 15 * SPEED_STEPS[3]))
    assert middle[head] == pytest.approx(15.0)
    assert middle[arm] == pytest.approx(-5.0)
    assert np.count_nonzero(middle) == 2
    np.testing.assert_array_equal(player.at(-1.0), np.zeros(17))
    for time, angles in zip(player.times[1:], player.angles[1:], strict=True):
        np.testing.assert_allclose(player.at(time), angles, atol=1e-12)
    np.testing.assert_array_equal(player.at(99.0), player.angles[-1])
    segment = player.segment(0.6)
    np.testing.assert_array_equal(segment.start, player.at(0.6))
    np.testing.assert_array_equal(segment.angles, player.at(segment.arrival))


def test_repeats_go_on_from_the_last_pose(khr1: hs.Model) -> None:
    """The way from the last pose to the first counts between two plays."""
    away = KondoMotion("away", (pose(2), pose(3, ch6=100)))
    player = MotionPlayer(khr1, away, repeat=3)
    one, back = 10 * SPEED_STEPS[3], 10 * SPEED_STEPS[2]
    assert player.duration == pytest.approx(3 * one + 2 * back)
    np.testing.assert_allclose(player.at(one + back), np.zeros(17), atol=1e-12)


def test_begins_elsewhere(khr1: hs.Model) -> None:
    """From another posture the first pose takes its time too."""
    player = MotionPlayer(khr1, NOD, begin=pose(0, ch15=65).channels)
    assert player.times[1] == pytest.approx(50 * SPEED_STEPS[4])
    assert math.degrees(player.at(0.0)[khr1.joint_names.index("l_knee")]) == 50


def test_unused_channels_stay(khr1: hs.Model) -> None:
    """A channel that a pose leaves out keeps its angle and costs no time."""
    still = Pose(5, (UNUSED,) * 24)
    motion = KondoMotion("still", (pose(4, ch6=120), still, pose(5, ch6=120, ch3=91)))
    player = MotionPlayer(khr1, motion)
    assert player.duration == pytest.approx(SPEED_STEPS[5])
    head = khr1.joint_names.index("head_yaw")
    np.testing.assert_allclose(np.degrees(player.angles[:, head]), 30.0)
    # a channel without a servo may come into use: nothing is known of its motion
    grip = KondoMotion("grip", (pose(4), pose(4, ch4=90), pose(4, ch4=80)))
    assert MotionPlayer(khr1, grip).duration == pytest.approx(10 * SPEED_STEPS[4])


def test_refused(khr1: hs.Model, bip: hs.Model) -> None:
    """Poses out of range, other robots, no plays: reported with what and where."""
    bent = KondoMotion("bent", (pose(4), pose(4, ch13=140)))
    with pytest.raises(hs.errors.ParameterError, match=r"pose 1: ch13 \(l_hip_roll\)"):
        MotionPlayer(khr1, bent)
    with pytest.raises(
        hs.errors.ParameterError, match="ch1 turns .* which bip has not"
    ):
        MotionPlayer(bip, NOD)
    with pytest.raises(hs.errors.ParameterError, match="repeat"):
        MotionPlayer(khr1, NOD, repeat=0)
    with pytest.raises(hs.errors.ParameterError, match="24 channels"):
        MotionPlayer(khr1, NOD, begin=(90,))
    for name in ("delay", "speed", "speed_step"):
        with pytest.raises(hs.errors.ParameterError, match=name):
            PoseServo(khr1, **{name: 1})
    with pytest.raises(hs.errors.ParameterError, match="gain"):
        PoseServo(khr1, gain=0.0)
    for wrong in (np.zeros(17), MotionPlayer(khr1, NOD).segment(0.0)):
        with pytest.raises(
            hs.errors.ParameterError, match="a MotionSegment that ends after 9 s"
        ):
            PoseServo(khr1).command(9.0, wrong)


def test_servo_torque_is_without_lead(khr1: hs.Model) -> None:
    """On every way the torque is k_p (r - q) - k_d qdot, r the player's angles."""
    player = MotionPlayer(khr1, NOD, start=0.1)
    servo = PoseServo(khr1, gain=1.0, damping=0.1, viscous=0.0, coulomb=0.0)
    q, v = khr1.neutral(), np.zeros(khr1.nv)
    q[7:] += 0.01
    v[6:] = 0.3
    z = servo.initialise(0.0, q, v)
    clock, state = ControlClock(PosePlayer(player), 1.0), hs.ControlState(q, v)
    clock.start(0.0)
    for time in np.arange(0.0, player.times[-1] + 0.2, 0.01):
        while clock.next_call <= time:
            clock.tick(clock.next_call, state, servo.command)
        expected = player.at(time) - q[7:] - 0.1 * v[6:]
        np.testing.assert_allclose(
            servo.dynamics(time, q, v, z)[0][6:], expected, atol=1e-9
        )
        np.testing.assert_allclose(servo.set_point(time)[0], player.at(time))


def test_robot_follows_a_motion(khr1: hs.Model) -> None:
    """Standing, the head and an arm follow their set points, late by the lag."""
    player = MotionPlayer(khr1, NOD, start=0.1)
    servo = PoseServo(khr1, gain=12.0, damping=0.24)
    run = hs.Simulation(khr1, servo, PosePlayer(player)).run(khr1.neutral(), t_end=1.2)
    assert run.check()
    head = khr1.joint_names.index("head_yaw")
    expected = np.array([player.at(t - 0.02)[head] for t in run.t])
    # at the corners of the motion the joint is late by its inertia as well
    assert np.degrees(np.abs(run.q[:, 7 + head] - expected)).max() < 4.0
    assert abs(np.degrees(run.q[-1, 7 + head])) < 0.5


def test_factory_walk_lasts_as_measured(khr1: hs.Model, shared_data: Path) -> None:
    """One play takes 6.16 s: nine steps, 0.69 s each on the real robot."""
    motion = read_motion(shared_data / "khr1" / "walk_forward.csv")
    player = MotionPlayer(khr1, motion, repeat=2)
    assert player.duration == pytest.approx(2 * 6.16, abs=0.01)
    swings = 0
    for one, two in zip(player.angles[1:30], player.angles[2:30], strict=False):
        for knee in ("l_knee", "r_knee"):
            j = khr1.joint_names.index(knee)
            swings += math.degrees(two[j] - one[j]) > 45
    assert swings == 9
    assert player.duration / 2 / swings == pytest.approx(17.1 / 24.7, rel=0.02)


def test_factory_walk_makes_its_first_steps(khr1: hs.Model, shared_data: Path) -> None:
    """Two steps on the floor: upright, both feet off in turn, the body ahead.

    The servos and the floor are those of the robot's file.
    """
    motion = read_motion(shared_data / "khr1" / "walk_forward.csv")
    player = MotionPlayer(khr1, motion)
    limits = {f"{side}_hip_roll": (-0.35, 1.53) for side in "lr"}
    simulation = hs.Simulation(
        khr1,
        PoseServo(khr1),
        PosePlayer(player),
        ground=RobotSetup.of_model(khr1).ground(),
        method="time_stepping",
        contacts=hs.Contacts(limits=limits),
        time_step=1.5e-3,
    )
    q = khr1.standing(player.at(0.0))
    run = simulation.run(q, t_end=1.5, sampling_period=0.02)
    x, y, z, w = run.q[:, 3:7].T
    assert np.degrees(np.arccos(1 - 2 * (x * x + y * y))).max() < 12.0
    feet = [run.gaps[:, 4:8].min(axis=1), run.gaps[:, 0:4].min(axis=1)]
    left, right = (run.t[gap.argmax()] for gap in feet)
    assert left < 0.7 < right
    assert min(gap.max() for gap in feet) > 0.01
    assert 0.02 < khr1.com(run.q[-1])[0] - khr1.com(q)[0] < 0.09


def test_servos_of_joints_trail_by_their_own_lags(khr1: hs.Model) -> None:
    """A joint follows late by its own servo's damping over gain."""
    soft = ServoNumbers(gain=2.0, damping=0.2)
    servo = PoseServo(
        khr1, numbers=ServoNumbers(gain=10.0, damping=0.2), joints={"head_yaw": soft}
    )
    head = khr1.joint_names.index("head_yaw")
    assert servo.lags[head] == pytest.approx(0.1)
    np.testing.assert_allclose(np.delete(servo.lags, head), 0.02)
