# SPDX-License-Identifier: Apache-2.0
"""A body on emulated boards: it stands, falls, walks, and does so through the line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from patient_boards import open_patient

import humans_sim as hs
from humans_sim.analysis.gait import WalkSummary
from humans_sim.control.falls.fall_detector import Lying, lying
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.board import RobotState
from humans_sim.kondo.driver.joint_path import StreamError, stream
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.walk_stream import PERIOD, walk_stream
from humans_sim.kondo.emulation.emulator import (
    THINK,
    CommandStream,
    Emulator,
    FaultyLine,
    LineFaults,
)
from humans_sim.kondo.emulation.simulated_body import BodySettings, SimulatedBody
from humans_sim.kondo.emulation.simulated_robot import (
    SimulatedBodyError,
    SimulatedRobot,
)
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.motion.motion_file import read_motion
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import BYTE, CHANNELS, FREE, MOTION

HOME = load_channels().home()
CLEARANCE = 2e-3
"""A foot that was lifted less did not step [m]."""
FALLS = 3.0
PATIENCE = 120.0
"""Time in which a limp robot falls [s]."""
SETTLED = 0.5
"""Time after which joints rest at their set points [s]."""
LATE = 0.1
"""A walk without commands for longer is another walk [s]."""
TRIES = 4
BEND = {f"{s}_{j}": a for s in "lr" for j, a in (("hip_pitch", -0.5), ("knee", 1.0))}
BENT = {**BEND, "l_ankle_pitch": -0.5, "r_ankle_pitch": -0.5}


class TimedLine:
    """A line by a clock of its own: each frame takes the time of its bytes."""

    def __init__(self, body: SimulatedBody, faults: LineFaults | None = None) -> None:
        """Carry frames to a body's boards."""
        self.body, self.t = body, body.t
        self._line = FaultyLine(faults or LineFaults())
        self._stream = CommandStream()

    def say(self, command: rcb1.Command, t: float = 0.0) -> None:
        """Say a command, at a time or when the line is free."""
        data = command.encode()
        self.t = max(self.t, t) + len(data) * BYTE
        for heard in self._stream.feed(self._line.carry(data)):
            self.body.hear(self.t, heard)
        self.t += THINK + command.REPLY.size() * BYTE

    def pose(self, values: Sequence[int], t: float = 0.0, speed: int = 0) -> None:
        """Send both boards a pose."""
        for board in range(2):
            self.say(rcb1.SetPositions(board, speed, part(values, board)), t)


def part(values: Sequence[int], board: int) -> tuple[int, ...]:
    """Channels of a board."""
    return tuple(values[CHANNELS * board : CHANNELS * (board + 1)])


def walk_of(body: SimulatedBody) -> WalkSummary:
    """What a body did; the physics is right."""
    run = body.run()
    check = run.check()
    assert check.ok, [f for f in check.findings if not f.ok]
    return WalkSummary.of_run(run)


def steps_of(walk: WalkSummary) -> int:
    """Steps with which a foot was lifted."""
    return sum(step.clearance > CLEARANCE for step in walk.steps)


def stance_of(model: hs.Model) -> Mapping[str, float]:
    """The posture of the walk."""
    walk = walk_stream(model, load_robot(), 1)
    return walk.angles(walk.begin)


def test_a_hand_holds_it_until_all_channels_are_driven() -> None:
    """Then it stands by itself, where it was."""
    body = SimulatedBody(start=BENT)
    body.hear(0.5, rcb1.SetPositions(0, 0, part(HOME, 0)))
    body.advance(2.0)
    assert body.held and body.t == 2.0
    with pytest.raises(ParameterError, match="driven"):
        body.run()
    values = load_robot().channels.values({**dict.fromkeys(body.angles, 0.0), **BENT})
    line = TimedLine(body)
    line.pose(values)
    body.advance(3.0)
    assert not body.held and not body.fallen
    walk = walk_of(body)
    assert walk.largest_tilt < 0.03 and len(walk.steps) == 0
    assert 3.0 - 0.002 <= body.t <= 3.0


def test_it_may_lie_at_first() -> None:
    """On the side that is given, on the floor, until a motion gets it up."""
    body = SimulatedBody(settings=BodySettings(lying=Lying.LEFT))
    assert body.held and body.fallen
    TimedLine(body).pose(HOME)
    body.advance(1.0)
    assert not body.held and body.fallen
    attitude = np.asarray(pin.Quaternion(body.q[3:7]).matrix())
    assert lying(attitude) is Lying.LEFT
    assert body.run().check()


def test_boards_read_the_joints_not_their_set_points() -> None:
    """Servos give way below a load, and are late: whole degrees of where they are."""
    body = SimulatedBody()
    line = TimedLine(body)
    line.pose(HOME)
    up = list(HOME)
    up[1] += 40  # l_shoulder_roll
    line.pose(up, 0.5)
    reply = body.hear(0.62, rcb1.GetPositions(0))
    assert isinstance(reply, rcb1.Channels)
    assert HOME[1] + 2 < reply.channels[1] < up[1] - 8
    body.advance(2.0)
    reply = body.hear(2.0, rcb1.GetPositions(0))
    assert isinstance(reply, rcb1.Channels)
    angle = np.degrees(body.angles["l_shoulder_roll"])
    assert reply.channels[1] == round(angle)
    assert reply.channels[3] == HOME[3]  # has no servo
    assert angle == pytest.approx(40.0, abs=1.5)


def test_trims_of_the_board_turn_the_joint() -> None:
    """Five degrees more than commanded."""
    body = SimulatedBody()
    line = TimedLine(body)
    trims = [20] * CHANNELS
    trims[5] = 25  # head_yaw
    line.say(rcb1.SetTrims(0, tuple(trims)))
    line.pose(HOME)
    body.advance(1.0)
    assert np.degrees(body.angles["head_yaw"]) == pytest.approx(5.0, abs=0.3)
    reply = body.hear(1.0, rcb1.GetPositions(0))
    assert isinstance(reply, rcb1.Channels) and reply.channels[5] == HOME[5]


def test_a_limp_robot_falls_and_lies_on_the_floor() -> None:
    """No torque but friction; nothing of it goes through the floor."""
    body = SimulatedBody(start=BENT)
    line = TimedLine(body)
    line.pose(load_robot().channels.values({**dict.fromkeys(body.angles, 0.0), **BENT}))
    limp = [FREE if value <= 180 else value for value in HOME]
    line.pose(limp, 0.5)
    body.advance(0.5 + FALLS)
    assert body.fallen
    run = body.run()
    assert run.check().ok
    torques = np.abs(run.torques[run.t > 0.6, 6:])
    assert torques.max() < 0.03 + 0.002 * np.abs(run.v[:, 6:]).max() + 1e-9
    heights = np.array([body.model.tags(q)[:, 2].min() for q in run.q[::10]])
    assert heights.min() > -1e-6


def test_who_looks_and_when_changes_nothing() -> None:
    """The same commands, worked off late or in small pieces: the same to the bit."""
    commands = [(0.1 + 0.0201 * k, 3 * k % 40) for k in range(25)]
    ends = []
    for looks in ((), np.arange(0.0, 0.7, 0.0037), np.arange(0.0, 0.7, 0.01)):
        body, times = SimulatedBody(), list(looks)
        line = TimedLine(body)
        line.pose(HOME)
        for t, turn in commands:
            while times and times[0] < t:
                body.advance(times.pop(0))
            values = list(HOME)
            values[5] += turn
            line.pose(values, t)
        for look in times:
            body.advance(look)
        body.hear(0.7, rcb1.GetPositions(0))
        ends.append(body.q)
    assert np.array_equal(ends[0], ends[1]) and np.array_equal(ends[0], ends[2])


def test_a_body_refuses_what_cannot_be() -> None:
    """Times that are past, joints that are none, numbers without meaning."""
    body = SimulatedBody()
    body.hear(1.0, rcb1.GetPositions(0))
    for t in (0.5, float("nan"), float("inf")):
        with pytest.raises(ParameterError):
            body.hear(t, rcb1.GetPositions(0))
    with pytest.raises(ParameterError, match="tail"):
        SimulatedBody(start={"tail": 0.1})
    with pytest.raises(ParameterError, match="keep"):
        BodySettings(keep=0.0)
    with pytest.raises(ParameterError, match="gain"):
        SimulatedBody(settings=BodySettings(servo={"gain": 0.0}))


# -- walks through the line, by its own clock ------------------------------------------


@pytest.mark.study
@pytest.mark.parametrize(
    ("friction", "faults", "home"),
    [
        (0.3, LineFaults(), True),
        (0.6, LineFaults(lost=0.01, seed=1), False),
    ],
)
def test_the_own_walk_stays_up(
    khr1: hs.Model, friction: float, faults: LineFaults, home: bool
) -> None:
    """Ten steps, open loop, in whole degrees; faults lose each seventh frame."""
    robot = load_robot()
    start = {} if home else stance_of(khr1)
    stream = walk_stream(khr1, robot, 10, (0.05, 0.0, 0.0), start=start)
    body = SimulatedBody(robot, BodySettings(friction=friction), start)
    TimedLine(body).pose(robot.channels.values(stream.angles(0.0)))
    line = TimedLine(body, faults)
    for t, angles in stream:
        line.pose(robot.channels.values(angles), 0.2 + t)
    body.advance(0.5 + stream.duration)
    walk = walk_of(body)
    assert not body.fallen and not walk.fallen
    assert steps_of(walk) == 10
    assert 0.24 < walk.forward < 0.33 and abs(walk.sideways) < 0.03
    assert walk.largest_tilt < np.radians(5.0)


def streamed(
    line: TimedLine, player: MotionPlayer, values: Callable[..., tuple[int, ...]]
) -> None:
    """Poses as set points, 50 a second."""
    names = line.body.model.joint_names
    for k in range(int(player.duration / PERIOD) + 2):
        t = k * PERIOD
        line.pose(values(dict(zip(names, player.at(t), strict=True))), 0.5 + t)


def from_memory(line: TimedLine, poses: Iterable[tuple[int, Sequence[int]]]) -> None:
    """Poses written into the boards, which then play them by themselves."""
    for board in range(2):
        line.say(rcb1.SetSwitches(board, MOTION))
        count = 0
        for speed, values in poses:
            order = rcb1.WritePose(board, 0, count, speed, part(values, board))
            line.say(order)
            count += 1
        line.say(rcb1.SetMotionLength(board, 0, count))
    for board in range(2):
        line.say(rcb1.PlayMotion(board, 0), 0.5)


@pytest.mark.study
@pytest.mark.parametrize("played", ["streamed", "from memory"])
def test_the_factory_walk_stays_up(
    khr1: hs.Model, shared_data: Path, played: str
) -> None:
    """One play: nine steps, near the length that a real robot's had (41 mm)."""
    robot = load_robot()
    motion = read_motion(shared_data / "khr1" / "walk_forward.csv")
    first = motion.poses[0].channels
    player = MotionPlayer(khr1, motion, robot.channels)
    body = SimulatedBody(robot, start=robot.channels.angles(first))
    line = TimedLine(body)
    line.pose(first)
    if played == "streamed":
        streamed(line, player, robot.channels.values)
    else:
        from_memory(line, [(pose.speed, pose.channels) for pose in motion.poses])
        # Each board takes its own time: the arms are through before the legs.
        arms, legs = (board.arrival() for board in body.boards)
        assert arms < legs - 2.0
    body.advance(1.0 + player.duration)
    walk = walk_of(body)
    assert not body.fallen and not walk.fallen
    assert steps_of(walk) == 9
    assert 0.25 < walk.forward < 0.40 and abs(walk.sideways) < 0.08


# -- in real time, over the pseudo-terminal --------------------------------------------


def lead(robot: KondoRobot, body: SimulatedRobot, steps: int) -> bool:
    """Walk, from where the robot stands, until it rests; whether it still holds then.

    A robot that gets no command for long, as the simulation is late, goes limp.
    """
    stance = robot.set_points()
    walk = walk_stream(hs.load_model("khr1"), robot.settings, steps, start=stance)
    stream(robot, walk, "walk")
    robot.command(robot.set_points())
    time.sleep(SETTLED)
    body.catch_up(PATIENCE)
    return robot.state is RobotState.HOLDING


class Legs:
    """Notes when the legs' board heard where to go."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.times: list[float] = []

    def __call__(self, t: float, command: rcb1.Command) -> None:
        """Note a command."""
        if isinstance(command, rcb1.SetPositions) and command.board == 1:
            self.times.append(t)

    @property
    def late(self) -> float:
        """Longest time without a command [s]."""
        return float(np.diff(self.times).max())


@pytest.mark.study
def test_a_program_on_the_port_walks_the_robot(khr1: hs.Model, tmp_path: Path) -> None:
    """Driver, port, boards and body in real time: it walks, reads back, falls limp."""
    for _ in range(TRIES):
        if walks_in_real_time(khr1, tmp_path):
            return
    pytest.skip(f"this machine is too busy: commands were {LATE} s late and more")


def walks_in_real_time(khr1: hs.Model, tmp_path: Path) -> bool:
    """Whether the boards heard commands in time; if so, all of it was right."""
    start = stance_of(khr1)
    legs = Legs()
    with (
        Emulator(watch=legs) as boards,
        SimulatedRobot(boards, start=start) as body,
        KondoRobot(load_robot(), boards.port, open_boards=open_patient) as robot,
    ):
        angles = robot.read_back()
        assert angles["l_knee"] == pytest.approx(start["l_knee"], abs=0.01)
        assert body.held
        with pytest.raises(SimulatedBodyError, match="driven"):
            body.run()
        robot.energise()
        time.sleep(0.1)
        try:
            holds = lead(robot, body, 2)
        except StreamError:
            assert legs.late > LATE
            holds = False
        if legs.late > LATE or not holds:
            return False
        angles = robot.read_back()
        body.catch_up(PATIENCE)
        joints = dict(zip(khr1.joint_names, body.q[7:], strict=True))
        for name, angle in angles.items():
            assert joints[name] == pytest.approx(angle, abs=np.radians(1.5)), name
        assert not body.held and not body.fallen and body.failure == ""
        assert body.displacement().forward > 0.01
        path = body.run().save(tmp_path / "walk.npz")
        robot.free()
        deadline = time.monotonic() + PATIENCE
        while not body.fallen:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    run = hs.load_run(path)
    assert run.check().ok and run.t[-1] > 2.0
    assert steps_of(WalkSummary.of_run(run)) == 2
    assert body.run().t[-1] > run.t[-1]  # kept when it was closed
    assert all(board.servo_angles is None for board in boards.boards)
    return True


def test_boards_that_are_driven_already_are_refused() -> None:
    """The body would not know how they came there."""
    with Emulator() as boards:
        boards.boards[0].hear(rcb1.SetPositions(0, 0, part(HOME, 0)), 0.0)
        with pytest.raises(ParameterError, match="before"):
            SimulatedRobot(boards)
        assert boards.boards[0].servo_angles is None


def test_a_body_that_cannot_be_is_refused_before_time_counts() -> None:
    """Errors of the settings come out of the constructor."""
    with Emulator() as boards, pytest.raises(ParameterError, match="tail"):
        SimulatedRobot(boards, start={"tail": 1.0})
