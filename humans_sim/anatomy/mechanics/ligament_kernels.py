# SPDX-License-Identifier: Apache-2.0
"""Compiled sums of the pulls of ligaments."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

LINEAR = 0.98
"""Share of the greatest elongation from which the tension is linear."""


class TieArrays(NamedTuple):
    """Ligaments as arrays; see :class:`Ligament`. The span is greatest less slack."""

    body_i: np.ndarray
    body_j: np.ndarray
    point_i: np.ndarray
    point_j: np.ndarray
    slack: np.ndarray
    span: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


@kernel
def pull(ties, moving, force, torque, tension):
    """Add the pulls of ligaments at the centres, and their torques about them.

    Args:
        ties: arrays of the ligaments.
        moving: centres x, rotations, velocities v and spins w of the bodies.
        force: (n, 3) [N]; changed.
        torque: (n, 3) [N m]; changed.
        tension: of the ligaments, never below zero (l,) [N]; written.
    """
    x, frames, v, w = moving
    arms = np.empty((2, 3))
    span = np.empty(3)
    for n in range(len(tension)):
        i, j = ties.body_i[n], ties.body_j[n]
        square = 0.0
        for k in range(3):
            arms[0, k] = arms[1, k] = 0.0
            for m in range(3):
                arms[0, k] += frames[i, k, m] * ties.point_i[n, m]
                arms[1, k] += frames[j, k, m] * ties.point_j[n, m]
            span[k] = x[i, k] + arms[0, k] - x[j, k] - arms[1, k]
            square += span[k] * span[k]
        length = math.sqrt(square)
        tension[n] = 0.0
        if length <= ties.slack[n]:
            continue
        share = (length - ties.slack[n]) / ties.span[n]
        inner = min(share, LINEAR)
        rest = 1.0 - inner * inner
        law = inner / rest + (1.0 + inner * inner) / rest**2 * (share - inner)
        rate = 0.0
        if ties.damping[n] > 0.0:
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                u = v[i, k] + w[i, a] * arms[0, b] - w[i, b] * arms[0, a]
                u -= v[j, k] + w[j, a] * arms[1, b] - w[j, b] * arms[1, a]
                rate += u * span[k] / length
        pulled = ties.stiffness[n] * ties.span[n] * law + ties.damping[n] * rate
        tension[n] = max(pulled, 0.0)
        for side in range(2):
            body = i if side == 0 else j
            scale = (-1.0 if side == 0 else 1.0) * tension[n] / length
            for k in range(3):
                a, b = (k + 1) % 3, (k + 2) % 3
                force[body, k] += scale * span[k]
                turn = arms[side, a] * span[b] - arms[side, b] * span[a]
                torque[body, k] += scale * turn
