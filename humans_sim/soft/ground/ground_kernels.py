# SPDX-License-Identifier: Apache-2.0
"""The contact problem between points of a body and the pins of a screen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from humans_sim.contact.problem.newton import solve_near
from humans_sim.core.profile_kernels import times_rows
from humans_sim.dynamics.time_stepping.impulses import (
    factor_of,
    free_motion,
    spread_of,
)


class PinGrid(NamedTuple):
    """A screen under a body, and the contact between them.

    Attributes:
        x: of the first pin [m].
        y: the same.
        spacing: of pins [m].
        patch: half the width of what a point presses on, in spacings.
        period: of a sample [s].
        mass: of a pin [kg].
        stiffness: of a contact [N/m].
        viscosity: of a contact [N s/m].
    """

    x: float
    y: float
    spacing: float
    patch: float
    period: float
    mass: float
    stiffness: float
    viscosity: float


@njit(cache=True)
def shares(place, width, first, share):
    """Pins along one axis that a point presses on: the first, and the share of each.

    Args:
        place: of the point, in spacings from the first pin.
        width: half that of the patch, in spacings.
        first: is set to the number of the first pin (1,).
        share: is set (m,).
    """
    first[0] = int(np.ceil(place - width - 1e-9))
    total = 0.0
    for a in range(share.shape[0]):
        share[a] = max(0.0, 1.0 - abs(first[0] + a - place) / width)
        total += share[a]
    for a in range(share.shape[0]):
        share[a] /= total


@njit(cache=True)
def press(grid, pins, points, motion, contacts, accepted):
    """Forces between points and pins over one sample; the pins take theirs.

    Args:
        grid: fields of a :class:`PinGrid`, as a plain tuple.
        pins: deviations at the end of the sample without these forces, which are
            changed, at its beginning, and a sample before, with borders
            (n + 2, m + 2) [m].
        points: where they are (k, 3), and how high over pins at rest (k,) [m].
        motion: mass matrix (nv, nv), all forces but these (nv,), velocity (nv,),
            Jacobians of the points (k, 3, nv).
        contacts: friction (k,), and forces to start from (k, 3) [N].
        accepted: residual of the contact problem, relative.

    Returns:
        forces on the points: normal and tangents (k, 3) [N]; their generalised force
        (nv,); the residual.
    """
    x, y, spacing, width, period, pin_mass, k, z = grid
    after, now, before = pins
    places, heights = points
    mass, force, v, rows = motion
    friction, known = contacts
    count, nv = places.shape[0], v.shape[0]
    size = int(np.floor(2.0 * width + 1e-9)) + 1
    first = np.empty((count, 2, 1), np.int64)
    share = np.empty((count, 2, size))
    depth, rising = np.empty(count), np.zeros(count)
    for c in range(count):
        shares((places[c, 0] - x) / spacing, width, first[c, 0], share[c, 0])
        shares((places[c, 1] - y) / spacing, width, first[c, 1], share[c, 1])
        depth[c] = -heights[c]
        for a in range(size):
            for b in range(size):
                w = share[c, 0, a] * share[c, 1, b]
                if w > 0.0:
                    i, j = first[c, 0, 0] + a + 1, first[c, 1, 0] + b + 1
                    depth[c] += 0.5 * w * (now[i, j] + before[i, j])
                    rising[c] += 0.5 * w * (after[i, j] - before[i, j]) / period
    factored = factor_of(mass)
    spread, delassus = spread_of(factored, rows.copy().reshape(3 * count, nv))
    free, start = np.empty((count, 3)), np.empty((count, 3))
    times_rows(spread, free_motion(factored, force, v, period), free.reshape(-1))
    total = period * k + z
    for c in range(count):
        speed = 0.0
        for j in range(nv):
            speed += rows[c, 0, j] * v[j]
        free[c, 0] += speed - 2.0 * rising[c] - 2.0 / period * depth[c]
        free[c, 0] += 2.0 * z / (period * total) * max(depth[c], 0.0)
        delassus[3 * c, 3 * c] += 2.0 / (period * total)
        for d in range(count):
            common = _overlap(first[c, 0, 0], first[d, 0, 0], share[c, 0], share[d, 0])
            common *= _overlap(first[c, 1, 0], first[d, 1, 0], share[c, 1], share[d, 1])
            delassus[3 * c, 3 * d] += common / pin_mass
        for i in range(3):
            start[c, i] = period * known[c, i]
    impulses, residual = _solve(delassus, free, friction, start, accepted)
    held = np.zeros(nv)
    for c in range(count):
        for i in range(3):
            impulses[c, i] /= period
            for j in range(nv):
                held[j] += impulses[c, i] * rows[c, i, j]
        push = impulses[c, 0] * period * period / pin_mass
        for a in range(size):
            for b in range(size):
                w = share[c, 0, a] * share[c, 1, b]
                if w > 0.0:
                    after[first[c, 0, 0] + a + 1, first[c, 1, 0] + b + 1] -= w * push
    return impulses, held, residual


@njit(cache=True)
def _overlap(first, other, share, shared):
    """Sum over pins of the products of the shares of two points, along one axis."""
    total, shift = 0.0, first - other
    for a in range(share.shape[0]):
        if 0 <= a + shift < shared.shape[0]:
            total += share[a] * shared[a + shift]
    return total


@njit(cache=True)
def _solve(delassus, free, friction, start, accepted):
    """Impulses of a contact problem whose normals are softer than its tangents.

    Both are put on one scale, and friction with them: the law stays the same.
    """
    count = friction.shape[0]
    normal, along = 0.0, 1e-300
    for c in range(count):
        normal += 2.0 * delassus[3 * c, 3 * c]
        along += delassus[3 * c + 1, 3 * c + 1] + delassus[3 * c + 2, 3 * c + 2]
    scale = np.sqrt(along / normal)
    for c in range(count):
        free[c, 0] *= scale
        start[c, 0] /= scale
        for j in range(3 * count):
            delassus[3 * c, j] *= scale
            delassus[j, 3 * c] *= scale
    tangents = np.full(count, 2)
    found = solve_near(delassus, free, tangents, scale * friction, start, accepted)
    impulses, residual = found
    for c in range(count):
        impulses[c, 0] *= scale
    return impulses, residual
