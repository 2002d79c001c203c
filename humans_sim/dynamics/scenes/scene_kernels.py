# SPDX-License-Identifier: Apache-2.0
"""Compiled geometry of scenes in which solids move: gaps, rates and Jacobians.

A mover is a link of the robot or a free body; the floor and what is fixed to it have
the number -1. Contacts are, in this order: features (balls and points of movers) with
solids, places of pairs of boxes, joints with their limits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.box_pairs import (
    FAR,
    SLOTS,
    BoxPlaces,
    box_contacts,
    choose,
)
from humans_sim.contact.geometry.terrain_kernels import surface_distance
from humans_sim.contact.geometry.valley_kernels import ABSENT
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.system import SLOW


class SceneGeometry(NamedTuple):
    """What may touch in a scene, and where it is.

    Attributes:
        poses: rotation and place of the movers (m, 3, 4).
        places: features in the frames of their movers (f, 3) [m].
        radii: of the features; zero for points (f,) [m].
        feature_mover: mover of each feature (f,).
        solids: rows of the solids, in the world (s, 16).
        meshes: numbers of all meshes that the rows point to, or None.
        pairs: feature and solid of each contact of theirs (c, 2).
        box_pairs: solids of each pair of boxes (b, 2).
    """

    poses: np.ndarray
    places: np.ndarray
    radii: np.ndarray
    feature_mover: np.ndarray
    solids: np.ndarray
    meshes: np.ndarray | None
    pairs: np.ndarray
    box_pairs: np.ndarray


class SceneMotion(NamedTuple):
    """What contacts move with.

    Attributes:
        support: velocities that move each mover (m, nv).
        movers: first and second mover of each contact; -1 for the floor (c, 2).
        limit_of: velocity of each joint limit (l,).
        limit_sign: 1 at a lower limit, -1 at an upper one (l,).
    """

    support: np.ndarray
    movers: np.ndarray
    limit_of: np.ndarray
    limit_sign: np.ndarray


@kernel
def world_solids(local, mover, poses, out):
    """Rows of solids in the world, from those in the frames of their movers."""
    for s in range(local.shape[0]):
        out[s] = local[s]
        if mover[s] < 0:
            continue
        pose = poses[mover[s]]
        for i in range(3):
            total = pose[i, 3]
            for k in range(3):
                total += pose[i, k] * local[s, 1 + k]
            out[s, 1 + i] = total
            for j in range(3):
                total = 0.0
                for k in range(3):
                    total += pose[i, k] * local[s, 7 + 3 * k + j]
                out[s, 7 + 3 * i + j] = total
    return out


@kernel
def scene_geometry(geometry, choices, active, fixed):
    """Gap, point and normal (from the second mover to the first) of every contact.

    Args:
        geometry: fields of a :class:`SceneGeometry`, as a plain tuple.
        choices: how each pair of boxes is looked at (b, 6); filled unless ``fixed``.
        active: which of its places have a point (b, 33); filled unless ``fixed``.
        fixed: whether both stay as they are.
    """
    poses, places, radii, feature_mover, solids, meshes, pairs, box_pairs = geometry
    single = pairs.shape[0]
    count = single + SLOTS * box_pairs.shape[0]
    gap, point, normal = np.empty(count), np.zeros((count, 3)), np.zeros((count, 3))
    place, hessian = np.empty(3), np.empty((3, 3))
    for c in range(single):
        f, s = pairs[c]
        pose = poses[feature_mover[f]]
        for i in range(3):
            place[i] = pose[i, 3]
            for k in range(3):
                place[i] += pose[i, k] * places[f, k]
        gap[c] = surface_distance(solids[s], meshes, place, normal[c], hessian)
        gap[c] -= radii[f]
        for i in range(3):
            point[c, i] = place[i] - radii[f] * normal[c, i]
    for k in range(box_pairs.shape[0]):
        a, b = box_pairs[k]
        part = slice(single + SLOTS * k, single + SLOTS * (k + 1))
        if not fixed:
            choose(solids[a], solids[b], choices[k])
        box_places = BoxPlaces(active[k], gap[part], point[part], normal[part])
        box_contacts(solids[a], solids[b], choices[k], fixed, box_places)
    return gap, point, normal


@kernel
def scene_rates(point, normal, movers, twists):
    """Rates of the gaps; twists are linear at the world's origin, and angular."""
    rate = np.empty(point.shape[0])
    for c in range(point.shape[0]):
        total = 0.0
        for side in range(2):
            m = movers[c, side]
            if m < 0:
                continue
            v, w, p = twists[m, 0], twists[m, 1], point[c]
            along = (
                normal[c, 0] * (v[0] + w[1] * p[2] - w[2] * p[1])
                + normal[c, 1] * (v[1] + w[2] * p[0] - w[0] * p[2])
                + normal[c, 2] * (v[2] + w[0] * p[1] - w[1] * p[0])
            )
            total += along if side == 0 else -along
        rate[c] = total
    return rate


@kernel
def scene_rows(which, jacobian, motion, point, normal):
    """Jacobians of some contacts, in their own frames (k, 3, nv).

    Args:
        which: their indices (k,).
        jacobian: of all joints, in the world (6, nv).
        motion: fields of a :class:`SceneMotion`, as a plain tuple.
        point: where the contacts of solids are (c, 3) [m].
        normal: theirs (c, 3).
    """
    support, movers, limit_of, limit_sign = motion
    nv, count = jacobian.shape[1], point.shape[0]
    rows = np.zeros((which.shape[0], 3, nv))
    frame = np.empty((3, 3))
    for r in range(which.shape[0]):
        c = which[r]
        if c >= count:
            rows[r, 0, limit_of[c - count]] = limit_sign[c - count]
            continue
        n = normal[c]
        axis = 0 if abs(n[0]) < 0.9 else 1
        length = np.sqrt(1.0 - n[axis] ** 2)
        for k in range(3):
            frame[0, k] = n[k]
            frame[1, k] = ((1.0 if k == axis else 0.0) - n[axis] * n[k]) / length
        frame[2, 0] = frame[0, 1] * frame[1, 2] - frame[0, 2] * frame[1, 1]
        frame[2, 1] = frame[0, 2] * frame[1, 0] - frame[0, 0] * frame[1, 2]
        frame[2, 2] = frame[0, 0] * frame[1, 1] - frame[0, 1] * frame[1, 0]
        p = point[c]
        for side in range(2):
            m = movers[c, side]
            if m < 0:
                continue
            sign = 1.0 if side == 0 else -1.0
            for j in range(nv):
                if not support[m, j]:
                    continue
                w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
                c0 = jacobian[0, j] + w1 * p[2] - w2 * p[1]
                c1 = jacobian[1, j] + w2 * p[0] - w0 * p[2]
                c2 = jacobian[2, j] + w0 * p[1] - w1 * p[0]
                for i in range(3):
                    rows[r, i, j] += sign * (
                        frame[i, 0] * c0 + frame[i, 1] * c1 + frame[i, 2] * c2
                    )
    return rows


@kernel
def closing(gap, rate, time, kept):
    """Contacts that are kept or close within a time."""
    which = np.empty(gap.shape[0], np.int64)
    count = 0
    for c in range(gap.shape[0]):
        near = gap[c] <= time * max(-rate[c], SLOW)
        if near or (kept[c] != 0 and gap[c] != FAR and gap[c] < ABSENT):
            which[count] = c
            count += 1
    return which[:count]


@kernel
def gyroscopic(inertia, spin, time):
    """The torque w x I w of the spin w that a free body has after a time.

    By Newton's method on I (w - spin) + time w x I w = 0.
    """
    w = spin.copy()
    matrix = np.empty((3, 3))
    for _ in range(3):
        momentum = inertia @ w
        # w x I w, and its derivative: w^ I - (I w)^
        torque = np.cross(w, momentum)
        cross_w, cross_m = _hat(w), _hat(momentum)
        matrix[:] = inertia + time * (cross_w @ inertia - cross_m)
        residual = inertia @ (w - spin) + time * torque
        w = w - np.linalg.solve(matrix, residual)
    return np.cross(w, inertia @ w)


@kernel
def _hat(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
