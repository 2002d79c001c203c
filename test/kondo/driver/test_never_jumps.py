# SPDX-License-Identifier: Apache-2.0
"""What boards receive: no step too long, over lost frames, pauses and late answers."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from patient_boards import open_patient

from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver import watchdog
from humans_sim.kondo.driver.board import Boards, NotFreedError, RobotState
from humans_sim.kondo.driver.robot import KondoRobot, RobotStateError
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults, khr1_boards
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import LinkStatistics

SETTINGS = load_robot()
STEP = SETTINGS.limits.step
HOME = tuple(None if v > 180 else float(v) for v in SETTINGS.channels.home())
PATIENCE = 60.0
"""Longest wait for what does come, on any machine [s]."""
KNEE = 15 - 1


def wait(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


class LossyBoards(Boards):
    """Two boards that take what a plan says, and answer to what it says."""

    def __init__(self, plan: Callable[[int, int], tuple[bool, bool]]) -> None:
        """Two boards.

        Args:
            plan: of a board and the number of the frame: whether it is taken, and
                whether that is acknowledged.
        """
        super().__init__(("one", "two"), LinkStatistics())
        self.at = [list(HOME[:12]), list(HOME[12:])]
        self.steps = [0.0]
        self._plan, self._count = plan, [0, 0]
        self.silent = threading.Event()

    def find(self) -> None:
        """They are there."""

    def move(self, board: int, values: Sequence[float | None], duration: float) -> bool:
        """By the plan."""
        taken, answered = self._plan(board, self._count[board])
        self._count[board] += 1
        new = self.rounded(values[self.channels(board)])
        self.taken[board].sent(self._count[board], new)
        if taken and answered:
            self.taken[board].acknowledged(self._count[board])
            self.heard_at[board] = time.monotonic()
        if taken:
            pairs = zip(self.at[board], new, strict=True)
            self.steps += [
                abs(b - a) for a, b in pairs if a is not None and b is not None
            ]
            self.at[board] = new
        return taken and answered

    def settle(self, board: int) -> None:
        """Nothing is open that could come late."""

    def read(self, sure: bool = False) -> tuple[float | None, ...]:
        """Their set points."""
        return tuple(self.at[0] + self.at[1])

    def free(self, within: float) -> None:
        """Only one of them answers."""
        self.forget()
        if self.silent.is_set():
            raise NotFreedError(["one"], ["two"], within)

    def close(self) -> None:
        """There is no port."""


PLANS: dict[str, Callable[[int, int], tuple[bool, bool]]] = {
    "lost": lambda board, k: (k % 5 == 0, True),
    "unanswered": lambda board, k: (k % 3 == 0, k % 9 == 0),
    "one board": lambda board, k: (board == 0 or k % 7 == 0, True),
    "two in a row": lambda board, k: (k % 4 > 1, k % 4 == 3),
}


@contextmanager
def standing(boards: LossyBoards, command_timeout: float) -> Iterator[KondoRobot]:
    """A robot whose joints have come to its first command."""
    with KondoRobot(
        SETTINGS, "none", command_timeout=command_timeout, open_boards=lambda *_: boards
    ) as robot:
        robot.energise()
        robot.command({"head_yaw": 0.0})
        wait(lambda: not robot.approaching())
        yield robot


@pytest.mark.study
@pytest.mark.parametrize("plan", PLANS)
def test_steps_count_from_what_was_taken(plan: str) -> None:
    """Frames that no board took do not let the next one go further."""
    boards = LossyBoards(PLANS[plan])
    with standing(boards, 0) as robot:
        for goal in (1.0, -1.0):
            robot.command({"head_yaw": goal, "r_knee": goal})
            far = 90.0 + math.degrees(goal)
            wait(lambda far=far: abs((boards.at[0][5] or 0.0) - far) < 1.0)
    assert 1.0 < max(boards.steps) <= STEP


@pytest.mark.parametrize("rests", [True, False])
def test_a_paused_driver_stops(monkeypatch: pytest.MonkeyPatch, rests: bool) -> None:
    """A gap between two beats, by a clock that counts it: nothing more is sent."""
    boards, jump = LossyBoards(lambda *_: (True, True)), [0.0]
    clock = watchdog.now
    monkeypatch.setattr(watchdog, "now", lambda: clock() + jump[0])
    with standing(boards, 30) as robot:
        if rests:
            robot.hold()
        with robot._lock:  # the command comes before the thread knows of the gap
            jump[0] += 5.0
            robot._guard.aim({"head_yaw": 1.0})
        wait(lambda: robot.state == RobotState.STOPPED)
        assert robot.health().reason.startswith("the driver was kept from its line")
        sent = list(boards._count)
        with pytest.raises(RobotStateError, match="kept from its line"):
            robot.command({"head_yaw": 1.0})
        robot.stop()
        with pytest.raises(RobotStateError, match="the robot is stopped"):
            robot.hold()
        assert robot.read_back() and boards._count == sent
        here = boards.at[0][5]
        assert here is not None and here < 90.0 + math.degrees(0.5)
        robot.energise()
        robot.command({"head_yaw": 1.0})
        assert robot.approaching()


@pytest.mark.parametrize(
    ("command_timeout", "pause_timeout", "longest"),
    [(0.0, 0.5, 0.5), (30.0, 0.5, 0.5), (0.3, 0.5, 0.3), (0.01, 0.5, 0.1), (9, 4, 4)],
)
def test_longest_pause(
    monkeypatch: pytest.MonkeyPatch,
    command_timeout: float,
    pause_timeout: float,
    longest: float,
) -> None:
    """The allowed one, or less where commands are due sooner."""
    clock = [0.0]
    monkeypatch.setattr(watchdog, "now", lambda: clock[0])
    watch = watchdog.Watchdog(command_timeout, 0.0, pause_timeout)
    clock[0] += longest - 1e-6
    assert watch.beat() == 0.0
    clock[0] += longest + 1e-6
    assert watch.beat() == pytest.approx(longest, abs=1e-5)


@pytest.mark.parametrize("pause", [0.0, -1.0, math.nan, math.inf])
def test_pauses_that_cannot_be_kept(pause: float) -> None:
    """They are refused."""
    with pytest.raises(ParameterError, match="pause_timeout must be"):
        KondoRobot(SETTINGS, "none", pause_timeout=pause)


def test_an_overdue_command_is_approached(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not refresh the watchdog's timer before the watchdog has acted."""
    boards, jump = LossyBoards(lambda *_: (True, True)), [0.0]
    clock = watchdog.now
    monkeypatch.setattr(watchdog, "now", lambda: clock() + jump[0])
    robot = KondoRobot(
        SETTINGS, "none", command_timeout=20.0, open_boards=lambda *_: boards
    )
    with robot:
        robot.energise()
        robot.command({"head_yaw": 0.0})
        wait(lambda: not robot.approaching())
        monkeypatch.setattr(robot, "_notice_gap", lambda: None)
        monkeypatch.setattr(robot, "_watch", lambda boards: None)
        jump[0] += 21.0
        robot.command({"head_yaw": 1.0})
        assert robot.approaching()
        assert robot.health().held == 1


def test_servos_that_may_be_limp_are_commanded_nothing_else() -> None:
    """A free that one board did not acknowledge is reported, and tried again."""
    boards = LossyBoards(lambda *_: (True, True))
    with KondoRobot(SETTINGS, "none", open_boards=lambda *_: boards) as robot:
        robot.energise()
        robot.stop()
        assert robot.unacknowledged(PATIENCE) == ()
        boards.silent.set()
        with pytest.raises(NotFreedError, match="freed: one; perhaps freed: two"):
            robot.free()
        assert robot.state == RobotState.LIMP
        assert "perhaps freed: two" in robot.health().reason
        assert robot.unacknowledged(0.0) == ("two",)
        count = list(boards._count)
        boards.silent.clear()
        assert robot.unacknowledged(PATIENCE) == ()
        assert boards._count == count


def test_a_lost_robot_is_freed_when_it_is_back(tmp_path: Path) -> None:
    """What was asked of a lost line is not forgotten."""
    with (
        Emulator(link=tmp_path / "port") as boards,
        KondoRobot(SETTINGS, boards.port, open_boards=open_patient) as robot,
    ):
        robot.energise()
        wait(lambda: any(boards.boards[0].driven))
        boards.unplug()
        wait(lambda: robot.state == RobotState.LOST)
        with pytest.raises(RobotStateError, match="freed when its line is back"):
            robot.free()
        boards.replug()
        wait(lambda: not any(flag for b in boards.boards for flag in b.driven))
        assert robot.unacknowledged(PATIENCE) == ()
        assert robot.state == RobotState.LIMP


@pytest.mark.study
@pytest.mark.parametrize("delay", [0.04, 0.12])
def test_a_slow_line_goes_on(delay: float) -> None:
    """Every answer is late: the robot follows all the same, by steps as ever."""
    heads = [90]

    def watch(t: float, command: rcb1.Command) -> None:
        if isinstance(command, rcb1.SetPositions) and command.board == 0:
            heads.append(command.channels[5])

    faults = LineFaults(late=1.0, delay=delay)
    with (
        Emulator(faults=faults, watch=watch) as boards,
        KondoRobot(SETTINGS, boards.port, command_timeout=0) as robot,
    ):
        robot.energise()
        for goal in (0.3, -0.3):
            robot.command({"head_yaw": goal})
            far = round(90.0 + math.degrees(goal))
            wait(lambda far=far: heads[-1] == far)
        assert robot.health().reconnections == 0
    steps = [abs(b - a) for a, b in pairwise(heads) if b <= 180]
    assert 1 <= max(steps) <= STEP


@pytest.mark.parametrize("seed", range(3))
def test_late_answers_do_not_keep_servos_stiff(seed: int) -> None:
    """Nearly a third of the answers comes 200 ms late: all is done all the same."""
    faults = LineFaults(late=0.3, delay=0.2, seed=seed)
    with Emulator(faults=faults) as boards, KondoRobot(SETTINGS, boards.port) as robot:
        robot.energise()
        robot.command({"head_yaw": 0.1})
        robot.free()
        assert not any(flag for b in boards.boards for flag in b.driven)


def test_a_silent_board_is_named() -> None:
    """The other one is limp, and the error says which is which."""
    with (
        Emulator(khr1_boards()) as boards,
        KondoRobot(SETTINGS, boards.port, open_boards=open_patient) as robot,
    ):
        robot.energise()
        assert robot.unacknowledged(PATIENCE) == ()
        boards.boards = boards.boards[:1]
        robot.stop()
        assert "board 1" in robot.unacknowledged(0.0)
        with pytest.raises(NotFreedError) as caught:
            robot.free()
        assert caught.value.freed == ("board 0",)
        assert caught.value.perhaps == ("board 1",)
        assert robot.state == RobotState.LIMP
        assert not any(boards.boards[0].driven)
