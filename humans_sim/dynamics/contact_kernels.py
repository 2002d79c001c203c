# SPDX-License-Identifier: Apache-2.0
"""Compiled geometry of contacts: gaps, their rates, Jacobians and drifts."""

from __future__ import annotations

import numpy as np
from numba import njit

from humans_sim.contact.geometry.solids import distance
from humans_sim.dynamics.system import SLOW


@njit(cache=True)
def lock(locked, mass, bias, rows):
    """Take the locked velocities out of the equations: their acceleration is zero."""
    for j in locked:
        mass[j, :] = 0.0
        mass[:, j] = 0.0
        mass[j, j] = 1.0
        bias[j] = 0.0
        rows[:, :, j] = 0.0


@njit(cache=True)
def add_diagonal(matrix, values):
    """Add values to a matrix's diagonal, in place."""
    for k in range(values.shape[0]):
        matrix[k, k] += values[k]


@njit(cache=True)
def _place(local, pose, point):
    """A point of a link in the world."""
    for i in range(3):
        point[i] = pose[i, 3]
        for k in range(3):
            point[i] += pose[i, k] * local[k]


@njit(cache=True)
def _cross(a, b, product):
    product[0] = a[1] * b[2] - a[2] * b[1]
    product[1] = a[2] * b[0] - a[0] * b[2]
    product[2] = a[0] * b[1] - a[1] * b[0]


@njit(cache=True)
def _turn(pose, vector, turned):
    """A vector of a link in the world."""
    for i in range(3):
        turned[i] = 0.0
        for k in range(3):
            turned[i] += pose[i, k] * vector[k]


@njit(cache=True)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def point_gaps(local, row, poses, radius, solids, joint, sign, value, q):
    """Gaps of points with solids, then of joints with their limits."""
    points, count = local.shape[0], solids.shape[0]
    gap = np.empty(points * count + joint.shape[0])
    place, normal, hessian = np.empty(3), np.empty(3), np.empty((3, 3))
    if count:
        for p in range(points):
            _place(local[p], poses[row[p]], place)
            for s in range(count):
                gap[p * count + s] = (
                    distance(solids[s], place, normal, hessian) - radius[p]
                )
    for k in range(joint.shape[0]):
        gap[points * count + k] = sign[k] * (q[7 + joint[k]] - value[k])
    return gap


@njit(cache=True)
def point_gap_rates(
    local, row, poses, motions, radius, solids, joint, sign, value, q, v
):
    """The same gaps, and their rates."""
    points, count = local.shape[0], solids.shape[0]
    gap = np.empty(points * count + joint.shape[0])
    rate = np.empty(gap.shape[0])
    place, normal, hessian = np.empty(3), np.empty(3), np.empty((3, 3))
    speed, velocity = np.empty(3), np.empty(3)
    if count:
        for p in range(points):
            pose, motion = poses[row[p]], motions[row[p]]
            _place(local[p], pose, place)
            _cross(motion[0, 3:], local[p], speed)
            for i in range(3):
                speed[i] += motion[0, i]
            _turn(pose, speed, velocity)
            for s in range(count):
                gap[p * count + s] = (
                    distance(solids[s], place, normal, hessian) - radius[p]
                )
                rate[p * count + s] = _dot(normal, velocity)
    for k in range(joint.shape[0]):
        gap[points * count + k] = sign[k] * (q[7 + joint[k]] - value[k])
        rate[points * count + k] = sign[k] * v[6 + joint[k]]
    return gap, rate


@njit(cache=True)
def contact_rows(
    which,
    joint_jacobian,
    support,
    local,
    row,
    poses,
    motions,
    gravity,
    radius,
    solids,
    limit_joint,
    limit_sign,
    limit_value,
    q,
):
    """Gap, Jacobian and drift of the wanted contacts, in their own frames."""
    nv = joint_jacobian.shape[1]
    pairs = local.shape[0] * solids.shape[0]
    gap = np.empty(which.shape[0])
    rows = np.zeros((which.shape[0], 3, nv))
    drift = np.zeros((which.shape[0], 3))
    place, normal, hessian = np.empty(3), np.empty(3), np.empty((3, 3))
    frame, product = np.empty((3, 3)), np.empty(3)
    speed, jerk = np.empty(3), np.empty(3)
    velocity, acceleration = np.empty(3), np.empty(3)
    world_spin, bent, arm = np.empty(3), np.empty(3), np.empty(3)
    for c in range(which.shape[0]):
        if which[c] >= pairs:
            k = which[c] - pairs
            rows[c, 0, 6 + limit_joint[k]] = limit_sign[k]
            gap[c] = limit_sign[k] * (q[7 + limit_joint[k]] - limit_value[k])
            continue
        p, s = which[c] // solids.shape[0], which[c] % solids.shape[0]
        pose, motion = poses[row[p]], motions[row[p]]
        _place(local[p], pose, place)
        gap[c] = distance(solids[s], place, normal, hessian) - radius[p]
        spin, turning = motion[0, 3:], motion[1, 3:]
        _cross(spin, local[p], speed)
        for i in range(3):
            speed[i] += motion[0, i]
        _cross(turning, local[p], jerk)
        _cross(spin, speed, product)
        for i in range(3):
            jerk[i] += motion[1, i] + product[i]
        _turn(pose, speed, velocity)
        _turn(pose, jerk, acceleration)
        for i in range(3):
            acceleration[i] += gravity[i]
        # tangents: as near to world x as the normal lets them be
        axis = 0 if abs(normal[0]) < 0.9 else 1
        length = np.sqrt(1.0 - normal[axis] ** 2)
        for k in range(3):
            frame[0, k] = normal[k]
            frame[1, k] = (
                (1.0 if k == axis else 0.0) - normal[axis] * normal[k]
            ) / length
        _cross(frame[0], frame[1], frame[2])
        r = radius[p]
        for i in range(3):
            arm[i] = place[i] - r * normal[i]
        for j in range(nv):
            if not support[p, j]:
                continue
            w0 = joint_jacobian[3, j]
            w1 = joint_jacobian[4, j]
            w2 = joint_jacobian[5, j]
            c0 = joint_jacobian[0, j] + w1 * arm[2] - w2 * arm[1]
            c1 = joint_jacobian[1, j] + w2 * arm[0] - w0 * arm[2]
            c2 = joint_jacobian[2, j] + w0 * arm[1] - w1 * arm[0]
            for i in range(3):
                rows[c, i, j] = frame[i, 0] * c0 + frame[i, 1] * c1 + frame[i, 2] * c2
        for i in range(3):
            bent[i] = _dot(hessian[i], velocity)
        drift[c, 0] = _dot(normal, acceleration) + _dot(velocity, bent)
        if r > 0.0:
            # The material point at the ball's surface, not the ball's centre.
            _turn(pose, turning, world_spin)
            _cross(world_spin, normal, product)
            for i in range(3):
                acceleration[i] -= r * product[i]
            _turn(pose, spin, world_spin)
            _cross(world_spin, bent, product)
            for i in range(3):
                acceleration[i] -= r * product[i]
        drift[c, 1] = _dot(frame[1], acceleration)
        drift[c, 2] = _dot(frame[2], acceleration)
    return gap, rows, drift


@njit(cache=True)
def closing_rows(
    time,
    closed,
    joint_jacobian,
    support,
    local,
    row,
    poses,
    motions,
    gravity,
    radius,
    solids,
    limit_joint,
    limit_sign,
    limit_value,
    q,
    v,
):
    """Contacts that are closed or close within a time, then what they give."""
    gap, rate = point_gap_rates(
        local,
        row,
        poses,
        motions,
        radius,
        solids,
        limit_joint,
        limit_sign,
        limit_value,
        q,
        v,
    )
    which = np.empty(gap.shape[0], np.int64)
    count = 0
    for c in range(gap.shape[0]):
        if closed[c] != 0 or gap[c] <= time * max(-rate[c], SLOW):
            which[count] = c
            count += 1
    which = which[:count]
    gap, rows, drift = contact_rows(
        which,
        joint_jacobian,
        support,
        local,
        row,
        poses,
        motions,
        gravity,
        radius,
        solids,
        limit_joint,
        limit_sign,
        limit_value,
        q,
    )
    return which, gap, rows, drift
