# SPDX-License-Identifier: Apache-2.0
"""Forces at the points of the soles that give the base what a motion takes.

Nonnegative least squares on the edges of friction cones. What counts: the force of the
ground, which accelerations give well; its moment, to which centres of mass that are a
few centimetres off contribute; the share of each foot that its contact suggests; and,
least, that points carry little which are high or fast.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

FORCE_SPREAD = 0.002
"""By which the ground's force may miss what the motion takes, in body weights."""
MOMENT_SPREAD = 0.05
"""By which its moment may, in body weights times metres: how well a centre of pressure
follows from a motion [m]."""
SHARE_SPREAD = 0.06
"""By which a foot's vertical force may miss its expected share, in body weights."""
HEIGHT, SPEED = 0.02, 0.3
"""Height above its rest and speed at which a point is penalised twice [m, m/s]."""
_PRICE = 0.02
"""Penalty of a force of one body weight at a point at rest."""
_EDGES = 8
"""Edges of a friction cone."""


def friction_cone(friction: float) -> np.ndarray:
    """Edges of a friction cone about the vertical (edges, 3)."""
    angle = 2 * np.pi * np.arange(_EDGES) / _EDGES
    return np.stack(
        [friction * np.cos(angle), friction * np.sin(angle), np.ones(_EDGES)], axis=1
    )


def penalties(height: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """How much a force at each point is penalised.

    Args:
        height: of the points above their rest [m].
        speed: over the floor [m/s].
    """
    prices: np.ndarray = (1.0 + (height / HEIGHT) ** 2) * (1.0 + (speed / SPEED) ** 2)
    return prices


def share_forces(
    levers: np.ndarray,
    wrench: np.ndarray,
    weight: float,
    cone: np.ndarray,
    penalty: np.ndarray,
    owners: np.ndarray,
    share: np.ndarray,
) -> np.ndarray:
    """Forces at the points (p, 3) [N].

    Args:
        levers: of the points from the point that moments are about (p, 3) [m].
        wrench: that the motion takes: force and moment (6,) [N, N m].
        weight: of the body [N].
        cone: edges of the friction cone (edges, 3).
        penalty: of each point (p,).
        owners: sole of each point (p,).
        share: of the vertical force expected of each sole (soles,); NaN: of none.
    """
    count, edges = len(levers), len(cone)
    forces = np.tile(cone, (count, 1))
    moments = np.cross(np.repeat(levers, edges, axis=0), forces)
    expected = np.isfinite(share)
    soles = np.repeat(owners, edges) == np.flatnonzero(expected)[:, None]
    matrix = np.concatenate(
        [
            forces.T / FORCE_SPREAD,
            moments.T / MOMENT_SPREAD,
            soles * forces[:, 2] / SHARE_SPREAD,
            np.diag(_PRICE * np.sqrt(np.repeat(penalty, edges))),
        ]
    )
    lift = max(float(wrench[2]), 0.0)
    target = np.concatenate(
        [
            wrench[:3] / FORCE_SPREAD,
            wrench[3:] / MOMENT_SPREAD,
            share[expected] * lift / SHARE_SPREAD,
            np.zeros(count * edges),
        ]
    )
    along, _ = nnls(matrix, target / weight, maxiter=20 * matrix.shape[1])
    shared: np.ndarray = weight * along.reshape(count, edges) @ cone
    return shared
