"""Set points that boards may have taken last, where they did not acknowledge all.

A frame that was not answered was taken or not. Until a board acknowledges another one,
every set point since the last acknowledged one is possible; what lies between the least
and the largest of them bounds the next step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_TINY = 1e-9


def _array(values: Sequence[float | None]) -> np.ndarray:
    return np.array([math.nan if v is None else v for v in values], dtype=float)


class TakenRange:
    """From the least to the largest set point that each channel may have taken.

    Args:
        count: of channels; nothing is known of them at first.
    """

    def __init__(self, count: int) -> None:
        """Nothing was taken yet."""
        self._low, self._high = np.full((2, count), math.nan)

    def taken(self, channels: slice, values: Sequence[float | None]) -> None:
        """Channels took values for certain.

        Args:
            channels: which.
            values: of these channels [deg]; None: not known.
        """
        self._low[channels] = self._high[channels] = _array(values)

    def perhaps(self, channels: slice, values: Sequence[float | None]) -> None:
        """Channels may have taken values, or may not.

        Args:
            channels: which.
            values: of these channels [deg].
        """
        found = _array(values)
        self._low[channels] = np.fmin(self._low[channels], found)
        self._high[channels] = np.fmax(self._high[channels], found)

    def farthest(self, channels: slice, values: Sequence[float | None]) -> float:
        """The longest way that one of the channels may have to values [deg]."""
        found = _array(values)
        ways = np.fmax(
            np.abs(found - self._low[channels]), np.abs(found - self._high[channels])
        )
        return float(np.nan_to_num(ways).max())

    def reach(self, step: float, resolution: float) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest next set points that are no step too long from any [deg].

        Args:
            step: longest [deg].
            resolution: what is sent is rounded to multiples of it [deg].
        """
        count = max(math.floor(step / resolution + _TINY), 1)
        lower, upper = self._high - count * resolution, self._low + count * resolution
        return (
            np.where(np.isnan(lower), -math.inf, lower),
            np.where(np.isnan(upper), math.inf, upper),
        )
