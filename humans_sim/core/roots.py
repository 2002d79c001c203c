# SPDX-License-Identifier: Apache-2.0
"""Finding the first time in a step at which something crosses zero."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from humans_sim.core.kernels import kernel

_TIME = 1e-15
_LEVEL = 1e-12
"""Gap that is rounding [m]."""


def first_root(function: Callable[[float], float], start: float, end: float) -> float:
    """Time at which a function, positive at ``start``, is no more so.

    That is ``end`` where it is still positive there: by rounding, it was seen to be
    negative by another way of computing it.
    """
    from scipy.optimize import brentq  # slow to load

    ends = {start: function(start)}
    if ends[start] <= 0.0:
        return start
    ends[end] = function(end)
    if ends[end] > 0.0:
        return end

    def value(t: float) -> float:
        return ends[t] if t in ends else function(t)

    return float(brentq(value, start, end, xtol=_TIME, rtol=1e-15, maxiter=200))


def beyond(function: Callable[[float], float], root: float, end: float) -> float:
    """The first time from a root on at which a function is not above zero, or ``end``.

    A root is right to a rounding: the function may still be above zero there.
    """
    step = math.ulp(root)
    while root < end and function(root) > 0.0:
        root, step = min(root + step, end), 2.0 * step
    return root


def lowest(
    function: Callable[[float], float], start: float, end: float
) -> tuple[float, float]:
    """Time and value of the least of a function that falls first and rises later."""
    from scipy.optimize import minimize_scalar  # slow to load

    minimum = minimize_scalar(
        function, bounds=(start, end), method="bounded", options={"xatol": 1e-10}
    )
    return float(minimum.x), float(minimum.fun)


@kernel
def may_dip(gap, rate, end_gap, end_rate, duration):
    """Which gaps that are open at both ends of a step may close inside it (n,).

    By the cubics through both ends, with room for their errors. A gap that is just
    opening is zero at its start.
    """
    dips = np.zeros(gap.shape[0], np.bool_)
    for c in range(gap.shape[0]):
        low = min(gap[c], end_gap[c])
        # A cubic falls below its ends by 4 / 27 of these slopes at most.
        fall = duration * (max(-rate[c], 0.0) + max(end_rate[c], 0.0))
        if not low < 0.17 * fall:
            continue
        least = np.inf
        for k in range(1, 16):
            s = k / 16
            value = (
                (1 + 2 * s) * (1 - s) ** 2 * gap[c]
                + s * s * (3 - 2 * s) * end_gap[c]
                + duration * s * (1 - s) ** 2 * rate[c]
                - duration * s * s * (1 - s) * end_rate[c]
            )
            least = min(least, value)
        dips[c] = least < 0.1 * low - _LEVEL
    return dips
