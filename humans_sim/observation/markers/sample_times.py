# SPDX-License-Identifier: Apache-2.0
"""Times of samples as files print them, without the rounding of the print.

A file at 60 Hz that prints milliseconds has 0.017, 0.033, 0.050: 17, 16 and 17 ms.
Differences of such times are off by 4 %, and accelerations by twice that.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np

_MOST_DIGITS = 300
_LARGEST_SHARE = 0.999
"""Rounding moves a time by half a digit to either side, a skipped frame by one."""
_ROUND = (100, 60, 50, 10, 5, 1)
"""Rates of cameras and plates are multiples of these, tried in this order [Hz]."""


def even_times(
    times: np.ndarray, texts: Sequence[str], rate: float | None
) -> np.ndarray | None:
    """Multiples of the sampling period, where the times are these but for rounding.

    Zeros at the end of all times are padding: 0.017000 has three digits.

    Args:
        times: of the samples, growing (n,) [s].
        texts: the same as the file prints them.
        rate: of the samples, as the file says [Hz]; None: it is silent, and the
            roundest number of hertz that agrees with the times is taken.

    Returns:
        The times (n,) [s], or None where the samples are not even.
    """
    if len(times) < 2:
        return None
    if rate is None:
        mean = (len(times) - 1) / (times[-1] - times[0])
        rates = [float(step * np.rint(mean / step)) for step in _ROUND]
    else:
        rates = [rate]
    numbers = np.arange(len(times))
    digit = 10.0 ** -min(max(map(_digits, texts)), _MOST_DIGITS)
    for candidate in rates:
        if candidate <= 0:
            continue
        even: np.ndarray = times[0] + numbers / candidate
        if np.ptp(times - even) < _LARGEST_SHARE * digit:
            return even
    return None


def _digits(text: str) -> int:
    """Decimals of a printed number, without zeros at its end."""
    exponent = Decimal(text).normalize().as_tuple().exponent
    return max(-exponent, 0) if isinstance(exponent, int) else 0
