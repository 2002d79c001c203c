# SPDX-License-Identifier: Apache-2.0
r"""How contacts share the force that a motion needs.

The equations of motion of the base, which no motor drives, fix six sums of the contact
forces. Inside friction pyramids the forces x >= 0 along their edges are found that come
closest to these sums, and among them the smallest, each contact's counted with its
price:

.. math:: \min_{x \ge 0} \; \lVert G x - w \rVert^2 + \sum_i p_i x_i^2 .
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from humans_sim.core.errors import ParameterError

_EDGES = ((1, 1.0), (1, -1.0), (2, 1.0), (2, -1.0))
_SMALL = 1e-4
"""Price of a force against an error of the sums; less for large sums."""


class ForceShare(NamedTuple):
    """Contact forces.

    Attributes:
        forces: along the rows of each contact: normal, tangents (k, 3) [N].
        missing: the part of the sums that they do not reach [N].
    """

    forces: np.ndarray
    missing: float


def share_forces(
    rows: np.ndarray,
    base_force: np.ndarray,
    friction: float | np.ndarray,
    prices: np.ndarray,
) -> ForceShare:
    """Share generalised forces of the base among contacts.

    Args:
        rows: Jacobians of the contacts with respect to the base (k, 3, 6); the first
            row of each is its normal.
        base_force: generalised force of the base that the contacts shall give (6,).
        friction: coefficient that may be used, one for all or one a contact (k,).
        prices: of each contact (k,), 1 for a usual one, more for one that is to carry
            less; infinity for one that carries nothing.
    """
    count = len(rows)
    if prices.shape != (count,) or not (prices > 0).all():
        raise ParameterError(f"{count} prices above zero are wanted, not {prices}")
    edges = np.zeros((count, 4, 3))
    edges[:, :, 0] = 1.0
    for k, (axis, sign) in enumerate(_EDGES):
        edges[:, k, axis] = sign * np.asarray(friction)
    loaded = np.isfinite(prices)
    forces = np.zeros((count, 3))
    if not loaded.any():
        return ForceShare(forces, float(np.abs(base_force).max()))
    scale = max(float(np.abs(base_force).max()), 1.0)
    wrenches = np.einsum("ckr,crn->nck", edges[loaded], rows[loaded]).reshape(6, -1)
    price = np.repeat(np.sqrt(_SMALL * prices[loaded]), 4)
    matrix = np.vstack([wrenches, np.diag(price) / math.sqrt(scale)])
    coefficients, _ = nnls(
        matrix, np.concatenate([base_force / scale, np.zeros(len(price))])
    )
    along = coefficients.reshape(-1, 4) * scale
    forces[loaded] = np.einsum("ck,ckr->cr", along, edges[loaded])
    reached = np.einsum("crn,cr->n", rows, forces)
    return ForceShare(forces, float(np.abs(base_force - reached).max()))
