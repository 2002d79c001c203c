# SPDX-License-Identifier: Apache-2.0
r"""The right-hand side with contacts that creep, and its derivatives.

Implicit integrators take friction as a function of velocity, without modes:

.. math:: f_t = -\mu f_n \frac{v_t}{\sqrt{|v_t|^2 + v_c^2}}

with the creep speed v_c. It never leaves its cone, and is Coulomb's law but for terms
:math:`(v_c/v_t)^2/2` where a contact slides; a contact that Coulomb's law holds at rest
creeps by less than v_c as long as half its friction is enough. So neither the onset nor
the end of sliding is an event, and no direction has to be chosen at rest, where several
corners of a sole share their friction by the motion of the sole.

Only normal directions are constraints then. Four corners of a rigid sole have one force
without effect on it. Of the loads with the required effect the even one is taken, which
is affine over the sole; where it would pull at a corner, that corner has no load and
the others support the sole. Where no others do, it opens: loads are never negative, a
contact without load does not approach. The right-hand side is continuous over all of
this, so that the opening of a contact needs no event either.

Derivatives are put together from their parts; the stiff part serves implicit
integrators.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.law import SLIDE, deflated_solve
from humans_sim.core.dense_kernels import (
    backward,
    cholesky,
    forward_rows,
    lu_factor,
    lu_solve,
)
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.system import Chart

_REDUNDANT = 1e-3
"""Share of an idle force that a contact must have to be supported by others."""
_APPROACH = 1e-7
"""Acceleration, relative to the largest, with which a contact without load returns."""
NEAR = 1e-7
"""Gap beyond which a contact that opened carries no force [m, rad]."""


class CreepingContacts(NamedTuple):
    """The k closed contacts while smooth motion lasts.

    Attributes:
        mode: SLIDE of contacts that creep; others hold all their directions (k,).
        tangents: number of tangential directions (k,).
        friction: Coulomb's coefficients (k,).
        idle: projector on forces without effect, by
            :func:`~humans_sim.contact.problem.law.idle_forces`.
        rate: at which drift decays [1/s].
        creep_speed: below which friction is less than Coulomb's [m/s].
    """

    mode: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    idle: np.ndarray
    rate: float
    creep_speed: float


@kernel
def _contact_motion(rows, tangents, velocity):
    """Velocities of contacts (k, 3) [m/s]."""
    motion = np.zeros((tangents.shape[0], 3))
    for c in range(tangents.shape[0]):
        for i in range(1 + tangents[c]):
            total = 0.0
            for j in range(velocity.shape[0]):
                total += rows[c, i, j] * velocity[j]
            motion[c, i] = total
    return motion


@kernel
def _friction_directions(motion, mode, tangents, creep_speed):
    """Directions that friction opposes, of length below one (k, 2)."""
    k = mode.shape[0]
    direction = np.zeros((k, 2))
    for c in range(k):
        if mode[c] == SLIDE and tangents[c] > 0:
            square = motion[c, 1] ** 2 + motion[c, 2] ** 2
            length = np.sqrt(square + creep_speed**2)
            direction[c, 0] = motion[c, 1] / length
            direction[c, 1] = motion[c, 2] / length
    return direction


@kernel
def _assemble(rows, mode, tangents, friction, direction):
    """Constraint rows, how their forces push (nv, m), first row of each contact."""
    k, nv = mode.shape[0], rows.shape[2]
    heads = np.empty(k + 1, np.int64)
    heads[0] = 0
    for c in range(k):
        heads[c + 1] = heads[c] + (1 if mode[c] == SLIDE else 1 + tangents[c])
    constraint = np.empty((nv, heads[k]))
    applied = np.empty((nv, heads[k]))
    for c in range(k):
        for i in range(heads[c + 1] - heads[c]):
            for j in range(nv):
                constraint[j, heads[c] + i] = rows[c, i, j]
                applied[j, heads[c] + i] = rows[c, i, j]
        if mode[c] == SLIDE:
            for i in range(tangents[c]):
                push = friction[c] * direction[c, i]
                if push != 0.0:
                    for j in range(nv):
                        applied[j, heads[c]] -= push * rows[c, 1 + i, j]
    return constraint, applied, heads


@kernel
def _leave_out(rest, row):
    """Take the forces of a row out of a projector on forces without effect."""
    share = rest[row].copy()
    if share[row] > _REDUNDANT:
        for i in range(share.shape[0]):
            for j in range(share.shape[0]):
                rest[i, j] -= share[i] * share[j] / share[row]
    rest[row, :] = 0.0
    rest[:, row] = 0.0


@kernel
def _complementary_forces(delassus, right, idle, heads, near):
    """Forces (m,) that hold or let go, by signs, and the residual of rows that hold.

    Contacts that would pull are left out one by one, the worst first; those that would
    then approach are taken back, once each.
    """
    m, k = right.shape[0], heads.shape[0] - 1
    loaded = near.copy()
    returned = np.zeros(k, np.bool_)
    start = np.zeros(m)
    size = 1.0
    for r in range(m):
        size = max(size, abs(right[r]))
    forces, residual = start, 0.0
    for _ in range(3 * k + 1):
        rest, reduced, reduced_right = idle.copy(), delassus.copy(), right.copy()
        for c in range(k):
            if not loaded[c]:
                for r in range(heads[c], heads[c + 1]):
                    _leave_out(rest, r)
                    reduced[r, :] = 0.0
                    reduced[:, r] = 0.0
                    reduced[r, r] = delassus[r, r]
                    reduced_right[r] = 0.0
        forces, residual = deflated_solve(reduced, reduced_right, rest, start)
        worst, least = -1, 0.0
        for c in range(k):
            if loaded[c] and forces[heads[c]] < least:
                worst, least = c, forces[heads[c]]
        if worst >= 0:
            loaded[worst] = False
            continue
        least = -_APPROACH * size
        for c in range(k):
            if near[c] and not loaded[c] and not returned[c]:
                approach = -right[heads[c]]
                for r in range(m):
                    approach += delassus[heads[c], r] * forces[r]
                if approach < least:
                    worst, least = c, approach
        if worst < 0:
            break
        loaded[worst] = returned[worst] = True
    return forces, residual


@kernel
def creeping_acceleration(mass, force, velocity, contacts, creep):
    """Acceleration, forces, residual, contact velocities, directions."""
    gap, rows, drift = contacts
    mode, tangents, friction, idle, rate, creep_speed = creep
    k, nv = mode.shape[0], force.shape[0]
    motion = _contact_motion(rows, tangents, velocity)
    direction = _friction_directions(motion, mode, tangents, creep_speed)
    forces = np.zeros((k, 3))
    factor = np.zeros((nv, nv))
    if not cholesky(mass, factor):
        return force, forces, np.inf, motion, direction
    column = force.copy().reshape(nv, 1)
    forward_rows(factor, column)
    acceleration = column.ravel()
    if k == 0:
        backward(factor, acceleration)
        return acceleration, forces, 0.0, motion, direction
    constraint, applied, heads = _assemble(rows, mode, tangents, friction, direction)
    forward_rows(factor, constraint)
    forward_rows(factor, applied)
    right = -(constraint.T @ acceleration)
    for c in range(k):
        right[heads[c]] -= drift[c, 0]
        right[heads[c]] -= rate * (2.0 * motion[c, 0] + rate * gap[c])
        for i in range(1, heads[c + 1] - heads[c]):
            right[heads[c] + i] -= drift[c, i] + 2.0 * rate * motion[c, i]
    near = gap < NEAR
    x, residual = _complementary_forces(
        constraint.T @ applied, right, idle, heads, near
    )
    acceleration += applied @ x
    backward(factor, acceleration)
    for c in range(k):
        forces[c, 0] = x[heads[c]]
        for i in range(tangents[c]):
            if mode[c] == SLIDE:
                forces[c, 1 + i] = -friction[c] * direction[c, i] * forces[c, 0]
            else:
                forces[c, 1 + i] = x[heads[c] + 1 + i]
    return acceleration, forces, residual, motion, direction


@kernel
def creeping_response(mass, velocity, rows, forces, creep):
    """How the acceleration follows forces, velocities and positions (3, nv, nv).

    The stiff part of the derivatives: of friction by velocity, with the loads as they
    are, and of what pulls drift back. First the response to generalised forces, then
    to velocities, then to positions.
    """
    mode, tangents, friction, idle, rate, creep_speed = creep
    k, nv = mode.shape[0], velocity.shape[0]
    response = np.zeros((3, nv, nv))
    factor = np.zeros((nv, nv))
    if not cholesky(mass, factor):
        return response
    inverse = np.eye(nv)
    forward_rows(factor, inverse)
    free = inverse.T @ inverse
    response[0] = free
    if k == 0:
        return response
    motion = _contact_motion(rows, tangents, velocity)
    direction = _friction_directions(motion, mode, tangents, creep_speed)
    constraint, applied, heads = _assemble(rows, mode, tangents, friction, direction)
    m = heads[k]
    # Constraint forces follow: delassus x = -(rows of free forces).
    delassus = constraint.T @ free @ applied
    scale = 0.0
    for r in range(m):
        scale += abs(delassus[r, r]) / m
    rest = idle.copy()
    for c in range(k):
        if forces[c, 0] == 0.0:
            for r in range(heads[c], heads[c + 1]):
                _leave_out(rest, r)
                delassus[r, :] = 0.0
                delassus[:, r] = 0.0
                delassus[r, r] = scale
                constraint[:, r] = 0.0
    delassus += scale * (rest + 1e-9 * np.eye(m))
    order = np.empty(m, np.int64)
    if not lu_factor(delassus, order):
        return response
    reaction = np.ascontiguousarray(constraint.T)
    column = np.empty(m)
    for j in range(nv):
        column[:] = reaction[:, j]
        lu_solve(delassus, order, column)
        reaction[:, j] = column
    pull = free @ applied @ reaction
    response[0] = free - pull @ free
    friction_rates = np.zeros((nv, nv))
    for c in range(k):
        if mode[c] != SLIDE or friction[c] == 0.0 or forces[c, 0] <= 0.0:
            continue
        speed = np.sqrt(motion[c, 1] ** 2 + motion[c, 2] ** 2 + creep_speed**2)
        size = friction[c] * forces[c, 0] / speed
        for a in range(tangents[c]):
            for b in range(tangents[c]):
                slope = -direction[c, a] * direction[c, b]
                if a == b:
                    slope += 1.0
                slope *= size
                for i in range(nv):
                    push = slope * rows[c, 1 + a, i]
                    if push != 0.0:
                        for j in range(nv):
                            friction_rates[i, j] -= push * rows[c, 1 + b, j]
    response[1] = response[0] @ friction_rates - 2.0 * rate * pull
    response[2] = -(rate**2) * pull
    return response


@kernel
def assemble_derivatives(torques, rates, turn, response, base):
    """Derivatives of the rates of coordinates, velocity and z by these (n, n)."""
    nv, n = torques.shape
    matrix = np.zeros((n, n))
    matrix[nv : 2 * nv] = response[0] @ torques
    matrix[2 * nv :] = rates
    # Positions are moved along velocities: response[2] with the inverse of turn.
    factors = turn[:base, :base].T.copy()
    order = np.empty(base, np.int64)
    regular = lu_factor(factors, order)
    row = np.empty(base)
    for i in range(nv):
        if regular:
            row[:] = response[2, i, :base]
            lu_solve(factors, order, row)
            matrix[nv + i, :base] += row
        for j in range(nv):
            matrix[i, nv + j] = turn[i, j]
            matrix[nv + i, nv + j] += response[1, i, j]
            if j >= base:
                matrix[nv + i, j] += response[2, i, j]
    return matrix


_BASE = 6
"""Velocities of a free base, the first ones: others are rates of coordinates."""
_DIFFERENCE = 1e-7
"""Difference for the derivatives of the actuation [m, rad, m/s, rad/s, s]."""


class LoadSlopes:
    """Derivatives of what acts, by state and time; by differences.

    Attributes:
        torques: of the torques by the state y (nv, n).
        rates: of the rates of z by the state y (nz, n).
        by_time: of the torques by time (nv,).
    """

    def __init__(
        self, loads: AppliedLoads, chart: Chart, t: float, y: np.ndarray, nv: int
    ) -> None:
        n = len(y)
        self._loads, self._chart, self._nv = loads, chart, nv
        self._now, rates = self._at(t, y)
        self.torques, self.rates = np.zeros((nv, n)), np.zeros((n - 2 * nv, n))
        later, _ = self._at(t + _DIFFERENCE, y)
        self.by_time = (later - self._now) / _DIFFERENCE
        if loads.actuation.decoupled:
            for block in (0, nv):
                moved = y.copy()
                moved[block : block + nv] += _DIFFERENCE
                slopes = (self._at(t, moved)[0] - self._now) / _DIFFERENCE
                self.torques[np.arange(nv), np.arange(block, block + nv)] = slopes
            return
        for j in range(n):
            moved = y.copy()
            moved[j] += _DIFFERENCE
            torques, moved_rates = self._at(t, moved)
            self.torques[:, j] = (torques - self._now) / _DIFFERENCE
            self.rates[:, j] = (moved_rates - rates) / _DIFFERENCE

    def _at(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nv = self._nv
        q = self._chart.configuration(y[:nv])
        loads = self._loads.at(t, q, y[nv : 2 * nv], y[2 * nv :])
        return loads.torques, loads.rates


def chart_matrix(chart: Chart, x: np.ndarray) -> np.ndarray:
    """Rates of the coordinates for each velocity (nv, nv)."""
    matrix = np.eye(len(x))
    none = np.zeros(len(x))
    for j in range(min(len(x), _BASE)):
        velocity = none.copy()
        velocity[j] = 1.0
        matrix[:, j] = chart.rates(x, velocity)
    return matrix


def stiff_derivatives(
    slopes: LoadSlopes, turn: np.ndarray, response: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the rates of coordinates, velocity and z by these, and by time.

    Of the actuation, of friction that follows velocity, and of what pulls drift back;
    left out is how inertia, gravity and contact points change with the posture.
    """
    nv, n = slopes.torques.shape
    matrix = assemble_derivatives(
        slopes.torques, slopes.rates, turn, response, min(nv, _BASE)
    )
    by_time = np.zeros(n)
    by_time[nv : 2 * nv] = response[0] @ slopes.by_time
    return matrix, by_time
