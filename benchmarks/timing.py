# SPDX-License-Identifier: Apache-2.0
"""Time of short calls, for the benchmarks."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds_per_call(call: Callable[[int], object], calls: int) -> float:
    """Mean time of ``call(0)`` to ``call(calls - 1)``, one after another [s]."""
    start = time.perf_counter()
    for i in range(calls):
        call(i)
    return (time.perf_counter() - start) / calls
