# SPDX-License-Identifier: Apache-2.0
r"""Compiled core of the posture solver: one call finds the posture of one frame.

The cost of a posture q is

.. math:: \sum_m w_m\,\rho(|y_m - x_m(q)|) + \sum_i \lambda_i (q_i - c_i)^2,
   \qquad \rho(r) = \frac{r^2}{1 + r^2/s^2}

over the markers that are seen (Geman and McClure's loss; s infinite: plain squares).
It is brought down by Levenberg-Marquardt steps of reweighted least squares; joints at
their limits that would leave them are held there.

Kinematics are those of the pinocchio model, whose placements and axes these kernels
are given; tests hold positions and Jacobians against pinocchio's. They are here, not
called there, because a call into pinocchio from Python, with its results fetched joint
by joint, takes longer than the rest of a frame's solution.

The normal matrix of a tree has no entry between joints of different branches, so it is
factorised as :math:`L^T L` from the tips to the root, which fills none of them in
(Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5).
"""

from __future__ import annotations

import numpy as np
from numba import njit

BASE = 6
"""Velocity coordinates of the base: translation along the world's axes, then rotation
about them."""
ENOUGH = 1e-8
"""A gain not worth a step, as a share of the cost."""
IDLE = 1e-15
"""A gain not worth a step [m^2]."""


@njit(cache=True)
def place(q, parent, rotation, origin, axis, turn, centre, line):
    """Pose of every body at q: ``turn``, ``centre``, and joint axes ``line``.

    Body 0 is the base; body i > 0 turns about ``axis[i]``, in its own frame, which
    sits at ``rotation[i]``, ``origin[i]`` in its parent.
    """
    x, y, z, w = q[3], q[4], q[5], q[6]
    turn[0, 0, 0] = 1 - 2 * (y * y + z * z)
    turn[0, 0, 1] = 2 * (x * y - z * w)
    turn[0, 0, 2] = 2 * (x * z + y * w)
    turn[0, 1, 0] = 2 * (x * y + z * w)
    turn[0, 1, 1] = 1 - 2 * (x * x + z * z)
    turn[0, 1, 2] = 2 * (y * z - x * w)
    turn[0, 2, 0] = 2 * (x * z - y * w)
    turn[0, 2, 1] = 2 * (y * z + x * w)
    turn[0, 2, 2] = 1 - 2 * (x * x + y * y)
    for a in range(3):
        centre[0, a] = q[a]
    fixed = np.empty((3, 3))
    own = np.empty((3, 3))
    for i in range(1, parent.size):
        p = parent[i]
        for a in range(3):
            centre[i, a] = centre[p, a]
            for b in range(3):
                centre[i, a] += turn[p, a, b] * origin[i, b]
                fixed[a, b] = 0.0
                for c in range(3):
                    fixed[a, b] += turn[p, a, c] * rotation[i, c, b]
        s, co = np.sin(q[6 + i]), np.cos(q[6 + i])
        t = 1.0 - co
        u, v, k = axis[i, 0], axis[i, 1], axis[i, 2]
        own[0, 0] = t * u * u + co
        own[0, 1] = t * u * v - s * k
        own[0, 2] = t * u * k + s * v
        own[1, 0] = t * u * v + s * k
        own[1, 1] = t * v * v + co
        own[1, 2] = t * v * k - s * u
        own[2, 0] = t * u * k - s * v
        own[2, 1] = t * v * k + s * u
        own[2, 2] = t * k * k + co
        for a in range(3):
            line[i, a] = fixed[a, 0] * u + fixed[a, 1] * v + fixed[a, 2] * k
            for b in range(3):
                turn[i, a, b] = 0.0
                for c in range(3):
                    turn[i, a, b] += fixed[a, c] * own[c, b]


@njit(cache=True)
def points(body, local, turn, centre, out):
    """World positions of points fixed on bodies."""
    for m in range(body.size):
        b = body[m]
        for a in range(3):
            out[m, a] = centre[b, a]
            for c in range(3):
                out[m, a] += turn[b, a, c] * local[m, c]


@njit(cache=True)
def chain_of(body, parent, out):
    """Velocity coordinates that move a body, root first; returns how many."""
    n, b = 0, body
    while b > 0:
        n += 1
        b = parent[b]
    b = body
    for k in range(n):
        out[BASE + n - 1 - k] = BASE + b - 1
        b = parent[b]
    for k in range(BASE):
        out[k] = k
    return BASE + n


@njit(cache=True)
def point_jacobian(x, chain, size, centre, line, out):
    """Jacobian (3, size) of a point at ``x`` along its chain."""
    for k in range(3):
        for a in range(3):
            out[a, k] = 1.0 if a == k else 0.0
    d0, d1, d2 = x[0] - centre[0, 0], x[1] - centre[0, 1], x[2] - centre[0, 2]
    out[0, 3], out[1, 3], out[2, 3] = 0.0, -d2, d1
    out[0, 4], out[1, 4], out[2, 4] = d2, 0.0, -d0
    out[0, 5], out[1, 5], out[2, 5] = -d1, d0, 0.0
    for k in range(BASE, size):
        i = chain[k] - BASE + 1
        d0, d1, d2 = x[0] - centre[i, 0], x[1] - centre[i, 1], x[2] - centre[i, 2]
        out[0, k] = line[i, 1] * d2 - line[i, 2] * d1
        out[1, k] = line[i, 2] * d0 - line[i, 0] * d2
        out[2, k] = line[i, 0] * d1 - line[i, 1] * d0


@njit(cache=True)
def robust(square, scale):
    """The loss of a squared distance, and the weight it gives the marker."""
    if not np.isfinite(scale):
        return square, 1.0
    share = 1.0 / (1.0 + square / (scale * scale))
    return square * share, share * share


@njit(cache=True)
def cost_at(x, y, weight, scale, q, prior, middle):
    """Cost of a posture whose markers are at ``x``."""
    total = 0.0
    for m in range(weight.size):
        if weight[m] > 0.0:
            square = 0.0
            for a in range(3):
                square += (y[m, a] - x[m, a]) ** 2
            total += weight[m] * robust(square, scale)[0]
    for i in range(prior.size):
        total += prior[i] * (q[7 + i] - middle[i]) ** 2
    return total


@njit(cache=True)
def normal_equations(
    x, y, weight, scale, q, prior, middle, body, parent, centre, line, matrix, vector
):
    """Gauss-Newton matrix J^T W J and right-hand side J^T W (y - x), prior included."""
    n = vector.size
    for i in range(n):
        vector[i] = 0.0
        for j in range(n):
            matrix[i, j] = 0.0
    chain = np.empty(n, np.int64)
    jacobian = np.empty((3, n))
    gap = np.empty(3)
    last, size = -1, 0
    for m in range(weight.size):
        if weight[m] <= 0.0:
            continue
        square = 0.0
        for a in range(3):
            gap[a] = y[m, a] - x[m, a]
            square += gap[a] * gap[a]
        w = weight[m] * robust(square, scale)[1]
        if body[m] != last:
            last = body[m]
            size = chain_of(last, parent, chain)
        point_jacobian(x[m], chain, size, centre, line, jacobian)
        for k in range(size):
            i = chain[k]
            j0, j1, j2 = w * jacobian[0, k], w * jacobian[1, k], w * jacobian[2, k]
            vector[i] += j0 * gap[0] + j1 * gap[1] + j2 * gap[2]
            for h in range(k + 1):
                matrix[i, chain[h]] += (
                    j0 * jacobian[0, h] + j1 * jacobian[1, h] + j2 * jacobian[2, h]
                )
    for i in range(prior.size):
        matrix[BASE + i, BASE + i] += prior[i]
        vector[BASE + i] += prior[i] * (middle[i] - q[7 + i])


@njit(cache=True)
def factorise(matrix, above):
    """L^T L of a tree's matrix, in place, lower triangle; False if not positive.

    ``above[i]`` is the coordinate before i on its way to the root, -1 for the first.
    """
    for k in range(above.size - 1, -1, -1):
        if not matrix[k, k] > 0.0:
            return False
        matrix[k, k] = np.sqrt(matrix[k, k])
        i = above[k]
        while i >= 0:
            matrix[k, i] /= matrix[k, k]
            i = above[i]
        i = above[k]
        while i >= 0:
            j = i
            while j >= 0:
                matrix[i, j] -= matrix[k, i] * matrix[k, j]
                j = above[j]
            i = above[i]
    return True


@njit(cache=True)
def substitute(factor, above, x):
    """Solve L^T L x = b; ``x`` holds b and then the solution."""
    for i in range(above.size - 1, -1, -1):
        x[i] /= factor[i, i]
        j = above[i]
        while j >= 0:
            x[j] -= factor[i, j] * x[i]
            j = above[j]
    for i in range(above.size):
        j = above[i]
        while j >= 0:
            x[i] -= factor[i, j] * x[j]
            j = above[j]
        x[i] /= factor[i, i]


@njit(cache=True)
def bounded_step(matrix, vector, damping, q, lower, upper, above, work, step):
    """Damped step that stays within the joint limits; False if it cannot be found.

    Joints that the step would take over a limit end at it; the others are solved for
    again.
    """
    n = vector.size
    held = np.zeros(n, np.bool_)
    for i in range(lower.size):
        now = q[7 + i]
        # On the limit and pushed outwards: stays.
        if (now <= lower[i] and vector[BASE + i] < 0.0) or (
            now >= upper[i] and vector[BASE + i] > 0.0
        ):
            held[BASE + i] = True
    target = np.zeros(n)
    for _ in range(6):
        for i in range(n):
            step[i] = vector[i]
            j = i
            while j >= 0:
                work[i, j] = matrix[i, j]
                j = above[j]
            work[i, i] += damping + 1e-14
        # Known steps go to the right-hand side.
        for i in range(n):
            j = above[i]
            while j >= 0:
                if held[i] and not held[j]:
                    step[j] -= matrix[i, j] * target[i]
                elif held[j] and not held[i]:
                    step[i] -= matrix[i, j] * target[j]
                if held[i] or held[j]:
                    work[i, j] = 0.0
                j = above[j]
        for i in range(n):
            if held[i]:
                work[i, i] = 1.0
                step[i] = target[i]
        if not factorise(work, above):
            return False
        substitute(work, above, step)
        over = False
        for i in range(lower.size):
            if held[BASE + i]:
                continue
            desired = q[7 + i] + step[BASE + i]
            if desired < lower[i]:
                held[BASE + i], over = True, True
                target[BASE + i] = lower[i] - q[7 + i]
            elif desired > upper[i]:
                held[BASE + i], over = True, True
                target[BASE + i] = upper[i] - q[7 + i]
        if not over:
            return True
    for i in range(lower.size):
        desired = min(max(q[7 + i] + step[BASE + i], lower[i]), upper[i])
        step[BASE + i] = desired - q[7 + i]
    return True


@njit(cache=True)
def advance(q, step, lower, upper, out):
    """The posture reached by a step of the base in world axes and of the joints."""
    for a in range(3):
        out[a] = q[a] + step[a]
    angle = np.sqrt(step[3] ** 2 + step[4] ** 2 + step[5] ** 2)
    half = 0.5 * angle
    s = 0.5 - angle * angle / 48.0 if angle < 1e-4 else np.sin(half) / angle
    x, y, z, w = s * step[3], s * step[4], s * step[5], np.cos(half)
    out[3] = w * q[3] + x * q[6] + y * q[5] - z * q[4]
    out[4] = w * q[4] - x * q[5] + y * q[6] + z * q[3]
    out[5] = w * q[5] + x * q[4] - y * q[3] + z * q[6]
    out[6] = w * q[6] - x * q[3] - y * q[4] - z * q[5]
    length = np.sqrt(out[3] ** 2 + out[4] ** 2 + out[5] ** 2 + out[6] ** 2)
    for a in range(3, 7):
        out[a] /= length
    for i in range(lower.size):
        moved = q[7 + i] + step[6 + i]
        # A joint already beyond a limit (a start given by hand) may come back only.
        out[7 + i] = min(max(moved, min(lower[i], q[7 + i])), max(upper[i], q[7 + i]))


@njit(cache=True)
def solve_posture(
    q, y, weight, scale, prior, middle,
    body, local, parent, rotation, origin, axis, above, lower, upper,
    damping, tolerance, most,
):  # fmt: skip
    """Bring the cost down from q; ``damping`` shortens the first steps [m^2].

    Returns:
        posture, markers of it (m, 3), cost, iterations, whether it converged.
    """
    n, bodies = above.size, parent.size
    turn, centre = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    line = np.zeros((bodies, 3))
    x, x_new = np.empty(y.shape), np.empty(y.shape)
    matrix, work = np.zeros((n, n)), np.zeros((n, n))
    vector, step = np.zeros(n), np.zeros(n)
    q, q_new = q.copy(), q.copy()
    place(q, parent, rotation, origin, axis, turn, centre, line)
    points(body, local, turn, centre, x)
    cost = cost_at(x, y, weight, scale, q, prior, middle)
    iterations, converged, fresh, growth = 0, False, True, 4.0
    while iterations < most:
        iterations += 1
        if fresh:
            normal_equations(
                x, y, weight, scale, q, prior, middle, body, parent, centre, line,
                matrix, vector,
            )  # fmt: skip
        good = bounded_step(matrix, vector, damping, q, lower, upper, above, work, step)
        size, expected, gained = 0.0, 0.0, 0.0
        if good:
            for i in range(n):
                size = max(size, abs(step[i]))
                expected += step[i] * (vector[i] + damping * step[i])
            advance(q, step, lower, upper, q_new)
            place(q_new, parent, rotation, origin, axis, turn, centre, line)
            points(body, local, turn, centre, x_new)
            gained = cost - cost_at(x_new, y, weight, scale, q_new, prior, middle)
            # Damped steps along a valley that markers leave open gain nothing; nor do
            # steps whose gain is lost in what skin and model leave over.
            if (
                size < tolerance
                or expected < ENOUGH * cost
                or (damping > 0.0 and expected < IDLE)
            ):
                converged = True
                if gained > 0.0:
                    q[:], x[:] = q_new, x_new
                    cost -= gained
                break
        if good and gained > 0.0:
            q[:], x[:] = q_new, x_new
            cost -= gained
            fresh, growth = True, 4.0
            # Nielsen's rule: trust the linear model as far as it predicted the gain.
            share = 2.0 * gained / max(expected, 1e-300) - 1.0
            damping *= max(0.1, 1.0 - share**3) if share < 1.0 else 0.1
            if damping < 1e-12:
                damping = 0.0
        else:
            fresh = False
            damping = max(growth * damping, 1e-6)
            growth *= 2.0
            if damping > 1e8:
                break
    return q, x, cost, iterations, converged
