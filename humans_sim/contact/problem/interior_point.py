# SPDX-License-Identifier: Apache-2.0
r"""The contact problem by interior points, from any start.

De Saxce's form of the law: with :math:`\mu |u_t|` added to the normal motion, motion
and force lie in cones that are dual to each other, and their product is zero. In the
variables :math:`x = (u_n + \mu |u_t|, \mu u_t)` and :math:`y = (f_n, f_t / \mu)` both
cones are the same, :math:`x_0 \ge |\bar x|`, and

.. math:: x = Q W Q\, y + Q b + |\bar x| e_0, \qquad x \circ y = \nu e

is a smooth path that leads to the solution as :math:`\nu` goes to zero. It is followed
by Newton steps that stay inside the cones (cf. Acary, Armand, Nguyen and Shpakovych
2023); here the slip :math:`|\bar x|` is differentiated with the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.law_kernels import motion_of
from humans_sim.core.dense_kernels import lu_factor, lu_solve
from humans_sim.core.kernels import kernel

_STEPS = 60
_CENTRING = 0.1
_RECENTRING, _FULL = 0.8, 0.8
_INSIDE = 0.95
_NEAR = 1e-8
_SHORT, _STALLED = 0.1, 3


class _PathPoint(NamedTuple):
    """A point near the path, how far off it is, and where to go next.

    Attributes:
        x: motions (k, 3), inside the cone.
        y: forces (k, 3), inside the cone.
        errors: how far x is from what y causes (k, 3).
        blur: by which the kink of the slip at rest is rounded off.
        target: product of x and y to aim for.
    """

    x: np.ndarray
    y: np.ndarray
    errors: np.ndarray
    blur: float
    target: float


@kernel
def interior_point(delassus, free, tangents, friction, size, softness):
    r"""Forces next to a solution (k, 3); from there the modes can be seen.

    Args:
        delassus: W (3k, 3k), positive definite, its normals' diagonal one.
        free: b (k, 3).
        tangents: (k,) number of tangents of each contact.
        friction: (k,).
        size: of the free motion; forces begin there.
        softness: how far the path rounds off the kink of :math:`|\bar x|` at rest;
            zero is the shorter way, some is the safer one where slips are tiny.
    """
    n = friction.shape[0]
    matrix, shift = _in_one_cone(delassus, free, tangents, friction)
    x, y = np.zeros((n, 3)), np.zeros((n, 3))
    x[:, 0], y[:, 0] = size, size
    errors, dx, step = np.empty((n, 3)), np.empty((n, 3)), np.empty(3 * n)
    jacobian, order = np.empty((3 * n, 3 * n)), np.empty(3 * n, np.int64)
    short, share = 0, 1.0
    for _ in range(_STEPS):
        gap = 0.0
        for c in range(n):
            for i in range(3):
                gap += x[c, i] * y[c, i] / n
        blur = softness * gap
        worst = _path_errors(matrix, shift, x, y, blur, errors)
        if max(worst, np.sqrt(gap)) < _NEAR * size:
            break
        # A step that was cut short has come near to the cones: back to the middle.
        target = gap * (_CENTRING if share > _FULL else _RECENTRING)
        point = _PathPoint(x, y, errors, blur, target)
        _path_jacobian(matrix, tangents, friction, point, jacobian, step)
        if not lu_factor(jacobian, order):
            break
        lu_solve(jacobian, order, step)
        share = 1.0
        for c in range(n):
            held = tangents[c] > 0 and np.isinf(friction[c])
            for i in range(3):
                total = -errors[c, i]
                for j in range(3 * n):
                    total += matrix[3 * c + i, j] * step[j]
                dx[c, i] = total
            if held:
                room = _room_of_normal(x[c, 0], dx[c, 0])
                share = min(share, _INSIDE * room)
                room = _room_of_normal(y[c, 0], step[3 * c])
                share = min(share, _INSIDE * room)
                dx[c, 1] = dx[c, 2] = 0.0
                continue
            along = np.sqrt(x[c, 1] ** 2 + x[c, 2] ** 2 + blur)
            if along > 0.0:
                dx[c, 0] += (x[c, 1] * dx[c, 1] + x[c, 2] * dx[c, 2]) / along
            share = min(share, _INSIDE * _room(x[c], dx[c]))
            share = min(share, _INSIDE * _room(y[c], step[3 * c : 3 * c + 3]))
        for c in range(n):
            for i in range(3):
                x[c, i] += share * dx[c, i]
                y[c, i] += share * step[3 * c + i]
        # Where contacts are at the verge of slipping the path ends in ever shorter
        # steps, next to the solution all the same.
        short = short + 1 if share < _SHORT else 0
        if short == _STALLED:
            break
    for c in range(n):
        if tangents[c] > 0 and not np.isinf(friction[c]):
            y[c, 1] *= friction[c]
            y[c, 2] *= friction[c]
    return y


@kernel
def _in_one_cone(delassus, free, tangents, friction):
    """Q W Q and Q b; tangents without friction and missing ones become zero."""
    n = friction.shape[0]
    factor = np.zeros(3 * n)
    for c in range(n):
        factor[3 * c] = 1.0
        for i in range(tangents[c]):
            held = np.isinf(friction[c])
            factor[3 * c + 1 + i] = 1.0 if held else friction[c]
    matrix, shift = np.empty((3 * n, 3 * n)), np.empty((n, 3))
    for r in range(3 * n):
        shift[r // 3, r % 3] = factor[r] * free[r // 3, r % 3]
        for j in range(3 * n):
            matrix[r, j] = factor[r] * delassus[r, j] * factor[j]
    return matrix, shift


@kernel
def _path_errors(matrix, shift, x, y, blur, errors):
    """How far x is from what y causes; the largest."""
    n = x.shape[0]
    worst = 0.0
    for c in range(n):
        motion_of(matrix, shift, y, c, errors[c])
        for i in range(3):
            errors[c, i] = x[c, i] - errors[c, i]
        errors[c, 0] -= np.sqrt(x[c, 1] ** 2 + x[c, 2] ** 2 + blur)
        for i in range(3):
            worst = max(worst, abs(errors[c, i]))
    return worst


@kernel
def _path_jacobian(matrix, tangents, friction, point, jacobian, right):
    """Newton's equations of the path for y alone."""
    x, y, errors, blur, target = point
    n = x.shape[0]
    for c in range(n):
        r = 3 * c
        x0, x1, x2 = x[c, 0], x[c, 1], x[c, 2]
        y0, y1, y2 = y[c, 0], y[c, 1], y[c, 2]
        e0, e1, e2 = errors[c, 0], errors[c, 1], errors[c, 2]
        if tangents[c] > 0 and np.isinf(friction[c]):
            # The tangents are held: no cone binds them to the normal.
            for j in range(3 * n):
                jacobian[r, j] = y0 * matrix[r, j]
                jacobian[r + 1, j] = matrix[r + 1, j]
                jacobian[r + 2, j] = matrix[r + 2, j]
            jacobian[r, r] += x0
            if tangents[c] == 1:
                jacobian[r + 2, r + 2] = 1.0
            right[r] = target - x0 * y0 + y0 * e0
            right[r + 1], right[r + 2] = e1, e2
            continue
        along = np.sqrt(x1 * x1 + x2 * x2 + blur)
        d1 = x1 / along if along > 0.0 else 0.0
        d2 = x2 / along if along > 0.0 else 0.0
        e0 += d1 * e1 + d2 * e2
        for j in range(3 * n):
            w1, w2 = matrix[r + 1, j], matrix[r + 2, j]
            w0 = matrix[r, j] + d1 * w1 + d2 * w2
            jacobian[r, j] = y0 * w0 + y1 * w1 + y2 * w2
            jacobian[r + 1, j] = y1 * w0 + y0 * w1
            jacobian[r + 2, j] = y2 * w0 + y0 * w2
        jacobian[r, r] += x0
        jacobian[r, r + 1] += x1
        jacobian[r, r + 2] += x2
        jacobian[r + 1, r] += x1
        jacobian[r + 1, r + 1] += x0
        jacobian[r + 2, r] += x2
        jacobian[r + 2, r + 2] += x0
        right[r] = target - (x0 * y0 + x1 * y1 + x2 * y2)
        right[r] += y0 * e0 + y1 * e1 + y2 * e2
        right[r + 1] = -(x0 * y1 + y0 * x1) + y1 * e0 + y0 * e1
        right[r + 2] = -(x0 * y2 + y0 * x2) + y2 * e0 + y0 * e2


@kernel
def _room_of_normal(x, dx):
    """Largest step that leaves a number above zero."""
    return -x / dx if dx < 0.0 else np.inf


@kernel
def _room(x, dx):
    """Largest step from inside the cone to its surface."""
    room = _room_of_normal(x[0], dx[0])
    a = dx[0] ** 2 - dx[1] ** 2 - dx[2] ** 2
    b = x[0] * dx[0] - x[1] * dx[1] - x[2] * dx[2]
    c = x[0] ** 2 - x[1] ** 2 - x[2] ** 2
    # Smallest root above zero of a t^2 + 2 b t + c.
    square = b * b - a * c
    if b < 0.0:
        if square >= 0.0:
            room = min(room, c / (np.sqrt(square) - b))
    elif a < 0.0:
        room = min(room, -(b + np.sqrt(square)) / a)
    return room
