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

Method: Gauss-Seidel sweeps, each contact solved exactly (open, stick, or slip with the
direction found by bisection), until the modes can be read off; then the linear
equations of those modes are solved and the answer is verified. Where the sweeps cycle,
the fixed point of De Saxce's form is followed: with :math:`\mu |u_t|` added to the
normal motion and held, the problem is a convex one on the cones, solved by accelerated
projected gradients. Redundant contacts make W singular: u is unique then and f is one
of many. Where forces near to the answer are known, as in time stepping, Newton's method
(:mod:`~humans_sim.contact.problem.newton`) is many times faster.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK, deflated_solve
from humans_sim.core.errors import HumansError, ParameterError

_FIRST_SWEEPS = 20
_LAST_SWEEPS = 640
_MANY_SWEEPS = 50000
_FIXED_POINT_STEPS = 200
_GRADIENT_STEPS = 300
_RELAXATION = 0.7
_ACCEPTED = 1e-10
_TOLERATED = 1e-6
_ANGLES = 24


class ContactProblemError(HumansError):
    """The contact problem has no solution, or none was found.

    Attributes:
        residual: how far the best forces are from a solution, relative.
    """

    def __init__(self, message: str, residual: float) -> None:
        """Keep the residual with the message."""
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
) -> ContactSolution:
    """Solve the contact problem.

    Args:
        delassus: W (3k, 3k), symmetric, positive semidefinite; rows of tangents that a
            contact does not have are zero.
        free: b (k, 3), motion without contact forces.
        tangents: (k,) number of tangents of each contact.
        friction: (k,); infinite for the sticking law.
        sliding: (k, 2) unit direction in which a contact slides now, zero where it
            does not; None for none.

    Raises:
        ParameterError: sizes do not fit, or friction is negative.
        ContactProblemError: no solution was found; sliding under large friction may
            have none (Painleve).
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
    # Contacts of different units (metres, radians) are put on one scale.
    scale = np.sqrt(np.maximum(np.diag(delassus)[::3], 1e-300))
    scale = np.where(scale > 1e-9 * scale.max(), 1.0 / scale, 1.0 / scale.max())
    rows = np.repeat(scale, 3)
    arguments = (
        np.ascontiguousarray(rows[:, None] * delassus * rows, dtype=float),
        np.ascontiguousarray(scale[:, None] * free, dtype=float),
        np.asarray(tangents, dtype=np.int64),
        np.asarray(friction, dtype=float),
        sliding,
    )
    best, best_residual = forces, residual_of(*arguments, forces)
    for attempt in (_first_sweeps, _by_fixed_point, _last_sweeps):
        if best_residual <= _ACCEPTED:
            break
        other, residual = attempt(*arguments)
        if residual < best_residual:
            best, best_residual = other, residual
    if not best_residual <= _TOLERATED:
        raise ContactProblemError(
            "no contact forces were found that obey the law; sliding under much "
            "friction can have none (Painleve)",
            best_residual,
        )
    mode = _modes(best, arguments[2], arguments[3], sliding)
    best = best * scale[:, None]
    motion = free + (delassus @ best.ravel()).reshape(k, 3)
    return ContactSolution(best, motion, mode, float(best_residual))


@njit(cache=True)
def _better(delassus, free, tangents, friction, sliding, forces, best, residual):
    """Keep the forces, or what polishing makes of them, where they are better."""
    for trial in (
        forces,
        _polished(delassus, free, tangents, friction, sliding, forces),
    ):
        trial_residual = residual_of(delassus, free, tangents, friction, sliding, trial)
        if trial_residual < residual:
            residual = trial_residual
            best[:] = trial
    return residual


@njit(cache=True)
def _first_sweeps(delassus, free, tangents, friction, sliding):
    """A few hundred sweeps: enough for nearly all problems."""
    return _by_sweeps(
        delassus, free, tangents, friction, sliding, _FIRST_SWEEPS, _LAST_SWEEPS
    )


@njit(cache=True)
def _last_sweeps(delassus, free, tangents, friction, sliding):
    """Very many sweeps, where nothing else helped."""
    return _by_sweeps(
        delassus, free, tangents, friction, sliding, _MANY_SWEEPS, _MANY_SWEEPS
    )


@njit(cache=True)
def _by_sweeps(delassus, free, tangents, friction, sliding, sweeps, most):
    forces = np.zeros(free.shape)
    best, residual = forces.copy(), np.inf
    while residual > _ACCEPTED and sweeps <= most:
        _sweep(delassus, free, tangents, friction, sliding, forces, sweeps)
        if not np.abs(forces).max() < 1e150:
            break
        residual = _better(
            delassus, free, tangents, friction, sliding, forces, best, residual
        )
        sweeps *= 2
    return best, residual


@njit(cache=True)
def _by_fixed_point(delassus, free, tangents, friction, sliding):
    n = free.shape[0]
    forces = np.zeros((n, 3))
    best, residual = forces.copy(), np.inf
    largest = np.linalg.eigvalsh(delassus)[-1]
    if not largest > 0.0:
        return best, residual
    step = 1.0 / largest
    slip = np.zeros(n)
    shifted = free.copy()
    u = np.empty(3)
    for _ in range(_FIXED_POINT_STEPS):
        for c in range(n):
            finite = tangents[c] > 0 and not np.isinf(friction[c])
            shifted[c, 0] = free[c, 0] + (friction[c] * slip[c] if finite else 0.0)
        _descend(delassus, shifted, tangents, friction, sliding, forces, step)
        if not np.abs(forces).max() < 1e150:
            break
        for c in range(n):
            if _is_sliding(sliding, c):
                continue
            _motion(delassus, free, forces, c, u)
            slip[c] += _RELAXATION * (np.sqrt(u[1] ** 2 + u[2] ** 2) - slip[c])
        residual = _better(
            delassus, free, tangents, friction, sliding, forces, best, residual
        )
        if residual <= _ACCEPTED:
            break
    return best, residual


@njit(cache=True)
def _descend(delassus, free, tangents, friction, sliding, forces, step):
    """Projected gradients with Nesterov's acceleration, restarted when it climbs."""
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


@njit(cache=True)
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


@njit(cache=True)
def _motion(delassus, free, forces, c, u):
    for i in range(3):
        total = free[c, i]
        for d in range(forces.shape[0]):
            for j in range(3):
                total += delassus[3 * c + i, 3 * d + j] * forces[d, j]
        u[i] = total


@njit(cache=True)
def _is_sliding(sliding, c):
    return sliding[c, 0] != 0.0 or sliding[c, 1] != 0.0


@njit(cache=True)
def _sweep(delassus, free, tangents, friction, sliding, forces, sweeps):
    """Gauss-Seidel: each contact in turn, the others held."""
    n = forces.shape[0]
    u = np.empty(3)
    b = np.empty(3)
    for _ in range(sweeps):
        for c in range(n):
            w = delassus[3 * c : 3 * c + 3, 3 * c : 3 * c + 3]
            _motion(delassus, free, forces, c, u)
            for i in range(3):
                b[i] = u[i]
                for j in range(3):
                    b[i] -= w[i, j] * forces[c, j]
            _solve_one(w, b, tangents[c], friction[c], sliding[c], forces[c])


@njit(cache=True)
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


@njit(cache=True)
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


@njit(cache=True)
def residual_of(delassus, free, tangents, friction, sliding, forces):
    """Largest violation of the law, relative to the free motion.

    Motion and force are compared in the units of motion, by the diagonal of W.
    """
    n = forces.shape[0]
    if not np.isfinite(forces).all():
        return np.inf
    size = 1e-300
    stiffness = 0.0
    for c in range(n):
        stiffness = max(stiffness, delassus[3 * c, 3 * c])
        for i in range(1 + tangents[c]):
            size = max(size, abs(free[c, i]))
    worst = 0.0
    u = np.empty(3)
    for c in range(n):
        _motion(delassus, free, forces, c, u)
        w = max(delassus[3 * c, 3 * c], 1e-9 * stiffness)
        f = forces[c]
        # 0 <= u_n, f_n, and one of them zero
        worst = max(worst, abs(u[0] - max(0.0, u[0] - w * f[0])))
        if f[0] < 0.0:
            worst = max(worst, -w * f[0])
        if tangents[c] == 0 or friction[c] == 0.0:
            continue
        mu = friction[c]
        if _is_sliding(sliding, c):
            for i in range(2):
                worst = max(worst, w * abs(f[1 + i] + mu * f[0] * sliding[c, i]))
            continue
        if np.isinf(mu):
            for i in range(tangents[c]):
                worst = max(worst, abs(u[1 + i]))
            continue
        # f_t is the projection of f_t - u_t / w on the disc of radius mu f_n
        p1, p2 = f[1] - u[1] / w, f[2] - u[2] / w
        if tangents[c] == 1:
            p2 = 0.0
        length, radius = np.sqrt(p1 * p1 + p2 * p2), mu * max(0.0, f[0])
        if length > radius:
            p1 *= radius / length
            p2 *= radius / length
        worst = max(worst, w * abs(f[1] - p1))
        worst = max(worst, w * abs(f[2] - p2))
    return worst / size


@njit(cache=True)
def _modes(forces, tangents, friction, sliding):
    n = forces.shape[0]
    mode = np.zeros(n, np.int64)
    load = 0.0
    for c in range(n):
        load = max(load, abs(forces[c, 0]))
    for c in range(n):
        if forces[c, 0] <= 1e-10 * load or load == 0.0:
            mode[c] = OPEN
        elif tangents[c] == 0 or np.isinf(friction[c]):
            mode[c] = STICK
        elif friction[c] == 0.0 or _is_sliding(sliding, c):
            mode[c] = SLIDE
        else:
            along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
            on_cone = along >= (1.0 - 1e-7) * friction[c] * forces[c, 0]
            mode[c] = SLIDE if on_cone else STICK
    return mode


@njit(cache=True)
def _polished(delassus, free, tangents, friction, sliding, forces):
    """Solve the linear equations of the modes that the forces show."""
    n = forces.shape[0]
    mode = _modes(forces, tangents, friction, sliding)
    direction = np.zeros((n, 2))
    for c in range(n):
        if mode[c] == SLIDE:
            if _is_sliding(sliding, c):
                direction[c] = sliding[c]
            elif friction[c] > 0.0:
                along = np.sqrt(forces[c, 1] ** 2 + forces[c, 2] ** 2)
                direction[c, 0] = -forces[c, 1] / along
                direction[c, 1] = -forces[c, 2] / along
    polished = forces.copy()
    size = 0
    row = np.full((n, 3), -1)
    for c in range(n):
        held = np.isinf(friction[c]) and tangents[c] > 0
        count = 0
        if mode[c] == SLIDE:
            count = 1
        elif mode[c] == STICK:
            count = 1 + tangents[c]
        if mode[c] != OPEN:
            row[c, 0] = size
            size += 1
        if held or (mode[c] == STICK and count > 1):
            for i in range(tangents[c]):
                row[c, 1 + i] = size
                size += 1
    if size == 0:
        return np.zeros((n, 3))
    matrix, right = np.zeros((size, size)), np.zeros(size)
    start, idle = np.zeros(size), np.zeros((size, size))
    u = np.empty(3)
    for _ in range(60):
        for c in range(n):
            for i in range(3):
                if row[c, i] < 0:
                    continue
                r = row[c, i]
                right[r] = -free[c, i]
                start[r] = polished[c, i]
                for d in range(n):
                    for j in range(3):
                        if row[d, j] < 0:
                            continue
                        entry = delassus[3 * c + i, 3 * d + j]
                        if j == 0 and mode[d] == SLIDE and not np.isinf(friction[d]):
                            for t in range(tangents[d]):
                                entry -= (
                                    friction[d]
                                    * direction[d, t]
                                    * delassus[3 * c + i, 3 * d + 1 + t]
                                )
                        matrix[r, row[d, j]] = entry
        x, _ = deflated_solve(matrix, right, idle, start)
        for c in range(n):
            for i in range(3):
                polished[c, i] = x[row[c, i]] if row[c, i] >= 0 else 0.0
            if mode[c] == SLIDE:
                for t in range(tangents[c]):
                    polished[c, 1 + t] = -friction[c] * direction[c, t] * polished[c, 0]
        moved = 0.0
        for c in range(n):
            if mode[c] != SLIDE or friction[c] == 0.0 or tangents[c] < 2:
                continue
            if _is_sliding(sliding, c):
                continue
            _motion(delassus, free, polished, c, u)
            along = np.sqrt(u[1] ** 2 + u[2] ** 2)
            if along > 0.0:
                for t in range(2):
                    moved = max(moved, abs(direction[c, t] - u[1 + t] / along))
                    direction[c, t] = u[1 + t] / along
        if moved < 1e-14:
            break
    return polished
