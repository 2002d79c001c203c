# SPDX-License-Identifier: Apache-2.0
"""``humans-sim kondo ports``, ``info`` and ``trim``: state and trims of the boards.

Nothing moves by the first two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from humans_sim.cli.kondo.session import (
    MOST_MOTIONS,
    Port,
    Robot,
    connected,
    degrees,
    ended_by_signals,
    memory_of,
)
from humans_sim.cli.output import console, result, say, table_of
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.rcb1_boards import Rcb1Boards, Rcb1Memory
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.motion.channels import TRIMS, Channel
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.link import LinkStatistics, NoAnswerError, SerialLink
from humans_sim.kondo.protocol.rcb1 import BOARDS, DEGREES, MOTION, SLEEP
from humans_sim.kondo.protocol.serial_port import choose_port, serial_ports

_PINGS = 20
_SLOW = 0.01
"""An answer should not take longer in the mean [s]."""


def ports() -> None:
    """List the serial ports of this machine, and whether you may use them."""
    serial = serial_ports()
    result(ports=serial)
    if not serial:
        raise HumansError(
            "this machine has no serial port: plug in the adapter's cable "
            "(`humans-sim kondo emulate` gives an emulated robot)"
        )
    table = table_of("serial ports", "port", "what it is", "", "what to do")
    for port in serial:
        state = f"[red]{port.problem}" if port.problem else "[green]may be used"
        table.add_row(port.name, port.description, state, port.fix)
    console.print(table)
    say("`humans-sim kondo info --port NAME` asks a robot there who it is.")


def info(port: Port = None, robot: Robot = "khr1") -> None:
    """Report which boards answer, where their servos are, and what they keep."""
    settings, name = load_robot(robot), choose_port(port)
    with ended_by_signals(), SerialLink(name) as link:
        switches = _find(link, settings)
        boards = Rcb1Boards(link, settings)
        for board in settings.ids * _PINGS:
            link.exchange(rcb1.GetSwitches(board))
        say(f"{settings.model} on {name}")
        result(
            model=settings.model,
            port=name,
            boards=[
                {
                    "id": board,
                    "plays_motions": bool(bits & MOTION),
                    "sleeps": bool(bits & SLEEP),
                }
                for board, bits in switches.items()
            ],
        )
        for board, bits in switches.items():
            say(f"board {board}: answers, {_switches(bits)}")
        _print_line(link.statistics)
        _print_channels(link, settings, boards.memory.trims())
        _print_motions(boards.memory)


def _find(link: SerialLink, settings: RobotSettings) -> dict[int, int]:
    """Switches of the boards; says which are silent."""
    switches = {b: bits for b in settings.ids if (bits := _ask(link, b)) is not None}
    silent = [str(board) for board in settings.ids if board not in switches]
    if not silent:
        return switches
    with console.status("looking for boards"):
        rest = [b for b in range(BOARDS) if b not in settings.ids]
        switches |= {b: bits for b in rest if (bits := _ask(link, b)) is not None}
    heard = ", ".join(map(str, sorted(switches))) or "none"
    raise NoAnswerError(
        f"{link.port}: no answer of board {' and '.join(silent)} (heard: {heard}): is "
        "the robot on, is its line plugged in, are the boards' ids those of the robot's"
        " file?"
    )


def _ask(link: SerialLink, board: int) -> int | None:
    try:
        reply = link.exchange(rcb1.GetSwitches(board), retries=2)
    except NoAnswerError:
        return None
    assert isinstance(reply, rcb1.Switches)
    return reply.switches


def _switches(bits: int) -> str:
    words = ["plays motions" if bits & MOTION else "motions are off"]
    if bits & SLEEP:
        words.append("sleeps: its servos are limp")
    return ", ".join(words)


def _print_line(line: LinkStatistics) -> None:
    middle, most = np.percentile(line.latencies, (50, 99))
    result(
        line={
            "latency_median": middle,
            "latency_99": most,
            "frames": line.sent,
            "repeated": line.repeated,
        }
    )
    say(
        f"line: an answer after {1e3 * middle:.1f} ms (99 %: {1e3 * most:.1f} ms), "
        f"{line.repeated} of {line.sent} frames repeated"
    )
    if middle > _SLOW:
        say(
            "      that is slow for 50 commands a second: see the adapter's latency "
            "timer in docs/khr1_wiring.md"
        )


def _print_channels(
    link: SerialLink, settings: RobotSettings, trims: Sequence[int]
) -> None:
    now = _values(link, rcb1.GetPositions, settings)
    home = _values(link, rcb1.GetHome, settings)
    table = Table(title="servos, in degrees")
    table.add_column("ch.")
    table.add_column("joint", no_wrap=True)
    for column in ("now", "home", "board's home", "joint", "board's trim", "trim"):
        table.add_column(column, justify="right")
    servos: list[dict[str, object]] = []
    result(servos=servos)
    for number, channel in settings.channels.channels.items():
        value, kept = now[number - 1], home[number - 1]
        known = value <= DEGREES
        servos.append(
            {
                "channel": number,
                "joint": channel.joint,
                "now": value if known else None,
                "home": channel.home,
                "board_home": kept if kept <= DEGREES else None,
                "angle": channel.angle(value) if known else None,
                "board_trim": trims[number - 1],
                "trim": channel.trim,
            }
        )
        table.add_row(
            str(number),
            channel.joint,
            str(value) if known else "[red]none",
            f"{channel.home:g}",
            str(kept) if kept <= DEGREES else "-",
            degrees(np.degrees(channel.angle(value))) if known else "",
            degrees(trims[number - 1]),
            degrees(channel.trim),
        )
    console.print(table)
    say("now, homes, trims: as the boards count; joint: of the model, 0 is straight")


def _values(
    link: SerialLink,
    question: type[rcb1.GetPositions] | type[rcb1.GetHome],
    settings: RobotSettings,
) -> list[int]:
    values: list[int] = []
    for board in settings.ids:
        reply = link.exchange(question(board))
        assert isinstance(reply, rcb1.Channels)
        values += reply.channels
    return values


def _print_motions(memory: Rcb1Memory) -> None:
    texts: list[str] = []
    motions: list[dict[str, object]] = []
    result(motions=motions)
    for number in range(MOST_MOTIONS):
        lengths = memory.lengths(number)
        if any(lengths):
            motions.append({"number": number, "poses": lengths})
            same = len(set(lengths)) == 1
            count = str(lengths[0]) if same else " and ".join(map(str, lengths))
            texts.append(f"{number} ({count} poses)")
    say(f"motions in the boards' memory: {', '.join(texts) or 'none'}")


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
    title, numbers = "trims, in degrees of the channels", ("board", "file", "sense")
    table = table_of(title, "channel", "joint", right=numbers)
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
