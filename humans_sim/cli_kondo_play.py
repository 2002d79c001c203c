"""``humans-sim kondo play`` and ``save``: motions of files and of the boards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from humans_sim.cli_kondo_session import (
    MOST_MOTIONS,
    FreeAfter,
    OnStop,
    Port,
    Robot,
    Then,
    connected,
    console,
    finish,
    memory_of,
    print_health,
    progress,
    say,
)
from humans_sim.errors import HumansError, ParameterError
from humans_sim.kondo import KondoMotion, write_motion
from humans_sim.kondo.motion_check import check_motion
from humans_sim.kondo.motion_library import load_motion
from humans_sim.kondo.robot import KondoRobot
from humans_sim.kondo.robot_settings import RobotSettings, load_robot
from humans_sim.models import load_model

_LONGEST = 120.0
"""Longest wait for the boards' memory [s]."""


def play(
    file: Annotated[
        str, typer.Argument(help="A motion file .csv, or the name of a motion.")
    ] = "",
    repeat: Annotated[int, typer.Option(help="How often.")] = 1,
    rate: Annotated[float, typer.Option(help="Speed over the recorded one.")] = 1.0,
    stored: Annotated[
        int | None, typer.Option(help="Play this motion of the boards' memory.")
    ] = None,
    store: Annotated[
        int | None, typer.Option(help="Write into the boards' memory; do not play.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --store: over another motion.")
    ] = False,
    port: Port = None,
    robot: Robot = "khr1",
    free: FreeAfter = False,
    on_stop: OnStop = Then.FREE,
) -> None:
    """Play a motion over the line, within the robot's limits, or store one."""
    from humans_sim.kondo.course import MOST_REPETITIONS, RATES

    if bool(file) == (stored is not None) or (store is not None and not file):
        raise ParameterError("give a motion file, or --stored NUMBER (one of the two)")
    if not 1 <= repeat <= MOST_REPETITIONS:
        raise ParameterError(f"--repeat must be 1 to {MOST_REPETITIONS}, not {repeat}")
    if not RATES[0] <= rate <= RATES[1]:
        raise ParameterError(f"--rate must be {RATES[0]:g} to {RATES[1]:g}, not {rate}")
    settings = load_robot(robot)
    motion = None
    if file:
        motion = load_motion(file)
        check_motion(load_model(settings.model), settings, motion, rate)
    if store is not None:
        assert motion is not None
        _store(settings, port, motion, _number(store), overwrite)
        return
    with connected(settings, port, on_stop) as driven:
        if motion is None:
            assert stored is not None
            motion = _read(driven, _number(stored))
            check_motion(load_model(settings.model), settings, motion, rate)
        _play(driven, motion, rate, repeat)
        print_health(driven)
        finish(driven, free)


def save(
    number: Annotated[int, typer.Argument(help="Of the motion, 0 to 39.")],
    file: Annotated[Path, typer.Argument(help="The motion file .csv to write.")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Over a file that is there.")
    ] = False,
    port: Port = None,
    robot: Robot = "khr1",
) -> None:
    """Write a motion of the boards' memory into a file. Nothing moves."""
    check_output(file, overwrite)
    with connected(load_robot(robot), port) as driven:
        motion = _read(driven, _number(number))
    try:
        write_motion(motion, file)
    except OSError as error:
        raise HumansError(f"{file}: {error.strerror or error}") from None
    say(f"{len(motion.poses)} poses written: {file}")


def check_output(file: Path, overwrite: bool) -> None:
    """Refuse a motion file that cannot be written, before anything is done.

    Raises:
        ParameterError: it ends otherwise, is there already, or has no folder.
    """
    if file.suffix != ".csv":
        raise ParameterError(f"a motion file ends in .csv, not '{file.name}'")
    if not file.parent.is_dir():
        raise ParameterError(f"{file}: there is no folder {file.parent}")
    if file.exists() and not overwrite:
        raise ParameterError(f"{file} is there already (--overwrite writes over it)")


def _number(number: int) -> int:
    if not 0 <= number < MOST_MOTIONS:
        raise ParameterError(f"the boards' motions are 0 to {MOST_MOTIONS - 1}, "
                             f"not {number}")  # fmt: skip
    return number


def _read(robot: KondoRobot, number: int) -> KondoMotion:
    """A motion of the boards' memory."""
    with console.status("reading the motion"):
        found = robot.ask(lambda boards: memory_of(boards).stored(number), _LONGEST)
    if found is None:
        raise ParameterError(f"the boards have no motion {number}: "
                             "`humans-sim kondo info` lists them")  # fmt: skip
    return found


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
    say(f"{motion.name}: {len(motion.poses)} poses are motion {number} of the boards "
        "now; read back, and the same")  # fmt: skip


def _play(robot: KondoRobot, motion: KondoMotion, rate: float, repeat: int) -> None:
    from humans_sim.kondo.course import MotionCourse, way_to
    from humans_sim.kondo.stream import energise, stream

    settings = robot.settings
    model = load_model(settings.model)
    first = settings.channels.angles(motion.poses[0].channels)
    way = way_to(settings, energise(robot), first)
    with progress("to the first pose") as watch:
        stream(robot, way, motion.name, watch)
    present = robot.set_points()
    course = MotionCourse(model, settings, motion, present, rate, repeat)
    times = "" if repeat == 1 else f", {repeat} times"
    say(f"{motion.name}: {len(motion.poses)} poses{times}, {course.duration:.1f} s "
        "(Ctrl-C stops)")  # fmt: skip
    with progress(motion.name) as watch:
        stream(robot, course, motion.name, watch)
