# SPDX-License-Identifier: Apache-2.0
"""What one time step leads to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class StepResult(NamedTuple):
    """What a step leads to.

    Attributes:
        q: configuration at the end.
        v: velocity at the end.
        gaps: of all contacts at the end (nc,) [m, rad].
        mode: of all contacts in it (nc,).
        forces: of all contacts, means over it (nc, 3) [N].
        energies: kinetic and potential at the end [J].
        acceleration: to predict the next step with (nv,).
        error: of the energy before it was put right, relative.
        taken: energy taken out of the velocity [J].
        carried: excess of energy left for the next step [J].
        bounces: whether a contact with restitution had an impulse.
        changed: whether a mode is another than before.
    """

    q: np.ndarray
    v: np.ndarray
    gaps: np.ndarray
    mode: np.ndarray
    forces: np.ndarray
    energies: tuple[float, float]
    acceleration: np.ndarray
    error: float
    taken: float
    carried: float
    bounces: bool
    changed: bool
