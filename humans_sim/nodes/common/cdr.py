# SPDX-License-Identifier: Apache-2.0
"""Messages as they go over the line (CDR), without what chance has put between fields.

Numbers are aligned to their size, and the middleware leaves what was in its memory in
the gaps. Two messages that say the same so differ in bytes until the gaps are zeros.
"""

from __future__ import annotations

import re
import struct
from functools import cache

from humans_sim.core.errors import ConfigurationError
from humans_sim.nodes.common.message_types import full_name, message_fields

_HEAD = 4
"""Bytes before the first field, from which alignment is counted."""
_SIZES = {
    "boolean": 1,
    "octet": 1,
    "byte": 1,
    "char": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float": 4,
    "int64": 8,
    "uint64": 8,
    "double": 8,
}


class _Copy:
    """Copies fields one by one; gaps stay zero."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, _HEAD
        self.out = bytearray(len(data))
        self.out[:_HEAD] = data[:_HEAD]

    def _take(self, alignment: int, size: int) -> int:
        """Copy so many bytes; where they begin."""
        first = self._place + -(self._place - _HEAD) % alignment
        self._place = first + size
        if self._place > len(self._data):
            raise ConfigurationError("a message is cut short")
        self.out[first : self._place] = self._data[first : self._place]
        return first

    def _count(self) -> int:
        return int(struct.unpack_from("<I", self._data, self._take(4, 4))[0])

    def message(self, kind: str) -> None:
        """Copy a message."""
        for field in _types(kind):
            self._field(field)

    def _field(self, field: str) -> None:
        if fixed := re.fullmatch(r"(.+)\[(\d+)\]", field):
            self._elements(fixed[1], int(fixed[2]))
        elif several := re.fullmatch(r"sequence<(.+?)(, \d+)?>", field):
            self._elements(several[1], self._count())
        else:
            self._elements(field, 1)

    def _elements(self, kind: str, count: int) -> None:
        size = _SIZES.get(kind, 0)
        if size and count:
            self._take(size, size * count)
        elif not size:
            for _ in range(count):
                if kind.startswith("string"):
                    length = self._count()
                    self._take(1, length)
                else:
                    self.message(full_name(kind))


@cache
def _types(kind: str) -> tuple[str, ...]:
    return tuple(message_fields(kind).values())


def without_gaps(data: bytes, kind: str) -> bytes:
    """A message with zeros between its fields.

    Args:
        data: little-endian CDR.
        kind: type of the message, ``package/msg/Name``.

    Raises:
        ConfigurationError: it is not such a message.
    """
    copy = _Copy(data)
    copy.message(kind)
    return bytes(copy.out)
