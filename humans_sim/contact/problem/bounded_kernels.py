# SPDX-License-Identifier: Apache-2.0
r"""Contacts together with forces of bounded size: dry friction in joints, rolling.

To the rows of the contacts come groups of one or two rows each, whose force f and
motion u obey the law of dry friction with a bound of its own:

.. math:: f = \operatorname{proj}_{|\cdot| \le b + l f_n} (f - u)

b is a constant (a joint), f_n the normal force of a contact and l a length (rolling and
torsional friction). A contact is a normal row and such a group of tangents, b = 0 and
l = mu; so everything is normals and groups here, and Newton's method for Alart and
Curnier's functions (:mod:`~humans_sim.contact.problem.newton`) finds all of it
together. Where it does not arrive, contacts and groups are solved in turns, and it
starts again from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.newton import REGULAR, SEARCH, solve_near
from humans_sim.core.dense_kernels import lu_factor, lu_solve
from humans_sim.core.kernels import kernel

_NEWTON = 20
_CONVERGED = 1e-11
_TURNS = 40
_SWEEPS = 10
_SMALL = 1e-9
"""Share of the largest mobility below which a row counts as not movable."""


class BoundedGroups(NamedTuple):
    """Rows besides those of contacts, in groups; g groups of m rows together.

    Attributes:
        rows: Jacobian (m, nv).
        first: first row of each group (g,).
        width: its rows, one or two (g,).
        bound: of its force, as far as it is constant (g,) [N m].
        length: its share of a normal force (g,) [m].
        contact: whose normal force, counted among the contacts of the step; -1 where
            there is none (g,).
        place: of each row in a vector of all rows there may be, by which a step finds
            the forces of the step before (m,).
    """

    rows: np.ndarray
    first: np.ndarray
    width: np.ndarray
    bound: np.ndarray
    length: np.ndarray
    contact: np.ndarray
    place: np.ndarray


class _Discs(NamedTuple):
    """All groups, those of the contacts' tangents among them, on one scale.

    Attributes:
        first: first row (d,).
        width: rows (d,).
        bound: constant part of the bound (d,).
        ratio: share of the normal force (d,); infinite where rows are held.
        normal: row of that force (d,); -1 where there is none.
    """

    first: np.ndarray
    width: np.ndarray
    bound: np.ndarray
    ratio: np.ndarray
    normal: np.ndarray


class _Problem(NamedTuple):
    """Contacts and groups whose mobilities are one.

    Attributes:
        matrix: W, scaled (3k + m, 3k + m).
        free: motion without forces, scaled (3k + m,).
        contacts: k, how many contacts there are.
        discs: all groups.
    """

    matrix: np.ndarray
    free: np.ndarray
    contacts: int
    discs: _Discs


@kernel
def solve_bounded(delassus, free, law, groups, start, accepted):
    """Forces (3k + m,) of contacts and bounded groups together; the residual."""
    tangents, friction = law
    k, size = tangents.shape[0], free.shape[0]
    scale = _scales(delassus, k, groups)
    discs = _discs(tangents, friction, groups, scale)
    matrix, motion = np.empty((size, size)), scale * free
    largest = np.abs(motion).max()
    if largest == 0.0:
        return np.zeros(size), 0.0
    for i in range(size):
        for j in range(size):
            matrix[i, j] = scale[i] * scale[j] * delassus[i, j]
    regular = matrix.copy()
    for i in range(size):
        regular[i, i] += REGULAR
    exact = _Problem(matrix, motion, k, discs)
    near = _Problem(regular, motion, k, discs)
    forces = start / scale
    _newton(near, forces, _CONVERGED * largest)
    _confine(k, discs, forces)
    residual = _residual(exact, forces) / largest
    if not residual <= accepted:
        trial = _in_turns(exact, law, start / scale, accepted)
        for polish in range(2):
            if polish:
                _newton(near, trial, _CONVERGED * largest)
            _confine(k, discs, trial)
            other = _residual(exact, trial) / largest
            if not other >= residual:
                residual = other
                forces[:] = trial
    return forces * scale, residual


@kernel
def _scales(delassus, k, groups):
    """One number for each row, so that the mobilities are one."""
    size = delassus.shape[0]
    scale, largest = np.empty(size), 0.0
    for i in range(size):
        largest = max(largest, delassus[i, i])
    for c in range(k):
        for i in range(3):
            scale[3 * c + i] = delassus[3 * c, 3 * c]
    for g in range(groups[0].shape[0]):
        first = 3 * k + groups[0][g]
        most = 0.0
        for i in range(groups[1][g]):
            most = max(most, delassus[first + i, first + i])
        for i in range(groups[1][g]):
            scale[first + i] = most
    for i in range(size):
        movable = scale[i] > _SMALL * largest
        scale[i] = 1.0 / np.sqrt(scale[i] if movable else max(largest, 1e-300))
    return scale


@kernel
def _discs(tangents, friction, groups, scale):
    """Tangents of contacts, then the groups."""
    start, rows, bounds, lengths, contact = groups
    k, g = tangents.shape[0], start.shape[0]
    first, count = np.empty(k + g, np.int64), np.empty(k + g, np.int64)
    bound, ratio = np.empty(k + g), np.empty(k + g)
    normal = np.empty(k + g, np.int64)
    for c in range(k):
        first[c], count[c], normal[c] = 3 * c + 1, tangents[c], 3 * c
        bound[c], ratio[c] = 0.0, friction[c]
    for i in range(g):
        d = k + i
        first[d], count[d] = 3 * k + start[i], rows[i]
        own = scale[first[d]]
        bound[d], ratio[d], normal[d] = bounds[i] / own, 0.0, -1
        if contact[i] >= 0:
            normal[d] = 3 * contact[i]
            ratio[d] = lengths[i] * scale[normal[d]] / own
    return _Discs(first, count, bound, ratio, normal)


@kernel
def _radius(discs, d, forces, motion):
    """Bound of the force of a group; where no force presses, the constant part."""
    radius, n = discs.bound[d], discs.normal[d]
    if n >= 0:
        pressed = forces[n] - motion[n]
        if pressed > 0.0:
            radius += discs.ratio[d] * pressed
    return radius


@kernel
def _errors(problem, forces, motion, errors):
    """Alart and Curnier's functions, and their length."""
    matrix, free, k, discs = problem
    motion[:] = free + matrix @ forces
    errors[:] = forces
    for c in range(k):
        errors[3 * c] = forces[3 * c] - max(0.0, forces[3 * c] - motion[3 * c])
    for d in range(discs.first.shape[0]):
        first, count = discs.first[d], discs.width[d]
        length = 0.0
        for i in range(first, first + count):
            length += (forces[i] - motion[i]) ** 2
        length = np.sqrt(length)
        share = 1.0
        if not np.isinf(discs.ratio[d]):
            radius = _radius(discs, d, forces, motion)
            if length > radius:
                share = radius / length
        for i in range(first, first + count):
            errors[i] -= share * (forces[i] - motion[i])
    return np.sqrt((errors**2).sum())


@kernel
def _jacobian(problem, forces, motion, jacobian):
    """Derivatives of the errors by the forces, on one side of each kink."""
    matrix, _, k, discs = problem
    size = forces.shape[0]
    jacobian[:] = 0.0
    for i in range(size):
        jacobian[i, i] = 1.0
    for c in range(k):
        if forces[3 * c] - motion[3 * c] > 0.0:
            jacobian[3 * c] = matrix[3 * c]
    for d in range(discs.first.shape[0]):
        first, count, n = discs.first[d], discs.width[d], discs.normal[d]
        if count == 0:
            continue
        point = forces[first : first + count] - motion[first : first + count]
        length = np.sqrt((point**2).sum())
        held = np.isinf(discs.ratio[d])
        radius = 0.0 if held else _radius(discs, d, forces, motion)
        if held or length <= radius:
            for i in range(first, first + count):
                jacobian[i] = matrix[i]
            continue
        point /= length
        presses = n >= 0 and forces[n] - motion[n] > 0.0
        for i in range(count):
            for j in range(count):
                a = radius / length * ((1.0 if i == j else 0.0) - point[i] * point[j])
                jacobian[first + i, first + j] -= a
                for c in range(size):
                    jacobian[first + i, c] += a * matrix[first + j, c]
            if presses:
                push = discs.ratio[d] * point[i]
                jacobian[first + i, n] -= push
                for c in range(size):
                    jacobian[first + i, c] += push * matrix[n, c]


@kernel
def _newton(problem, forces, goal):
    """Newton's method with a search along each step; changes the forces."""
    size = forces.shape[0]
    motion, errors, trial = np.empty(size), np.empty(size), np.empty(size)
    jacobian, order = np.empty((size, size)), np.empty(size, np.int64)
    norm = _errors(problem, forces, motion, errors)
    for _ in range(_NEWTON):
        if not norm > goal:
            return
        _jacobian(problem, forces, motion, jacobian)
        step = errors.copy()
        if not lu_factor(jacobian, order):
            return
        lu_solve(jacobian, order, step)
        share = 1.0
        while True:
            trial[:] = forces - share * step
            new = _errors(problem, trial, motion, errors)
            # The shortest step is taken in any case: beyond a kink the way down may
            # begin.
            if new <= (1.0 - 1e-4 * share) * norm or share < SEARCH:
                break
            share *= 0.5
        forces[:] = trial
        norm = new


@kernel
def _confine(k, discs, forces):
    """Put forces that rounding left outside their bounds back."""
    for c in range(k):
        forces[3 * c] = max(0.0, forces[3 * c])
    for d in range(discs.first.shape[0]):
        if np.isinf(discs.ratio[d]):
            continue
        first, count = discs.first[d], discs.width[d]
        radius, n = discs.bound[d], discs.normal[d]
        if n >= 0:
            radius += discs.ratio[d] * forces[n]
        length = np.sqrt((forces[first : first + count] ** 2).sum())
        if length > radius:
            forces[first : first + count] *= radius / length


@kernel
def _residual(problem, forces):
    """Largest violation of the law, in the units of scaled motion."""
    if not np.isfinite(forces).all():
        return np.inf
    motion, errors = np.empty(forces.shape[0]), np.empty(forces.shape[0])
    _errors(problem, forces, motion, errors)
    return np.abs(errors).max()


@kernel
def _in_turns(problem, law, forces, accepted):
    """Contacts with the groups' forces fixed, then the groups with the contacts'."""
    matrix, free, k, discs = problem
    tangents, friction = law
    n = 3 * k
    largest = np.abs(free).max()
    contacts, coupling = matrix[:n, :n].copy(), matrix[:n, n:].copy()
    for _ in range(_TURNS):
        if k:
            given = free[:n] + coupling @ forces[n:]
            own = forces[:n].copy().reshape(k, 3)
            own, _ = solve_near(
                contacts, given.reshape(k, 3), tangents, friction, own, accepted
            )
            forces[:n] = own.ravel()
        for _ in range(_SWEEPS):
            for d in range(k, discs.first.shape[0]):
                first, count = discs.first[d], discs.width[d]
                radius = discs.bound[d]
                if discs.normal[d] >= 0:
                    radius += discs.ratio[d] * forces[discs.normal[d]]
                for i in range(first, first + count):
                    moved = free[i] + (matrix[i] * forces).sum()
                    forces[i] -= moved / max(matrix[i, i], _SMALL)
                length = np.sqrt((forces[first : first + count] ** 2).sum())
                if length > radius:
                    forces[first : first + count] *= radius / length
        if _residual(problem, forces) <= accepted * largest:
            break
    return forces
