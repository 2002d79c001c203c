# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo emulate``: boards, or a whole robot, without the hardware."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from humans_sim.cli.kondo.session import Robot, ended_by_signals, uninterrupted
from humans_sim.cli.options import (
    Seconds,
    checked_option,
    flag,
    options_of,
    output_file,
)
from humans_sim.cli.output import console, described_os_errors, result, say
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import Emulator, LineFaults
from humans_sim.kondo.emulation.virtual_board import virtual_boards
from humans_sim.models import Model, load_model

if TYPE_CHECKING:
    from humans_sim.kondo.emulation.simulated_robot import SimulatedRobot

_PICTURE = 1 / 30
_BEAT = 0.2
_SIDES = ("front", "back", "left", "right")


@options_of(LineFaults, "lost", "corrupted", "doubled", "late", "seed")
def emulate(
    simulate: Annotated[
        bool, flag("--simulate", "The servos turn a simulated body.")
    ] = False,
    lying: Annotated[
        str | None,
        typer.Option(help="With --simulate: it lies on its front, back, left, right."),
    ] = None,
    link: Annotated[
        Path | None, typer.Option(help="Name that shall point to the port.")
    ] = None,
    *,
    options: LineFaults,
    view: Annotated[bool, flag("--view", "Show the robot in the browser.")] = False,
    record: Annotated[
        Path | None,
        checked_option("With --simulate: write the run, .npz.", output_file(".npz")),
    ] = None,
    seconds: Seconds = None,
    robot: Robot = "khr1",
) -> None:
    """Be a robot's boards on a port of their own, until Ctrl-C."""
    if record is not None and not simulate:
        raise ParameterError("--record writes a simulated run: add --simulate")
    if lying is not None and not simulate:
        raise ParameterError("--lying is of a simulated body: add --simulate")
    if lying is not None and lying not in _SIDES:
        raise ParameterError(f"--lying is one of {', '.join(_SIDES)}, not '{lying}'")
    if link is not None:  # nothing but an older link of this command is replaced
        if link.exists() and not link.is_symlink():
            raise ParameterError(f"{link} is there already, and is no link")
        if not link.parent.is_dir():
            raise ParameterError(f"{link}: there is no folder {link.parent}")
    settings = load_robot(robot)
    model = load_model(settings.model)
    body, stack = None, ExitStack()
    with ended_by_signals():
        boards = stack.enter_context(_emulator(settings, options, link))
        try:
            if simulate:
                body = stack.enter_context(_body(boards, settings, lying or ""))
            show = _page(stack, model, _pose(model, settings, boards, body), view)
            names = " and ".join(map(str, settings.ids))
            say(f"boards {names} of a {settings.model} on {boards.port} (Ctrl-C ends)")
            say(f"in another shell: export KONDO_PORT={boards.port}")
            _wait(show, seconds, body)
        except KeyboardInterrupt:
            pass
        finally:
            with uninterrupted():
                stack.close()
    say(f"{boards.heard} commands heard, {boards.lost} bytes were invalid")
    result(commands=boards.heard, stray_bytes=boards.lost)
    if body is not None:
        _end(body, record)


def _emulator(
    settings: RobotSettings, faults: LineFaults, link: Path | None
) -> Emulator:
    boards = virtual_boards(settings.ids, settings.channels.home())
    try:
        return Emulator(boards, faults=faults, link=link)
    except OSError as error:
        raise HumansError(
            f"no pseudo-terminal can be opened: {error.strerror}"
        ) from None


def _body(boards: Emulator, settings: RobotSettings, side: str) -> SimulatedRobot:
    from humans_sim.control.falls.fall_detector import Lying
    from humans_sim.kondo.emulation.simulated_body import BodySettings
    from humans_sim.kondo.emulation.simulated_robot import SimulatedRobot

    text = "starting the simulation (compiling kernels, if it is the first time)"
    if not console.is_terminal:
        say(text)
    with console.status(text):
        lies = BodySettings(lying=Lying(side)) if side else BodySettings()
        return SimulatedRobot(boards, robot=settings, settings=lies)


def _pose(
    model: Model,
    settings: RobotSettings,
    boards: Emulator,
    body: SimulatedRobot | None,
) -> Callable[[], np.ndarray]:
    """The function that gives the configuration to show."""
    if body is not None:
        return lambda: body.q
    # The boards' angles have their trims in them.
    channels = [replace(c, trim=0.0) for c in settings.channels.channels.values()]
    places = {name: k for k, name in enumerate(model.joint_names)}

    def standing() -> np.ndarray:
        angles, joints = boards.angles(), np.zeros(len(places))
        for channel in channels:
            joints[places[channel.joint]] = channel.angle(angles[channel.number - 1])
        return model.standing(joints)

    return standing


def _page(
    stack: ExitStack, model: Model, pose: Callable[[], np.ndarray], shown: bool
) -> Callable[[], None] | None:
    if not shown:
        return None
    from humans_sim.view.browser.scene import Scene

    scene = Scene(model)
    stack.callback(scene.stop)
    say(f"open {scene.url}")
    return lambda: scene.show(pose())


def _wait(
    show: Callable[[], None] | None,
    seconds: float | None,
    body: SimulatedRobot | None,
) -> None:
    begun, fallen = time.monotonic(), body is not None and body.fallen
    while seconds is None or time.monotonic() - begun < seconds:
        if show is not None:
            show()
        if body is not None:
            if body.failure:
                raise HumansError(f"the simulation cannot continue: {body.failure}")
            if body.fallen and not fallen:
                fallen = True
                say(f"it has fallen, at {body.t:.1f} s")
        time.sleep(_PICTURE if show is not None else _BEAT)


def _end(body: SimulatedRobot, record: Path | None) -> None:
    """Print how it went, and keep it."""
    if body.held:
        say("the body was held all the time: no program drove every channel")
        return
    moved = body.displacement()
    result(
        fallen=body.fallen,
        duration=body.t,
        forwards=moved.forward,
        sideways=moved.left,
        turn=moved.turn,
        latest=max(body.lags, default=0.0),
        written=[] if record is None else [record],
    )
    say(
        f"{'fallen' if body.fallen else 'upright'} after {body.t:.1f} s: "
        f"{moved.forward:z.3f} m forwards, {moved.left:z.3f} m to the left, turned by "
        f"{math.degrees(moved.turn):z.1f} degrees; the simulation was late by up to "
        f"{max(body.lags, default=0.0):.3f} s"
    )
    if record is not None:
        with described_os_errors(record):
            body.run().save(record)
        say(f"written: {record}")
