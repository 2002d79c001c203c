# SPDX-License-Identifier: Apache-2.0
"""Normal human gait in numbers: how long a stride takes, how the legs bend in it.

Angles at the ends of the phases of a stride, in degrees: J. Perry, J. Burnfield, "Gait
Analysis: Normal and Pathological Function", 2nd edition, Slack, 2010 (hip: the thigh
against the vertical; rounded there to five degrees). Cadence: D. Grieve, R. Gear, "The
relationships between length of stride, step frequency, time of swing and speed of
walking for children and adults", Ergonomics 9, 1966.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from humans_sim.core.errors import ParameterError

PHASE_ENDS = np.array([0.0, 0.12, 0.31, 0.50, 0.62, 0.75, 0.87, 1.0])
"""Initial contact, then the ends of loading response, mid-stance, terminal stance,
pre-swing, initial, mid- and terminal swing, in strides."""
HIP = np.array([20.0, 20.0, 0.0, -20.0, -10.0, 15.0, 25.0, 20.0])
KNEE = np.array([5.0, 15.0, 5.0, 5.0, 40.0, 60.0, 25.0, 5.0])
ANKLE = np.array([0.0, -5.0, 5.0, 10.0, -15.0, -5.0, 0.0, 0.0])
"""Flexion of hip and knee, dorsiflexion of the ankle [degrees]."""
SLOWEST, FASTEST = 0.4, 0.8
"""Speeds for which a stride is made, in statures a second."""


def stride_time(speed: float, stature: float) -> float:
    """Duration of a stride [s] of adults at a speed [m/s] (Grieve and Gear).

    Raises:
        ParameterError: no one walks so slow, or so fast, by this relation.
    """
    relative = speed / stature
    if not SLOWEST <= relative <= FASTEST:
        raise ParameterError(
            f"a stride is known for {SLOWEST * stature:.2f} to "
            f"{FASTEST * stature:.2f} m/s, not {speed} m/s"
        )
    return 60.0 / (64.8 * relative**0.57)


def normal_angles(phase: np.ndarray) -> np.ndarray:
    """Flexion of hip, knee and ankle (3, n) [degrees] at parts of a stride (n,)."""
    curves = []
    for values in (HIP, KNEE, ANKLE):
        ends = np.concatenate(
            [PHASE_ENDS[-4:-1] - 1.0, PHASE_ENDS, 1 + PHASE_ENDS[1:4]]
        )
        around = np.concatenate([values[-4:-1], values, values[1:4]])
        curves.append(PchipInterpolator(ends, around)(np.mod(phase, 1.0)))
    return np.array(curves)
