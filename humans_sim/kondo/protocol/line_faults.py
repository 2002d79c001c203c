# SPDX-License-Identifier: Apache-2.0
"""What can happen to bytes on a serial line, on purpose: for tests of drivers."""

from __future__ import annotations

import random
from dataclasses import dataclass

from humans_sim.core.checked_numbers import NumbersInRange


@dataclass(frozen=True)
class LineFaults(NumbersInRange):
    """How often a line fails.

    Attributes:
        lost: share of bytes that vanish.
        corrupted: share of bytes that arrive as another one.
        doubled: share of bytes that arrive twice.
        late: share of replies that come after ``delay``.
        delay: of late replies [s].
        seed: of the chance.

    Raises:
        ParameterError: a share is not 0 to 1, or the delay not 0 to 60 s.
    """

    RANGES = {
        **dict.fromkeys(("lost", "corrupted", "doubled", "late"), (0.0, 1.0)),
        "delay": (0.0, 60.0),
    }

    lost: float = 0.0
    corrupted: float = 0.0
    doubled: float = 0.0
    late: float = 0.0
    delay: float = 0.05
    seed: int = 0


class FaultyLine:
    """A line that fails by the seed: the same bytes fail in the same way."""

    def __init__(self, faults: LineFaults) -> None:
        """Begin with the seed."""
        self.faults = faults
        self._rng = random.Random(faults.seed)

    def carry(self, data: bytes) -> bytes:
        """The bytes as they arrive."""
        out = bytearray()
        for byte in data:
            if self._rng.random() < self.faults.lost:
                continue
            if self._rng.random() < self.faults.corrupted:
                byte ^= self._rng.randrange(1, 256)
            out.append(byte)
            if self._rng.random() < self.faults.doubled:
                out.append(byte)
        return bytes(out)

    def delay(self) -> float:
        """How much later than it should a reply comes [s]."""
        return self.faults.delay if self._rng.random() < self.faults.late else 0.0
