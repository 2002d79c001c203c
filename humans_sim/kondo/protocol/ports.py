# SPDX-License-Identifier: Apache-2.0
"""Serial ports of this machine: which there are, and whether one may use them.

Nothing is opened: that alone would reset some devices.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from serial.tools import list_ports

from humans_sim.core.errors import HumansError

VARIABLE = "KONDO_PORT"
"""Environment variable that names the robot's port."""
RULE_NAME = "/dev/kondo"
"""Name that our udev rule gives to the robot's adapter."""

_PSEUDO = "/dev/pts/"


class PortChoiceError(HumansError, LookupError):
    """It is not clear which port the robot is on."""


class SerialPort(NamedTuple):
    """A port that this machine has.

    Attributes:
        name: of the device.
        description: what the system knows of it; may be empty.
        usb: whether it is an adapter's.
        problem: why it cannot be used; empty where it can.
        fix: what to do about that.
    """

    name: str
    description: str
    usb: bool
    problem: str = ""
    fix: str = ""


def serial_ports() -> list[SerialPort]:
    """The ports, adapters first; also one that the environment names."""
    ports = []
    for port in list_ports.comports():
        text = "" if port.description in (None, "n/a") else port.description
        ports.append(_examined(port.device, text, port.vid is not None))
    named = os.environ.get(VARIABLE, "")
    if named and all(os.path.realpath(named) != p.name for p in ports):
        ports.append(_examined(named, f"named by ${VARIABLE}", False))
    return sorted(ports, key=lambda port: (not port.usb, port.name))


def choose_port(name: str | None = None) -> str:
    """The port to use: the one that is asked for, or else the one that it must be.

    That is the one of ``$KONDO_PORT``, the one that the udev rule names, or the only
    one there is; adapters go before the ports of the board of the computer.

    Raises:
        PortChoiceError: there is none, or more than one.
    """
    named = name or os.environ.get(VARIABLE)
    if named:
        return named
    if Path(RULE_NAME).exists():
        return RULE_NAME
    ports = serial_ports()
    names = [port.name for port in ports if port.usb] or [port.name for port in ports]
    if len(names) == 1:
        return names[0]
    if not names:
        raise PortChoiceError(
            "this machine has no serial port: is the adapter's cable in? "
            f"(--port NAME or ${VARIABLE} name one)"
        )
    raise PortChoiceError(
        f"which port is the robot on? There are {', '.join(names)}: "
        f"give --port NAME, or set ${VARIABLE}"
    )


def _examined(name: str, description: str, usb: bool) -> SerialPort:
    """A port, with what keeps one from using it."""
    problem = fix = ""
    if not Path(name).exists():
        problem, fix = "there is no such port", "is the cable in?"
    elif not os.access(name, os.R_OK | os.W_OK):
        group = _group(name)
        problem = f"you are not in its group ({group})"
        fix = f"sudo usermod -aG {group} $USER, then log in again"
    elif os.path.realpath(name).startswith(_PSEUDO):
        pass  # whoever made it has it open
    elif users := _users(name):
        problem = f"open in {', '.join(users)}"
        fix = "close that program"
    return SerialPort(name, description, usb, problem, fix)


def _group(name: str) -> str:
    try:
        return Path(name).group()
    except (KeyError, OSError, NotImplementedError):
        return "dialout"


def _users(name: str) -> list[str]:
    """Programs that have a port open, as far as the system reports (Linux)."""
    device, users = os.path.realpath(name), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if any(os.readlink(link) == device for link in (entry / "fd").iterdir()):
                program = (entry / "comm").read_text().strip()
                users.append(f"{program} (process {entry.name})")
        except OSError:  # gone, or another user's
            continue
    return users
