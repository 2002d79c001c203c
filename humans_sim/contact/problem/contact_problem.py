# SPDX-License-Identifier: Apache-2.0
r"""The contact problem: unilateral contact with Coulomb friction.

Given the Delassus matrix :math:`W = J M^{-1} J^T` and the free motion b of the
contacts, find forces f and motion u = W f + b with

.. math:: 0 \le u_n \perp f_n \ge 0, \qquad |f_t| \le \mu f_n, \qquad
   u_t \ne 0 \Rightarrow f_t = -\mu f_n u_t / |u_t|.

Read as accelerations and forces it decides lift-off, stick and slip (the manual's (1.7)
with friction); read as velocities and impulses it is the impact with inequalities, and
one step of the time-stepping method. A contact that slides already has a known
direction of friction. Infinite friction is the manual's sticking law: the tangents of a
closed contact are held whatever its normal force.

Method: Newton's method, with interior points where it does not arrive
(:mod:`~humans_sim.contact.problem.newton`), island by island: contacts that meet others
only far away cost no more than alone. W need not be quite symmetric for it. Up to some
fifty contacts the others follow, until one arrives: Gauss-Seidel sweeps, each contact
solved exactly (open, stick, or slip with the direction found by bisection), until the
modes can be read off; the linear equations of those modes are solved and the answer is
verified. Where the sweeps cycle, the fixed point of De Saxce's form is followed: with
:math:`\mu |u_t|` added to the normal motion and held, the problem is a convex one on
the cones, solved by accelerated projected gradients. Very many sweeps are the last. The
best of all is the answer. All of it ends in bounded time, and a signal comes through
between the steps of large problems.

Contacts that slide in a known direction begin with the sweeps: of two solutions
(Painleve) these take the stable one. Newton's method comes next.
Redundant contacts make W singular: u is unique then and f is one of many.

*Sliding in known directions.* The friction of such a contact is a multiple of its
normal force, so that the contact is one without friction whose force acts obliquely:
:math:`f = f_n (1, -\mu d)`. What is left has fewer unknowns, and W is no more
symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from humans_sim.contact.problem.law import (
    ACCEPTED,
    ContactProblem,
    better,
    modes_of,
    motion_of,
    residual_of,
)
from humans_sim.contact.problem.newton import by_newton, scale_of
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.core.kernels import kernel

_FIRST_SWEEPS = 20
_LAST_SWEEPS = 640
_MANY_SWEEPS = 50000
_BLOCK = 100_000
"""Pairs of contacts in a block of sweeps, some 10 ms."""
_ANGLES = 24


def by_sweeps(problem: tuple[np.ndarray, ...]) -> tuple[np.ndarray, float]:
    """Forces of the best of some hundred sweeps (k, 3), and their residual."""
    return _sweep_on(problem, _FIRST_SWEEPS, _LAST_SWEEPS)


def by_many_sweeps(problem: tuple[np.ndarray, ...]) -> tuple[np.ndarray, float]:
    """The same of very many, where nothing else helped."""
    return _sweep_on(problem, _MANY_SWEEPS, _MANY_SWEEPS)


def _sweep_on(
    problem: tuple[np.ndarray, ...], sweeps: int, most: int
) -> tuple[np.ndarray, float]:
    """Sweeps, twice as many each time, until an answer is accepted.

    They are made in blocks: between these, signals come through.
    """
    forces = np.zeros(problem[1].shape)
    best, residual = forces.copy(), np.inf
    block = max(1, _BLOCK // len(forces) ** 2)
    while residual > ACCEPTED and sweeps <= most:
        for done in range(0, sweeps, block):
            _sweep(problem, forces, min(block, sweeps - done))
        if not np.abs(forces).max() < 1e150:
            break
        residual = better(problem, forces, best, residual)
        sweeps *= 2
    return best, float(residual)


@kernel
def _sweep(problem, forces, sweeps):
    """Gauss-Seidel: each contact in turn, the others held."""
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    u = np.empty(3)
    b = np.empty(3)
    for _ in range(sweeps):
        for c in range(n):
            w = delassus[3 * c : 3 * c + 3, 3 * c : 3 * c + 3]
            motion_of(delassus, free, forces, c, u)
            for i in range(3):
                b[i] = u[i]
                for j in range(3):
                    b[i] -= w[i, j] * forces[c, j]
            _solve_one(w, b, tangents[c], friction[c], sliding[c], forces[c])


@kernel
def _solve_one(w, b, tangents, mu, sliding, f):
    """Exact solution of one contact."""
    if w[0, 0] <= 0.0:
        f[:] = 0.0
        return
    if tangents == 0 or mu == 0.0:
        f[0] = max(0.0, -b[0] / w[0, 0])
        f[1] = 0.0
        f[2] = 0.0
        return
    if sliding[0] != 0.0 or sliding[1] != 0.0:
        stiffness = w[0, 0] - mu * (w[0, 1] * sliding[0] + w[0, 2] * sliding[1])
        # Painleve, a stiffness below zero: with motion into the surface there is no
        # force, and the residual says so; with motion off it, of the two solutions the
        # open one is taken: the closed one is unstable.
        f[0] = max(0.0, -b[0] / stiffness) if stiffness > 0.0 else 0.0
        f[1] = -mu * f[0] * sliding[0]
        f[2] = -mu * f[0] * sliding[1]
        return
    held = np.isinf(mu)
    if b[0] >= 0.0 and not held:
        f[:] = 0.0
        return
    # stick
    if tangents == 1:
        det = w[0, 0] * w[1, 1] - w[0, 1] * w[1, 0]
        if det > 1e-14 * w[0, 0] * w[1, 1]:
            f[0] = (-b[0] * w[1, 1] + b[1] * w[0, 1]) / det
            f[1] = (-b[1] * w[0, 0] + b[0] * w[1, 0]) / det
        else:
            f[0] = -b[0] / w[0, 0]
            f[1] = 0.0
        f[2] = 0.0
    else:
        local = w.copy()
        scale = (w[0, 0] + w[1, 1] + w[2, 2]) * 1e-15
        for i in range(3):
            local[i, i] += scale
        x = np.linalg.solve(local, -b)
        for i in range(3):
            f[i] = x[i]
    if held:
        if f[0] < 0.0:
            f[0] = 0.0
            if tangents == 1:
                f[1] = -b[1] / w[1, 1] if w[1, 1] > 0.0 else 0.0
            else:
                det = w[1, 1] * w[2, 2] - w[1, 2] * w[2, 1]
                if det > 1e-14 * w[1, 1] * w[2, 2]:
                    f[1] = (-b[1] * w[2, 2] + b[2] * w[1, 2]) / det
                    f[2] = (-b[2] * w[1, 1] + b[1] * w[2, 1]) / det
        return
    if f[0] >= 0.0 and f[1] * f[1] + f[2] * f[2] <= (mu * f[0]) ** 2:
        return
    # slip: along d the motion, against d the force
    if tangents == 1:
        for sign in (1.0, -1.0):
            stiffness = w[0, 0] - mu * sign * w[0, 1]
            if stiffness > 0.0:
                normal = -b[0] / stiffness
                along = b[1] + (w[1, 0] - mu * sign * w[1, 1]) * normal
                if normal >= 0.0 and along * sign >= 0.0:
                    f[0] = normal
                    f[1] = -mu * sign * normal
                    f[2] = 0.0
                    return
        return
    last, last_angle = _slip_error(w, b, mu, 0.0), 0.0
    for k in range(1, _ANGLES + 1):
        angle = 2.0 * np.pi * k / _ANGLES
        error = _slip_error(w, b, mu, angle)
        if last * error <= 0.0 and np.isfinite(last) and np.isfinite(error):
            low, high, at_low = last_angle, angle, last
            for _ in range(60):
                middle = 0.5 * (low + high)
                value = _slip_error(w, b, mu, middle)
                if at_low * value <= 0.0:
                    high = middle
                else:
                    low, at_low = middle, value
            theta = 0.5 * (low + high)
            d1, d2 = np.cos(theta), np.sin(theta)
            stiffness = w[0, 0] - mu * (w[0, 1] * d1 + w[0, 2] * d2)
            if stiffness > 0.0:
                normal = -b[0] / stiffness
                u1 = b[1] + (w[1, 0] - mu * (w[1, 1] * d1 + w[1, 2] * d2)) * normal
                u2 = b[2] + (w[2, 0] - mu * (w[2, 1] * d1 + w[2, 2] * d2)) * normal
                if u1 * d1 + u2 * d2 >= 0.0:
                    f[0] = normal
                    f[1] = -mu * normal * d1
                    f[2] = -mu * normal * d2
                    return
        last, last_angle = error, angle


@kernel
def _slip_error(w, b, mu, angle):
    """Motion across the assumed direction of slip; zero where it is the true one."""
    d1, d2 = np.cos(angle), np.sin(angle)
    stiffness = w[0, 0] - mu * (w[0, 1] * d1 + w[0, 2] * d2)
    if stiffness <= 0.0:
        return np.nan
    normal = -b[0] / stiffness
    u1 = b[1] + (w[1, 0] - mu * (w[1, 1] * d1 + w[1, 2] * d2)) * normal
    u2 = b[2] + (w[2, 0] - mu * (w[2, 1] * d1 + w[2, 2] * d2)) * normal
    return u1 * d2 - u2 * d1


def by_newton_along_slides(problem: tuple[np.ndarray, ...]) -> tuple[np.ndarray, float]:
    """Solve a contact problem, its normals on one scale, by Newton's method.

    Not where friction pulls a sliding contact in as it presses (Painleve): of two
    solutions it would not know which one is stable.
    """
    delassus, free, tangents, friction, sliding = problem
    slides = np.flatnonzero(sliding.any(axis=1))
    oblique, reached = delassus.copy(), free.copy()
    for c in slides:
        along = friction[c] * sliding[c]
        oblique[:, 3 * c] -= delassus[:, 3 * c + 1 : 3 * c + 3] @ along
    for c in slides:
        if oblique[3 * c, 3 * c] <= 0.0:
            return np.zeros_like(free), np.inf
        oblique[3 * c + 1 : 3 * c + 3] = 0.0
        oblique[:, 3 * c + 1 : 3 * c + 3] = 0.0
        reached[c, 1:] = 0.0
    known = np.isin(np.arange(len(free)), slides)
    forces, _ = by_newton(
        (
            oblique,
            reached,
            np.where(known, 0, tangents),
            np.where(known, 0.0, friction),
        ),
        np.ones(len(free)),
    )
    forces[slides, 1:] = (
        -(friction[slides] * forces[slides, 0])[:, None] * sliding[slides]
    )
    return forces, float(residual_of(problem, forces))


_FIXED_POINT_STEPS = 200
_GRADIENT_STEPS = 300
_RELAXATION = 0.7


def by_fixed_point(problem: tuple[np.ndarray, ...]) -> tuple[np.ndarray, float]:
    """Follow the fixed point of De Saxce's form; forces (k, 3) and their residual."""
    delassus, free, tangents, friction, sliding = problem
    n = len(free)
    forces = np.zeros((n, 3))
    best, residual = forces.copy(), np.inf
    largest = np.linalg.eigvalsh(delassus)[-1]
    if not largest > 0.0:
        return best, residual
    slip, shifted = np.zeros(n), free.copy()
    convex = (delassus, shifted, tangents, friction, sliding)
    raised = np.where((tangents > 0) & np.isfinite(friction), friction, 0.0)
    unknown = ~sliding.any(axis=1)
    for _ in range(_FIXED_POINT_STEPS):
        shifted[:, 0] = free[:, 0] + raised * slip
        _descend(convex, forces, 1.0 / largest)
        if not np.abs(forces).max() < 1e150:
            break
        motion = free + (delassus @ forces.ravel()).reshape(n, 3)
        along = np.hypot(motion[:, 1], motion[:, 2])
        slip[unknown] += _RELAXATION * (along - slip)[unknown]
        residual = better(problem, forces, best, residual)
        if residual <= ACCEPTED:
            break
    return best, float(residual)


@kernel
def _descend(problem, forces, step):
    """Projected gradients with Nesterov's acceleration, restarted when it climbs."""
    delassus, free, tangents, friction, sliding = problem
    n = forces.shape[0]
    ahead, pace = forces.copy(), 1.0
    for _ in range(_GRADIENT_STEPS):
        gradient = (delassus @ ahead.ravel()).reshape(n, 3) + free
        new = ahead - step * gradient
        for c in range(n):
            _project(new[c], tangents[c], friction[c], sliding[c])
        change = new - forces
        if (gradient * change).sum() > 0.0:
            pace = 1.0
            ahead = new.copy()
        else:
            quicker = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
            ahead = new + (pace - 1.0) / quicker * change
            pace = quicker
        forces[:] = new


@kernel
def _project(f, tangents, mu, sliding):
    """Nearest force inside the cone; along the known direction where it slides."""
    if tangents == 0 or mu == 0.0:
        f[0] = max(0.0, f[0])
        f[1] = 0.0
        f[2] = 0.0
    elif sliding[0] != 0.0 or sliding[1] != 0.0:
        f[0] = max(0.0, f[0])
        f[1] = -mu * f[0] * sliding[0]
        f[2] = -mu * f[0] * sliding[1]
    elif np.isinf(mu):
        f[0] = max(0.0, f[0])
    else:
        along = np.sqrt(f[1] ** 2 + f[2] ** 2)
        if along <= mu * f[0]:
            return
        if mu * along <= -f[0]:
            f[:] = 0.0
            return
        f[0] = (f[0] + mu * along) / (1.0 + mu * mu)
        f[1] *= mu * f[0] / along
        f[2] *= mu * f[0] / along


_TOLERATED = 1e-6
_GOOD = 1e-8
"""Residual of Newton's method at which nothing else is tried."""
_MANY = 50
"""Contacts beyond which Newton's method has the last word: the others would take
minutes."""


class ContactProblemError(HumansError):
    """The contact problem has no solution, or none was found."""

    def __init__(self, message: str, residual: float) -> None:
        self.residual = residual
        super().__init__(f"{message} (relative residual {residual:.1e})")


@dataclass(frozen=True)
class ContactSolution:
    """Forces and motion of the contacts.

    Attributes:
        forces: (k, 3): normal and tangents [N, or N s].
        motion: (k, 3) [m/s^2, or m/s].
        mode: (k,) OPEN, STICK or SLIDE.
        residual: error of the law, relative.
    """

    forces: np.ndarray
    motion: np.ndarray
    mode: np.ndarray
    residual: float


def solve_contact(
    delassus: np.ndarray,
    free: np.ndarray,
    tangents: np.ndarray,
    friction: np.ndarray,
    sliding: np.ndarray | None = None,
    tolerated: float = _TOLERATED,
    patient: bool = True,
) -> ContactSolution:
    """Solve the contact problem.

    Args:
        delassus: W (3k, 3k), positive semidefinite, symmetric but for rounding; rows
            of tangents that a contact does not have are zero.
        free: b (k, 3), motion without contact forces.
        tangents: (k,) number of tangents of each contact.
        friction: (k,); infinite for the sticking law.
        sliding: (k, 2) unit direction in which a contact slides now, zero where it
            does not; None for none.
        tolerated: largest residual of an answer, relative.
        patient: whether slow methods are tried where quick ones fail; most problems
            that these fail at have no solution.
    """
    k = len(friction)
    if delassus.shape != (3 * k, 3 * k) or free.shape != (k, 3):
        raise ParameterError(
            f"{k} contacts need W ({3 * k}, {3 * k}) and b ({k}, 3), not "
            f"{delassus.shape} and {free.shape}"
        )
    if np.isnan(friction).any() or (friction < 0).any():
        raise ParameterError("friction coefficients must not be negative")
    none = np.zeros((k, 2))
    sliding = none if sliding is None else np.asarray(sliding, dtype=float)
    forces = np.zeros((k, 3))
    if k == 0:
        return ContactSolution(forces, free, np.zeros(0, dtype=np.int64), 0.0)
    tangents = np.asarray(tangents, dtype=np.int64)
    friction = np.asarray(friction, dtype=float)
    delassus = np.ascontiguousarray(delassus, dtype=float)
    free = np.ascontiguousarray(free, dtype=float)
    scale, residual = scale_of(delassus), np.inf
    if not sliding.any():
        given = (delassus, free, tangents, friction)
        forces, residual = by_newton(given, scale)
    if sliding.any() or (k <= _MANY and not residual <= _GOOD):
        rows = np.repeat(scale, 3)
        problem = ContactProblem(
            delassus=rows[:, None] * delassus * rows,
            free=scale[:, None] * free,
            tangents=tangents,
            friction=friction,
            sliding=sliding,
        )
        known = (by_sweeps, by_newton_along_slides) if sliding.any() else (by_sweeps,)
        slow = (by_fixed_point, by_many_sweeps) if patient else ()
        for attempt in (*known, *slow):
            other, other_residual = attempt(tuple(problem))
            if other_residual < residual:
                forces, residual = other, other_residual
            if residual <= ACCEPTED:
                break
    if not residual <= tolerated:
        raise ContactProblemError(
            "no contact forces were found that obey the law; sliding under much "
            "friction can have none (Painleve)",
            residual,
        )
    mode = modes_of(forces, tangents, friction, sliding)
    forces = forces * scale[:, None]
    motion = free + (delassus @ forces.ravel()).reshape(k, 3)
    return ContactSolution(forces, motion, mode, float(residual))
