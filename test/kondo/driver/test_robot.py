# SPDX-License-Identifier: Apache-2.0
"""A robot driven over a real pseudo-terminal: start-up, watchdog, stops, lost lines."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from patient_boards import PAUSE, open_patient

from humans_sim.kondo.driver.board import Boards, RobotState
from humans_sim.kondo.driver.robot import KondoRobot, RobotStateError
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.safety import JointCommandError
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults, khr1_boards
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import LinkStatistics, NoAnswerError, PortError

SETTINGS = load_robot()
PATIENCE = 60.0
"""Longest wait for what does come, on any machine [s]."""
FREED = 2.0
"""Time after which the watched robot goes limp [s]."""
Log = list[tuple[float, rcb1.Command]]


def wait(condition: Callable[[], bool], what: str) -> None:
    """Until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE:g} s for {what}"
        time.sleep(0.005)


def orders(log: Log, board: int) -> list[tuple[float, tuple[int, ...]]]:
    """Positions that a board received, and when."""
    return [
        (t, command.channels)
        for t, command in list(log)
        if isinstance(command, rcb1.SetPositions) and command.board == board
    ]


@pytest.fixture
def log() -> Log:
    """What the boards heard."""
    return []


@pytest.fixture
def boards(log: Log, tmp_path: Path) -> Iterator[Emulator]:
    """Boards that a hand has bent a little, under one name."""
    with Emulator(
        link=tmp_path / "port", watch=lambda t, command: log.append((t, command))
    ) as made:
        bent = list(SETTINGS.channels.home()[12:])
        bent[14 - 13], bent[15 - 13] = 100, 90
        made.boards[1].hear(rcb1.SetPositions(1, 0, tuple(bent)), 0.0)
        yield made


@contextmanager
def driven(
    boards: Emulator, command_timeout: float, free_timeout: float
) -> Iterator[KondoRobot]:
    """A robot with a watchdog; zero turns it off."""
    with KondoRobot(
        SETTINGS,
        boards.port,
        command_timeout=command_timeout,
        free_timeout=free_timeout,
        pause_timeout=PAUSE,
        open_boards=open_patient,
    ) as made:
        yield made


@pytest.fixture
def robot(boards: Emulator) -> Iterator[KondoRobot]:
    """A driven robot, whose watchdog does not act on a slow machine either."""
    with driven(boards, 0, 0) as made:
        yield made


@pytest.fixture
def watched(boards: Emulator) -> Iterator[KondoRobot]:
    """The same with a watchdog."""
    with driven(boards, 0.3, FREED) as made:
        yield made


def test_start_up_never_jumps(robot: KondoRobot, log: Log) -> None:
    """It holds the pose that it read; the first command is approached slowly."""
    assert robot.state == RobotState.LIMP
    assert robot.set_points() == {}
    assert not orders(log, 1)
    robot.energise()
    wait(lambda: len(orders(log, 1)) > 2, "set points")
    assert robot.state == RobotState.HOLDING
    assert all(v[1:3] == (100, 90) for _, v in orders(log, 1))
    assert math.degrees(robot.set_points()["l_knee"]) == pytest.approx(25.0)
    # The first step makes up for the time since the set point before it, which was sent
    # after the board had that before.
    before = orders(log, 1)[-2][0]
    begun = time.monotonic()
    while robot.set_points()["l_knee"] > 0.0 or robot.approaching():
        robot.command({joint: 0.0 for joint in robot.joint_names})
        assert time.monotonic() < begun + PATIENCE
        time.sleep(0.02)
    # 25 degrees at the speed of the approach
    taken = time.monotonic() - begun
    assert taken > 0.9 * 25 / SETTINGS.limits.approach
    # What a board hears may be late, so it is behind the approach, never ahead of it.
    for t, values in orders(log, 1):
        distance = max(t - before, 0.0) * SETTINGS.limits.approach
        assert abs(values[15 - 13] - 90) <= distance + 1.0
    wait(lambda: orders(log, 1)[-1][1] == SETTINGS.channels.home()[12:], "home")


def test_refused_commands_move_nothing(robot: KondoRobot, log: Log) -> None:
    """They are counted; limp and stopped robots refuse every command."""
    with pytest.raises(RobotStateError, match="the robot is limp"):
        robot.command({"l_knee": 0.1})
    robot.energise()
    for wrong in ({"l_knee": math.nan}, {"tail": 0.0}, {"head_yaw": 9.0}, {}):
        with pytest.raises(JointCommandError):
            robot.command({"r_knee": 0.3, **wrong} if wrong else wrong)
    robot.stop("by hand")
    with pytest.raises(RobotStateError, match=r"stopped \(by hand\)"):
        robot.command({"r_knee": 0.3})
    wait(lambda: len(orders(log, 1)) > 5, "set points")
    assert len({v for _, v in orders(log, 1)}) == 1
    assert robot.health().refused == 6
    assert robot.health().given == 0


def test_watchdog_holds_then_frees(watched: KondoRobot, boards: Emulator) -> None:
    """No command: it stays where it is; still none: it goes limp."""
    robot = watched
    robot.energise()
    begun = time.monotonic()
    robot.command({"head_yaw": 1.0})
    wait(lambda: robot.state == RobotState.HOLDING, "hold")
    assert time.monotonic() - begun >= 0.3
    assert robot.health().reason == "no command came for 0.3 s"
    here = robot.set_points()["head_yaw"]
    assert 0.0 < here < 1.0
    wait(lambda: robot.state == RobotState.LIMP, "free")
    assert time.monotonic() - begun >= 0.3 + FREED
    assert not any(flag for board in boards.boards for flag in board.driven)
    assert robot.health().held == 1
    robot.energise()
    assert robot.set_points()["head_yaw"] == pytest.approx(here, abs=math.radians(1.0))


def test_a_stop_is_latched(robot: KondoRobot, boards: Emulator, log: Log) -> None:
    """It stays, and moves again only when freed and energised."""
    robot.energise()
    robot.command({"head_yaw": 1.0})
    wait(lambda: robot.set_points()["head_yaw"] > 0.0, "motion")
    robot.stop()
    before, heard = robot.set_points(), len(orders(log, 0))
    wait(lambda: len(orders(log, 0)) > heard + 5, "set points")
    assert robot.set_points() == before
    assert robot.state == RobotState.STOPPED
    with pytest.raises(RobotStateError, match="stopped"):
        robot.command({"head_yaw": 1.0})
    robot.free()
    robot.energise()
    robot.command({"head_yaw": 0.2})
    assert robot.state == RobotState.FOLLOWING
    robot.free()
    assert not any(flag for board in boards.boards for flag in board.driven)
    robot.stop()  # nothing to stop
    assert robot.state == RobotState.LIMP


def test_a_stopped_robot_is_freed(watched: KondoRobot) -> None:
    """By the watchdog, when nobody does it."""
    watched.energise()
    watched.stop()
    wait(lambda: watched.state == RobotState.LIMP, "free")


def test_a_line_that_comes_back(robot: KondoRobot, boards: Emulator, log: Log) -> None:
    """Lost, found by itself, and stopped: energised, it sets out from its pose."""
    robot.energise()
    robot.command({"head_yaw": 0.1})
    boards.unplug()
    wait(lambda: robot.state == RobotState.LOST, "loss")
    assert robot.set_points() == {}
    with pytest.raises(RobotStateError, match="lost"):
        robot.command({"head_yaw": 0.1})
    with pytest.raises(RobotStateError, match="lost"):
        robot.read_back()
    with pytest.raises(RobotStateError, match="energise it when it is back"):
        robot.energise()
    log.clear()
    boards.replug()
    wait(lambda: robot.state == RobotState.STOPPED, "return")
    assert (robot.health().reconnections, robot.health().faults) == (1, 1)
    with pytest.raises(
        RobotStateError, match=r"lost, and is back .*energise it on pur"
    ):
        robot.command({"head_yaw": 0.1})
    assert robot.set_points() == {} == dict(orders(log, 0))
    robot.energise()
    robot.command({"head_yaw": 0.1})
    wait(lambda: robot.health().delivered > 0 and bool(orders(log, 0)), "set points")
    head = [(t, v[5]) for t, v in orders(log, 0)]
    for (before, _), (_, a), (t, b) in zip(head, head[1:], head[2:], strict=False):
        # A step makes up for the time since the set point before it, 0.1 s at most.
        assert abs(b - a) <= min(t - before, 0.1) * SETTINGS.limits.approach + 1
    robot.hold()
    boards.unplug()
    wait(lambda: robot.state == RobotState.LOST, "loss")
    robot.stop("while lost")
    boards.replug()
    wait(lambda: robot.state == RobotState.STOPPED, "return")


@pytest.mark.study
def test_a_board_that_falls_silent(robot: KondoRobot, boards: Emulator) -> None:
    """It is named; when it is back, the robot is stopped."""
    robot.energise()
    both, boards.boards = boards.boards, boards.boards[:1]
    wait(lambda: robot.state == RobotState.LOST, "loss")
    assert "board 1 did not answer" in robot.health().reason
    boards.boards = both
    wait(lambda: robot.state == RobotState.STOPPED, "return")
    assert "board 1 did not answer" in robot.health().reason


@pytest.mark.study
def test_opening_needs_every_board(tmp_path: Path) -> None:
    """No port, half a robot: said at once, and nothing stays open."""
    with pytest.raises(PortError, match="no such port"):
        KondoRobot(SETTINGS, str(tmp_path / "none")).open()
    with Emulator(khr1_boards()[:1]) as half:
        for _ in range(2):  # the port was freed
            with pytest.raises(NoAnswerError, match="is the board on"):
                KondoRobot(SETTINGS, half.port).open()


def test_questions_between_set_points(robot: KondoRobot, boards: Emulator) -> None:
    """Answers and errors reach the asker; the robot continues."""
    robot.energise()
    robot.command({"r_elbow": 0.2})
    read = robot.read_back()
    assert set(read) == set(SETTINGS.joint_names)
    assert math.degrees(read["l_knee"]) == pytest.approx(25.0)
    assert robot.reading() is not None
    with pytest.raises(ZeroDivisionError):
        robot.ask(lambda _: 1 / 0)
    given_up = threading.Event()
    with pytest.raises(NoAnswerError, match=r"within 0.05 s"):
        robot.ask(lambda _: given_up.wait(PATIENCE), timeout=0.05)
    given_up.set()
    robot.request_reading()
    wait(lambda: not robot._reading_requested, "a reading")
    assert robot.state in (RobotState.FOLLOWING, RobotState.HOLDING)
    robot.close()
    with pytest.raises(RobotStateError, match="closed"):
        robot.read_back()


class OneBoard(Boards):
    """Another kind of boards: a single one, which knows tenths of a degree."""

    resolution = 0.1

    def __init__(self) -> None:
        """One that received nothing."""
        super().__init__(("the board",), LinkStatistics())
        self.received: list[tuple[float | None, ...]] = []
        self.limp = True
        self.answers = threading.Event()
        self.answers.set()

    def find(self) -> None:
        """It is there."""

    def move(self, board: int, values: Sequence[float | None], duration: float) -> bool:
        """Tenths of a degree."""
        assert board == 0
        self.answers.wait(PATIENCE)
        self.received.append(tuple(None if v is None else round(v, 1) for v in values))
        self.taken[0].known(self.rounded(values))
        self.limp = False
        return True

    def settle(self, board: int) -> None:
        """Nothing is ever open."""

    def read(self, sure: bool = False) -> tuple[float | None, ...]:
        """Near home."""
        return tuple(None if v > 180 else v + 0.3 for v in SETTINGS.channels.home())

    def free(self, within: float) -> None:
        """Limp."""
        self.limp = True

    def close(self) -> None:
        """There is no port."""


def test_a_line_that_hangs_never_blocks_commands() -> None:
    """Commands are taken while a board does not answer at all; the latest wins."""
    board = OneBoard()
    with KondoRobot(
        SETTINGS, "none", command_timeout=0, open_boards=lambda *_: board
    ) as robot:
        robot.energise()
        board.answers.clear()
        for k in range(50):
            robot.command({"l_knee": math.radians(0.01 * k)})
        assert robot.health().given == 50
        assert robot.health().delivered == 0
        board.answers.set()
        wait(lambda: board.received[-1][14] == 115.0 - 0.5, "the last of them")


def test_late_answers_starve_no_board() -> None:
    """Every answer comes late: both boards are on their way all the same."""
    late, home = LineFaults(late=1.0, delay=0.02), SETTINGS.channels.home()

    def moved(slow: Emulator, channel: int) -> float:
        return abs(slow.angles()[channel - 1] - home[channel - 1])

    with (
        Emulator(faults=late) as slow,
        KondoRobot(SETTINGS, slow.port, open_boards=open_patient) as robot,
    ):
        robot.energise()
        end = time.monotonic() + PATIENCE
        while min(moved(slow, 6), moved(slow, 21)) < 3.0:
            assert time.monotonic() < end
            robot.command({"head_yaw": 0.1, "r_knee": 0.1})
            time.sleep(0.01)


def test_other_boards_need_no_other_robot() -> None:
    """What is behind the interface does not matter."""
    board = OneBoard()
    with KondoRobot(SETTINGS, "none", open_boards=lambda *_: board) as robot:
        robot.energise()
        robot.command({"l_knee": math.radians(0.5)})
        wait(lambda: robot.health().delivered == 1, "delivery")
        wait(
            lambda: bool(board.received) and board.received[-1][14] == 114.5,
            "the angle",
        )
        robot.free()
        assert board.limp
