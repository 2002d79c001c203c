# SPDX-License-Identifier: Apache-2.0
"""One time step with forces of bounded size besides the contacts.

Dry friction in joints, rolling and torsional friction are rows of the same contact
problem (:mod:`~humans_sim.contact.problem.bounded_kernels`). The equations that a step
hands on are those of the contacts alone, with the impulses of these rows in their free
motion: what comes after a step need not know of them.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from humans_sim.contact.problem.bounded_kernels import BoundedGroups, solve_bounded
from humans_sim.core.dense_kernels import times_columns
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import add_diagonal
from humans_sim.dynamics.joints import JointDissipation
from humans_sim.dynamics.time_stepping.impulses import (
    ACCEPTED,
    SINGULAR,
    close_pushed,
    enter_contacts,
    factor_of,
    free_motion,
    spread_of,
    step_end,
    take_step,
)
from humans_sim.results.records import ContactTable


@runtime_checkable
class Bounded(Protocol):
    """A system with damping, or with forces of bounded size.

    Attributes:
        dissipation: of its joints; the damping is part of its bias.
        damped: whether there is any damping.
        dissipates: whether there is damping or a force of bounded size.
    """

    nv: int
    contacts: ContactTable
    dissipation: JointDissipation
    damped: bool
    dissipates: bool

    def bounded_groups(self, q: np.ndarray, which: np.ndarray) -> BoundedGroups | None:
        """Their rows at q, that of the last equations of motion; None without any."""


class BoundedSteps:
    """Takes the steps of a system with damping or with forces of bounded size.

    Attributes:
        forces: means over the last step: dry friction of all velocities, then
            torsional and rolling moments of all contacts (nv + 3 nc,) [N m].
    """

    def __init__(self, system: Bounded) -> None:
        self._system, self._damping = system, system.dissipation.damping
        self.forces = np.zeros(system.nv + 3 * len(system.contacts))
        self._groups: BoundedGroups | None = None

    @classmethod
    def of(cls, system: Any) -> BoundedSteps | None:
        """For a system that has any of them; None for others."""
        dissipates = isinstance(system, Bounded) and system.dissipates
        return cls(system) if dissipates else None

    def take(
        self,
        motion: tuple[np.ndarray, np.ndarray, np.ndarray],
        places: tuple[np.ndarray, np.ndarray],
        h: float,
        rows: np.ndarray,
        contacts: tuple[np.ndarray, ...],
    ) -> tuple[Any, ...]:
        """Impulses of one step, and what they lead to.

        Damping acts at the mean of the velocities before and after the step: it takes
        energy out however strong it is. In the bias it is that of the prediction.
        """
        mass, force, v = motion
        q, predicted = places
        if self._system.damped:
            add_diagonal(mass, 0.5 * h * self._damping)
            force = force + self._damping * (predicted - v)
        self._groups = groups = self._system.bounded_groups(q, contacts[0])
        if groups is None:
            return tuple(take_step(mass, force, v, h, rows, contacts))
        guess = self.forces[groups.place]
        *result, means = take_bounded_step(
            (mass, force, v), h, rows, contacts, tuple(groups), guess
        )
        self.forces[:] = 0.0
        self.forces[groups.place] = means
        return tuple(result)

    def power(self, mean: np.ndarray) -> float:
        """Power of damping and forces of the last step, at its mean velocity [W]."""
        power = float(self._damping @ mean**2)
        groups = self._groups
        if groups is not None:
            power -= float(self.forces[groups.place] @ (groups.rows @ mean))
        return power


@kernel
def take_bounded_step(motion, h, rows, contacts, groups, guess):
    """Impulses of one step, and what they lead to.

    ``motion`` is mass matrix, all forces but those of contacts and groups, velocity at
    the beginning; ``groups`` fields of a :class:`BoundedGroups`; ``guess`` forces of
    the groups' rows to start from. Returns what ``take_step`` returns, then the mean
    forces of the groups' rows (m,) [N m].
    """
    mass, force, v = motion
    factored = factor_of(mass)
    spread = spread_of(factored, joined_rows(rows, groups[0]))
    free = free_motion(factored, force, v, h)
    prepared = (factored, spread, free)
    return finish_bounded_step(prepared, v, h, rows, contacts, (groups, guess))


@kernel
def joined_rows(rows, extra):
    """Rows of contacts (k, 3, nv) and of groups (m, nv), one matrix."""
    k, m, nv = rows.shape[0], extra.shape[0], extra.shape[1]
    every = np.empty((3 * k + m, nv))
    every[: 3 * k] = rows.reshape(3 * k, nv)
    every[3 * k :] = extra
    return every


@kernel
def finish_bounded_step(prepared, v, h, rows, contacts, limited):
    """The rest of :func:`take_bounded_step`, from factor, spread and free motion.

    Limited are the groups of rows, and the forces to start from.
    """
    (factor, _, regular), (spread, delassus), free = prepared
    groups, guess = limited
    which, _, restitution, tangents, _, _, mode = contacts
    extra, first, count, bound, length, contact, _ = groups
    k, m, nv = rows.shape[0], extra.shape[0], v.shape[0]
    n = 3 * k + m
    speeds = np.empty(n)
    times_columns(spread, free, speeds)
    start = np.empty(n)
    own_tangents, own_friction, beyond = enter_contacts(
        v,
        h,
        rows,
        contacts,
        speeds[: 3 * k].reshape(k, 3),
        start[: 3 * k].reshape(k, 3),
    )
    start[3 * k :] = h * guess
    impulses, residual = start, SINGULAR
    if regular:
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
    for j in range(nv):
        for c in range(m):
            free[j] += spread[j, 3 * k + c] * bounded[c]
    moved = speeds[: 3 * k] + delassus[: 3 * k, 3 * k :].copy() @ bounded
    equations = (
        factor,
        spread[:, : 3 * k].copy(),
        delassus[: 3 * k, : 3 * k].copy(),
        free,
        moved.reshape(k, 3),
    )
    end = step_end(equations, own, which, h, tangents, mode)
    close_pushed(end[3], own, which, beyond, restitution)
    return equations, own, residual, end, bounded / h
