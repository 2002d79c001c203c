# SPDX-License-Identifier: Apache-2.0
"""A bad line tried: what set points become of, measured on both of its ends.

Commands are given to a :class:`~humans_sim.kondo.driver.robot.KondoRobot` as a program
would; the boards are emulated in a process of their own. What the driver said and what
the boards took are then compared, frame by frame.
"""

from __future__ import annotations

import math
import multiprocessing
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults, khr1_boards
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import SerialLink

_START = 60.0
"""Longest wait for the process of the boards [s]."""
_END = 5.0
"""Longest wait for its end [s]."""
_RECENT = 0.3
"""What a board takes was said within so long before, on a machine that is late [s]."""
_SAMPLE = 0.001
"""Time between two looks at the angles [s]."""


class Said(NamedTuple):
    """A command and when it was said or taken [s]."""

    time: float
    command: rcb1.Command


@dataclass(frozen=True)
class LineTrial:
    """What a trial gave.

    Attributes:
        given: set points that were commanded.
        delivered: of them, that both boards acknowledged before the next one
            (:attr:`~humans_sim.kondo.driver.board.Health.delivered`).
        taken: of them, that both boards took before the next one.
        frames: commands that boards took.
        wrong: of them, those that were not said: damaged, and the sum still right.
        deviation: largest angle by which these led a channel astray [deg].
        astray: longest time that a channel was led astray by one degree or more [s].
        latencies: from a command to the last acknowledgement [s].
        line_latencies: of single exchanges [s].
        repeated: frames of both boards that went unanswered, and were said anew.
    """

    given: int
    delivered: int
    taken: int
    frames: int
    wrong: int
    deviation: float
    astray: float
    latencies: np.ndarray
    line_latencies: np.ndarray
    repeated: int


class RecordedLink(SerialLink):
    """A link that keeps what it said."""

    def __init__(self, port: str, said: list[Said]) -> None:
        """Open a port.

        Args:
            port: its name.
            said: is added to.
        """
        super().__init__(port)
        self._said = said

    def _write(self, command: rcb1.Command) -> None:
        self._said.append(Said(time.monotonic(), command))
        super()._write(command)


def try_line(
    seconds: float, faults: LineFaults, rate: float = 50.0, robot: str = "khr1"
) -> LineTrial:
    """Swing all joints for a while over a line with faults.

    Args:
        seconds: how long.
        faults: of the line, both ways.
        rate: of the commands [Hz].
        robot: whose channels and limits.

    Raises:
        HumansError: the boards' process does not begin.
    """
    # The line is tried, not the robot: links that would touch are no matter here.
    settings, said = replace(load_robot(robot), self_collision=None), list[Said]()

    def opened(port: str, settings: RobotSettings) -> Rcb1Boards:
        return Rcb1Boards(RecordedLink(port, said), settings)

    with (
        emulated_port(faults) as (port, taken),
        KondoRobot(settings, port, open_boards=opened) as driven,
    ):
        given = _swing(driven, seconds, rate)
        health = driven.health()
    line = health.line
    assert line is not None
    used = [number - 1 for number in settings.channels.channels]
    wrong, deviation, astray = _astray(said, taken, given, used)
    return LineTrial(
        len(given),
        health.delivered,
        _arrived(taken, given, settings.ids),
        len(taken),
        wrong,
        deviation,
        astray,
        np.array(health.latencies),
        np.array(line.latencies),
        line.failed + line.repeated,
    )


@contextmanager
def emulated_port(faults: LineFaults) -> Iterator[tuple[str, list[Said]]]:
    """Emulated boards in a process of their own.

    Args:
        faults: of the line.

    Yields:
        the port, and a list that holds what the boards took once they are gone.

    Raises:
        HumansError: the process does not begin.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_emulate, args=(there, faults), daemon=True)
    process.start()
    taken: list[Said] = []
    try:
        if not here.poll(_START):
            raise HumansError("the emulated boards do not begin")
        yield here.recv(), taken
        here.send(None)
        taken += here.recv()
    finally:
        here.close()
        process.join(_END)
        process.kill()


def _emulate(pipe: Connection, faults: LineFaults) -> None:
    """The process of the boards."""
    taken: list[Said] = []
    with Emulator(
        faults=faults, watch=lambda t, command: taken.append(Said(t, command))
    ) as emulator:
        pipe.send(emulator.port)
        with suppress(EOFError):
            pipe.recv()
    with suppress(BrokenPipeError):
        pipe.send(taken)


def _swing(robot: KondoRobot, seconds: float, rate: float) -> list[float]:
    """Swing the joints; when commands were given [s]."""
    robot.energise()
    middles = robot.set_points()
    given: list[float] = []
    begun = time.monotonic()
    while (t := len(given) / rate) < seconds:
        time.sleep(max(begun + t - time.monotonic(), 0.0))
        swing = 0.3 * math.sin(2.0 * math.pi * 0.5 * t)
        given.append(time.monotonic())
        robot.command(
            {joint: _inside(robot, joint, middles, swing) for joint in middles}
        )
    time.sleep(1.0 / rate)
    return given


def _inside(
    robot: KondoRobot, joint: str, middles: dict[str, float], swing: float
) -> float:
    """An angle about the middle, inwards where the range ends there."""
    channel = next(
        c for c in robot.settings.channels.channels.values() if c.joint == joint
    )
    ends = sorted((channel.angle(channel.lower), channel.angle(channel.upper)))
    return min(max(middles[joint] + swing, ends[0]), ends[1])


def _arrived(taken: Sequence[Said], given: Sequence[float], ids: Sequence[int]) -> int:
    """Set points that every board took before the next one was given."""
    slots: list[set[int]] = [set() for _ in given]
    for t, command in taken:
        if isinstance(command, rcb1.SetPositions):
            k = bisect_right(given, t) - 1
            if k >= 0:
                slots[k].add(command.board)
    return sum(slot == set(ids) for slot in slots)


def _astray(
    said: Sequence[Said], taken: Sequence[Said], given: Sequence[float], used: list[int]
) -> tuple[int, float, float]:
    """Frames that were not said, how far they led channels, and for how long."""
    times = [t for t, _ in said]
    real, ideal = khr1_boards(), khr1_boards()
    wrong, worst, longest, since = 0, 0.0, 0.0, math.inf
    looks = np.arange(given[0], given[-1], _SAMPLE)
    at = 0
    for t, command in taken:
        while at < len(looks) and looks[at] <= t:
            off = _difference(real, ideal, used, looks[at])
            worst = max(worst, off)
            since = min(since, looks[at]) if off >= 1.0 else math.inf
            longest = max(longest, looks[at] - since + _SAMPLE)
            at += 1
        recent = said[bisect_right(times, t - _RECENT) : bisect_right(times, t)]
        meant = _meant(command, recent)
        wrong += command != meant
        for board in real:
            board.hear(command, t)
        for board in ideal:
            board.hear(meant, t)
    return wrong, worst, longest


def _meant(command: rcb1.Command, recent: Sequence[Said]) -> rcb1.Command:
    """What was said when a board took a command: itself, or else the last."""
    if not recent or any(command == entry.command for entry in recent):
        return command
    return recent[-1].command


def _difference(
    real: Sequence[VirtualBoard],
    ideal: Sequence[VirtualBoard],
    used: list[int],
    t: float,
) -> float:
    """Largest difference between servos of two pairs of boards [deg]."""
    one, other = (
        [v for board in pair for v in board.angles(t)] for pair in (real, ideal)
    )
    return max(abs(one[k] - other[k]) for k in used)
