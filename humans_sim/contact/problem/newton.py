# SPDX-License-Identifier: Apache-2.0
r"""The contact problem by Newton's method, started from forces that are nearly right.

One step of the time-stepping method is a contact problem that differs little from the
one before it. With Alart and Curnier's functions, which are zero where the law holds,

.. math:: F_n = f_n - \max(0, f_n - u_n), \qquad
   F_t = f_t - \operatorname{proj}_{|\cdot| \le \mu \max(0, f_n - u_n)} (f_t - u_t),

Newton's method finds the modes and the forces together, mostly in one to three
iterations. Where it does not arrive, interior points come near to a solution from afar,
and Newton's method ends what they began.

Redundant contacts make W singular, so a little of the identity is added to it: forces
become even from step to step, and the motion is wrong by 1e-10 of the free motion,
about 1e-12 m/s for a robot that stands. The residual is that of W itself.

*Interior points*, from any start. De Saxce's form of the law: with :math:`\mu |u_t|`
added to the normal motion, motion and force lie in cones that are dual to each other,
and their product is zero. In the variables :math:`x = (u_n + \mu |u_t|, \mu u_t)` and
:math:`y = (f_n, f_t / \mu)` both cones are the same, :math:`x_0 \ge |\bar x|`, and

.. math:: x = Q W Q\, y + Q b + |\bar x| e_0, \qquad x \circ y = \nu e

is a smooth path that leads to the solution as :math:`\nu` goes to zero. It is followed
by Newton steps that stay inside the cones (cf. Acary, Armand, Nguyen and Shpakovych
2023); here the slip :math:`|\bar x|` is differentiated with the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.law import ContactProblem, motion_of, residual_of
from humans_sim.core.dense_kernels import cholesky_solve, lu_factor, lu_solve
from humans_sim.core.kernels import kernel

_STEPS = 60
_CENTRING = 0.1
_RECENTRING, _FULL = 0.8, 0.8
_INSIDE = 0.95
_INTERIOR_NEAR = 1e-8
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
    r"""Forces next to a solution (k, 3); from there the modes can be seen."""
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
        if max(worst, np.sqrt(gap)) < _INTERIOR_NEAR * size:
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


REGULAR = 1e-10
_NEWTON = 12
_POLISH = 12
SOFTNESS = (0.0, 0.01, 0.1)
_NEAR = 100.0
"""How many times the accepted residual need not be worked at any further."""
_MEMORY = 0.9
"""Share of known forces that redundant contacts keep: from step to step their forces
become even. To make them so at once is a long way with kinks on it."""
_ENOUGH = 0.1
"""Share of the accepted residual that forces near to known ones are brought to."""
SEARCH = 1e-3
CONVERGED = 1e-11
EXACT = 1e-14
"""Residual at which the forces are as good as rounding lets them be."""
ACCEPTED = 1e-8
"""Residual from which repeating brings the forces to a solution."""
_REPEATS = 3
_IDLE = 1e-12
"""Share of the largest normal force below which a force is rounding."""


@kernel
def solve_near(delassus, free, tangents, friction, start, accepted):
    """Forces inside their cones (k, 3), near to known ones; the relative residual."""
    n = friction.shape[0]
    # Contacts of different units (metres, radians) are put on one scale.
    scale = np.empty(n)
    largest = 0.0
    for c in range(n):
        scale[c] = np.sqrt(max(delassus[3 * c, 3 * c], 1e-300))
        largest = max(largest, scale[c])
    for c in range(n):
        scale[c] = 1.0 / (scale[c] if scale[c] > 1e-9 * largest else largest)
    matrix = np.empty((3 * n, 3 * n))
    motion, forces = np.empty((n, 3)), np.empty((n, 3))
    size = 0.0
    for c in range(n):
        for i in range(3):
            motion[c, i] = scale[c] * free[c, i]
            forces[c, i] = start[c, i] / scale[c]
            size = max(size, abs(motion[c, i]))
            for d in range(n):
                for j in range(3):
                    matrix[3 * c + i, 3 * d + j] = (
                        scale[c] * scale[d] * delassus[3 * c + i, 3 * d + j]
                    )
    none = np.zeros((n, 2))
    if size == 0.0:
        return np.zeros((n, 3)), 0.0
    problem = ContactProblem(matrix, motion, tangents, friction, none)
    goal = _ENOUGH * accepted
    confine(forces, tangents, friction)
    residual = residual_of(problem, forces)
    if not residual <= goal:
        residual = _arrive(problem, forces, _MEMORY * forces, size, accepted, goal)
    for c in range(n):
        for i in range(3):
            forces[c, i] *= scale[c]
    return forces, residual


@kernel
def by_newton(problem):
    """Solve a contact problem, its normals on one scale, from a cold start.

    The little of the identity that was added to W is taken out again: about the forces
    that it led to, it has next to no effect (the proximal point method).
    """
    matrix, free, tangents, friction, none = problem
    forces = np.zeros(free.shape)
    size = np.abs(free).max()
    if size == 0.0:
        return forces, 0.0
    exact = ContactProblem(matrix, free, tangents, friction, none)
    residual = _arrive(exact, forces, forces, size, ACCEPTED, CONVERGED)
    regular = _regular(matrix)
    for _ in range(_REPEATS):
        if residual <= EXACT:
            break
        trial, shifted = forces.copy(), free - REGULAR * forces
        near = ContactProblem(regular, shifted, tangents, friction, none)
        _newton(near, trial, EXACT * size, _POLISH)
        confine(trial, tangents, friction)
        trial_residual = residual_of(exact, trial)
        if not trial_residual < residual:
            break
        residual = trial_residual
        forces[:] = trial
    return forces, residual


@kernel
def _regular(matrix):
    """W with a little of the identity added."""
    regular = matrix.copy()
    for i in range(matrix.shape[0]):
        regular[i, i] += REGULAR
    return regular


@kernel
def _arrive(exact, forces, centre, size, accepted, converged):
    """Newton's method, and interior points where it fails; changes the forces."""
    matrix, motion, tangents, friction, none = exact
    regular = _regular(matrix)
    goal = converged * size
    near = ContactProblem(regular, motion, tangents, friction, none)
    shifted = motion - REGULAR * centre
    first = ContactProblem(regular, shifted, tangents, friction, none)
    _newton(first, forces, goal, _NEWTON)
    confine(forces, tangents, friction)
    residual = residual_of(exact, forces)
    enough = accepted
    for softness in SOFTNESS:
        if residual <= enough:
            break
        enough = _NEAR * accepted
        other = interior_point(regular, motion, tangents, friction, size, softness)
        for polish in range(2):
            if polish:
                _newton(near, other, goal, _POLISH)
            trial = other.copy()
            confine(trial, tangents, friction)
            trial_residual = residual_of(exact, trial)
            if not trial_residual >= residual:
                residual = trial_residual
                forces[:] = trial
    return residual


@kernel
def confine(forces, tangents, friction):
    """Put forces that rounding left outside their cones back."""
    n = forces.shape[0]
    load = 0.0
    for c in range(n):
        load = max(load, forces[c, 0])
    for c in range(n):
        held = np.isinf(friction[c]) and tangents[c] > 0
        if forces[c, 0] <= _IDLE * load:
            forces[c, 0] = 0.0
        if held:
            continue
        along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
        bound = friction[c] * forces[c, 0] if tangents[c] > 0 else 0.0
        if along > bound:
            forces[c, 1] *= bound / along
            forces[c, 2] *= bound / along


@kernel
def _newton(problem, forces, goal, most):
    """Newton's method with a search along each step; changes the forces."""
    n = forces.shape[0]
    motion, errors, trial = np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3))
    jacobian = np.empty((3 * n, 3 * n))
    order, step = np.empty(3 * n, np.int64), np.empty(3 * n)
    norm = _errors(problem, forces, motion, errors)
    for _ in range(most):
        if not norm > goal:
            return
        held = _held_step(problem, forces, motion, errors, (jacobian, order, step))
        if not held:
            _jacobian(problem, forces, motion, jacobian)
            for c in range(n):
                for i in range(3):
                    step[3 * c + i] = errors[c, i]
            if not lu_factor(jacobian, order):
                return
            lu_solve(jacobian, order, step)
        share = 1.0
        while True:
            for c in range(n):
                for i in range(3):
                    trial[c, i] = forces[c, i] - share * step[3 * c + i]
            new = _errors(problem, trial, motion, errors)
            # The shortest step is taken in any case: the errors have kinks, and
            # beyond one the way down may begin.
            if new <= (1.0 - 1e-4 * share) * norm or share < SEARCH:
                break
            share *= 0.5
        forces[:] = trial
        norm = new


@kernel
def _held_step(problem, forces, motion, errors, buffers):
    """Newton's step where no contact slides, and whether that is so.

    Forces that act have the equations of W alone, which are symmetric; the others
    become zero.
    """
    matrix, _, tangents, friction, _ = problem
    square, acting, step = buffers
    n, count = forces.shape[0], 0
    for c in range(n):
        pressed = forces[c, 0] - motion[c, 0]
        if pressed > 0.0:
            acting[count] = 3 * c
            count += 1
        if tangents[c] == 0:
            continue
        if not np.isinf(friction[c]):
            p1 = forces[c, 1] - motion[c, 1]
            p2 = forces[c, 2] - motion[c, 2] if tangents[c] > 1 else 0.0
            if p1 * p1 + p2 * p2 > (friction[c] * max(0.0, pressed)) ** 2:
                if pressed > 0.0:
                    return False
                continue
        for i in range(1, 1 + tangents[c]):
            acting[count] = 3 * c + i
            count += 1
    reduced, known = square[:count, :count], step[:count]
    for a in range(count):
        r = acting[a]
        known[a] = errors[r // 3, r % 3]
        b = 0
        for j in range(3 * n):
            if b < count and acting[b] == j:
                if b <= a:
                    reduced[a, b] = matrix[r, j]
                b += 1
            else:
                known[a] -= matrix[r, j] * errors[j // 3, j % 3]
    if not cholesky_solve(reduced, known):
        return False
    a = count - 1
    for j in range(3 * n - 1, -1, -1):
        if a >= 0 and acting[a] == j:
            step[j] = known[a]
            a -= 1
        else:
            step[j] = errors[j // 3, j % 3]
    return True


@kernel
def _errors(problem, forces, motion, errors):
    """Alart and Curnier's functions, and their length."""
    matrix, free, tangents, friction, _ = problem
    n = forces.shape[0]
    total = 0.0
    for c in range(n):
        motion_of(matrix, free, forces, c, motion[c])
        pressed = max(0.0, forces[c, 0] - motion[c, 0])
        errors[c, 0] = forces[c, 0] - pressed
        errors[c, 1], errors[c, 2] = forces[c, 1], forces[c, 2]
        if tangents[c] > 0:
            p1 = forces[c, 1] - motion[c, 1]
            p2 = forces[c, 2] - motion[c, 2] if tangents[c] > 1 else 0.0
            length = np.sqrt(p1 * p1 + p2 * p2)
            ratio = 1.0
            if not np.isinf(friction[c]) and length > friction[c] * pressed:
                ratio = friction[c] * pressed / length
            errors[c, 1] -= ratio * p1
            errors[c, 2] -= ratio * p2
        for i in range(3):
            total += errors[c, i] ** 2
    return np.sqrt(total)


@kernel
def _jacobian(problem, forces, motion, jacobian):
    """Derivatives of the errors by the forces, on one side of each kink."""
    matrix, _, tangents, friction, _ = problem
    n = forces.shape[0]
    size = 3 * n
    for c in range(n):
        r = 3 * c
        pressed = forces[c, 0] - motion[c, 0]
        for i in range(3):
            for j in range(size):
                jacobian[r + i, j] = 0.0
            jacobian[r + i, r + i] = 1.0
        if pressed > 0.0:
            for j in range(size):
                jacobian[r, j] = matrix[r, j]
        if tangents[c] == 0:
            continue
        held = np.isinf(friction[c])
        p1 = forces[c, 1] - motion[c, 1]
        p2 = forces[c, 2] - motion[c, 2] if tangents[c] > 1 else 0.0
        length, radius = np.sqrt(p1 * p1 + p2 * p2), friction[c] * max(0.0, pressed)
        if held or length <= radius:
            for i in range(1, 1 + tangents[c]):
                for j in range(size):
                    jacobian[r + i, j] = matrix[r + i, j]
        elif pressed > 0.0:
            mu, ratio = friction[c], radius / length
            d1, d2 = p1 / length, p2 / length
            a11 = ratio * (1.0 - d1 * d1)
            a12 = -ratio * d1 * d2
            a22 = ratio * (1.0 - d2 * d2)
            if tangents[c] == 1:
                a22 = 0.0
            for j in range(size):
                w0, w1, w2 = matrix[r, j], matrix[r + 1, j], matrix[r + 2, j]
                jacobian[r + 1, j] += mu * d1 * w0 + a11 * w1 + a12 * w2
                jacobian[r + 2, j] += mu * d2 * w0 + a12 * w1 + a22 * w2
            jacobian[r + 1, r] -= mu * d1
            jacobian[r + 2, r] -= mu * d2
            jacobian[r + 1, r + 1] -= a11
            jacobian[r + 1, r + 2] -= a12
            jacobian[r + 2, r + 1] -= a12
            jacobian[r + 2, r + 2] -= a22
