# SPDX-License-Identifier: Apache-2.0
"""When a run is sampled."""

from __future__ import annotations

import math
import sys

import numpy as np

from humans_sim.core.budget import SAMPLES


def sampling_times(start: float, end: float, period: float) -> np.ndarray:
    """Times start + k period up to the end; the end itself is the last.

    Raises:
        ParameterError: there are too many.
    """
    ratio = (end - start) / period * (1 + 1e-12) + 1e-9
    count = SAMPLES.check("a run", math.floor(min(ratio, sys.float_info.max)))
    times = start + period * np.arange(count + 1)
    if end - times[-1] > 1e-9 * period:
        return np.append(times, end)
    times[-1] = end
    return times
