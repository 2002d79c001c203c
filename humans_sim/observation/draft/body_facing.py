# SPDX-License-Identifier: Apache-2.0
"""Which way a standing person looks, from places of markers alone."""

from __future__ import annotations

import math

import numpy as np

_FEET, _LEGS, _ABOVE = 0.07, 0.4, 0.12
"""Up to this share of the height of all markers are feet, legs, and not the trunk."""
_CLEAR = 0.03
"""By how much feet lie ahead of legs in a facing that is beyond doubt [m]."""
_BOUND = 0.1
"""Distance beyond which a marker has no mirror image [m]."""


def possible_facings(
    positions: np.ndarray, left: np.ndarray | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Directions in which the person may look, likeliest first, and the middle (2,).

    Without labels the body's plane of symmetry shows where its sides are, and the feet,
    which lie ahead of the legs, where the front is.

    Args:
        positions: of the markers, z up (m, 3) [m].
        left: horizontal direction of the person's left, if labels say it (2,).
    """
    heights = positions[:, 2] - positions[:, 2].min()
    total = float(heights.max())
    flat = positions[:, :2]
    middle = flat.mean(axis=0)
    if left is not None:
        return [np.array([left[1], -left[0]]) / np.linalg.norm(left)], middle
    trunk = flat[heights > _ABOVE * total]
    trunk = trunk if len(trunk) > 2 else flat
    across = np.linalg.eigh(np.cov((trunk - trunk.mean(axis=0)).T))[1][:, 1]
    across, middle = _symmetry(positions, across, trunk.mean(axis=0))
    forward = np.array([across[1], -across[0]])
    feet = flat[heights < _FEET * total] @ forward
    legs = flat[(heights >= _FEET * total) & (heights < _LEGS * total)] @ forward
    ahead = 0.0
    if len(feet) and len(legs):
        ahead = float((feet.max() + feet.min()) / 2 - np.median(legs))
    facing = forward if ahead >= 0 else -forward
    return ([facing] if abs(ahead) > _CLEAR else [facing, -facing]), middle


def _symmetry(
    positions: np.ndarray, across: np.ndarray, middle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Normal of the plane in which markers mirror each other best, and its middle."""
    best = (math.inf, across, middle)
    for angle in np.radians(np.arange(-40.0, 41.0, 4.0)):
        turn = np.array(
            [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        )
        normal = turn @ across
        for offset in np.arange(-0.06, 0.061, 0.02):
            side = (positions[:, :2] - middle) @ normal - offset
            mirrored = positions.copy()
            mirrored[:, :2] -= 2.0 * side[:, None] * normal
            apart = np.linalg.norm(positions[:, None] - mirrored[None], axis=2)
            cost = float(np.minimum(apart.min(axis=1), _BOUND).mean())
            if cost < best[0]:
                best = (cost, normal, middle + offset * normal)
    return best[1], best[2]
