# SPDX-License-Identifier: Apache-2.0
"""Zero and sign of a force plate, from what a plate can do: be empty, and push."""

from __future__ import annotations

import numpy as np

_QUIET = 20.0
"""An empty plate's vertical force changes by less than this [N]."""
_LOAD = 100.0
"""A plate that somebody steps on changes by more than this [N]."""
_OFFSET = 75.0
"""An empty plate may show so much, or anything against the later load [N]."""


def empty_wrench(wrench: np.ndarray, zero: slice) -> np.ndarray:
    """What a plate shows while it is empty (6,); zero where it is not known to be so.

    Files say when plates are empty, mostly in the first frames, and say so too where a
    person stands there. The plate was empty if the force then leaves its value to one
    side only, by the load of a step, and if that value was small or pulled.

    Args:
        wrench: in the laboratory's frame, z up (n, 6) [N, N m].
        zero: samples in which the plate is said to be empty.
    """
    none = np.zeros(6)
    part = wrench[zero]
    if not len(part) or not np.isfinite(wrench).all():
        return none
    mean: np.ndarray = part.mean(axis=0)
    level = float(mean[2])
    low, high = float(wrench[:, 2].min() - level), float(wrench[:, 2].max() - level)
    if np.ptp(part[:, 2]) > _QUIET or max(-low, high) < _LOAD:
        return none
    if min(-low, high) > _QUIET:
        return none
    peak = level + (high if high > -low else low)
    opposite = level * peak < 0 and abs(peak) > _LOAD
    return mean if opposite or abs(level) < min(_OFFSET, abs(peak)) else none


def upward_wrench(wrench: np.ndarray) -> np.ndarray:
    """The wrench on the body: its largest vertical force points up (n, 6).

    Some programs write the force on the body, some that on the plate.

    Args:
        wrench: in the laboratory's frame, z up (n, 6) [N, N m].
    """
    vertical = wrench[np.isfinite(wrench[:, 2]), 2]
    if not len(vertical) or -vertical.min() <= max(vertical.max(), _QUIET):
        return wrench
    return -wrench
