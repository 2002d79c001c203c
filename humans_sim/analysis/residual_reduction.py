# SPDX-License-Identifier: Apache-2.0
r"""A small shift of the whole body that makes a motion agree with force plates.

Plates give the acceleration of the centre of mass better than markers on skin do. The
shift :math:`\delta(t)` of the base minimises

.. math:: \sum_{covered} |\ddot\delta - e|^2 / \sigma_a^2 + \sum |\delta|^2 / \sigma_x^2

where :math:`e` is what the plates' force divided by the mass exceeds the motion's
acceleration. Of slow errors little is removed, since they would take a shift that the
markers contradict. Only the force of the residual is reduced, not its moment.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import diags, identity
from scipy.sparse.linalg import spsolve

ACCELERATION_SPREAD = 0.1
"""To which plates give the acceleration of the centre of mass [m/s^2]."""
SHIFT_SPREAD = 0.005
"""To which markers give its place [m]."""


def consistent_shift(
    t: np.ndarray, excess: np.ndarray, covered: np.ndarray
) -> np.ndarray:
    """The shift of the base (n, 3) [m].

    Args:
        t: evenly spaced times (n,) [s].
        excess: acceleration by the plates minus that of the motion (n, 3) [m/s^2].
        covered: samples in which plates measured all (n,).
    """
    n = len(t)
    step = (t[-1] - t[0]) / (n - 1)
    second = diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(n - 2, n)) / step**2
    rows = np.where(covered[1:-1], ACCELERATION_SPREAD**-2, 0.0)
    weighted = second.T @ diags(rows)
    matrix = (weighted @ second + identity(n) / SHIFT_SPREAD**2).tocsc()
    shift: np.ndarray = spsolve(matrix, weighted @ excess[1:-1])
    return shift
