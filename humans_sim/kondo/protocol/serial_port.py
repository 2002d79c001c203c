# SPDX-License-Identifier: Apache-2.0
"""A serial port as the boards need it; every failure is a :class:`PortError`."""

from __future__ import annotations

import errno
import os
import select
import time
from contextlib import suppress

import serial

from humans_sim.core.errors import HumansError
from humans_sim.kondo.protocol.frames import BAUD, ProtocolError

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

    Attributes:
        name: of the port.
        device: pyserial's.
    """

    def __init__(self, name: str, timeout: float) -> None:
        """Open it.

        Args:
            name: of the port.
            timeout: longest time that writing may take [s].

        Raises:
            PortError: there is no such port, it is busy, or one may not use it.
        """
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
            PortError: the port is gone.
        """
        try:
            self.device.write(data)
        except serial.SerialTimeoutException:
            raise ProtocolError("the line took no bytes") from None
        except _GONE as error:
            raise PortError(_plainly(self.name, error)) from error

    def read(self, end: float) -> bytes:
        """What is there, or comes first before a time; empty: nothing came.

        Args:
            end: by time.monotonic() [s].

        Raises:
            PortError: the port is gone.
        """
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
        """What has come, up to a few kilobytes.

        Raises:
            PortError: the port is gone.
        """
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
    """What went wrong with a port, and what to do."""
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
