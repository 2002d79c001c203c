# SPDX-License-Identifier: Apache-2.0
"""Set points that a board may have in force, where it did not acknowledge all.

A frame that was not answered was taken or not. The set point in force is the last one
that is known to have been taken, or any that was sent since; what lies between the
least and the largest of them bounds the next step. An acknowledgement that is late, or
could be an earlier frame's, still rules out what was sent before that frame: so a robot
on a slow line continues, by one step for two acknowledgements.

An acknowledgement has no sum: another reply may become one on the line, and a damaged
frame whose sum is right by chance is acknowledged like the one that was sent. So what
an acknowledgement rules out bounds the next step all the same, until the next one
comes: one such fault makes no step too long.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

_TINY = 1e-9
_MOST = 32
"""Set points that are kept apart; older ones become one range."""
_BEFORE = -1
"""Number of what was known before anything was sent."""


class _Possible(NamedTuple):
    number: int
    low: np.ndarray
    high: np.ndarray


Values = Sequence[float | None] | np.ndarray
"""Of the channels of a board [deg]; None or NaN: not commanded."""


def array_of(values: Values) -> np.ndarray:
    """Values as an array."""
    if isinstance(values, np.ndarray):
        return values
    return np.array([math.nan if v is None else v for v in values], dtype=float)


class TakenRange:
    """From the least to the largest set point that each channel may have in force.

    Args:
        count: channels of the board; nothing is known of them at first.
    """

    def __init__(self, count: int) -> None:
        """Nothing was taken yet."""
        unknown = np.full(count, math.nan)
        self._possible = deque([_Possible(_BEFORE, unknown, unknown)])
        self._doubted: list[_Possible] = []

    def known(self, values: Values) -> None:
        """These are in force for certain [deg]; None: not known."""
        self._possible = deque([_Possible(_BEFORE, *([array_of(values)] * 2))])
        self._doubted = []

    def inherit(self, other: TakenRange, values: Values) -> None:
        """One of these is in force, or what may be in force in another range.

        Args:
            other: of the same board, before its line was opened anew.
            values: where the channels are [deg].
        """
        (low, high), now = other._bounds(), array_of(values)
        joined = _Possible(_BEFORE, np.fmin(low, now), np.fmax(high, now))
        self._possible = deque([joined])
        self._doubted = []

    def sent(self, number: int, values: Values) -> None:
        """A set point goes out: it is taken, or not.

        Args:
            number: of the request, larger than all before.
            values: of the channels [deg].
        """
        commanded = array_of(values)
        self._possible.append(_Possible(number, commanded, commanded))
        if len(self._possible) > _MOST:
            first, second = self._possible.popleft(), self._possible.popleft()
            low, high = np.fmin(first.low, second.low), np.fmax(first.high, second.high)
            self._possible.appendleft(_Possible(first.number, low, high))

    def acknowledged(self, number: int) -> None:
        """The request of a number was taken, or one that was sent after it."""
        ruled_out = []
        while len(self._possible) > 1 and self._possible[1].number <= number:
            ruled_out.append(self._possible.popleft())
        if ruled_out:
            self._doubted = ruled_out

    def same_since(self, values: Values) -> int | None:
        """Number of the first of the last set points that all are these; None: none.

        Whichever of them is acknowledged: these values are in force then.
        """
        if len(self._possible) == 1:
            return None
        commanded, number = array_of(values), None
        for entry in list(self._possible)[:0:-1]:
            if not _equal(entry.low, commanded) or not _equal(entry.high, commanded):
                break
            number = entry.number
        return number

    def certain(self, values: Values) -> bool:
        """Whether nothing but these values can be in force."""
        commanded, (low, high) = array_of(values), self.ends()
        return _equal(low, commanded) and (low is high or _equal(high, commanded))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest values that may be in force [deg]; NaN: not known."""
        return _ends_of(self._possible)

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The same, should the last acknowledgement have been none."""
        return _ends_of([*self._doubted, *self._possible])

    def farthest(self, values: Values) -> float:
        """The longest distance that one of the channels may have to values [deg]."""
        commanded, (low, high) = array_of(values), self.ends()
        distances = np.fmax(commanded - low, high - commanded)
        return float(np.fmax.reduce(distances, initial=0.0))

    def reach(self, step: float, resolution: float) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest next set points that are no step too long from any [deg].

        That holds also where the last acknowledgement was none.

        Args:
            step: longest [deg].
            resolution: what is sent is rounded to multiples of it [deg].
        """
        count = max(math.floor(step / resolution + _TINY), 1)
        low, high = self._bounds()
        lower, upper = high - count * resolution, low + count * resolution
        return (
            np.where(np.isnan(lower), -math.inf, lower),
            np.where(np.isnan(upper), math.inf, upper),
        )


def _ends_of(entries: Collection[_Possible]) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values of some [deg]."""
    if len(entries) == 1:
        (entry,) = entries
        return entry.low, entry.high
    low = np.fmin.reduce([entry.low for entry in entries])
    high = np.fmax.reduce([entry.high for entry in entries])
    return low, high


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether values agree; those that are not commanded in the other do not matter."""
    return bool(np.all((one == other) | np.isnan(other)))
