# SPDX-License-Identifier: Apache-2.0
"""Measurements that an observer takes, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.models import Model


class ObservationError(HumansError, ValueError):
    """Measurements cannot be used: wrong size, not finite, or out of time."""


def checked_time(t: float, last: float | None) -> float:
    """A time that is later than the last one [s]."""
    t = float(t)
    if not math.isfinite(t):
        raise ObservationError(f"the time of the measurements is {t}")
    if last is not None and t <= last:
        raise ObservationError(
            f"measurements of t = {t:g} s came after those of {last:g} s; "
            "where time jumps back, call reset() first"
        )
    return t


def checked_joints(model: Model, given: np.ndarray, what: str) -> np.ndarray:
    """One finite number for each joint."""
    names = model.joint_names
    values = np.asarray(given, dtype=float)
    if values.shape != (len(names),):
        raise ObservationError(
            f"{what} of {model.name} has {len(names)} entries, not shape {values.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ObservationError(f"{what}: {names[bad[0]]} is {values[bad[0]]}")
    return values


def checked_forces(soles: Sequence[str], forces: Mapping[str, float]) -> list[float]:
    """One finite force for each sole [N], in the order of the soles."""
    wrong = sorted(set(forces) ^ set(soles))
    if wrong:
        word = "no force is given for" if wrong[0] in soles else "there is no"
        raise ObservationError(
            f"sole_forces: {word} '{wrong[0]}'; the soles are {', '.join(soles)}"
        )
    values = [float(forces[name]) for name in soles]
    for name, value in zip(soles, values, strict=True):
        if not math.isfinite(value):
            raise ObservationError(f"sole_forces: {name} is {value}")
    return values
