# SPDX-License-Identifier: Apache-2.0
"""Which points of a model a time step can bring to the ground.

A body has a hundred points that may touch and stands on eight of them. A ball around
all points of a link bounds their gaps from below; a step leaves out the links whose
balls stay clear of the scene.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from humans_sim.contact.geometry.mesh_kernels import MESH, RANK
from humans_sim.contact.geometry.terrain_kernels import surface_distance

_CLEAR = 5e-3
"""Distance beyond what a link travels that an impact in the step may add [m]."""
_AHEAD = 3.0
"""How many times the way at the link's present speed is looked ahead."""


def link_balls(
    local: np.ndarray, row: np.ndarray, radius: np.ndarray, links: int
) -> np.ndarray:
    """Balls around the points of each link, in its frame: centre, radius (m, 4) [m].

    Args:
        local: points in the frames of their links (n, 3).
        row: link of each point (n,).
        radius: of the balls around the points (n,).
        links: how many links there are.
    """
    balls = np.zeros((links, 4))
    for k in range(links):
        own = row == k
        if own.any():
            points = local[own]
            centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
            far = np.linalg.norm(points - centre, axis=1) + radius[own]
            balls[k] = (*centre, far.max())
    return balls


@njit(cache=True)
def near_points(still, motions, balls, h):
    """Points whose links may touch in a step, and lower bounds of the others' gaps.

    Args:
        still: fields of a :class:`~humans_sim.dynamics.contact_kernels.ContactGeometry`
            with the poses of the links, as a plain tuple.
        motions: velocities of the links in their own frames (m, 2, 6).
        balls: by :func:`link_balls` (m, 4).
        h: length of the step [s].

    Returns:
        indices of the points (k,), and the bound of every point (n,) [m].
    """
    row, poses, solids, meshes = still[1], still[2], still[4], still[5]
    n, links = row.shape[0], balls.shape[0]
    bound, near = np.empty(links), np.empty(links, np.bool_)
    place, normal, hessian = np.empty(3), np.empty(3), np.empty((3, 3))
    for k in range(links):
        pose, motion, ball = poses[k], motions[k], balls[k]
        for i in range(3):
            place[i] = pose[i, 3]
            for j in range(3):
                place[i] += pose[i, j] * ball[j]
        bound[k] = np.inf
        for s in range(solids.shape[0]):
            # A further contact with a mesh is never nearer than the first one.
            if solids[s, 0] == MESH and solids[s, RANK] > 0.0:
                continue
            gap = surface_distance(solids[s], meshes, place, normal, hessian) - ball[3]
            bound[k] = min(bound[k], gap)
        speed, spin, reach = 0.0, 0.0, ball[3]
        for i in range(3):
            speed += motion[0, i] ** 2
            spin += motion[0, 3 + i] ** 2
            reach += abs(ball[i])
        travel = h * (np.sqrt(speed) + np.sqrt(spin) * reach)
        near[k] = bound[k] <= _CLEAR + _AHEAD * travel
    which, least, count = np.empty(n, np.int64), np.empty(n), 0
    for p in range(n):
        least[p] = bound[row[p]]
        if near[row[p]]:
            which[count] = p
            count += 1
    return which[:count], least


@njit(cache=True)
def contacts_of_points(points, every, solids, limits):
    """Contacts of some points, then of all limits, among all contacts (indices).

    Args:
        points: indices of points (k,).
        every: how many points there are.
        solids: how many solids.
        limits: how many joint limits.
    """
    which = np.empty(points.shape[0] * solids + limits, np.int64)
    for k in range(points.shape[0]):
        for s in range(solids):
            which[k * solids + s] = points[k] * solids + s
    for k in range(limits):
        which[points.shape[0] * solids + k] = every * solids + k
    return which
