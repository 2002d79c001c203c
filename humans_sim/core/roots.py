# SPDX-License-Identifier: Apache-2.0
"""Finding the first time in a step at which something crosses zero."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq, minimize_scalar

_TIME = 1e-15


def first_root(function: Callable[[float], float], start: float, end: float) -> float:
    """Time at which a function, positive at ``start``, is no more so.

    That is ``end`` where it is still positive there: by rounding, it was seen to be
    negative by another way of computing it.
    """
    ends = {start: function(start)}
    if ends[start] <= 0.0:
        return start
    ends[end] = function(end)
    if ends[end] > 0.0:
        return end

    def value(t: float) -> float:
        return ends[t] if t in ends else function(t)

    return float(brentq(value, start, end, xtol=_TIME, rtol=1e-15, maxiter=200))


def lowest(
    function: Callable[[float], float], start: float, end: float
) -> tuple[float, float]:
    """Time and value of the least of a function that falls first and rises later."""
    minimum = minimize_scalar(
        function, bounds=(start, end), method="bounded", options={"xatol": 1e-10}
    )
    return float(minimum.x), float(minimum.fun)


def may_dip(
    gap: float, rate: float, end_gap: float, end_rate: float, duration: float
) -> bool:
    """Whether a gap that is open at both ends of a step may close inside it.

    By the cubic through both ends, with room for its error.
    """
    if not (rate < 0.0 < end_rate):
        return False
    # value of the cubic where the falling and the rising branch meet
    least = min(gap, end_gap)
    for k in range(1, 16):
        s = k / 16
        h00 = (1 + 2 * s) * (1 - s) ** 2
        h10 = s * (1 - s) ** 2
        h01 = s * s * (3 - 2 * s)
        h11 = s * s * (s - 1)
        value = h00 * gap + h01 * end_gap
        value += duration * (h10 * rate + h11 * end_rate)
        least = min(least, value)
    return least < 0.1 * min(gap, end_gap)
