# SPDX-License-Identifier: Apache-2.0
"""One sample of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_NO_SIGNALS = np.zeros(0)


class Sample(NamedTuple):
    """The whole state at one time; see :class:`~humans_sim.results.run.Run`."""

    t: float
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    contacts: np.ndarray
    forces: np.ndarray
    gaps: np.ndarray
    kinetic: float
    potential: float
    signals: np.ndarray = _NO_SIGNALS
