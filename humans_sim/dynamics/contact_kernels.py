"""Compiled geometry of contacts: gaps, their rates, Jacobians and drifts."""

from __future__ import annotations

import numpy as np
from numba import njit

from humans_sim.contact.solids import distance


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
def _place(local, pose):
    point = np.empty(3)
    for i in range(3):
        point[i] = pose[i, 3]
        for k in range(3):
            point[i] += pose[i, k] * local[k]
    return point


@njit(cache=True)
def _cross(a, b):
    return np.array(
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    )


@njit(cache=True)
def _turn(pose, vector):
    turned = np.zeros(3)
    for i in range(3):
        for k in range(3):
            turned[i] += pose[i, k] * vector[k]
    return turned


@njit(cache=True)
def point_gaps(local, row, poses, radius, solids, joint, sign, value, q):
    """Gaps of points with solids, then of joints with their limits."""
    points, count = local.shape[0], solids.shape[0]
    found = np.empty(points * count + joint.shape[0])
    normal, hessian = np.empty(3), np.empty((3, 3))
    if count:
        for p in range(points):
            place = _place(local[p], poses[row[p]])
            for s in range(count):
                found[p * count + s] = (
                    distance(solids[s], place, normal, hessian) - radius[p]
                )
    for k in range(joint.shape[0]):
        found[points * count + k] = sign[k] * (q[7 + joint[k]] - value[k])
    return found


@njit(cache=True)
def point_gap_rates(
    local, row, poses, motions, radius, solids, joint, sign, value, q, v
):
    """The same gaps, and their rates."""
    gap = point_gaps(local, row, poses, radius, solids, joint, sign, value, q)
    rate = np.empty(gap.shape[0])
    points, count = local.shape[0], solids.shape[0]
    normal, hessian = np.empty(3), np.empty((3, 3))
    if count:
        for p in range(points):
            pose, motion = poses[row[p]], motions[row[p]]
            place = _place(local[p], pose)
            speed = motion[0, :3] + _cross(motion[0, 3:], local[p])
            velocity = _turn(pose, speed)
            for s in range(count):
                distance(solids[s], place, normal, hessian)
                rate[p * count + s] = (
                    normal[0] * velocity[0]
                    + normal[1] * velocity[1]
                    + normal[2] * velocity[2]
                )
    for k in range(joint.shape[0]):
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
    normal, hessian = np.empty(3), np.empty((3, 3))
    frame = np.empty((3, 3))
    for c in range(which.shape[0]):
        if which[c] >= pairs:
            k = which[c] - pairs
            rows[c, 0, 6 + limit_joint[k]] = limit_sign[k]
            gap[c] = limit_sign[k] * (q[7 + limit_joint[k]] - limit_value[k])
            continue
        p, s = which[c] // solids.shape[0], which[c] % solids.shape[0]
        pose, motion = poses[row[p]], motions[row[p]]
        place = _place(local[p], pose)
        gap[c] = distance(solids[s], place, normal, hessian) - radius[p]
        linear, spin = motion[0, :3], motion[0, 3:]
        speed = linear + _cross(spin, local[p])
        jerk = motion[1, :3] + _cross(motion[1, 3:], local[p]) + _cross(spin, speed)
        velocity, acceleration = _turn(pose, speed), _turn(pose, jerk) + gravity
        # tangents: as near to world x as the normal lets them be
        axis = 0 if abs(normal[0]) < 0.9 else 1
        length = np.sqrt(1.0 - normal[axis] ** 2)
        for k in range(3):
            frame[0, k] = normal[k]
            frame[1, k] = (
                (1.0 if k == axis else 0.0) - normal[axis] * normal[k]
            ) / length
        frame[2] = _cross(frame[0], frame[1])
        r = radius[p]
        arm0 = place[0] - r * normal[0]
        arm1 = place[1] - r * normal[1]
        arm2 = place[2] - r * normal[2]
        for j in range(nv):
            if not support[p, j]:
                continue
            w0 = joint_jacobian[3, j]
            w1 = joint_jacobian[4, j]
            w2 = joint_jacobian[5, j]
            c0 = joint_jacobian[0, j] + w1 * arm2 - w2 * arm1
            c1 = joint_jacobian[1, j] + w2 * arm0 - w0 * arm2
            c2 = joint_jacobian[2, j] + w0 * arm1 - w1 * arm0
            for i in range(3):
                rows[c, i, j] = frame[i, 0] * c0 + frame[i, 1] * c1 + frame[i, 2] * c2
        if r > 0.0:
            bent = hessian @ velocity
            world_spin = _turn(pose, spin)
            lever = -r * normal
            moved = acceleration + _cross(_turn(pose, motion[1, 3:]), lever)
            moved -= r * _cross(world_spin, bent)
            drift[c, 1] = frame[1] @ moved
            drift[c, 2] = frame[2] @ moved
        else:
            drift[c, 1] = frame[1] @ acceleration
            drift[c, 2] = frame[2] @ acceleration
        drift[c, 0] = frame[0] @ acceleration + velocity @ (hessian @ velocity)
    return gap, rows, drift
