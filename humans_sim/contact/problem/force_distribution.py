# SPDX-License-Identifier: Apache-2.0
r"""Force distribution: of all contact forces with one effect, the most central ones.

Redundant contacts leave the forces open: :math:`\sum J_i^T f_i` is known, the part of
each contact is not. A contact lifts off, or slips, when *no* distribution is admissible
any more, not when one particular distribution is not. So the largest margin s is sought
with

.. math:: f_{n,i} \ge s, \qquad \mu_i f_{n,i} - |f_{t,i}| \ge s,

by a barrier method over the null space of :math:`J^T` (Newton's method on
:math:`-\tau s - \sum \log` of the margins, tau growing). Forces are scaled by the load,
so the margin is relative to it. Sliding contacts have one unknown, their normal force.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.law import SLIDE, STICK
from humans_sim.core.dense_kernels import backward, cholesky, forward_rows
from humans_sim.core.kernels import kernel

_RANK = 1e-4
"""Forces whose effect is below this, relative to the largest, are free to share."""
_ENOUGH = 0.02
"""A margin of this part of the mean load is good enough to stop."""
_ACCURACY = 1e-11


@dataclass(frozen=True)
class ContactForceSplit:
    """Contact forces and their margin.

    Attributes:
        forces: (k, 3) [N].
        margin: the least of all margins [N]; negative where no split is admissible.
    """

    forces: np.ndarray
    margin: float


def margins(
    forces: np.ndarray, mode: np.ndarray, tangents: np.ndarray, friction: np.ndarray
) -> np.ndarray:
    """How far each closed contact is from lifting or slipping (k,) [N].

    The normal force, or what is left of the cone if that is less; open contacts have
    an infinite margin.
    """
    margin = np.where(mode == 0, np.inf, forces[:, 0])
    cone = (mode == STICK) & (tangents > 0) & np.isfinite(friction)
    if cone.any():
        along = np.sqrt(forces[:, 1] ** 2 + forces[:, 2] ** 2)
        reach = np.where(cone, friction, 0.0) * forces[:, 0] - along
        margin = np.where(cone, np.minimum(margin, reach), margin)
    return margin


def best_split(
    forces: np.ndarray,
    rows: np.ndarray,
    mode: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
    direction: np.ndarray,
) -> ContactForceSplit:
    """The forces of largest margin that push the system as ``forces`` do."""
    closed = np.flatnonzero(mode)
    if closed.size == 0:
        return ContactForceSplit(forces, np.inf)
    columns: list[np.ndarray] = []
    start: list[float] = []
    heads: list[int] = []
    counts: list[int] = []
    for c in closed:
        heads.append(len(columns))
        if mode[c] == SLIDE:
            pull = rows[c, 0].copy()
            for i in range(tangents[c]):
                pull -= friction[c] * direction[c, i] * rows[c, 1 + i]
            columns.append(pull)
            start.append(forces[c, 0])
            counts.append(0)
        else:
            for i in range(1 + tangents[c]):
                columns.append(rows[c, i])
                start.append(forces[c, i])
            counts.append(int(tangents[c]) if np.isfinite(friction[c]) else 0)
    effect = np.array(columns)
    x = np.array(start)
    load = float(np.abs(x[heads]).mean())
    now = float(margins(forces, mode, tangents, friction).min())
    if load == 0.0:
        return ContactForceSplit(forces, now)
    basis, sizes, _ = np.linalg.svd(effect, full_matrices=True)
    rank = int((sizes > _RANK * sizes[0]).sum())
    if rank == len(x):
        return ContactForceSplit(forces, now)
    null = np.ascontiguousarray(basis[:, rank:])
    mu = np.ascontiguousarray(friction[closed])
    problem = _SplitProblem(
        x / load,
        null,
        np.array(heads, dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.where(np.isfinite(mu), mu, 0.0),
    )
    y, _ = _climb(problem, now / load)
    moved = x + load * (null @ y)
    shared = forces.copy()
    for head, c in zip(heads, closed, strict=True):
        if mode[c] == SLIDE:
            shared[c, 0] = moved[head]
            count = int(tangents[c])
            shared[c, 1 : 1 + count] = -friction[c] * direction[c, :count] * moved[head]
        else:
            shared[c, : 1 + tangents[c]] = moved[head : head + 1 + tangents[c]]
    best = float(margins(shared, mode, tangents, friction).min())
    return (
        ContactForceSplit(shared, best)
        if best > now
        else ContactForceSplit(forces, now)
    )


class _SplitProblem(NamedTuple):
    """Forces x + null y of k contacts, y free.

    Attributes:
        x: forces (n,), relative to the load.
        null: basis of the forces without effect (n, m).
        heads: entry of x at which each contact begins (k,).
        counts: tangents of each contact inside a cone (k,).
        friction: (k,).
    """

    x: np.ndarray
    null: np.ndarray
    heads: np.ndarray
    counts: np.ndarray
    friction: np.ndarray


class _Barrier(NamedTuple):
    """The barrier function's derivatives at one y and s, and memory for two vectors.

    Attributes:
        gradient: (m + 1,).
        hessian: (m + 1, m + 1).
        scratch: (2, m + 1).
    """

    gradient: np.ndarray
    hessian: np.ndarray
    scratch: np.ndarray


@kernel
def _climb(problem, now):
    """Raise the least margin over x + null y; returns y and the margin."""
    size = problem.null.shape[1]
    y = np.zeros(size + 1)
    y[size] = now - 0.1 - 0.1 * abs(now)
    best, best_margin = np.zeros(size), now
    tau = 1.0
    gradient = np.empty(size + 1)
    hessian = np.empty((size + 1, size + 1))
    barrier = _Barrier(gradient, hessian, np.empty((2, size + 1)))
    factor = np.zeros((size + 1, size + 1))
    step = np.empty((size + 1, 1))
    while True:
        for _ in range(30):
            if not _derive(problem, y, tau, barrier):
                return best, best_margin
            trace = 0.0
            for k in range(size + 1):
                trace += hessian[k, k]
            for k in range(size + 1):
                hessian[k, k] += 1e-14 * trace
            if not cholesky(hessian, factor):
                return best, best_margin
            step[:, 0] = gradient
            forward_rows(factor, step)
            decrement = (step**2).sum()
            move = step[:, 0].copy()
            backward(factor, move)
            length = 1.0
            value = _value(problem, y, tau)
            while length > 1e-12:
                trial = y - length * move
                if _value(problem, trial, tau) <= value - 0.1 * length * decrement:
                    break
                length *= 0.5
            if length <= 1e-12:
                break
            y = y - length * move
            if decrement < 1e-6:
                break
        margin = _least(problem, y)
        if margin > best_margin:
            best[:] = y[:size]
            best_margin = margin
        gap = problem.heads.shape[0] * 3.0 / tau
        if best_margin > _ENOUGH or gap < _ACCURACY or best_margin + gap < 0.0:
            return best, best_margin
        tau *= 20.0


@kernel
def _entry(x, null, y, row):
    total = x[row]
    for k in range(null.shape[1]):
        total += null[row, k] * y[k]
    return total


@kernel
def _least(problem, y):
    x, null, heads, counts, friction = problem
    least = np.inf
    for c in range(heads.shape[0]):
        normal = _entry(x, null, y, heads[c])
        least = min(least, normal)
        if counts[c]:
            square = 0.0
            for i in range(counts[c]):
                square += _entry(x, null, y, heads[c] + 1 + i) ** 2
            least = min(least, friction[c] * normal - np.sqrt(square))
    return least


@kernel
def _value(problem, y, tau):
    x, null, heads, counts, friction = problem
    size = null.shape[1]
    s = y[size]
    total = -tau * s
    for c in range(heads.shape[0]):
        normal = _entry(x, null, y, heads[c])
        if not normal - s > 0.0:
            return np.inf
        total -= np.log(normal - s)
        # a mild pull towards small forces keeps internal forces bounded
        total += 1e-3 * normal * normal
        if counts[c]:
            reach = friction[c] * normal - s
            square = 0.0
            for i in range(counts[c]):
                square += _entry(x, null, y, heads[c] + 1 + i) ** 2
            if not reach > np.sqrt(square):
                return np.inf
            total -= np.log(reach * reach - square)
    return total


@kernel
def _derive(problem, y, tau, barrier):
    """Gradient and Hessian of the barrier function; False outside its domain."""
    x, null, heads, counts, friction = problem
    gradient, hessian, scratch = barrier
    g, h = scratch[0], scratch[1]
    size = null.shape[1]
    s = y[size]
    gradient[:] = 0.0
    gradient[size] = -tau
    hessian[:] = 0.0
    for c in range(heads.shape[0]):
        normal = _entry(x, null, y, heads[c])
        slack = normal - s
        if not slack > 0.0:
            return False
        g[:size] = null[heads[c]]
        g[size] = -1.0
        for i in range(size + 1):
            gradient[i] -= g[i] / slack
            for j in range(size + 1):
                hessian[i, j] += g[i] * g[j] / slack**2
        for i in range(size):
            gradient[i] += 2e-3 * normal * null[heads[c], i]
            for j in range(size):
                hessian[i, j] += 2e-3 * null[heads[c], i] * null[heads[c], j]
        if counts[c]:
            reach = friction[c] * normal - s
            g[:size] = friction[c] * null[heads[c]]
            # w = reach^2 - |t|^2; h is its gradient
            w = reach * reach
            for i in range(size + 1):
                h[i] = 2.0 * reach * g[i]
            for r in range(counts[c]):
                row = heads[c] + 1 + r
                t = _entry(x, null, y, row)
                w -= t * t
                for i in range(size):
                    h[i] -= 2.0 * t * null[row, i]
            if not (w > 0.0 and reach > 0.0):
                return False
            for i in range(size + 1):
                gradient[i] -= h[i] / w
                for j in range(size + 1):
                    hessian[i, j] += h[i] * h[j] / w**2 - 2.0 * g[i] * g[j] / w
            for r in range(counts[c]):
                row = heads[c] + 1 + r
                for i in range(size):
                    for j in range(size):
                        hessian[i, j] += 2.0 * null[row, i] * null[row, j] / w
    return True
