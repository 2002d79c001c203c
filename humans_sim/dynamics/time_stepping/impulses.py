# SPDX-License-Identifier: Apache-2.0
r"""One time step of a system with contacts, in impulses and velocities.

.. math:: M (v_{k+1} - v_k) = h (\tau - N) + \sum_i J_i^T p_i

is solved together with the contact law between the impulses p and the velocities at the
end of the step. What it takes, the factor U of M and the *spread* :math:`U^{-1} J^T`,
also serves to put gaps right afterwards.

*Energy* of a step and its bound. A step may not end with more energy than it began with
and the applied forces put in,

.. math:: E_{k+1} \le E_k + h\, \tau \cdot \tfrac12 (v_k + v_{k+1}),

contacts only take energy out. Three things would break this bound: the bias is known at
a predicted velocity alone, the mass matrix changes in a step in which a velocity jumps,
and shifts that put gaps right may lift. What is above the bound is taken out of the
kinetic energy by scaling the velocity: a contact law without restitution is the same
for a velocity and for a share of it, so contacts that rest, slide or open do so after
it. A body that nothing holds keeps the velocity of its centre of mass; there the energy
is put right in both directions.

Gaps are put right up to a tolerance, so at rest the energy changes a little to and fro.
That little is not taken out but carried over to the next step: slow motions would end
in it.

Kernels take plain tuples: ``equations`` has the fields of :class:`StepEquations`;
``contacts`` indices of the step's contacts (k,), their gaps at its middle (k,), and of
all contacts restitution, tangents, friction, forces (nc, 3) [N] and modes of the step
before. A restitution below zero: the contact is not put onto its surface after the
step, it has to come there by itself. ``force`` is all but contacts', ``rows`` are the
Jacobians of the step's contacts (k, 3, nv), ``v`` is the velocity at the beginning.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.mesh_contact_kernels import ABSENT
from humans_sim.contact.problem.law import SLIDE, STICK
from humans_sim.contact.problem.newton import solve_near
from humans_sim.core.dense_kernels import (
    backward,
    cholesky,
    forward,
    gram,
    row_ends,
    solve_upper,
    solve_upper_transposed,
    solve_upper_vector,
    times_columns,
    times_rows,
    upper_factor,
)
from humans_sim.core.kernels import kernel, lent

ACCEPTED = 1e-8
"""Residual of a contact problem that counts as solved, relative."""
SINGULAR = -1.0
"""In place of a residual, where the mass matrix cannot be inverted."""
_PIVOT = 1e-12
"""Share of the diagonal below which a pivot of the mass matrix is rounding."""
_SPEED = 1e-9
"""Speed of slip below which a contact sticks [m/s]."""
GAINED = 0.1
"""Speed of approach that other forces than impacts may add in a step [m/s]."""
_BOUNCES = 1e-2
"""Approach from which on a contact that is not put onto its surface bounces [m/s]."""
_LEAVING = 1e-6
"""Rate of a gap from which on its contact opens [m/s, rad/s]."""
SETTLED = 1e-11
"""How far from its surface a closed contact may be after a step [m, rad]."""
_REGULAR = 1e-11


class StepEquations(NamedTuple):
    """The equations of a step with k contacts.

    Attributes:
        factor: upper triangular, U with M = U U^T (nv, nv).
        spread: :math:`U^{-1} J^T` (nv, 3k).
        delassus: W (3k, 3k).
        free: U^T times the velocity without impulses (nv,).
        motion: of the contacts without impulses (k, 3), as the contact law takes it.
    """

    factor: np.ndarray
    spread: np.ndarray
    delassus: np.ndarray
    free: np.ndarray
    motion: np.ndarray


@kernel
def step_end(equations, impulses, which, h, tangents, before):
    """The end of a step.

    Returns:
        the velocity at the end (nv,); modes (nc,) and mean forces (nc, 3) of all
        contacts; which of them are closed and stay so (nc,); whether any mode is new.
    """
    equations, impulses, which, tangents, before = lent(
        (equations, impulses, which, tangents, before)
    )
    factor, spread, delassus, free, motion = equations
    nv, n = spread.shape
    velocity, rates, after = np.empty(nv), np.empty(n), np.empty(n)
    times_rows(spread, impulses.ravel(), velocity)
    for j in range(nv):
        velocity[j] += free[j]
    times_columns(spread, velocity, rates)
    solve_upper_transposed(factor, velocity)
    times_columns(delassus, impulses.ravel(), after)  # it is symmetric
    for c in range(n):
        after[c] += motion[c // 3, c % 3]
    closed = np.zeros(tangents.shape[0], np.bool_)
    mode = np.zeros(tangents.shape[0], np.int64)
    forces = np.zeros((tangents.shape[0], 3))
    for c in range(which.shape[0]):
        w = which[c]
        for i in range(3):
            forces[w, i] = impulses[c, i] / h
        if impulses[c, 0] > 0.0:
            # A contact that bounces leaves its surface from where it is.
            closed[w] = rates[3 * c] <= _LEAVING
            slip = np.sqrt(after[3 * c + 1] ** 2 + after[3 * c + 2] ** 2)
            mode[w] = SLIDE if tangents[w] > 0 and slip > _SPEED else STICK
    changed = False
    for c in range(tangents.shape[0]):
        changed = changed or mode[c] != before[c]
    return velocity, mode, forces, closed, changed


@kernel
def entry_motion(gap, approach, ends, restitution, h):
    """Normal motion that the contact law adds to a contact in a step."""
    if gap + 0.5 * h * ends <= 0.0:
        # It closes in the step whatever others do: an impact, all of it now.
        if restitution >= 0.0:
            return restitution * min(approach, 0.0)
        if restitution < -1.0 and approach < -_BOUNCES:
            return (-1.0 - restitution) * approach
    # It may come onto its surface, if others push it, and no further.
    return max(2.0 * gap / h, 0.0)


@kernel
def factor_of(mass):
    """Factor of a mass matrix, the ends of its rows, and whether it has one.

    Where it has none, the factor is the identity.
    """
    mass = lent(mass)
    nv = mass.shape[0]
    factor, ends = np.zeros((nv, nv)), np.empty(nv, np.int64)
    row_ends(mass, ends)
    regular = upper_factor(mass, ends, factor)
    for i in range(nv):
        # Where a pivot is rounding, so would be the velocity.
        regular = regular and factor[i, i] ** 2 > _PIVOT * mass[i, i]
    if not regular:
        factor[:] = 0.0
        for i in range(nv):
            factor[i, i] = 1.0
            ends[i] = i + 1
    return factor, ends, regular


@kernel
def spread_of(factored, rows):
    """:math:`U^{-1} J^T` (nv, n) for rows of J (n, nv), and W (n, n)."""
    factored, rows = lent((factored, rows))
    n, nv = rows.shape
    spread, delassus = np.empty((nv, n)), np.empty((n, n))
    for r in range(n):
        for j in range(nv):
            spread[j, r] = rows[r, j]
    solve_upper(factored[0], factored[1], spread)
    gram(spread, delassus)
    return spread, delassus


@kernel
def free_motion(factored, force, v, h):
    """U^T times the velocity at the end of a step without impulses (nv,)."""
    factored, force, v = lent((factored, force, v))
    factor, ends, _ = factored
    free = h * force
    solve_upper_vector(factor, ends, free)
    for i in range(v.shape[0]):
        for j in range(i, ends[i]):
            free[j] += factor[i, j] * v[i]
    return free


@kernel
def take_step(mass, force, v, h, rows, contacts):
    """Impulses of one step, and what they lead to.

    Returns:
        fields of :class:`StepEquations`, as a plain tuple; the impulses (k, 3), and
        their residual or SINGULAR; what :func:`step_end` returns.
    """
    factored = factor_of(mass)
    spread = spread_of(factored, rows.reshape(3 * rows.shape[0], v.shape[0]))
    free = free_motion(factored, force, v, h)
    return finish_step((factored, spread, free), v, h, rows, contacts)


@kernel
def finish_step(prepared, v, h, rows, contacts):
    """The rest of :func:`take_step`, from a factor, its spread and the free motion."""
    v, rows, contacts = lent((v, rows, contacts))
    (factor, _, regular), (spread, delassus), free = prepared
    which, gap, restitution, tangents, friction, forces, mode = contacts
    k = rows.shape[0]
    motion, start = np.empty((k, 3)), np.empty((k, 3))
    times_columns(spread, free, motion.reshape(-1))
    count, mu, beyond = enter_contacts(v, h, rows, contacts, motion, start)
    residual = 0.0 if regular else SINGULAR
    if k and regular:
        start, residual = solve_near(delassus, motion, count, mu, start, ACCEPTED)
    equations = (factor, spread, delassus, free, motion)
    end = step_end(equations, start, which, h, tangents, mode)
    close_pushed(end[3], start, which, beyond, restitution)
    return equations, start, residual, end


@kernel
def enter_contacts(v, h, rows, contacts, motion, start):
    """Add what the contact law does to motions (k, 3), fill impulses to start from.

    Returns:
        tangents and friction of the step's contacts (k,), and which would not come onto
        their surfaces by themselves (k,).
    """
    v, rows, contacts = lent((v, rows, contacts))
    motion, start = lent((motion, start))
    which, gap, restitution, tangents, friction, forces, _ = contacts
    k = rows.shape[0]
    count, mu, beyond = np.empty(k, np.int64), np.empty(k), np.empty(k, np.bool_)
    for c in range(k):
        w = which[c]
        count[c], mu[c] = tangents[w], friction[w]
        for i in range(3):
            start[c, i] = h * forces[w, i]
        approach, ends = 0.0, motion[c, 0]
        for j in range(v.shape[0]):
            approach += rows[c, 0, j] * v[j]
        motion[c, 0] += entry_motion(gap[c], approach, ends, restitution[w], h)
        beyond[c] = gap[c] > 0.5 * h * (GAINED - min(approach, 0.0))
    return count, mu, beyond


@kernel(borrows=True)
def close_pushed(closed, impulses, which, beyond, restitution):
    """Close contacts that others pushed onto their surfaces: from there they leave."""
    for c in range(which.shape[0]):
        if impulses[c, 0] > 0.0 and beyond[c] and restitution[which[c]] >= 0.0:
            closed[which[c]] = True


_ROUNDS = 12
"""How often what is pushed may change."""
_PULLING = 1e-9
"""Share of the largest impulse from which on one that pulls is none."""


@kernel
def closing_shift(equations, which, held, gap):
    r"""The least change of position that closes gaps (nv,).

    .. math:: \min_s s^T M s \quad \text{with} \quad g_i + J_i s = 0, \;
       g_j + J_j s \ge 0

    for contacts i that are ``held`` on their surfaces and all others j of ``which``.
    What is inside may only be pushed out: were it held, too, two points of one edge
    that are inside by different depths would have to come onto the surface together,
    which can take a large motion.
    """
    equations, which, held, gap = lent((equations, which, held, gap))
    factor, spread, delassus = equations
    k, nv = which.shape[0], factor.shape[0]
    pushed, share, size = np.empty(k, np.bool_), np.zeros(k), 0.0
    for c in range(k):
        pushed[c] = held[which[c]] or gap[which[c]] < -SETTLED
        size = max(size, delassus[3 * c, 3 * c])
    rows = np.empty(k, np.int64)
    for _ in range(_ROUNDS):
        count = 0
        for c in range(k):
            share[c] = 0.0
            if pushed[c]:
                rows[count] = c
                count += 1
        matrix, part = np.empty((count, count)), np.empty(count)
        for i in range(count):
            part[i] = -gap[which[rows[i]]]
            for j in range(count):
                matrix[i, j] = delassus[3 * rows[i], 3 * rows[j]]
            # Corners of one sole are redundant; their gaps agree.
            matrix[i, i] += _REGULAR * size
        if not cholesky(matrix, matrix):
            break
        forward(matrix, part)
        backward(matrix, part)
        most = 0.0
        for i in range(count):
            share[rows[i]] = part[i]
            most = max(most, abs(part[i]))
        changed = False
        for i in range(count):
            c = rows[i]
            if not held[which[c]] and part[i] < -_PULLING * most:
                pushed[c], changed = False, True
        if changed:
            continue
        for c in range(k):
            if not pushed[c]:
                there = gap[which[c]]
                for i in range(count):
                    there += delassus[3 * c, 3 * rows[i]] * part[i]
                if there < -SETTLED:
                    pushed[c], changed = True, True
        if not changed:
            break
    change = np.zeros(nv)
    for c in range(k):
        if share[c] != 0.0:
            for j in range(nv):
                change[j] += spread[j, 3 * c] * share[c]
    solve_upper_transposed(factor, change)
    return change


@kernel
def unsettled(gap, closed, which, tolerance):
    """Errors still to be corrected after a step.

    Returns:
        the contacts that shall be on their surfaces (nc,), how far the worst is away,
        and whether all of them belong to the step.
    """
    gap, closed, which = lent((gap, closed, which))
    active = closed.copy()
    known = np.zeros(gap.shape[0], np.bool_)
    for c in which:
        known[c] = True
    worst, all_known = 0.0, True
    for c in range(gap.shape[0]):
        if gap[c] < -tolerance:
            active[c] = True
        elif gap[c] > ABSENT:
            active[c] = False  # a further contact that the step has left behind
        if active[c]:
            worst = max(worst, abs(gap[c]))
            all_known = all_known and known[c]
    return active, worst, all_known


REPEATED = 1e-6
"""Error of the energy above which a step is repeated with a better prediction; a model
without links that touch, where the work of the two biases differs by as much."""
IMPROVED = 0.25
"""Share of its error that a repeated step keeps at most where another one is worth it:
what is left after a jump of the velocity no prediction makes better."""
HALVED = 1e-4
"""Error of the energy above which a step is halved."""
HALVINGS = 6
"""How often in a row a step is halved."""


@kernel
def energy_scale(kinetic, potential):
    """The energy that errors are relative to [J], as in the check of a run."""
    return max(kinetic, 1e-3 * abs(potential)) + 1e-300


@kernel
def energy_error(excess, both, scale):
    """Relative error of a step's energy; ``both``: a loss is one, too."""
    return (abs(excess) if both else max(excess, 0.0)) / scale


@kernel
def free_translation(mass, v):
    """The translation of the centre of mass in a velocity of a free model (nv,)."""
    translation = np.zeros(v.shape[0])
    for i in range(3):
        for j in range(v.shape[0]):
            translation[i] += mass[i, j] * v[j] / mass[0, 0]
    return translation


@kernel
def without_excess(v, translation, excess, kinetic, share, ignored):
    """A velocity with the excess of energy taken out, its energy, what is left [J]."""
    if abs(excess) <= ignored:
        return v, kinetic, excess
    moving = kinetic - share
    if not moving > abs(excess):
        if excess <= 0.0 or moving <= 0.0:
            return v, kinetic, excess
        # All that moves is not enough: it stops.
        return translation.copy(), share, excess - moving
    factor = np.sqrt(1.0 - excess / moving)
    return translation + factor * (v - translation), kinetic - excess, 0.0
