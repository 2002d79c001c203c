# SPDX-License-Identifier: Apache-2.0
"""A whole sample of a deformable ground under a body in one compiled call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import lock
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    TreeTable,
    tree_bias,
    tree_columns,
    tree_inertias,
    tree_mass,
    tree_poses,
    tree_state,
    tree_twists,
)
from humans_sim.soft.ground.ground_kernels import first_beside
from humans_sim.soft.ground.press_kernels import press
from humans_sim.soft.screens.screen_kernels import step_rows

DONE, BESIDE, ELSEWHERE = 0, 1, 2
"""A sample was made; a point is beside the screen; it is to be made through the
functions of the system."""


class GroundBody(NamedTuple):
    """A body over a ground.

    Attributes:
        link: that each point belongs to (n,).
        local: places of the points in their links (n, 3) [m].
        radius: of the balls round them (n,) [m].
        support: velocities that move each point (n, nv).
        damping: of the joints (nv,) [N m s].
        friction: of each point (n,).
    """

    link: np.ndarray
    local: np.ndarray
    radius: np.ndarray
    support: np.ndarray
    damping: np.ndarray
    friction: np.ndarray


class SampleGround(NamedTuple):
    """A ground under a body.

    Attributes:
        grid: fields of a :class:`~humans_sim.soft.ground.ground_kernels.PinGrid`.
        height: of pins at rest [m].
        near: height over the highest pin from which on a point may touch [m].
        accepted: residual of a contact problem [m/s].
        stencil: of the pins, as a plain tuple.
    """

    grid: tuple[float, ...]
    height: float
    near: float
    accepted: float
    stencil: tuple[float, ...]


@kernel
def point_place(body, state, p, place):
    """Put the place of a point in the world, at the lower end of its ball, there."""
    link, local = body[0][p], body[1][p]
    rotations, origins = state[:2]
    rotation, origin = rotations[link], origins[link]
    for i in range(3):
        place[i] = origin[i] + (
            rotation[i, 0] * local[0]
            + rotation[i, 1] * local[1]
            + rotation[i, 2] * local[2]
        )
    place[2] -= body[2][p]


@kernel
def ground_sample(tree, body, ground, pins, motion, known):
    """Move the pins on by a sample, and find what they do to a body.

    Args:
        tree: fields of a :class:`TreeTable`, as a plain tuple, like all others.
        body: fields of a :class:`GroundBody`.
        ground: fields of a :class:`SampleGround`.
        pins: deviations, which become those after the sample, now, and a sample
            before, with borders (n + 2, m + 2) [m]; rows that have moved, changed (2,).
        motion: configuration, velocity, and all that acts but the ground (nv,).
        known: forces of the sample before (n, 3) [N].

    Returns:
        DONE, BESIDE or ELSEWHERE; forces on all points (n, 3) [N]; generalised force
        (nv,); residual [m/s]; place of the first point beside (3,).
    """
    grid, height, near, accepted, stencil = ground
    after, now, before, moved = pins
    q, v, applied = motion
    count, nv = body[0].shape[0], v.shape[0]
    forces, held = np.zeros((count, 3)), np.zeros(nv)
    place, residual = np.zeros(3), 0.0
    top = step_rows(now, before, after, stencil, moved)
    state = tree_state(tree, nv)
    tree_poses(tree, q, state)
    which, found = np.empty(count, np.int64), 0
    for p in range(count):
        point_place(body, state, p, place)
        if place[2] - height < top + near:
            which[found] = p
            found += 1
    if found == 0:
        return DONE, forces, held, residual, place
    which = which[:found]
    places, heights = np.empty((found, 3)), np.empty(found)
    for c in range(found):
        point_place(body, state, which[c], places[c])
        heights[c] = places[c, 2] - height
    shape = (now.shape[0] - 2, now.shape[1] - 2)
    beside = first_beside(grid, shape, places)
    if beside >= 0:
        return BESIDE, forces, held, residual, places[beside]
    mass, bias = np.empty((nv, nv)).T, np.empty(nv)
    tree_columns(tree, state)
    tree_inertias(tree, state)
    tree_twists(tree, v, state)
    reach = tree_mass(tree, q, state, mass)
    if not (tree_bias(tree, q, v, state, bias) and reach):
        return ELSEWHERE, forces, held, residual, place
    rows = _rows(body[3], TreeState(*state).jacobian, which, places)
    for j in range(nv):
        mass[j, j] += grid[4] * body[4][j]
        bias[j] += body[4][j] * v[j]
    lock(TreeTable(*tree).locked, mass, bias, rows)
    own, held, residual, pressed = press(
        grid,
        (after, now, before),
        (places, heights),
        (mass, applied - bias, v, rows),
        (body[5][which], known[which]),
        accepted,
    )
    moved[0], moved[1] = min(moved[0], pressed[0]), max(moved[1], pressed[1])
    for c in range(found):
        forces[which[c]] = own[c]
    return DONE, forces, held, residual, place


@kernel
def _rows(support, jacobian, which, places):
    """Jacobians of points: upwards, along x and along y (k, 3, nv)."""
    nv = jacobian.shape[1]
    rows = np.zeros((which.shape[0], 3, nv))
    for c in range(which.shape[0]):
        x, y, z = places[c, 0], places[c, 1], places[c, 2]
        for j in range(nv):
            if not support[which[c], j]:
                continue
            w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
            rows[c, 1, j] = jacobian[0, j] + w1 * z - w2 * y
            rows[c, 2, j] = jacobian[1, j] + w2 * x - w0 * z
            rows[c, 0, j] = jacobian[2, j] + w0 * y - w1 * x
    return rows
