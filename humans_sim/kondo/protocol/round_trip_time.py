# SPDX-License-Identifier: Apache-2.0
"""How long an answer is waited for: little longer than answers use to take.

As of the round trips of network lines: mean and mean deviation of what answers took
beyond their time on the wire. What goes unanswered widens it again, so that a line that
became slow is not given up.
"""

from __future__ import annotations

from humans_sim.kondo.protocol.frames import BYTE

_GAIN, _DEVIATION_GAIN, _DEVIATIONS = 0.125, 0.25, 4.0
_LEAST = 0.001
"""Never less beyond the time on the wire: the machine itself is late at times [s]."""
_BORNE, _MOST = 3, 16
"""Unanswered in a row before the wait is doubled each time, and doublings at most."""


class RoundTripTime:
    """Learns from answers; not safe for several threads at once."""

    def __init__(self) -> None:
        """Nothing was answered yet."""
        self._mean: float | None = None
        self._deviation = 0.0
        self._missed = 0

    def miss(self) -> None:
        """No sound answer came in time."""
        self._missed += 1

    def hear(self) -> None:
        """An answer came soon, to one of several requests."""
        self._missed = 0

    def learn(self, size: int, taken: float) -> None:
        """An answer came.

        Args:
            size: bytes that were sent and received.
            taken: from the first byte sent to the last received [s].
        """
        self._missed = 0
        beyond = max(taken - size * BYTE, 0.0)
        if self._mean is None:
            self._mean, self._deviation = beyond, beyond / 2
            return
        self._deviation += _DEVIATION_GAIN * (
            abs(beyond - self._mean) - self._deviation
        )
        self._mean += _GAIN * (beyond - self._mean)

    def limit(
        self, size: int, longest: float, slow: float = 0.0, grows: bool = True
    ) -> float:
        """Time to wait for an answer [s].

        Args:
            size: bytes to be sent and received.
            longest: never more than this [s] ...
            slow: ... or than this, where answers were seen to take so long [s].
            grows: whether it grows with what went unanswered.
        """
        if self._mean is None:
            return longest
        beyond = max(self._mean + _DEVIATIONS * self._deviation, _LEAST)
        doublings = min(max(self._missed - _BORNE, 0), _MOST) if grows else 0
        usual = size * BYTE + beyond
        return max(min(size * BYTE + beyond * 2**doublings, longest), min(usual, slow))
