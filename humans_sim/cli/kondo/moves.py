# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo home``, ``free``, ``energize``, ``pose`` and ``walk``."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from humans_sim.cli.kondo.session import (
    FreeAfter,
    OnStop,
    OwnLinks,
    Port,
    Robot,
    Then,
    check_heard,
    connected,
    degrees,
    finish,
    print_health,
    robot_settings,
)
from humans_sim.cli.options import checked_option, flag, number
from humans_sim.cli.output import console, progress, result, say, table_of
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.models import load_model

if TYPE_CHECKING:
    from humans_sim.control.walking import Velocity, WalkSettings

_SETTLE = 0.4
"""Servos may lag behind their last set point for so long [s]."""
_OFF = 5.0
"""Servos give way by less than this, standing [deg]."""


def home(
    port: Port = None,
    robot: Robot = "khr1",
    free: FreeAfter = False,
    on_stop: OnStop = Then.FREE,
    self_collision: OwnLinks = True,
) -> None:
    """Lead every joint slowly to zero, where the robot stands straight."""
    settings = robot_settings(robot, self_collision)
    zero = dict.fromkeys(settings.joint_names, 0.0)
    _go(settings, port, zero, "home", free, on_stop)


def pose(
    joints: Annotated[
        list[str], typer.Argument(help="JOINT=DEGREES ...", metavar="JOINT=ANGLE...")
    ],
    radians: Annotated[bool, flag("--radians", "The angles are in radians.")] = False,
    port: Port = None,
    robot: Robot = "khr1",
    free: FreeAfter = False,
    on_stop: OnStop = Then.FREE,
    self_collision: OwnLinks = True,
) -> None:
    """Lead joints slowly to angles; the others stay where they are.

    An example: humans-sim kondo pose head_yaw=30 l_elbow=-45
    """
    settings = robot_settings(robot, self_collision)
    angles = _parsed(joints, settings, radians)
    _go(settings, port, angles, "pose", free, on_stop)


def free(port: Port = None, robot: Robot = "khr1") -> None:
    """Make every servo limp: hold the robot, it sinks down."""
    with connected(load_robot(robot), port) as driven:
        driven.free()
        say("the servos are limp")


def energize(
    yes: Annotated[bool, flag("--yes", "Do not wait for Enter before it.")] = False,
    port: Port = None,
    robot: Robot = "khr1",
    on_stop: OnStop = Then.FREE,
) -> None:
    """Hold every servo where it is; says before what will move.

    Joints that were bent out of their ranges go back into them, slowly.
    """
    from humans_sim.kondo.driver.joint_path import energise

    with connected(load_robot(robot), port, on_stop) as driven:
        moves = driven.preview()
        result(joint=moves.joint, moves_by=moves.distance, within=moves.duration)
        say(f"energized: {moves}")
        if not yes:
            say("keep your fingers away. Enter energizes the servos, q ends")
            typed = sys.stdin.readline()
            if not typed:
                raise ParameterError("nobody pressed Enter: give --yes")
            if typed.strip().lower() == "q":
                return
        energise(driven)
        finish(driven, free=False)


def walk(
    steps: Annotated[
        int, checked_option("How many, the closing one included.", number(least=1))
    ] = 10,
    speed: Annotated[float, checked_option("Forwards [m/s].", number())] = 0.05,
    side: Annotated[float, checked_option("To the left [m/s].", number())] = 0.0,
    turn: Annotated[float, checked_option("To the left [rad/s].", number())] = 0.0,
    port: Port = None,
    robot: Robot = "khr1",
    free: FreeAfter = False,
    on_stop: OnStop = Then.FREE,
    self_collision: OwnLinks = True,
) -> None:
    """Walk by the package's pattern, open loop: the boards have no sensors."""
    from humans_sim.cli.output import display
    from humans_sim.control.walking import Velocity
    from humans_sim.kondo.driver.joint_path import Rest, energise, path_to, stream
    from humans_sim.kondo.driver.self_collision import check_clear
    from humans_sim.kondo.driver.walk_stream import blind_settings, walk_stream

    settings = robot_settings(robot, self_collision)
    model = load_model(settings.model)
    velocity = Velocity(speed, side, turn)
    _check_reach(velocity, blind_settings(model))
    say("planning the steps")
    with display():
        path = walk_stream(model, settings, steps, velocity)
    walking = Rest(path, path.begin)
    check_clear(settings, walking)
    with connected(settings, port, on_stop) as driven:
        approach = path_to(settings, energise(driven), walking.angles(0.0))
        with progress("to the walk's posture") as watch:
            stream(driven, approach, "walk", watch)
        vx, vy, wz = path.velocity
        count = "1 step" if steps == 1 else f"{steps} steps"
        say(
            f"{count} with {vx:.3f} m/s forwards, {vy:.3f} m/s to the left, "
            f"{wz:.3f} rad/s; {walking.duration:.1f} s, servos turn with up to "
            f"{np.degrees(path.fastest):.0f} deg/s (Ctrl-C stops)"
        )
        result(
            steps=steps,
            forwards=vx,
            sideways=vy,
            turn=wz,
            duration=walking.duration,
            fastest_servo=path.fastest,
        )
        with progress("walk") as watch:
            stream(driven, walking, "walk", watch)
        heard = print_health(driven)
        finish(driven, free)
    check_heard(heard)


def _check_reach(velocity: Velocity, walk: WalkSettings) -> None:
    """Refuse a velocity that the legs do not follow, with the one that they do."""
    from humans_sim.control.walking.footsteps import FootstepPlanner

    followed = FootstepPlanner(walk).limited(velocity)
    if not np.allclose(followed, velocity, rtol=1e-6, atol=1e-12):
        asked, most = (
            f"--speed {v.vx:.3g} --side {v.vy:.3g} --turn {v.wz:.3g}"
            for v in (velocity, followed)
        )
        raise ParameterError(
            f"the legs do not follow {asked}; the most in this direction is {most}"
        )


def _parsed(
    words: list[str], settings: RobotSettings, radians: bool
) -> dict[str, float]:
    """Joint angles as they were typed [rad]."""
    from humans_sim.kondo.driver.joint_path import joint_limits

    limits, unit = joint_limits(settings), "rad" if radians else "deg"
    angles: dict[str, float] = {}
    for word in words:
        joint, _, text = word.partition("=")
        if joint not in limits:
            raise ParameterError(
                f"'{word}': the robot has no joint '{joint}' (it has "
                f"{', '.join(limits)})"
            )
        if joint in angles:
            raise ParameterError(f"{joint} is given twice")
        try:
            typed = float(text)
        except ValueError:
            typed = math.nan
        if not math.isfinite(typed):
            raise ParameterError(f"'{word}' is not JOINT=ANGLE, such as {joint}=10")
        angle = typed if radians else math.radians(typed)
        ends = limits[joint].lower, limits[joint].upper
        if not ends[0] <= angle <= ends[1]:
            low, high = ends if radians else np.degrees(ends)
            raise ParameterError(
                f"{joint} goes from {low:.4g} to {high:.4g} {unit}, not to {typed:g}"
            )
        angles[joint] = angle
    return angles


def _go(
    settings: RobotSettings,
    port: str | None,
    target: Mapping[str, float],
    name: str,
    free: bool,
    on_stop: Then,
) -> None:
    """Lead a robot to a pose and print where it came to."""
    from humans_sim.kondo.driver.joint_path import energise, path_to, stream

    with connected(settings, port, on_stop) as driven:
        path = path_to(settings, energise(driven), target)
        with progress(name) as watch:
            stream(driven, path, name, watch)
        driven.hold()
        time.sleep(_SETTLE)
        off = _print_pose(driven, target)
        finish(driven, free)
    if off:
        raise HumansError(
            f"not there (more than {_OFF:g} degrees off): {', '.join(off)}. Is "
            "something in the way, or a servo out?"
        )


def _print_pose(robot: KondoRobot, target: Mapping[str, float]) -> list[str]:
    """Print where the joints are; returns those that are off their set points."""
    read, commanded = robot.read_back(), robot.set_points()
    columns = ("commanded", "read back", "off by")
    table = table_of("joints, in degrees", "joint", right=columns)
    off: list[str] = []
    joints: list[dict[str, object]] = []
    result(joints=joints)
    for joint in target:
        joints.append(
            {
                "joint": joint,
                "commanded": commanded[joint],
                "read_back": read[joint],
            }
        )
        there, goal = np.degrees((read[joint], commanded[joint]))
        if abs(there - goal) > _OFF:
            off.append(joint)
        table.add_row(joint, *map(degrees, (goal, there, there - goal)))
    console.print(table)
    return off
