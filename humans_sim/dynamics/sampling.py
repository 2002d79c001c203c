# SPDX-License-Identifier: Apache-2.0
"""When a run is sampled."""

from __future__ import annotations

import math

import numpy as np


def sampling_times(start: float, end: float, period: float) -> np.ndarray:
    """Times start + k period up to the end; the end itself is the last."""
    count = int(math.floor((end - start) / period * (1 + 1e-12) + 1e-9))
    times = start + period * np.arange(count + 1)
    if end - times[-1] > 1e-9 * period:
        return np.append(times, end)
    times[-1] = end
    return times
