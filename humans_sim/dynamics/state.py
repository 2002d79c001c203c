# SPDX-License-Identifier: Apache-2.0
"""Where a simulated system is; the parts of a stepper share one of these."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from humans_sim.results.events import Event


@dataclass
class State:
    """A system at one time, with what happened to it so far.

    Attributes:
        t: time [s].
        q: configuration (nq,).
        v: velocity (nv,).
        z: states of the actuation (nz,).
        events: in the order of time.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    events: list[Event] = field(default_factory=list)
