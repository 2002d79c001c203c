# SPDX-License-Identifier: Apache-2.0
"""Commands in a stream of bytes, as a board receives them."""

from __future__ import annotations

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.frames import FIRST_COMMAND, ProtocolError


class CommandStream:
    """Commands in a stream of bytes, as a board hears them.

    A command byte always begins a frame: one that was not whole is given up. Bytes
    outside a frame, and frames that are none, are counted and left out.

    Attributes:
        lost: bytes that were no part of a command.
    """

    def __init__(self) -> None:
        """Nothing was heard yet."""
        self._frame = bytearray()
        self.lost = 0

    def feed(self, data: bytes) -> list[rcb1.Command]:
        """Commands that these bytes complete."""
        commands = []
        for byte in data:
            if byte >= FIRST_COMMAND:
                self.lost += len(self._frame)
                self._frame.clear()
            if not self._frame and byte not in rcb1.COMMANDS:
                self.lost += 1
                continue
            self._frame.append(byte)
            if len(self._frame) < rcb1.COMMANDS[self._frame[0]].size():
                continue
            try:
                commands.append(rcb1.decode_command(bytes(self._frame)))
            except ProtocolError:
                self.lost += len(self._frame)
            self._frame.clear()
        return commands
