# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo trim``: the small corrections that the boards keep."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from humans_sim.cli.kondo.session import Port, Robot, connected, memory_of
from humans_sim.cli.output import console, result, say
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.motion.channels import TRIMS, Channel

_MEANING = """\
The board adds its trim to every value it receives: joints that are not straight at home
are put right by it, and the robot's file then needs no trim. A trim of the file says
how far a joint is off that no board puts right. Use one of the two for a joint."""


def trim(
    joint: Annotated[str, typer.Argument(help="Whose trim is set.")] = "",
    degrees: Annotated[
        int | None,
        typer.Argument(help="Of the channel, -20 to 19 (negative ones after --)."),
    ] = None,
    port: Port = None,
    robot: Robot = "khr1",
) -> None:
    """Show the boards' trims, or set one.

    A servo that holds moves by the change: keep your fingers away. An example:
    humans-sim kondo trim l_knee -- -3
    """
    settings = load_robot(robot)
    if joint and degrees is None:
        raise ParameterError("give a joint and its trim, or neither")
    channel = _channel(settings, joint) if joint else None
    if degrees is not None and not TRIMS[0] <= degrees <= TRIMS[1]:
        raise ParameterError(f"a trim is {TRIMS[0]} to {TRIMS[1]} degrees, "
                             f"not {degrees}")  # fmt: skip
    with connected(settings, port) as driven:
        trims = list(driven.ask(lambda boards: memory_of(boards).trims()))
        if channel is not None and degrees is not None:
            before = trims[channel.number - 1]
            trims[channel.number - 1] = degrees
            driven.ask(lambda boards: memory_of(boards).set_trims(trims))
            result(joint=channel.joint, before=before, now=degrees)
            say(
                f"{channel.joint}: {before:+d} before, {degrees:+d} now; read back. The"
                f" joint turns by {channel.sense * (degrees - before):+d} degrees"
            )
            if channel.trim:
                say(f"the robot's file has a trim of {channel.trim:+g} for it, too: "
                    "use one of the two")  # fmt: skip
            return
    _print_trims(settings, trims)


def _channel(settings: RobotSettings, joint: str) -> Channel:
    for channel in settings.channels.channels.values():
        if channel.joint == joint:
            return channel
    known = ", ".join(settings.joint_names)
    raise ParameterError(f"the robot has no joint '{joint}' (it has {known})")


def _print_trims(settings: RobotSettings, trims: list[int]) -> None:
    table = Table(title="trims, in degrees of the channels")
    for column in ("channel", "joint"):
        table.add_column(column)
    for column in ("board", "file", "sense"):
        table.add_column(column, justify="right")
    result(
        trims=[
            {
                "channel": number,
                "joint": channel.joint,
                "board": trims[number - 1],
                "file": channel.trim,
                "sense": channel.sense,
            }
            for number, channel in settings.channels.channels.items()
        ]
    )
    for number, channel in settings.channels.channels.items():
        cells = f"{trims[number - 1]:d}", f"{channel.trim:g}", f"{channel.sense:+d}"
        table.add_row(str(number), channel.joint, *cells)
    console.print(table)
    say(_MEANING)
