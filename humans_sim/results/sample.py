# SPDX-License-Identifier: Apache-2.0
"""One sample of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_NONE = np.zeros(0)


class Sample(NamedTuple):
    """The whole state at one time; see :class:`~humans_sim.results.run.Run`.

    Beside what runs keep, ``moments`` are those of torsional and rolling friction about
    the normal and the tangents of all contacts (nc, 3) [N m]; empty without them.
    """

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
    signals: np.ndarray = _NONE
    moments: np.ndarray = _NONE
