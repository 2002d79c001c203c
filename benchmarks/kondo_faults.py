# SPDX-License-Identifier: Apache-2.0
"""Set points that a robot is sent after a fault, before somebody energises it.

    python benchmarks/kondo_faults.py [--times N] [--boards FILE]

A program commands the robot all the time, 50 times a second. The robot is unplugged,
switched off, its knee is bent by 35 degrees, it is switched on and plugged in again; or
its driver is stopped (SIGSTOP) while all that happens to the robot, without a cable
being touched. Counted are the set points that the boards take from then on until it is
energised, and how fast it is led back after that. The boards are this package's own
emulation, or the class ``SecondBoards`` of another file (``path``, ``power``,
``unplug``, ``replug``, ``bend``, ``set_points``). Exit code 1: a set point before that,
or an approach faster than the robot's limit.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS, DEGREES

SETTINGS = load_robot()
KNEE, BENT = 15, 35
"""Channel of the left knee, and how far a hand bends it [deg]."""
STRAIGHT = SETTINGS.channels.home()[KNEE - 1]
WATCH = 1.0
"""Time that is watched after the robot is back [s]."""
PATIENCE = 60.0


class Boards(Protocol):
    """Emulated boards as they are needed here; a context manager."""

    path: str

    def power(self, on: bool) -> None:
        """Switch the battery."""

    def unplug(self) -> None:
        """Take the port away."""

    def replug(self) -> None:
        """Give it back."""

    def bend(self, channel: int, degrees: float) -> None:
        """Turn a limp servo by hand [deg]."""

    def set_points(self, channel: int) -> list[tuple[float, float]]:
        """Times [s] and angles [deg] that a channel was commanded."""


class OwnBoards:
    """This package's emulation."""

    def __init__(self) -> None:
        """At home, and on."""
        self._folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self._folder.name) / "port")
        self._heard: list[tuple[float, rcb1.SetPositions]] = []
        self._pose = list(SETTINGS.channels.home())
        self._emulator = Emulator(link=Path(self.path), watch=self._watch)

    def __enter__(self) -> OwnBoards:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the line."""
        self._emulator.close()
        self._folder.cleanup()

    def _watch(self, t: float, command: rcb1.Command) -> None:
        if isinstance(command, rcb1.SetPositions):
            self._heard.append((t, command))

    def power(self, on: bool) -> None:
        """Boards without power do not answer; then they are limp where they were."""
        if not on:
            self._pose[:] = [
                round(angle) if home <= DEGREES else home
                for angle, home in zip(
                    self._emulator.angles(), SETTINGS.channels.home(), strict=True
                )
            ]
            self._emulator.boards = ()
            return
        self._emulator.boards = tuple(
            VirtualBoard(k, self._pose[k * CHANNELS : (k + 1) * CHANNELS])
            for k in range(2)
        )

    def unplug(self) -> None:
        """Take the port away."""
        self._emulator.unplug()

    def replug(self) -> None:
        """Give it back."""
        self._emulator.replug()

    def bend(self, channel: int, degrees: float) -> None:
        """While the boards are off."""
        self._pose[channel - 1] = round(degrees)

    def set_points(self, channel: int) -> list[tuple[float, float]]:
        """Times [s] and angles [deg] that a channel was commanded."""
        board, place = divmod(channel - 1, CHANNELS)
        return [
            (t, float(command.channels[place]))
            for t, command in list(self._heard)
            if command.board == board and command.channels[place] <= DEGREES
        ]


def drive(pipe: Connection, port: str) -> None:
    """Process of the driver: commands all the time, energises when it is asked to."""
    robot = KondoRobot(SETTINGS, port, free_timeout=0.0)
    robot.open()
    zero, moves = dict.fromkeys(robot.joint_names, 0.0), ""
    while True:
        if pipe.poll(0.02):
            if pipe.recv() == "end":
                break
            try:
                moves = str(robot.preview())
                robot.energise()
            except HumansError as error:
                moves = str(error)
            pipe.send(moves)
        with suppress(HumansError):
            robot.command(zero)
    robot.close()


def loaded(path: Path) -> Callable[[], Any]:
    """The class ``SecondBoards`` of a file."""
    spec = importlib.util.spec_from_file_location("other_boards", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.SecondBoards


def energise(pipe: Connection) -> str:
    """Let the driver energise, until that works; what it said would move."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        pipe.send("energise")
        moves = str(pipe.recv())
        if "move" in moves:
            return moves
        time.sleep(0.1)
    raise SystemExit(f"not energised: {moves}")


def settle(boards: Boards, first: int) -> None:
    """Until the knee was led home, and stays there, by set points from a number on."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        taken = boards.set_points(KNEE)[first:][-10:]
        if len(taken) == 10 and all(angle == STRAIGHT for _, angle in taken):
            return
        time.sleep(0.05)
    raise SystemExit("the robot is not led home")


def fault(boards: Boards, pid: int, paused: bool) -> int:
    """Bend the robot, behind its driver's back; set points that came before its end."""
    if paused:
        os.kill(pid, signal.SIGSTOP)
    else:
        boards.unplug()
    time.sleep(0.1)  # what was on the line has come
    boards.power(False)
    boards.bend(KNEE, STRAIGHT - BENT)
    time.sleep(1.0)  # longer than a driver may be paused
    boards.power(True)
    taken = len(boards.set_points(KNEE))
    if paused:
        os.kill(pid, signal.SIGCONT)
    else:
        boards.replug()
    return taken


def trial(make: Callable[[], Any], times: int, paused: bool) -> tuple[int, float, str]:
    """Set points before it was energised, speed after it [deg/s], what would move."""
    context = multiprocessing.get_context("spawn")
    before, fastest, moves = 0, 0.0, ""
    with make() as boards:
        pipe, its = context.Pipe()
        driver = context.Process(target=drive, args=(its, boards.path), daemon=True)
        driver.start()
        energise(pipe)
        assert driver.pid is not None
        settle(boards, 0)
        for _ in range(times):
            taken = fault(boards, driver.pid, paused)
            time.sleep(WATCH)
            first = len(boards.set_points(KNEE))
            before += first - taken
            moves = energise(pipe)
            settle(boards, first)
            led = boards.set_points(KNEE)[first:]
            begun, at = led[0]
            for t, angle in led:
                if angle != at and t > begun + 0.2:
                    fastest = max(fastest, abs(angle - at) / (t - begun))
        pipe.send("end")
        driver.join(PATIENCE)
        driver.kill()
    return before, fastest, moves


def main() -> None:
    """Print what came of both faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--boards", type=Path, help="file with another emulation")
    options = parser.parse_args()
    make = OwnBoards if options.boards is None else loaded(options.boards)
    limit, wrong = SETTINGS.limits.approach, []
    for name, paused in (("unplugged", False), ("driver stopped", True)):
        before, fastest, moves = trial(make, options.times, paused)
        print(
            f"{name}, bent by {BENT} degrees, back, {options.times} times: {before} set"
            f" points before it was energised; led back with {fastest:.0f} deg/s at "
            f"most ({moves})",
            flush=True,
        )
        if before or fastest > 1.2 * limit:
            wrong.append(name)
    if wrong:
        raise SystemExit(f"wrong: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
