# SPDX-License-Identifier: Apache-2.0
"""Finding the first time in a step at which something crosses zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

_TIME = 1e-15
_LEVEL = 1e-12
"""Gap that is rounding [m]."""


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
    gap: np.ndarray,
    rate: np.ndarray,
    end_gap: np.ndarray,
    end_rate: np.ndarray,
    duration: float,
) -> np.ndarray:
    """Which gaps that are open at both ends of a step may close inside it (n,).

    By the cubics through both ends, with room for their errors. A gap that is just
    opening is zero at its start.
    """
    low = np.minimum(gap, end_gap)
    # A cubic falls below its ends by 4 / 27 of these slopes at most.
    fall = duration * (np.maximum(-rate, 0.0) + np.maximum(end_rate, 0.0))
    dips: np.ndarray = low < 0.17 * fall
    near = np.flatnonzero(dips)
    if near.size:
        s = np.arange(1, 16)[:, None] / 16
        least = (
            (1 + 2 * s) * (1 - s) ** 2 * gap[near]
            + s * s * (3 - 2 * s) * end_gap[near]
            + duration * s * (1 - s) ** 2 * rate[near]
            - duration * s * s * (1 - s) * end_rate[near]
        ).min(axis=0)
        dips[near] = least < 0.1 * low[near] - _LEVEL
    return dips
