# SPDX-License-Identifier: Apache-2.0
"""A serial port as the boards need it; every failure is a :class:`PortError`.

Nothing is opened: that alone would reset some devices.
"""

from __future__ import annotations

import errno
import os
import select
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import serial
from serial.tools import list_ports

from humans_sim.core.errors import HumansError
from humans_sim.kondo.protocol.rcb1 import BAUD, ProtocolError

try:
    import termios

    _GONE: tuple[type[Exception], ...] = (OSError, ValueError, TypeError, termios.error)
except ImportError:  # not a Unix
    _GONE = (OSError, ValueError, TypeError)

_CHUNK = 4096
"""Bytes that are looked at at once."""


class LinkError(HumansError):
    """The line does not do what it should."""


class PortError(LinkError, OSError):
    """The port cannot be opened, or is gone."""


class SerialPort:
    """An open port: 115200 baud, 8N1, no flow control, DTR low.

    Args:
        timeout: longest time that writing may take [s].

    Raises:
        PortError: there is no such port, it is busy, or one may not use it.
    """

    def __init__(self, name: str, timeout: float) -> None:
        self.name, self.device = name, serial.Serial()
        self.device.port, self.device.baudrate = name, BAUD
        self.device.timeout = self.device.write_timeout = timeout
        self.device.dtr = False  # or no answer is heard
        self.device.exclusive = True
        try:
            self.device.open()
        except _GONE as error:
            raise PortError(_plainly(name, error)) from error
        # As a descriptor it takes a third of the time; systems without do without.
        self._file: int | None = getattr(self.device, "fd", None)
        with suppress(NotImplementedError, *_GONE):
            # Adapters gather answers for 16 ms otherwise; few ports know this.
            self.device.set_low_latency_mode(True)

    def close(self) -> None:
        """Free it."""
        self.device.close()

    def write(self, data: bytes) -> None:
        """Send bytes.

        Raises:
            ProtocolError: the line took none of them in time.
        """
        try:
            self.device.write(data)
        except serial.SerialTimeoutException:
            raise ProtocolError("the line took no bytes") from None
        except _GONE as error:
            raise PortError(_plainly(self.name, error)) from error

    def read(self, end: float) -> bytes:
        """Bytes that are there, or come first before a monotonic time [s]."""
        try:
            left = max(end - time.monotonic(), 0.0)
            if self._file is not None:
                if not select.select([self._file], [], [], left)[0]:
                    return b""
                data = os.read(self._file, _CHUNK)
                if not data:
                    raise OSError("it reports bytes, and gives none")
                return data
            self.device.timeout = left
            there = min(self.device.in_waiting, _CHUNK)
            return bytes(self.device.read(max(there, 1)))
        except _GONE as error:
            raise PortError(_plainly(self.name, error)) from error

    def drain(self) -> bytes:
        """Bytes that have come, up to a few kilobytes."""
        try:
            if self._file is not None:
                return os.read(self._file, _CHUNK)
            there = self.device.in_waiting
            if there >= _CHUNK - 1:  # the system's own buffer is full: bytes are lost
                self.device.reset_input_buffer()
                return b""
            self.device.timeout = 0.0
            return bytes(self.device.read(there)) if there else b""
        except _GONE as error:
            raise PortError(_plainly(self.name, error)) from error


def _plainly(port: str, error: Exception) -> str:
    """The message for a failure of a port, and what to do."""
    number = getattr(error, "errno", None)
    if number is None and "FileNotFoundError" in str(error):
        number = errno.ENOENT
    if number == errno.ENOENT:
        return (
            f"{port}: there is no such port: is the cable in? `humans-sim kondo ports`"
        )
    if number in (errno.EACCES, errno.EPERM):
        return (
            f"{port}: you may not use this port: add yourself to its group (dialout, "
            "on Debian and Ubuntu), and log in again"
        )
    if number in (errno.EBUSY, errno.EAGAIN) or "exclusively lock" in str(error):
        return f"{port}: another program has this port open: close it first"
    return f"{port}: the port is gone or is none: {error}"


VARIABLE = "KONDO_PORT"
"""Environment variable that names the robot's port."""
RULE_NAME = "/dev/kondo"
"""Name that our udev rule gives to the robot's adapter."""

_PSEUDO = "/dev/pts/"


class PortChoiceError(HumansError, LookupError):
    """It is not clear which port the robot is on."""


class PortInfo(NamedTuple):
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


def serial_ports() -> list[PortInfo]:
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


def _examined(name: str, description: str, usb: bool) -> PortInfo:
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
    return PortInfo(name, description, usb, problem, fix)


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
