# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo record``: a motion taught by hand."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from humans_sim.cli.kondo.session import Port, Robot, connected
from humans_sim.cli.options import checked_option, number
from humans_sim.cli.output import result, say
from humans_sim.core.output_paths import check_output_file
from humans_sim.kondo.driver.board import BoardError
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.teach import Lesson, Taken
from humans_sim.kondo.motion.motion_file import POSES
from humans_sim.kondo.protocol.link import NoAnswerError


class Keys:
    """Lines typed by a person, waited for no longer than wanted.

    Read from the descriptor: a thread that hangs in a read keeps a process from ending.
    """

    def __init__(self) -> None:
        """Of this process."""
        self._file, self._typed, self._over = sys.stdin.fileno(), b"", False

    def line(self, timeout: float | None = None) -> str | None:
        """The next line; None if none came in time.

        Raises:
            EOFError: there will be none.
        """
        while b"\n" not in self._typed:
            if self._over:
                raise EOFError
            if not select.select([self._file], [], [], timeout)[0]:
                return None
            more = os.read(self._file, 1024)
            self._typed += more
            if not more:
                self._over = True
                if self._typed:
                    self._typed += b"\n"
        line, _, self._typed = self._typed.partition(b"\n")
        return line.decode("utf-8", "replace").strip().lower()


def record(
    file: Annotated[Path, typer.Argument(help="The motion file .csv to write.")],
    speed: Annotated[
        int,
        checked_option(
            "Speed step to every pose, 0 (fast) to 7 (slow).", number(least=0, most=7)
        ),
    ] = 6,
    period: Annotated[
        float | None,
        checked_option(
            "Take a pose every so many seconds, without Enter.",
            number(least=0.1, most=60.0),
        ),
    ] = None,
    poses: Annotated[
        int, checked_option("End after so many.", number(least=1, most=POSES))
    ] = POSES,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Over a file that is there.")
    ] = False,
    port: Port = None,
    robot: Robot = "khr1",
) -> None:
    """Teach by hand: limp servos, bent to poses that are taken one by one.

    Enter takes a pose; q, the end of the input, or Ctrl-C ends. The file holds all
    poses taken so far at every time.
    """
    check_output_file(file, (".csv",), overwrite)
    with connected(load_robot(robot), port) as driven:
        lesson = Lesson(driven, file, speed)
        try:
            keys = Keys()
            say("hold the robot: its servos go limp now. Enter continues, q ends")
            if keys.line() == "q":
                return
            driven.free()
            _teach(lesson, keys, period, poses)
        except (EOFError, KeyboardInterrupt) as error:
            _end(lesson, file)
            if isinstance(error, KeyboardInterrupt):
                raise
        else:
            _end(lesson, file)


def _teach(lesson: Lesson, keys: Keys, period: float | None, poses: int) -> None:
    """Take poses until all are taken or q was typed."""
    if period is None:
        say("bend it to a pose: Enter takes it, q ends")
    else:
        say(f"a pose is taken every {period:g} s; q ends")
    due = time.monotonic()
    while len(lesson.poses) < poses:
        if period is None:
            typed = keys.line()
        else:
            due = max(due + period, time.monotonic())
            typed = _until(keys, due)
        if typed == "q":
            return
        try:
            _report(lesson.take())
        except (BoardError, NoAnswerError) as error:
            say(f"not taken, keep it still: {error}")


def _until(keys: Keys, due: float) -> str | None:
    """Wait for a time; what was typed meanwhile, if it was q."""
    while (left := due - time.monotonic()) > 0.0:
        try:
            if keys.line(left) == "q":
                return "q"
        except EOFError:  # nobody types: time continues
            time.sleep(left)
    return None


def _report(taken: Taken) -> None:
    say(f"pose {taken.number}: the largest change is {taken.change} degrees")
    for joint, degrees in taken.beyond.items():
        say(f"  {joint} is {degrees} degrees out of its range: kept at the end of it")


def _end(lesson: Lesson, file: Path) -> None:
    result(poses=len(lesson.poses), written=[file] if lesson.poses else [])
    if lesson.poses:
        say(f"{len(lesson.poses)} poses written: {file}; the servos are limp. "
            f"`humans-sim kondo play {file}` plays it")  # fmt: skip
    else:
        say("no pose was taken, and no file written")
