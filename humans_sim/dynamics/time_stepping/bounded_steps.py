# SPDX-License-Identifier: Apache-2.0
"""One time step with forces of bounded size besides the contacts.

Dry friction in joints, rolling and torsional friction are rows of the same contact
problem (:mod:`~humans_sim.contact.problem.bounded_kernels`). The equations that a step
hands on are those of the contacts alone, with the impulses of these rows in their free
motion: what comes after a step need not know of them.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numba import njit

from humans_sim.contact.problem.bounded_kernels import BoundedGroups, solve_bounded
from humans_sim.core.dense_kernels import cholesky, forward_rows
from humans_sim.dynamics.joint_dissipation import JointDissipation
from humans_sim.dynamics.time_stepping.impulses import ACCEPTED, step_end


@runtime_checkable
class Bounded(Protocol):
    """A system with damping, or with forces of bounded size.

    Attributes:
        dissipation: of its joints; the damping is part of its bias.
        damped: whether there is any damping.
        dissipates: whether there is damping or a force of bounded size.
    """

    dissipation: JointDissipation
    damped: bool
    dissipates: bool

    def bounded_groups(self, q: np.ndarray, which: np.ndarray) -> BoundedGroups | None:
        """Their rows at a configuration, or None where there are none.

        Args:
            q: configuration, that of the last equations of motion.
            which: contacts of the step (k,).
        """


@njit(cache=True)
def take_bounded_step(motion, h, rows, contacts, groups, guess):
    """Impulses of one step, and what they lead to.

    Args:
        motion: mass matrix (nv, nv), all forces but those of contacts and groups (nv,),
            velocity at the beginning (nv,).
        h: length of the step [s].
        rows: Jacobians of the step's contacts (k, 3, nv).
        contacts: fields of a
            :class:`~humans_sim.dynamics.time_stepping.impulses.StepContacts`.
        groups: fields of a :class:`BoundedGroups`, as a plain tuple.
        guess: forces of the groups' rows to start from (m,) [N m].

    Returns:
        what :func:`~humans_sim.dynamics.time_stepping.impulses.take_step` returns,
        then the mean forces of the groups' rows (m,) [N m].
    """
    mass, force, v = motion
    which, gap, restitution, tangents, friction, forces, mode = contacts
    extra, first, count, bound, length, contact, _ = groups
    k, m, nv = rows.shape[0], extra.shape[0], v.shape[0]
    n = 3 * k + m
    factor = np.zeros((nv, nv))
    if not cholesky(mass, factor):
        factor[:] = np.nan
    columns = np.empty((nv, n + 1))
    for i in range(nv):
        columns[i, n] = h * force[i]
        for c in range(k):
            for j in range(3):
                columns[i, 3 * c + j] = rows[c, j, i]
        for j in range(m):
            columns[i, 3 * k + j] = extra[j, i]
    forward_rows(factor, columns)
    spread = columns[:, :n].copy()
    free = columns[:, n].copy()
    for i in range(nv):
        for j in range(i, nv):
            free[i] += factor[j, i] * v[j]
    delassus = spread.T @ spread
    speeds = spread.T @ free
    start = np.empty(n)
    own_tangents, own_friction = np.empty(k, np.int64), np.empty(k)
    for c in range(k):
        w = which[c]
        own_tangents[c], own_friction[c] = tangents[w], friction[w]
        for i in range(3):
            start[3 * c + i] = h * forces[w, i]
        if restitution[w] == 0.0:
            # A gap that is open yet may close in the step, but no further.
            speeds[3 * c] += max(gap[w], 0.0) / h
        else:
            approach = 0.0
            for j in range(nv):
                approach += rows[c, 0, j] * v[j]
            speeds[3 * c] += restitution[w] * min(approach, 0.0)
    start[3 * k :] = h * guess
    impulses, residual = solve_bounded(
        delassus,
        speeds,
        (own_tangents, own_friction),
        (first, count, h * bound, length, contact),
        start,
        ACCEPTED,
    )
    bounded = impulses[3 * k :].copy()
    own = impulses[: 3 * k].copy().reshape(k, 3)
    free += spread[:, 3 * k :].copy() @ bounded
    moved = speeds[: 3 * k] + delassus[: 3 * k, 3 * k :].copy() @ bounded
    equations = (
        factor,
        spread[:, : 3 * k].copy(),
        delassus[: 3 * k, : 3 * k].copy(),
        free,
        moved.reshape(k, 3),
    )
    end = step_end(equations, own, which, h, tangents, mode)
    return equations, own, residual, end, bounded / h
