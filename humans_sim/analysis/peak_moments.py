# SPDX-License-Identifier: Apache-2.0
"""Largest joint moments of a motion, by the mass of the body."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from humans_sim.analysis.inverse_dynamics import InverseDynamics


@dataclass(frozen=True)
class PeakMoment:
    """The largest and the smallest moment of a joint.

    Attributes:
        joint: its name.
        high: largest [N m/kg].
        high_time: when [s].
        low: smallest [N m/kg].
        low_time: when [s].
    """

    joint: str
    high: float
    high_time: float
    low: float
    low_time: float


def peak_moments(
    dynamics: InverseDynamics, without: Collection[str] = ()
) -> tuple[PeakMoment, ...]:
    """Peaks of the joints, where plates cover all if there are plates.

    Args:
        dynamics: forces of a motion.
        without: joints that are left out, e.g. those that no marker sees.
    """
    rows = dynamics.inner & (dynamics.measured | (dynamics.loads is None))
    if not rows.any():
        return ()
    t, moments = dynamics.t[rows], dynamics.torques[rows] / dynamics.mass
    high, low = moments.argmax(axis=0), moments.argmin(axis=0)
    columns = np.arange(moments.shape[1])
    return tuple(
        PeakMoment(name, *map(float, numbers))
        for name, *numbers in zip(
            dynamics.model.joint_names,
            moments[high, columns],
            t[high],
            moments[low, columns],
            t[low],
            strict=True,
        )
        if name not in without
    )
