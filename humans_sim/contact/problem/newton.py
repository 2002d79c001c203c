# SPDX-License-Identifier: Apache-2.0
r"""The contact problem by Newton's method, from forces that are nearly right or none.

With Alart and Curnier's functions, which are zero where the law holds,

.. math:: F_n = f_n - \max(0, f_n - u_n), \qquad
   F_t = f_t - \operatorname{proj}_{|\cdot| \le \mu \max(0, f_n - u_n)} (f_t - u_t),

Newton's method finds the modes and the forces together. One step of the time-stepping
method is a contact problem that differs little from the one before it: from its forces
one to three iterations are enough, mostly. Forces that still hold are taken as they
are; where all that touched sticks, one symmetric system gives the forces.

Redundant contacts make W singular, so a little of the identity is added to it, about
the forces of the step before: what contacts share in more than one way stays shared as
it was. Where all stick it is added about zero, and forces are as even as can be. The
motion is wrong by 1e-10 of the free motion at most, about 1e-12 m/s for a robot that
stands. The residual is that of W itself. Where it matters the identity is taken out
again: about the forces that it led to, it has next to no effect (the proximal point
method).

Where Newton's method does not arrive, Gauss-Seidel sweeps come nearer at little cost,
and from there the proximal point method leads on: a larger part of the identity about
the forces reached makes each of its problems well posed, and is lowered from one to the
next. Interior points (:mod:`~humans_sim.contact.problem.interior_point`) come near to a
solution from afar, and Newton's method ends what they began.

Contacts that meet no others are solved island by island; the equations are those of
:mod:`~humans_sim.contact.problem.block_matrix`, with as many blocks as there are pairs
that meet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.block_matrix import (
    BlockMatrix,
    blocks_of,
    elimination_of,
    factor_blocks,
    islands_of,
    part_of,
    solve_blocks,
    times,
)
from humans_sim.contact.problem.interior_point import in_one_cone, path_step
from humans_sim.contact.problem.law import ACCEPTED, violation
from humans_sim.core.dense_kernels import (
    times_rows,
    upper_cholesky,
    upper_cholesky_solve,
)
from humans_sim.core.kernels import kernel, lent, small_vector

REGULAR = 1e-10
"""Part of the identity that is always added to W."""
EXACT = 1e-13
"""Residual at which no further round is worth its factors."""
_NEWTON = 12
SEARCH = 1e-3
_RESTS = 1e-6
"""Share of the largest motion below which a contact without a force rests."""
_ENOUGH = 0.1
"""Share of the accepted residual that Newton's method goes on to."""
_SWEEPS = 100
_ROUNDS, _FEWER = 20, 6
"""Proximal steps of each try; of islands that are not small."""
_PROXIMAL, _AFTER_PATH, _LOWERED = 1e-3, 1e-6, 1e-2
"""Part of the identity about forces of sweeps and of interior points, and how much of
it is left from one round to the next."""
_LOOSE = 0.1
"""Part of its first error to which a problem is solved that only leads to the next."""
_PATH = 100
_SHORT, _STALLED = 0.1, 2
_SLIPS = (1.0, 0.9, 0.8, 0.9, 0.7, 0.95, 0.6, 0.9)
"""Part of the slip's derivative on the path of interior points, try by try."""
_AWAY = 10.0
"""Distance from the cones with which a path that ended is taken up again."""
_SLOW, _PATIENCE = 0.9, 3
"""Part of the errors that a slow step of Newton's method leaves, and how many of them
are taken."""
_IDLE = 1e-12
"""Share of the largest normal force below which a force is rounding."""
_FEW = 60
"""Contacts of an island that are solved in one call of machine code."""


class Contacts(NamedTuple):
    """A contact problem whose normals have mobilities of one.

    Attributes:
        matrix: W.
        free: motion without contact forces (k, 3).
        tangents: of each contact (k,).
        friction: (k,); infinite where tangents are held.
    """

    matrix: BlockMatrix
    free: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray


@kernel
def solve_near(delassus, free, tangents, friction, start, accepted):
    """Forces inside their cones (k, 3), near to known ones; the relative residual."""
    scale = scale_of(delassus)
    n = scale.shape[0]
    problem, goal = (delassus, free, tangents, friction), _ENOUGH * accepted
    if n <= _FEW:
        bears, kept = np.empty(n, np.bool_), start.copy()
        known = _confined_residual(problem, scale, kept, bears)
        idle = False
        for c in range(n):
            idle = idle or (bears[c] and not kept[c, 0] > 0.0)
        if known <= goal and not idle:
            return kept, known
        forces = np.zeros((n, 3))
        residual = _all_stick(problem, scale, bears, forces)
        if residual <= goal:
            return forces, residual
        if known <= goal:
            return kept, known
    contacts, size = contacts_of(problem, scale)
    forces = np.zeros((n, 3))
    if size == 0.0:
        return forces, 0.0
    for c in range(n):
        for i in range(3):
            forces[c, i] = start[c, i] / scale[c]
    islands = islands_of(contacts.matrix)
    aims = (size, accepted, accepted, goal)
    residual = _solve_islands(contacts, islands, forces, aims, n)
    for c in range(n):
        for i in range(3):
            forces[c, i] *= scale[c]
    return forces, residual


@kernel
def _confined_residual(problem, scale, forces, bears):
    """Put forces into their cones; their residual there, relative.

    Fills which contacts have a force, or rest where they are without one (n,).
    """
    problem, scale, forces, bears = lent((problem, scale, forces, bears))
    delassus, free, tangents, friction = problem
    motion, own, none = np.empty((scale.shape[0], 3)), small_vector(3), small_vector(2)
    none[:] = 0.0
    worst, size = 0.0, 1e-300
    confine(forces, tangents, friction)
    times_rows(delassus, forces.ravel(), motion.ravel())
    for c in range(scale.shape[0]):
        for i in range(3):
            own[i] = forces[c, i] / scale[c]
            motion[c, i] = scale[c] * (motion[c, i] + free[c, i])
            size = max(size, scale[c] * abs(free[c, i]))
        kind = (tangents[c], friction[c], none)
        worst = max(worst, violation(1.0, motion[c], own, kind))
    for c in range(scale.shape[0]):
        bears[c] = forces[c, 0] > 0.0 or motion[c, 0] < _RESTS * size
    return worst / size


@kernel
def _all_stick(problem, scale, which, forces):
    """Forces where some contacts stick, and no other one has any.

    Fills the forces, zero before.

    Returns:
        their relative residual; infinite where there are none.
    """
    problem, scale, which, forces = lent((problem, scale, which, forces))
    delassus, free, tangents, _ = problem
    n = scale.shape[0]
    rows, count = np.empty(3 * n, np.int64), 0
    for c in range(n):
        if which[c]:
            for i in range(1 + tangents[c]):
                rows[count] = 3 * c + i
                count += 1
    if count == 0:
        return np.inf
    matrix, factor = np.empty((count, count)), np.empty((count, count))
    own, x = np.empty(count), np.empty(count)
    for r in range(count):
        own[r] = scale[rows[r] // 3]
    for r in range(count):
        for s in range(count):
            matrix[r, s] = own[r] * own[s] * delassus[rows[r], rows[s]]
        matrix[r, r] += REGULAR
        x[r] = -own[r] * free[rows[r] // 3, rows[r] % 3]
    if not upper_cholesky(matrix, factor):
        return np.inf
    upper_cholesky_solve(factor, x)
    for r in range(count):
        forces[rows[r] // 3, rows[r] % 3] = own[r] * x[r]
    return _confined_residual(problem, scale, forces, which)


def by_newton(
    problem: tuple[np.ndarray, ...], scale: np.ndarray
) -> tuple[np.ndarray, float]:
    """Solve a contact problem from a cold start.

    Large islands are solved step by step, so that signals come through.

    Args:
        problem: W, b, tangents and friction, as of a :class:`ContactProblem`.
        scale: of each contact (k,).

    Returns:
        forces (k, 3), divided by the scale; their residual.
    """
    contacts, size = contacts_of(problem, scale)
    forces = np.zeros((len(scale), 3))
    if size == 0.0:
        return forces, 0.0
    aims = (size, ACCEPTED, EXACT, _ENOUGH * EXACT)
    members, begins = islands_of(contacts.matrix)
    residual = _solve_islands(contacts, (members, begins), forces, aims, _FEW)
    place = np.empty(len(scale), np.int64)
    for a in np.flatnonzero(np.diff(begins) > _FEW):
        of = members[begins[a] : begins[a + 1]]
        part = island_of(contacts, of, place)
        # In Python, of the same text: each call of machine code is one step.
        forces[of], error = solve_island.py_func(part, forces[of], aims)
        residual = max(residual, error)
    return forces, residual


@kernel
def _solve_islands(contacts, islands, forces, aims, most):
    """Solve islands of so many contacts at most; changes the forces.

    Returns:
        the largest residual.
    """
    members, begins = islands
    if begins.shape[0] == 2 and members.shape[0] <= most:
        forces[:], residual = solve_island(contacts, forces, aims)
        return residual
    place = np.empty(members.shape[0], np.int64)
    residual = 0.0
    for a in range(begins.shape[0] - 1):
        of = members[begins[a] : begins[a + 1]]
        if of.shape[0] <= most:
            part = island_of(contacts, of, place)
            own, error = solve_island(part, forces[of], aims)
            residual = max(residual, error)
            for c in range(of.shape[0]):
                forces[of[c]] = own[c]
    return residual


@kernel
def scale_of(delassus):
    """Factors that bring contacts of different units (metres, radians) together."""
    n = delassus.shape[0] // 3
    scale, largest = np.empty(n), 0.0
    for c in range(n):
        scale[c] = np.sqrt(max(delassus[3 * c, 3 * c], 1e-300))
        largest = max(largest, scale[c])
    for c in range(n):
        scale[c] = 1.0 / (scale[c] if scale[c] > 1e-9 * largest else largest)
    return scale


@kernel
def contacts_of(problem, scale):
    """Contacts in their scale, and the largest free motion."""
    delassus, free, tangents, friction = problem
    motion, size = np.empty(free.shape), 0.0
    for c in range(free.shape[0]):
        for i in range(3):
            motion[c, i] = scale[c] * free[c, i]
            size = max(size, abs(motion[c, i]))
    return Contacts(blocks_of(delassus, scale), motion, tangents, friction), size


@kernel
def island_of(contacts, members, place):
    """The problem of some contacts that meet no others."""
    matrix, free, tangents, friction = contacts
    part = part_of(matrix, members, place)
    return Contacts(part, free[members], tangents[members], friction[members])


@kernel
def solve_island(contacts, start, aims):
    """Forces inside their cones (k, 3), and their residual.

    Args:
        contacts: the problem.
        start: forces to begin with (k, 3).
        aims: the motion to which residuals are relative; the residual above which
            other ways are tried, that below which no round follows, and that to which
            Newton's method goes on.
    """
    size, accepted, exact, goal = aims
    matrix, free, tangents, friction = contacts
    n = free.shape[0]
    best = start.copy()
    confine(best, tangents, friction)
    residual = residual_of(contacts, best, size)
    if residual <= goal:
        return best, residual
    elimination = elimination_of(matrix)
    factors = np.empty((n + 2 * elimination.later.shape[0], 3, 3))
    solver = (elimination, factors)
    state = (np.empty((n, 3)), np.empty((n, 3)), np.empty((n, 3, 3)))
    forces, centre = start.copy(), start.copy()
    x, y = np.zeros((n, 3)), np.zeros((n, 3))
    cone = (matrix, free, x)
    for attempt in range(2 + len(_SLIPS)):
        shift = held = REGULAR
        if attempt == 1:
            if np.isinf(friction).any():
                continue
            forces[:] = best
            sweep_blocks(contacts, forces, _SWEEPS)
            centre[:] = forces
            shift, held = _PROXIMAL, 1.0
        elif attempt > 1:
            away = size
            if attempt == 2:
                cone = in_one_cone(contacts)
            else:
                away = _AWAY * np.sqrt(max((x * y).sum() / n, 0.0)) + REGULAR * size
            x[:, 0] += away
            y[:, 0] += away
            slip, short, share = _SLIPS[attempt - 2], 0, 1.0
            for _ in range(_PATH):
                share = path_step(
                    (cone[0], cone[1]),
                    (tangents, friction),
                    solver,
                    (x, y),
                    slip,
                    share,
                )
                short = short + 1 if share < _SHORT else 0
                if share == 0.0 or short == _STALLED:
                    break
            forces[:] = cone[2] * y
            shift, held = _AFTER_PATH, _PROXIMAL
            centre[:] = forces
        for _ in range(_ROUNDS if n <= _FEW else _FEWER):
            near = (shift, centre, attempt % 2 == 1)
            norm = newton_begin(contacts, near, forces, state)
            last = shift <= REGULAR
            enough = max(goal * size, 0.0 if last else _LOOSE * norm)
            slow = 0
            for _ in range(_NEWTON):
                if not norm > enough or slow == _PATIENCE:
                    break
                before = norm
                norm = newton_step(contacts, near, forces, state, solver, norm)
                slow += norm > _SLOW * before
            trial = forces.copy()
            confine(trial, tangents, friction)
            error = residual_of(contacts, trial, size)
            improved = error < residual
            if improved:
                best[:] = trial
                residual = error
            if residual <= exact or (residual <= accepted and not improved):
                break
            if norm <= enough:
                held, shift = shift, max(_LOWERED * shift, REGULAR)
                centre[:] = forces
            elif attempt == 0 or attempt > 1 and last:
                break
            else:
                # Back, and on by a shorter way.
                shift = np.sqrt(shift * held)
                forces[:] = centre
        if residual <= accepted:
            break
    return best, residual


@kernel(borrows=True)
def newton_begin(contacts, near, forces, state):
    """Errors of forces, and the slope there; returns their length."""
    motion, errors, slope = state
    _motion_near(contacts, near, forces, motion)
    return _errors(contacts, forces, motion, errors, slope)


@kernel
def newton_step(contacts, near, forces, state, solver, norm):
    """One step of Newton's method with a search along it; changes the forces.

    Args:
        contacts: the problem.
        near: part of the identity that is added to W, about which forces, and whether
            the whole step is taken, or next to none of it, where no part of it helps.
        forces: (k, 3).
        state: motion (k, 3), errors (k, 3) and the slope of the projections there.
        solver: elimination and memory for the factors.
        norm: length of the errors.

    Returns:
        the length of the errors; 0 where the equations have no solution.
    """
    contacts, forces, state, solver = lent((contacts, forces, state, solver))
    motion, errors, slope = state
    elimination, factors = solver
    shift, _, whole = near
    n = forces.shape[0]
    diagonal = (shift - 1.0) * slope
    for c in range(n):
        for i in range(3):
            diagonal[c, i, i] += 1.0
    if not factor_blocks(contacts.matrix, slope, diagonal, elimination, factors):
        return 0.0
    step = errors.copy()
    solve_blocks(elimination, factors, step)
    before, at = motion.copy(), forces.copy()
    for c in range(n):
        for i in range(3):
            forces[c, i] = at[c, i] - step[c, i]
    _motion_near(contacts, near, forces, motion)
    new = _errors(contacts, forces, motion, errors, slope)
    share = 1.0
    while not new <= (1.0 - 1e-4 * share) * norm:
        if share < SEARCH:
            # Either way it is taken: the errors have kinks, and beyond one the way
            # down may begin.
            for c in range(n):
                for i in range(3):
                    if whole:
                        forces[c, i] = at[c, i] - step[c, i]
            _motion_near(contacts, near, forces, motion)
            return _errors(contacts, forces, motion, errors, slope)
        share *= 0.5
        for c in range(n):
            for i in range(3):
                forces[c, i] = 0.5 * (forces[c, i] + at[c, i])
                motion[c, i] = 0.5 * (motion[c, i] + before[c, i])
        new = _errors(contacts, forces, motion, errors, slope)
    return new


@kernel(borrows=True)
def _motion_near(contacts, near, forces, motion):
    """Motion that forces cause, part of the identity added to W."""
    shift, centre, _ = near
    free = contacts.free
    times(contacts.matrix, forces, motion)
    for c in range(forces.shape[0]):
        for i in range(3):
            motion[c, i] += free[c, i] + shift * (forces[c, i] - centre[c, i])


@kernel(borrows=True)
def _errors(contacts, forces, motion, errors, slope):
    """Alart and Curnier's functions, and the derivative D of the projections.

    Returns:
        the length of the errors.
    """
    _, _, tangents, friction = contacts
    slope[:] = 0.0
    total = 0.0
    for c in range(forces.shape[0]):
        mu = friction[c]
        pressed = forces[c, 0] - motion[c, 0]
        closed = pressed > 0.0
        pressed = max(0.0, pressed)
        slope[c, 0, 0] = 1.0 if closed else 0.0
        p1 = forces[c, 1] - motion[c, 1] if tangents[c] > 0 else 0.0
        p2 = forces[c, 2] - motion[c, 2] if tangents[c] > 1 else 0.0
        length, ratio = np.sqrt(p1 * p1 + p2 * p2), 1.0
        if tangents[c] > 0:
            if np.isinf(mu) or (closed and length <= mu * pressed):
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
    return np.sqrt(total)


@kernel(borrows=True)
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
def residual_of(contacts, forces, size):
    """Largest violation of the law, relative to a motion."""
    contacts, forces = lent((contacts, forces))
    matrix, free, tangents, friction = contacts
    n = forces.shape[0]
    if not np.isfinite(forces).all():
        return np.inf
    motion, none = np.empty((n, 3)), small_vector(2)
    none[:] = 0.0
    times(matrix, forces, motion)
    worst = 0.0
    for c in range(n):
        for i in range(3):
            motion[c, i] += free[c, i]
        kind = (tangents[c], friction[c], none)
        worst = max(worst, violation(1.0, motion[c], forces[c], kind))
    return worst / size


@kernel
def sweep_blocks(contacts, forces, sweeps):
    """Gauss-Seidel forth and back: each force steps against its motion, to its cone.

    The step is along De Saxce's motion, by the stiffest direction of the contact;
    changes the forces, which come near to a solution. Friction must be finite.
    """
    matrix, free, tangents, friction = contacts
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
            mu = friction[c] if tangents[c] > 0 else 0.0
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
