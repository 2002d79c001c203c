# SPDX-License-Identifier: Apache-2.0
"""Compiled geometry of contacts: gaps, their rates, Jacobians and drifts.

These kernels are called at every step, so the named tuples that they work on come in as
plain ones (docs/architecture.md, "Arguments of kernels"): ``geometry`` has the fields
of a :class:`ContactGeometry`, of a :class:`MovingGeometry` where rows are computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.mesh import MESH, RANK
from humans_sim.contact.geometry.mesh_contact_kernels import (
    ABSENT,
    surface_distance,
    surface_feature,
)
from humans_sim.contact.geometry.solids import HALF_SPACE
from humans_sim.core.kernels import kernel, lent, small_matrix, small_vector
from humans_sim.dynamics.system import SLOW


class ContactGeometry(NamedTuple):
    """Points and joints of a model, and what they may touch.

    Attributes:
        local: points in the frames of their links (n, 3) [m].
        row: row of ``poses`` that each point belongs to (n,).
        poses: rotation and place of the links with points (m, 3, 4).
        radius: of the balls around the points (n,) [m].
        solids: rows of the solids (s, 16).
        meshes: numbers of all meshes that the rows point to, or None.
        limit_joint: coordinate and velocity of joints with a limit (l, 2).
        limit_sign: 1 at a lower limit, -1 at an upper one (l,).
        limit_value: the limits (l,) [rad].
        centre: of a ball round the points of each link, in its frame (m, 3) [m].
        reach: radius of that ball, those of the points included (m,) [m].
    """

    local: np.ndarray
    row: np.ndarray
    poses: np.ndarray
    radius: np.ndarray
    solids: np.ndarray
    meshes: np.ndarray | None
    limit_joint: np.ndarray
    limit_sign: np.ndarray
    limit_value: np.ndarray
    centre: np.ndarray
    reach: np.ndarray


class MovingGeometry(NamedTuple):
    """The same with what velocities and Jacobians need.

    Attributes:
        still: fields of a :class:`ContactGeometry`, as a plain tuple.
        motions: velocity and acceleration of the links with points, linear and angular
            in their own frames (m, 2, 6).
        support: velocities that move each point (n, nv).
        gravity: (3,) [m/s^2].
    """

    still: tuple[np.ndarray | None, ...]
    motions: np.ndarray
    support: np.ndarray
    gravity: np.ndarray


@kernel(borrows=True)
def lock(locked, mass, bias, rows):
    """Take the locked velocities out of the equations: their acceleration is zero."""
    for j in locked:
        mass[j, :] = 0.0
        mass[:, j] = 0.0
        mass[j, j] = 1.0
        bias[j] = 0.0
        rows[:, :, j] = 0.0


@kernel(borrows=True)
def add_diagonal(matrix, values):
    """Add values to a matrix's diagonal, in place."""
    for k in range(values.shape[0]):
        matrix[k, k] += values[k]


@kernel(borrows=True)
def _place(local, pose, point):
    """A point of a link in the world."""
    for i in range(3):
        point[i] = pose[i, 3]
        for k in range(3):
            point[i] += pose[i, k] * local[k]


@kernel(borrows=True)
def _cross(a, b, product):
    product[0] = a[1] * b[2] - a[2] * b[1]
    product[1] = a[2] * b[0] - a[0] * b[2]
    product[2] = a[0] * b[1] - a[1] * b[0]


@kernel(borrows=True)
def _turn(pose, vector, turned):
    """A vector of a link in the world."""
    for i in range(3):
        turned[i] = 0.0
        for k in range(3):
            turned[i] += pose[i, k] * vector[k]


@kernel(borrows=True)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(borrows=True)
def _height(solids, s, poses, link, local, p):
    """Height of a point over a half space; no slices: bodies have many points."""
    height = 0.0
    for i in range(3):
        place = poses[link, i, 3]
        for k in range(3):
            place += poses[link, i, k] * local[p, k]
        height += solids[s, 10 + i] * (place - solids[s, 1 + i])
    return height


@kernel(borrows=True)
def _climb(solids, poses, motions, local, pair):
    """Rate of that height; the pair are solid, link and point."""
    s, link, p = pair
    x, y, z = local[p, 0], local[p, 1], local[p, 2]
    wx, wy, wz = motions[link, 0, 3], motions[link, 0, 4], motions[link, 0, 5]
    vx = wy * z - wz * y + motions[link, 0, 0]
    vy = wz * x - wx * z + motions[link, 0, 1]
    vz = wx * y - wy * x + motions[link, 0, 2]
    rate = 0.0
    for i in range(3):
        along = 0.0
        along += poses[link, i, 0] * vx
        along += poses[link, i, 1] * vy
        along += poses[link, i, 2] * vz
        rate += solids[s, 10 + i] * along
    return rate


@kernel
def point_gaps(geometry, q):
    """Gaps of points with solids, then of joints with their limits."""
    geometry, q = lent((geometry, q))
    local, row, poses, radius, solids, meshes, joint, sign, value = geometry[:9]
    points, count = local.shape[0], solids.shape[0]
    gap = np.empty(points * count + joint.shape[0])
    place, normal, hessian = small_vector(3), small_vector(3), small_matrix(3, 3)
    if count:
        for p in range(points):
            placed = False
            for s in range(count):
                if solids[s, 0] == HALF_SPACE:
                    away = _height(solids, s, poses, row[p], local, p)
                else:
                    if not placed:
                        _place(local[p], poses[row[p]], place)
                        placed = True
                    away = surface_distance(solids[s], meshes, place, normal, hessian)
                gap[p * count + s] = away - radius[p]
    for k in range(joint.shape[0]):
        gap[points * count + k] = sign[k] * (q[joint[k, 0]] - value[k])
    return gap


@kernel
def point_features(geometry, which):
    """Features of the solids that contacts of points are with, as numbers (k,)."""
    local, row, poses, _, solids, meshes = geometry[:6]
    count = solids.shape[0]
    features = np.empty(which.shape[0], np.int64)
    place = small_vector(3)
    for c in range(which.shape[0]):
        p, s = which[c] // count, which[c] % count
        _place(local[p], poses[row[p]], place)
        features[c] = surface_feature(solids[s], meshes, place)
    return features


@kernel
def point_gap_rates(geometry, motions, q, v):
    """The same gaps, and their rates."""
    near = np.ones((geometry[2].shape[0], geometry[4].shape[0]), np.bool_)
    return _near_gap_rates(geometry, motions, q, v, near)


@kernel
def link_gaps(geometry):
    """Lower bounds of the gaps of links with solids (m, s) [m].

    Distances change no faster than places do: what a ball round all points of a link
    cannot reach, none of them can.
    """
    geometry = lent(geometry)
    poses, solids, meshes, centre, reach = (
        geometry[2],
        geometry[4],
        geometry[5],
        geometry[9],
        geometry[10],
    )
    links, count = poses.shape[0], solids.shape[0]
    gaps = np.empty((links, count))
    place, normal, hessian = small_vector(3), small_vector(3), small_matrix(3, 3)
    for k in range(links):
        placed, away = False, 0.0
        for s in range(count):
            if solids[s, 0] == HALF_SPACE:
                away = _height(solids, s, poses, k, centre, k)
            elif solids[s, 0] != MESH or solids[s, RANK] == 0.0:
                if not placed:
                    _place(centre[k], poses[k], place)
                    placed = True
                away = surface_distance(solids[s], meshes, place, normal, hessian)
            # Further contacts with a mesh are as far as the first one at least.
            gaps[k, s] = away - reach[k]
    return gaps


@kernel
def link_speeds(geometry, motions):
    """Upper bounds of the speeds of the points of each link (m,) [m/s]."""
    geometry, motions = lent((geometry, motions))
    centre, reach = geometry[9], geometry[10]
    speeds = np.empty(reach.shape[0])
    for k in range(reach.shape[0]):
        slide, spin, out = 0.0, 0.0, 0.0
        for i in range(3):
            slide += motions[k, 0, i] ** 2
            spin += motions[k, 0, 3 + i] ** 2
            out += centre[k, i] ** 2
        speeds[k] = np.sqrt(slide) + np.sqrt(spin) * (np.sqrt(out) + reach[k])
    return speeds


@kernel
def _near_gap_rates(geometry, motions, q, v, near):
    """Gaps and their rates; infinite gaps where a link is not near a solid."""
    geometry, motions, q, v, near = lent((geometry, motions, q, v, near))
    local, row, poses, radius, solids, meshes, joint, sign, value = geometry[:9]
    points, count = local.shape[0], solids.shape[0]
    gap = np.empty(points * count + joint.shape[0])
    rate = np.empty(gap.shape[0])
    place, normal, hessian = small_vector(3), small_vector(3), small_matrix(3, 3)
    speed, velocity = small_vector(3), small_vector(3)
    if count:
        for p in range(points):
            placed = False
            for s in range(count):
                c = p * count + s
                if not near[row[p], s]:
                    gap[c], rate[c] = np.inf, 0.0
                    continue
                if solids[s, 0] == HALF_SPACE:
                    gap[c] = _height(solids, s, poses, row[p], local, p) - radius[p]
                    rate[c] = _climb(solids, poses, motions, local, (s, row[p], p))
                    continue
                if not placed:
                    pose, motion = poses[row[p]], motions[row[p]]
                    _place(local[p], pose, place)
                    _cross(motion[0, 3:], local[p], speed)
                    for i in range(3):
                        speed[i] += motion[0, i]
                    _turn(pose, speed, velocity)
                    placed = True
                away = surface_distance(solids[s], meshes, place, normal, hessian)
                gap[c] = away - radius[p]
                rate[c] = _dot(normal, velocity)
    for k in range(joint.shape[0]):
        gap[points * count + k] = sign[k] * (q[joint[k, 0]] - value[k])
        rate[points * count + k] = sign[k] * v[joint[k, 1]]
    return gap, rate


@kernel
def contact_rows(which, joint_jacobian, geometry, q, drift):
    """Gap (k,) and Jacobian (k, 3, nv) of some contacts, in their own frames.

    Fills the drift (k, 3); it has no rows where it is not wanted.
    """
    which, joint_jacobian, geometry, q, drift = lent(
        (which, joint_jacobian, geometry, q, drift)
    )
    still, motions, support, gravity = geometry
    local, row, poses, radius, solids, meshes = still[:6]
    limit_joint, limit_sign, limit_value = still[6:9]
    nv = joint_jacobian.shape[1]
    pairs = local.shape[0] * solids.shape[0]
    gap = np.empty(which.shape[0])
    rows = np.zeros((which.shape[0], 3, nv))
    place, normal, hessian = small_vector(3), small_vector(3), small_matrix(3, 3)
    frame, product = small_matrix(3, 3), small_vector(3)
    speed, jerk = small_vector(3), small_vector(3)
    velocity, acceleration = small_vector(3), small_vector(3)
    world_spin, bent, arm = small_vector(3), small_vector(3), small_vector(3)
    for c in range(which.shape[0]):
        if which[c] >= pairs:
            k = which[c] - pairs
            rows[c, 0, limit_joint[k, 1]] = limit_sign[k]
            gap[c] = limit_sign[k] * (q[limit_joint[k, 0]] - limit_value[k])
            continue
        p, s = which[c] // solids.shape[0], which[c] % solids.shape[0]
        pose = poses[row[p]]
        _place(local[p], pose, place)
        gap[c] = surface_distance(solids[s], meshes, place, normal, hessian) - radius[p]
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
        if drift.shape[0] == 0:
            continue
        motion = motions[row[p]]
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
    return gap, rows


@kernel
def closing_contacts(time, closed, gap, rate):
    """Contacts that are closed (not OPEN) or close within a time [s] (indices)."""
    closed, gap, rate = lent((closed, gap, rate))
    which = np.empty(gap.shape[0], np.int64)
    count = 0
    for c in range(gap.shape[0]):
        here = closed[c] != 0 and gap[c] < ABSENT
        if here or gap[c] <= time * max(-rate[c], SLOW):
            which[count] = c
            count += 1
    return which[:count]


@kernel
def closing_rows(time, closed, joint_jacobian, geometry, q, v):
    """Indices, gaps, Jacobians, drifts of contacts closed or closing in a time."""
    # Links and solids that may meet within the time.
    bound, speeds = link_gaps(geometry[0]), link_speeds(geometry[0], geometry[1])
    near = np.empty(bound.shape, np.bool_)
    for k in range(bound.shape[0]):
        for s in range(bound.shape[1]):
            near[k, s] = not bound[k, s] > time * max(speeds[k], SLOW)
    gap, rate = _near_gap_rates(geometry[0], geometry[1], q, v, near)
    which = closing_contacts(time, closed, gap, rate)
    drift = np.zeros((which.shape[0], 3))
    gap, rows = contact_rows(which, joint_jacobian, geometry, q, drift)
    return which, gap, rows, drift
