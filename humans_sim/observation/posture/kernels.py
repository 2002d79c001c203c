# SPDX-License-Identifier: Apache-2.0
r"""Compiled core of the posture solver: one call finds the posture of one frame.

The cost of a posture q is

.. math:: \sum_m w_m\,\rho(|y_m - x_m(q)|) + \sum_i \lambda_i (q_i - c_i)^2,
   \qquad \rho(r) = \frac{r^2}{1 + r^2/s^2}

over the markers that are seen (Geman and McClure's loss; s infinite: plain squares).
It is brought down by Levenberg-Marquardt steps of reweighted least squares; joints at
their limits that would leave them are held there.

The normal matrix of a tree has no entry between joints of different branches, so it is
factorised as :math:`L^T L` from the tips to the root, which fills none of them in
(Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.observation.posture.tree_kernels import (
    BASE,
    chain_of,
    empty_poses,
    place,
    point_jacobian,
    points,
)

ENOUGH = 1e-8
"""A gain not worth a step, as a share of the cost."""
IDLE = 1e-15
"""A gain not worth a step [m^2]."""


class PostureGoal(NamedTuple):
    """Markers that a posture explains, and the pulls on its joints.

    Attributes:
        y: measured markers (m, 3) [m].
        weight: of them; 0 for those not seen (m,).
        scale: s of the loss [m]; infinite for plain squares.
        prior: how strongly joints are pulled (nv - 6,) [m^2].
        middle: where to (nv - 6,) [rad].
    """

    y: np.ndarray
    weight: np.ndarray
    scale: float
    prior: np.ndarray
    middle: np.ndarray


class NormalEquations(NamedTuple):
    """Equations of a step.

    Attributes:
        matrix: J^T W J, lower triangle (nv, nv).
        vector: J^T W (y - x) (nv,).
    """

    matrix: np.ndarray
    vector: np.ndarray


@kernel
def robust(square, scale):
    """The loss of a squared distance, and the weight it gives the marker."""
    if not np.isfinite(scale):
        return square, 1.0
    share = 1.0 / (1.0 + square / (scale * scale))
    return square * share, share * share


@kernel
def cost_at(x, q, goal):
    """Cost of a posture whose markers are at ``x``."""
    y, weight, scale, prior, middle = goal
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


@kernel
def normal_equations(x, q, goal, marked, poses, equations):
    """Fill in Gauss-Newton's equations, the prior included.

    At q the markers are at ``x`` (m, 3) [m] and the bodies have these poses.
    """
    y, weight, scale, prior, middle = goal
    body, parent = marked.body, marked.tree.parent
    matrix, vector = equations
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
        point_jacobian(x[m], chain, size, poses, jacobian)
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


@kernel
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


@kernel
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


@kernel
def bounded_step(equations, damping, q, tree, work, step):
    """Damped step that stays within the joint limits; False if it cannot be found.

    Joints that the step would take over a limit end at it; the others are solved for
    again. The damping [m^2] is added to the diagonal, ``work`` (nv, nv) is overwritten
    and ``step`` (nv,) filled.
    """
    matrix, vector = equations
    lower, upper, above = tree.lower, tree.upper, tree.above
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


@kernel
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


@kernel
def solve_posture(q, goal, marked, damping, tolerance, most):
    """Bring the cost down from q, in so many iterations at the most.

    Damping [m^2] shortens the first steps; the search ends where the largest part of a
    step is within the tolerance [m, rad]. Gives the posture, its markers (m, 3), cost,
    iterations, whether it converged.
    """
    tree = marked.tree
    lower, upper, n = tree.lower, tree.upper, tree.above.size
    poses = empty_poses(tree.parent.size)
    x, x_new = np.empty(goal.y.shape), np.empty(goal.y.shape)
    vector, step = np.zeros(n), np.zeros(n)
    equations, work = NormalEquations(np.zeros((n, n)), vector), np.zeros((n, n))
    q, q_new = q.copy(), q.copy()
    place(tree, q, poses)
    points(marked, poses, x)
    cost = cost_at(x, q, goal)
    iterations, converged, fresh, growth = 0, False, True, 4.0
    while iterations < most:
        iterations += 1
        if fresh:
            normal_equations(x, q, goal, marked, poses, equations)
        good = bounded_step(equations, damping, q, tree, work, step)
        size, expected, gained = 0.0, 0.0, 0.0
        if good:
            for i in range(n):
                size = max(size, abs(step[i]))
                expected += step[i] * (vector[i] + damping * step[i])
            advance(q, step, lower, upper, q_new)
            place(tree, q_new, poses)
            points(marked, poses, x_new)
            gained = cost - cost_at(x_new, q_new, goal)
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
