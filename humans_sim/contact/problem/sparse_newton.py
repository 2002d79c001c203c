# SPDX-License-Identifier: Apache-2.0
"""The contact problem of many contacts by Newton's method, from a cold start.

The equations are those of :mod:`~humans_sim.contact.problem.newton`, written for sparse
matrices; open contacts have none. Sweeps come near to a solution at little cost. From
there the proximal point method leads on: a part of the identity is added to W about the
forces reached, which makes each of its problems well posed, and is lowered from one to
the next. Interior points stand by.

*Sparse matrices*: a block of three rows and columns for each pair. In a heap each
contact meets few others, so that nearly all blocks of W are zero, and the equations of
Newton's method are solved by a sparse factorisation (SuperLU).

A matrix is the tuple (blocks (m, 3, 3), starts (k + 1,), columns (m,)): row c has the
blocks from ``starts[c]`` to ``starts[c + 1]``, at these block columns.

*Interior points.* The path and the steps are those of
:mod:`~humans_sim.contact.problem.newton`, written for sparse matrices: Newton's
equations have the blocks of W.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import splu

from humans_sim.contact.problem.law import ACCEPTED, residual_of
from humans_sim.contact.problem.newton import REGULAR, SEARCH, SOFTNESS, confine
from humans_sim.core.kernels import kernel


@kernel
def times(matrix, vectors):
    """The product with vectors (k, 3), as (k, 3)."""
    blocks, starts, columns = matrix
    result = np.empty(vectors.shape)
    for c in range(vectors.shape[0]):
        r0, r1, r2 = 0.0, 0.0, 0.0
        for m in range(starts[c], starts[c + 1]):
            d, b = columns[m], blocks[m]
            v0, v1, v2 = vectors[d, 0], vectors[d, 1], vectors[d, 2]
            r0 += b[0, 0] * v0 + b[0, 1] * v1 + b[0, 2] * v2
            r1 += b[1, 0] * v0 + b[1, 1] * v1 + b[1, 2] * v2
            r2 += b[2, 0] * v0 + b[2, 1] * v1 + b[2, 2] * v2
        result[c, 0], result[c, 1], result[c, 2] = r0, r1, r2
    return result


@kernel
def equations(matrix, left, diagonal, keep):
    """Rows of L A + D that are kept: entries, columns, first entry of each row."""
    blocks, starts, columns = matrix
    n = keep.shape[0]
    place, kept = np.full(n, -1), 0
    for c in range(n):
        if keep[c]:
            place[c] = kept
            kept += 1
    entries = np.empty(9 * blocks.shape[0])
    at = np.empty(9 * blocks.shape[0], np.int32)
    begins = np.zeros(3 * kept + 1, np.int32)
    count = 0
    for c in range(n):
        if not keep[c]:
            continue
        for i in range(3):
            l0, l1, l2 = left[c, i, 0], left[c, i, 1], left[c, i, 2]
            for m in range(starts[c], starts[c + 1]):
                d, b = columns[m], blocks[m]
                if place[d] < 0:
                    continue
                for j in range(3):
                    entry = l0 * b[0, j] + l1 * b[1, j] + l2 * b[2, j]
                    if d == c:
                        entry += diagonal[c, i, j]
                    if entry != 0.0:
                        entries[count] = entry
                        at[count] = 3 * place[d] + j
                        count += 1
            begins[3 * place[c] + i + 1] = count
    return entries[:count], at[:count], begins


@kernel
def sweep_blocks(matrix, free, friction, forces, sweeps):
    """Gauss-Seidel forth and back: each force steps against its motion, to its cone.

    The step is along De Saxce's motion, by the stiffest direction of the contact;
    changes the forces, which come near to a solution. Friction must be finite, zero
    where a contact has no tangents.
    """
    blocks, starts, columns = matrix
    n = forces.shape[0]
    step = np.empty(n)
    for c in range(n):
        for m in range(starts[c], starts[c + 1]):
            if columns[m] == c:
                b = blocks[m]
                # The largest eigenvalue is below the sum of a row, and the norm.
                rows = 1e-300
                for i in range(3):
                    rows = max(rows, abs(b[i, 0]) + abs(b[i, 1]) + abs(b[i, 2]))
                step[c] = 1.0 / min(rows, max(1e-300, np.sqrt((b * b).sum())))
    for s in range(sweeps):
        for count in range(n):
            c = count if s % 2 == 0 else n - 1 - count
            mu = friction[c]
            u0, u1, u2 = free[c, 0], free[c, 1], free[c, 2]
            for m in range(starts[c], starts[c + 1]):
                d, b = columns[m], blocks[m]
                f0, f1, f2 = forces[d, 0], forces[d, 1], forces[d, 2]
                u0 += b[0, 0] * f0 + b[0, 1] * f1 + b[0, 2] * f2
                u1 += b[1, 0] * f0 + b[1, 1] * f1 + b[1, 2] * f2
                u2 += b[2, 0] * f0 + b[2, 1] * f1 + b[2, 2] * f2
            u0 += mu * np.sqrt(u1 * u1 + u2 * u2)
            normal = forces[c, 0] - step[c] * u0
            t1, t2 = forces[c, 1] - step[c] * u1, forces[c, 2] - step[c] * u2
            along = np.sqrt(t1 * t1 + t2 * t2)
            if mu * along <= -normal:
                normal, t1, t2 = 0.0, 0.0, 0.0
            elif along > mu * normal:
                normal = (normal + mu * along) / (1.0 + mu * mu)
                t1 *= mu * normal / along
                t2 *= mu * normal / along
            forces[c, 0], forces[c, 1], forces[c, 2] = normal, t1, t2


@kernel
def law_of(matrix, problem, forces):
    """Alart and Curnier's functions, their length, and the slope of the projection.

    Returns:
        errors (k, 3), zero where the law holds; their length; D (k, 3, 3), the
        derivative of the projection on the cones.
    """
    free, tangents, friction = problem
    n = forces.shape[0]
    motion = times(matrix, forces)
    errors, slope = np.empty((n, 3)), np.zeros((n, 3, 3))
    total = 0.0
    for c in range(n):
        mu, held = friction[c], np.isinf(friction[c])
        pressed = forces[c, 0] - motion[c, 0] - free[c, 0]
        closed = pressed > 0.0
        pressed = max(0.0, pressed)
        slope[c, 0, 0] = 1.0 if closed else 0.0
        p1 = forces[c, 1] - motion[c, 1] - free[c, 1] if tangents[c] > 0 else 0.0
        p2 = forces[c, 2] - motion[c, 2] - free[c, 2] if tangents[c] > 1 else 0.0
        length, ratio = np.sqrt(p1 * p1 + p2 * p2), 1.0
        if tangents[c] > 0:
            if held or (closed and length <= mu * pressed):
                slope[c, 1, 1] = 1.0
                slope[c, 2, 2] = 1.0 if tangents[c] > 1 else 0.0
            elif length > mu * pressed:
                ratio = mu * pressed / length
                d1, d2 = p1 / length, p2 / length
                if closed:
                    slope[c, 1, 0], slope[c, 2, 0] = mu * d1, mu * d2
                if tangents[c] > 1:
                    slope[c, 1, 1] = ratio * (1.0 - d1 * d1)
                    slope[c, 2, 2] = ratio * (1.0 - d2 * d2)
                    slope[c, 1, 2] = slope[c, 2, 1] = -ratio * d1 * d2
        errors[c, 0] = forces[c, 0] - pressed
        errors[c, 1] = forces[c, 1] - ratio * p1
        errors[c, 2] = forces[c, 2] - ratio * p2
        for i in range(3):
            total += errors[c, i] ** 2
    return errors, np.sqrt(total), slope


_PIVOT = 0.1
"""Share of the largest entry of its column with which the diagonal is the pivot."""


class BlockMatrix:
    """A matrix of k x k blocks (m, 3, 3), row by row; all diagonal ones stored."""

    def __init__(
        self, blocks: np.ndarray, rows: np.ndarray, columns: np.ndarray, count: int
    ) -> None:
        self.blocks, self.rows, self.columns, self.count = blocks, rows, columns, count
        starts = np.searchsorted(rows, np.arange(count + 1))
        self.fields = (blocks, starts, columns)

    @classmethod
    def of_dense(cls, matrix: np.ndarray) -> BlockMatrix:
        """The blocks of a matrix that are not zero, and the diagonal ones."""
        k = len(matrix) // 3
        blocks = matrix.reshape(k, 3, k, 3).transpose(0, 2, 1, 3)
        used = (matrix != 0.0).reshape(k, 3, k, 3).any(axis=(1, 3))
        np.fill_diagonal(used, True)
        rows, columns = np.nonzero(used)
        return cls(np.ascontiguousarray(blocks[used]), rows, columns, k)

    @property
    def density(self) -> float:
        """Share of the blocks that are stored."""
        return len(self.rows) / self.count**2

    def times(self, vectors: np.ndarray) -> np.ndarray:
        """The product with vectors (k, 3), as (k, 3)."""
        return times(self.fields, vectors)

    def plus(self, shift: float) -> BlockMatrix:
        """The sum with a multiple of the identity."""
        blocks = self.blocks.copy()
        blocks[self.rows == self.columns] += shift * np.eye(3)
        return BlockMatrix(blocks, self.rows, self.columns, self.count)

    def solve(
        self,
        left: np.ndarray,
        diagonal: np.ndarray,
        right: np.ndarray,
        keep: np.ndarray,
    ) -> np.ndarray:
        """Solve (L A + D) x = r, L and D block diagonal, x zero but for those kept."""
        x = np.zeros((self.count, 3))
        n = 3 * int(keep.sum())
        if n == 0:
            return x
        # The rows of a matrix are the columns of its transpose: no conversion.
        transpose = scipy.sparse.csc_matrix(
            equations(self.fields, left, diagonal, keep), shape=(n, n)
        )
        factors = splu(
            transpose,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=_PIVOT,
            options={"SymmetricMode": True},
        )
        x[keep] = factors.solve(right[keep].ravel(), trans="T").reshape(-1, 3)
        return x


_STEPS = 100
_CENTRING = 0.1
_RECENTRING, _FULL = 0.8, 0.8
_INSIDE = 0.95
_NEAR = 1e-8
_SHORT, _STALLED = 0.1, 3


def sparse_interior_point(
    delassus: BlockMatrix,
    free: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
    softness: float,
) -> np.ndarray:
    """Forces next to a solution (k, 3); arguments as of the dense method."""
    n = len(friction)
    held = np.isinf(friction) & (tangents > 0)
    factor = np.ones((n, 3))
    factor[:, 1:] = np.where(held, 1.0, friction)[:, None]
    factor[:, 1:] *= np.arange(1, 3) <= tangents[:, None]
    matrix = BlockMatrix(
        factor[delassus.rows][:, :, None]
        * delassus.blocks
        * factor[delassus.columns][:, None, :],
        delassus.rows,
        delassus.columns,
        n,
    )
    shift, everything = factor * free, np.ones(n, dtype=bool)
    size = float(np.abs(free).max())
    x, y = np.zeros((n, 3)), np.zeros((n, 3))
    x[:, 0] = y[:, 0] = size
    short, share = 0, 1.0
    for _ in range(_STEPS):
        gap = float(np.sum(x * y)) / n
        blur = softness * gap
        along = np.sqrt(x[:, 1] ** 2 + x[:, 2] ** 2 + blur)
        errors = x - matrix.times(y) - shift
        errors[:, 0] -= along
        if max(float(np.abs(errors).max()), np.sqrt(max(gap, 0.0))) < _NEAR * size:
            break
        # A step that was cut short has come near to the cones: back to the middle.
        target = gap * (_CENTRING if share > _FULL else _RECENTRING)
        direction = np.divide(
            x[:, 1:], along[:, None], out=np.zeros((n, 2)), where=along[:, None] > 0.0
        )
        direction[held] = 0.0
        left, diagonal = _arrow(y, held), _arrow(x, held)
        # The tangents of held contacts are bound to no normal: W f + b = 0.
        left[held, 1, 1] = left[held, 2, 2] = 1.0
        diagonal[held, 1, 1] = 0.0
        diagonal[held, 2, 2] = tangents[held] == 1
        right = -np.einsum("cij,cj->ci", diagonal, y)
        right[held, 1:] = 0.0
        right[:, 0] += target
        left[:, :, 1:] += left[:, :, :1] * direction[:, None, :]
        right += np.einsum("cij,cj->ci", left, errors)
        try:
            dy = matrix.solve(left, diagonal, right, everything)
        except RuntimeError:
            break
        dx = matrix.times(dy) - errors
        dx[held, 1:] = 0.0
        dx[:, 0] += np.sum(direction * dx[:, 1:], axis=1)
        share = min(1.0, _INSIDE * _room(x, dx, held), _INSIDE * _room(y, dy, held))
        x += share * dx
        y += share * dy
        # Where contacts are at the verge of slipping the path ends in ever shorter
        # steps, next to the solution all the same.
        short = short + 1 if share < _SHORT else 0
        if short == _STALLED:
            break
    y[:, 1:] *= np.where(held, 1.0, np.where(tangents > 0, friction, 1.0))[:, None]
    return y


def _arrow(x: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Matrices of the product with x in the algebra of the cone (k, 3, 3)."""
    arrows = x[:, :1, None] * np.eye(3)
    loose = ~held
    arrows[loose, 0, 1:] = arrows[loose, 1:, 0] = x[loose, 1:]
    return arrows


def _room(x: np.ndarray, dx: np.ndarray, held: np.ndarray) -> float:
    """Largest step from inside the cones to the first surface."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(dx[:, 0] < 0.0, -x[:, 0] / dx[:, 0], np.inf)
        a = dx[:, 0] ** 2 - dx[:, 1] ** 2 - dx[:, 2] ** 2
        b = x[:, 0] * dx[:, 0] - x[:, 1] * dx[:, 1] - x[:, 2] * dx[:, 2]
        c = x[:, 0] ** 2 - x[:, 1] ** 2 - x[:, 2] ** 2
        # Smallest root above zero of a t^2 + 2 b t + c.
        square = b * b - a * c
        root = np.sqrt(np.maximum(square, 0.0))
        first = np.where((b < 0.0) & (square >= 0.0), c / (root - b), np.inf)
        first = np.where((b >= 0.0) & (a < 0.0), -(b + root) / a, first)
    first[held] = np.inf
    return float(min(room.min(), first.min()))


_EXACT = 1e-12
"""Residual at which no further round is worth its factorisations."""
_SWEEPS = 100
_NEWTON = 8
_PROXIMAL, _LOWERED = 1e-3, 1e-2
_LOOSE = 0.1
"""Part of its first error to which a problem is solved that only leads to the next."""
_ROUNDS = 15


def by_sparse_newton(
    problem: tuple[np.ndarray, ...], blocks: BlockMatrix
) -> tuple[np.ndarray, float]:
    """Forces inside their cones (k, 3), and their residual, relative."""
    _, free, tangents, friction, _ = problem
    size = float(np.abs(free).max())
    best = np.zeros(free.shape)
    if size == 0.0:
        return best, 0.0
    residual = residual_of(problem, best)
    cones = np.where(tangents > 0, friction, 0.0)
    start = np.zeros(free.shape)
    if np.isfinite(cones).all():
        sweep_blocks(blocks.fields, free, cones, start, _SWEEPS)
    regular = blocks.plus(REGULAR)
    for softness in (None, *SOFTNESS):
        proximal = REGULAR
        if softness is None:
            forces, proximal = start, _PROXIMAL
        else:
            forces = sparse_interior_point(regular, free, tangents, friction, softness)
        for _ in range(_ROUNDS):
            last = proximal <= REGULAR
            shifted = free - proximal * forces
            forces = _newton(
                regular if last else blocks.plus(proximal),
                (shifted, tangents, friction),
                forces,
                0.01 * _EXACT * size,
                0.0 if last else _LOOSE,
            )
            trial = forces.copy()
            confine(trial, tangents, friction)
            error = residual_of(problem, trial)
            improved = error < residual
            if improved:
                best, residual = trial, error
            if residual <= _EXACT or (residual <= ACCEPTED and not improved):
                break
            proximal = max(_LOWERED * proximal, REGULAR)
        if residual <= ACCEPTED:
            break
    return best, float(residual)


def _newton(
    matrix: BlockMatrix,
    problem: tuple[np.ndarray, ...],
    forces: np.ndarray,
    goal: float,
    loose: float,
) -> np.ndarray:
    """Newton's method with a search along each step."""
    errors, norm, slope = law_of(matrix.fields, problem, forces)
    goal = max(goal, loose * norm)
    for _ in range(_NEWTON):
        if not norm > goal:
            break
        # (1 - D + D W) x = errors. Where D is zero x is known: to the right-hand side.
        keep = slope.any(axis=(1, 2))
        step = np.where(keep[:, None], 0.0, errors)
        right = errors
        if not keep.all():
            right = errors - np.einsum("cij,cj->ci", slope, matrix.times(step))
        try:
            step += matrix.solve(slope, np.eye(3) - slope, right, keep)
        except RuntimeError:
            break
        share = 1.0
        while True:
            trial = forces - share * step
            errors, new, slope = law_of(matrix.fields, problem, trial)
            # The shortest step is taken in any case: the errors have kinks, and
            # beyond one the way down may begin.
            if new <= (1.0 - 1e-4 * share) * norm or share < SEARCH:
                break
            share *= 0.5
        forces, norm = trial, new
    return forces
