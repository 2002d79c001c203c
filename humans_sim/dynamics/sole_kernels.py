# SPDX-License-Identifier: Apache-2.0
"""Contacts of a model's points in the world, and their sums on soles, compiled."""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import contact_rows
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    tree_columns,
    tree_poses,
    tree_state,
    write_poses,
)


@kernel
def contacts_in_world(model, q, v, which, forces):
    """Contacts of points in the world.

    Args:
        model: fields of a
            :class:`~humans_sim.dynamics.event_driven.model_rates_kernels.RatesModel`,
            as a plain tuple.
        q: configuration.
        v: velocity.
        which: the contacts (k,).
        forces: along normal and tangents, of all contacts; moments, too (2, nc, 3).

    Returns:
        what touches first (k, 3) [m]; normals, velocities, forces and moments (k, 3).
    """
    tree, moving, poses, _, links, _ = model
    local, row, _, radius, solids = moving[0][:5]
    state = tree_state(tree, v.shape[0])
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    write_poses(links, state, poses)
    _, rows, _ = contact_rows(which, TreeState(*state).jacobian, moving, q)
    base, k = TreeState(*state).rotation[0], which.shape[0]
    place, normal, velocity = np.zeros((k, 3)), np.zeros((k, 3)), np.zeros((k, 3))
    force, moment, frame = np.zeros((k, 3)), np.zeros((k, 3)), np.empty((3, 3))
    for c in range(k):
        p = which[c] // solids.shape[0]
        # A shift of the base moves every point alike: these columns are the frame.
        for i in range(3):
            for j in range(3):
                frame[i, j] = 0.0
                for m in range(3):
                    frame[i, j] += rows[c, i, m] * base[j, m]
        for i in range(3):
            speed = 0.0
            for m in range(v.shape[0]):
                speed += rows[c, i, m] * v[m]
            for j in range(3):
                velocity[c, j] += frame[i, j] * speed
                force[c, j] += frame[i, j] * forces[0, which[c], i]
                moment[c, j] += frame[i, j] * forces[1, which[c], i]
        for i in range(3):
            normal[c, i] = frame[0, i]
            place[c, i] = poses[row[p], i, 3] - radius[p] * frame[0, i]
            for j in range(3):
                place[c, i] += poses[row[p], i, j] * local[p, j]
    return place, normal, velocity, force, moment


@kernel
def sole_wrench(turn, origin, place, force, moment):
    """Force and moment on a sole, in its own frame and about its origin.

    Args:
        turn: of the sole in the world (3, 3).
        origin: of its frame in the world (3,) [m].
        place: of its contacts (k, 3) [m].
        force: in the world (k, 3) [N].
        moment: in the world (k, 3) [N m].
    """
    total, about = np.zeros(3), np.zeros(3)
    for c in range(place.shape[0]):
        x, y, z = place[c, 0], place[c, 1], place[c, 2]
        x, y, z = x - origin[0], y - origin[1], z - origin[2]
        about[0] += y * force[c, 2] - z * force[c, 1] + moment[c, 0]
        about[1] += z * force[c, 0] - x * force[c, 2] + moment[c, 1]
        about[2] += x * force[c, 1] - y * force[c, 0] + moment[c, 2]
        for i in range(3):
            total[i] += force[c, i]
    own, own_about = np.zeros(3), np.zeros(3)
    for i in range(3):
        for j in range(3):
            own[i] += turn[j, i] * total[j]
            own_about[i] += turn[j, i] * about[j]
    return own, own_about
