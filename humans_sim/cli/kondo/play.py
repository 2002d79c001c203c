# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo play``, ``save`` and ``record``: motions of files and boards.

A recorded motion is taught by hand.
"""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from humans_sim.cli.kondo.session import (
    MOST_MOTIONS,
    FreeAfter,
    OnStop,
    OwnLinks,
    Port,
    Robot,
    Then,
    check_heard,
    connected,
    finish,
    memory_of,
    print_health,
    robot_settings,
)
from humans_sim.cli.options import (
    Overwrite,
    checked_option,
    flag,
    motion_names,
    number,
    positive,
)
from humans_sim.cli.output import console, described_os_errors, progress, result, say
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import check_output_file
from humans_sim.kondo.driver.board import BoardError
from humans_sim.kondo.driver.joint_path import check_motion
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.driver.teach import Lesson, Taken
from humans_sim.kondo.motion.motion_file import (
    POSES,
    KondoMotion,
    load_motion,
    write_motion,
)
from humans_sim.kondo.protocol.link import NoAnswerError
from humans_sim.models import load_model

_LONGEST = 120.0
"""Longest wait for the boards' memory [s]."""
_MOTION_NUMBER = number(least=0, most=MOST_MOTIONS - 1)


def play(
    file: Annotated[
        str,
        typer.Argument(
            help="A motion file .csv, or the name of a motion.",
            autocompletion=motion_names,
        ),
    ] = "",
    repeat: Annotated[int, checked_option("How often.", positive)] = 1,
    rate: Annotated[
        float, checked_option("Speed over the recorded one.", positive)
    ] = 1.0,
    stored: Annotated[
        int | None,
        checked_option("Play this motion of the boards' memory.", _MOTION_NUMBER),
    ] = None,
    store: Annotated[
        int | None,
        checked_option("Write into the boards' memory; do not play.", _MOTION_NUMBER),
    ] = None,
    overwrite: Annotated[
        bool, flag("--overwrite", "With --store: over another motion.")
    ] = False,
    port: Port = None,
    robot: Robot = "khr1",
    free: FreeAfter = False,
    on_stop: OnStop = Then.FREE,
    self_collision: OwnLinks = True,
) -> None:
    """Play a motion over the line, within the robot's limits, or store one."""
    from humans_sim.kondo.driver.joint_path import MOST_REPETITIONS, RATES

    if repeat > MOST_REPETITIONS:
        raise ParameterError(f"--repeat is at most {MOST_REPETITIONS}, not {repeat}")
    if not RATES[0] <= rate <= RATES[1]:
        raise ParameterError(f"--rate is {RATES[0]:g} to {RATES[1]:g}, not {rate}")
    if bool(file) == (stored is not None) or (store is not None and not file):
        raise ParameterError("give a motion file, or --stored NUMBER (one of the two)")
    settings = robot_settings(robot, self_collision)
    motion = None
    if file:
        motion = load_motion(file)
        check_motion(load_model(settings.model), settings, motion, rate)
    if store is not None:
        assert motion is not None
        _store(settings, port, motion, store, overwrite)
        return
    with connected(settings, port, on_stop) as driven:
        if motion is None:
            assert stored is not None
            motion = _read(driven, stored)
            check_motion(load_model(settings.model), settings, motion, rate)
        _play(driven, motion, rate, repeat)
        heard = print_health(driven)
        finish(driven, free)
    check_heard(heard)


def save(
    number: Annotated[
        int, typer.Argument(help="Of the motion, 0 to 39.", callback=_MOTION_NUMBER)
    ],
    file: Annotated[Path, typer.Argument(help="The motion file .csv to write.")],
    overwrite: Overwrite = False,
    port: Port = None,
    robot: Robot = "khr1",
) -> None:
    """Write a motion of the boards' memory into a file. Nothing moves."""
    check_output_file(file, (".csv",), overwrite)
    with connected(load_robot(robot), port) as driven:
        motion = _read(driven, number)
    with described_os_errors(file):
        write_motion(motion, file)
    result(motion=number, poses=len(motion.poses), written=[file])
    say(f"{len(motion.poses)} poses written: {file}")


def _read(robot: KondoRobot, number: int) -> KondoMotion:
    """A motion of the boards' memory."""
    with console.status("reading the motion"):
        stored = robot.ask(lambda boards: memory_of(boards).stored(number), _LONGEST)
    if stored is None:
        raise ParameterError(f"the boards have no motion {number}: "
                             "`humans-sim kondo info` lists them")  # fmt: skip
    return stored


def _store(
    settings: RobotSettings,
    port: str | None,
    motion: KondoMotion,
    number: int,
    overwrite: bool,
) -> None:
    with connected(settings, port) as driven:
        if not overwrite:
            with console.status("looking"):
                old = driven.ask(lambda b: memory_of(b).stored(number), _LONGEST)
            if old is not None:
                raise ParameterError(
                    f"the boards have a motion {number} of {len(old.poses)} poses: "
                    f"`humans-sim kondo save {number} FILE` keeps it, --overwrite "
                    "writes over it"
                )
        with console.status("writing, and reading back"):
            driven.ask(lambda b: memory_of(b).store(number, motion), _LONGEST)
    result(motion=motion.name, poses=len(motion.poses), stored=number)
    say(f"{motion.name}: {len(motion.poses)} poses are motion {number} of the boards "
        "now; read back, and the same")  # fmt: skip


def _play(robot: KondoRobot, motion: KondoMotion, rate: float, repeat: int) -> None:
    from humans_sim.kondo.driver.joint_path import MotionPath, energise, path_to, stream

    settings = robot.settings
    model = load_model(settings.model)
    first = settings.channels.angles(motion.poses[0].channels)
    approach = path_to(settings, energise(robot), first)
    with progress("to the first pose") as watch:
        stream(robot, approach, motion.name, watch)
    present = robot.set_points()
    path = MotionPath(model, settings, motion, present, rate, repeat)
    result(motion=motion.name, poses=len(motion.poses), duration=path.duration)
    times = "" if repeat == 1 else f", {repeat} times"
    say(f"{motion.name}: {len(motion.poses)} poses{times}, {path.duration:.1f} s "
        "(Ctrl-C stops)")  # fmt: skip
    with progress(motion.name) as watch:
        stream(robot, path, motion.name, watch)


class Keys:
    """Lines typed by a person, waited for no longer than wanted.

    Read from the descriptor: a thread that hangs in a read keeps a process from ending.
    """

    def __init__(self) -> None:
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
    overwrite: Overwrite = False,
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
