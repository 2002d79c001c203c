# SPDX-License-Identifier: Apache-2.0
"""Common parts of ``humans-sim kondo``: options, Ctrl-C, the last words."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import typer

from humans_sim.cli.options import flag, robot_names
from humans_sim.cli.output import result, say
from humans_sim.cli.signals import own_handling, raise_interrupt
from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.board import ENERGISED, Boards, RobotState
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards, Rcb1Memory
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.protocol.serial_port import choose_port

MOST_MOTIONS = 40
"""Motions that a board keeps."""
LEAST_HEARD = 0.5
"""Share of the set points that all boards have to hear in time. With less, servos go in
steps of more than two periods, and the motion is not the one that was asked for."""


class Then(StrEnum):
    """The state of servos after a stop."""

    FREE = "free"
    HOLD = "hold"


Port = Annotated[
    str | None,
    typer.Option(
        help="The robot's serial port; default: $KONDO_PORT, or the only one."
    ),
]
Robot = Annotated[
    str,
    typer.Option(
        help="Name of a robot, or a YAML file of your own.", autocompletion=robot_names
    ),
]
OnStop = Annotated[
    Then, typer.Option(help="What the servos do after Ctrl-C or a failure.")
]
OwnLinks = Annotated[
    bool,
    typer.Option(
        "--self-collision/--no-self-collision",
        help="Refuse what lets links of the robot touch each other.",
    ),
]
FreeAfter = Annotated[bool, flag("--free", "Make the servos limp at the end.")]


def robot_settings(name: str, own_links: bool) -> RobotSettings:
    """Settings of a robot; says so where its links are not kept apart."""
    settings = load_robot(name)
    if own_links and settings.self_collision is not None:
        return settings
    say("self-collision is not checked: links of the robot may hit each other")
    return replace(settings, self_collision=None)


def degrees(angle: float) -> str:
    """An angle to a tenth, with its sign unless it is zero."""
    return "0.0" if abs(angle) < 0.05 else f"{angle:+.1f}"


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """A process that is asked to end does as it does at Ctrl-C, also in a script."""
    # What a shell starts in the background ignores Ctrl-C; a robot must not. One that
    # shall outlive its terminal (nohup) does.
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    # Servos are stopped first, however long that takes.
    with _handled(raise_interrupt, *numbers), own_handling():
        yield


@contextmanager
def uninterrupted() -> Iterator[None]:
    """An impatient second Ctrl-C does not keep the servos from being stopped."""
    with _handled(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        yield


@contextmanager
def _handled(handler: Any, *numbers: int) -> Iterator[None]:
    """Signals are handled by something else meanwhile."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def connected(
    settings: RobotSettings, port: str | None, then: Then = Then.FREE
) -> Iterator[KondoRobot]:
    """An open robot, on the only port unless named; failures and Ctrl-C stop it."""
    with ended_by_signals(), KondoRobot(settings, choose_port(port)) as robot:
        try:
            yield robot
        except BaseException:
            with uninterrupted():
                _halt(robot, then)
                robot.close()
            raise


def _halt(robot: KondoRobot, then: Then) -> None:
    """Emergency stop; then limp servos, or held ones."""
    state = robot.state
    if state not in (*ENERGISED, RobotState.LOST):
        return
    robot.stop()
    if state in ENERGISED and then is Then.HOLD:
        silent = robot.unacknowledged()
        if silent:
            say(f"stopped, but {', '.join(silent)} did not acknowledge it: switch the "
                "robot off if it moves")  # fmt: skip
        else:
            say("stopped: the servos hold. " + _HOW_TO_FREE)
        return
    try:
        robot.free()
    except HumansError as error:
        say(f"stopped, but the servos could not be made limp: {error}. They may hold: "
            "switch the robot off")  # fmt: skip
        return
    say("stopped: the servos are limp")


_HOW_TO_FREE = "`humans-sim kondo free` makes them limp"


def finish(robot: KondoRobot, free: bool) -> None:
    """Make the servos limp, or say that they are not."""
    if free:
        robot.free()
        say("the servos are limp")
    else:
        say(f"the servos hold this pose. {_HOW_TO_FREE}")


def memory_of(boards: Boards) -> Rcb1Memory:
    """The memory of boards.

    Raises:
        HumansError: these keep nothing that we could read.
    """
    if not isinstance(boards, Rcb1Boards):
        raise HumansError("these boards do not report what they keep")
    return boards.memory


def print_health(robot: KondoRobot) -> float:
    """Print one line about commands and the line; the share heard in time."""
    health = robot.health()
    if not health.given:
        return 1.0
    share = health.delivered / health.given
    middle, most = math.nan, math.nan
    text = f"{health.given} commands, {100 * share:.1f} % heard in time by all boards"
    if health.latencies:
        middle, most = np.percentile(health.latencies, (50, 99))
        text += f": after {1e3 * middle:.1f} ms (99 %: {1e3 * most:.1f} ms)"
    say(text)
    result(
        commands=health.given,
        heard_in_time=share,
        latency_median=middle,
        latency_99=most,
    )
    return share


def check_heard(share: float) -> None:
    """Fail where too many set points were lost.

    Raises:
        HumansError: fewer than :data:`LEAST_HEARD` were heard in time.
    """
    if share < LEAST_HEARD:
        raise HumansError(
            f"only {100 * share:.1f} % of the set points were heard in time (at least "
            f"{100 * LEAST_HEARD:.0f} % have to be): the robot did not move as asked. "
            "See the adapter's latency timer and the wiring in docs/khr1_wiring.md, or "
            "the load of this machine"
        )
