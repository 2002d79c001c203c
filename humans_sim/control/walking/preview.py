# SPDX-License-Identifier: Apache-2.0
r"""Motion of the centre of mass by linear model predictive control.

The linear inverted pendulum at constant height h,

.. math:: \ddot c = \omega^2 (c - z), \qquad \omega^2 = g / h,

with a zero-moment point z that moves with constant speed between knots. Between knots
it is on a straight line, so it stays in a convex support polygon when the knots do. Its
unstable part is the capture point :math:`\xi = c + \dot c / \omega`; it stays bounded
when

.. math:: \xi_0 = \omega \int_0^\infty e^{-\omega t} z(t)\, dt,

which is one linear condition on the knots and on a tail beyond the horizon, for which
the planned footsteps stand in (Scianca, De Simone, Lanari and Oriolo 2020, with the
anticipative tail). At each knot a quadratic program looks for the knots ahead with the
least

.. math:: w_z \sum \lVert z_i - z_i^* \rVert^2 + w_r \sum \lVert \dot z_i \rVert^2
    + w_c \lVert e \rVert^2

inside the support polygons, where e is the residual of the condition. Unlike in the
article the condition is soft, so that the program always has a solution. The Hessian
never changes: its factor is known, and what is left at a knot is a projection
(:func:`~humans_sim.core.quadratic_program.project`), exact and compiled.

What a knot needs is one compiled call.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.core.kernels import kernel
from humans_sim.core.quadratic_program import SOLVED, project


class PreviewProgram(NamedTuple):
    """What does not change of the program of a walk.

    Attributes:
        inverse: of the lower Cholesky factor of the Hessian of one axis (n, n).
        shares: of knots 0..n in the integral of the condition (n + 1,).
        beyond: share of what is after knot n.
        omega: of the pendulum [rad/s].
        unit: of length; the program has none [m].
        weight: of the distances to preferred points.
        capture_weight: of the condition.
    """

    inverse: np.ndarray
    shares: np.ndarray
    beyond: float
    omega: float
    unit: float
    weight: float
    capture_weight: float


@kernel
def preview_knots(program, state, zmp, normals, bounds):
    """Knots (n, 2) [m], what the condition misses (2,) [m], how the search ended.

    Args:
        program: fields of a :class:`PreviewProgram`.
        state: fields of a :class:`Pendulum`.
        zmp: preferred points of knots 1 to n, and n more (2 n, 2) [m].
        normals: of the half-planes of each knot (n, edges, 2).
        bounds: of the half-planes (n, edges) [m].
    """
    values = PreviewProgram(*program)
    com, velocity, origin = state
    n, shares, unit = bounds.shape[0], values.shares, values.unit
    pull, high, capture = np.empty((n, 2)), np.empty_like(bounds), np.empty(2)
    for axis in range(2):
        later, last = 0.0, (zmp[2 * n - 1, axis] - origin[axis]) / unit
        for k in range(n + 1):
            later += shares[k] * (zmp[n - 1 + k, axis] - origin[axis]) / unit
        later += values.beyond * last
        here = com[axis] + velocity[axis] / values.omega - origin[axis]
        # Knot 0 is the origin, which has no share in this frame.
        capture[axis] = here / unit - values.beyond * later
        for k in range(n):
            pull[k, axis] = values.weight * (zmp[k, axis] - origin[axis]) / unit
            pull[k, axis] += values.capture_weight * shares[1 + k] * capture[axis]
    for k in range(n):
        for e in range(bounds.shape[1]):
            along = normals[k, e, 0] * origin[0] + normals[k, e, 1] * origin[1]
            high[k, e] = (bounds[k, e] - along) / unit
    knots, answer = nearest_knots(values.inverse, pull, normals, high)
    missing = np.empty(2)
    for axis in range(2):
        missing[axis] = capture[axis]
        for k in range(n):
            missing[axis] -= shares[1 + k] * knots[k, axis]
            knots[k, axis] = origin[axis] + unit * knots[k, axis]
    return knots, unit * missing, answer


@kernel
def nearest_knots(inverse, pull, normals, bounds):
    """Knots (n, 2) with the least cost inside their polygons, and how that ended.

    By the inverse of the lower Cholesky factor of the Hessian of one axis (n, n), and
    the linear part of the cost, x and y (n, 2); half-planes of each knot (n, edges, 2)
    are zero, their bounds (n, edges) infinite where there is none.
    """
    n, edges = bounds.shape
    # In y = L^T x: first x of all knots, then y.
    y = np.empty(2 * n)
    for axis in range(2):
        for i in range(n):
            total = 0.0
            for j in range(i + 1):
                total += inverse[i, j] * pull[j, axis]
            y[axis * n + i] = total
    count = 0
    for i in range(n):
        for e in range(edges):
            if np.isfinite(bounds[i, e]):
                count += 1
    rows, high = np.zeros((count, 2 * n)), np.empty(count)
    count = 0
    for i in range(n):
        for e in range(edges):
            if not np.isfinite(bounds[i, e]):
                continue
            for axis in range(2):
                for k in range(i, n):
                    rows[count, axis * n + k] = normals[i, e, axis] * inverse[k, i]
            high[count] = bounds[i, e]
            count += 1
    answer = project(y, rows, np.full(count, -np.inf), high)
    knots = np.zeros((n, 2))
    for axis in range(2):
        for i in range(n):
            for k in range(i, n):
                knots[i, axis] += inverse[k, i] * y[axis * n + k]
    return knots, answer


@kernel
def pendulum_after(state, zmp_rate, time, omega):
    r"""State after some time t at a constant rate of z, where s is omega t.

    .. math:: c = z + (c_0 - z_0) \cosh s + (\dot c_0 - \dot z) \sinh(s) / \omega
    """
    cosh, sinh = math.cosh(omega * time), math.sinh(omega * time)
    com, velocity = np.empty_like(state[0]), np.empty_like(state[0])
    zmp = state[2].copy()
    for i in range(com.shape[0]):
        apart, pace = state[0][i] - zmp[i], state[1][i] - zmp_rate[i]
        zmp[i] += zmp_rate[i] * time
        com[i] = zmp[i] + apart * cosh + pace * (sinh / omega)
        velocity[i] = zmp_rate[i] + apart * (omega * sinh) + pace * cosh
    return com, velocity, zmp


class Pendulum(NamedTuple):
    """Linear inverted pendulum: centre of mass, its velocity, ZMP (2,) [m, m/s]."""

    com: np.ndarray
    velocity: np.ndarray
    zmp: np.ndarray

    def after(self, time: float, zmp_rate: np.ndarray, omega: float) -> Pendulum:
        """The exact state after some time at a constant rate of the ZMP [m/s]."""
        return Pendulum(*pendulum_after(tuple(self), zmp_rate, time, omega))

    def acceleration(self, omega: float) -> np.ndarray:
        """Acceleration of the centre of mass (2,) [m/s^2]."""
        return omega**2 * (self.com - self.zmp)

    def capture_point(self, omega: float) -> np.ndarray:
        """Where the zero-moment point would have to rest for it to come to rest [m]."""
        return self.com + self.velocity / omega


class Preview:
    """The quadratic program, factored once for an omega of the pendulum [rad/s].

    Attributes:
        knots: number of knots that are sought.
        tail: number of knots of the plan that are looked at beyond them.
        missing: e of the last solution, what lacks for a bounded motion (2,) [m].
    """

    def __init__(self, settings: WalkSettings, omega: float) -> None:
        self.knots = n = settings.horizon_knots
        self.tail = n
        self.missing = np.zeros(2)
        shares = _shares(omega * settings.mpc_period, n)
        rate = settings.zmp_rate_weight / settings.mpc_period**2
        # Unknowns: x and y of each knot in turn; what the condition misses is
        # eliminated. Both axes have the same Hessian.
        hessian = settings.zmp_weight * np.eye(n) + rate * _differences(n)
        hessian += settings.capture_weight * np.outer(shares[1:], shares[1:])
        self._program = tuple(
            PreviewProgram(
                inverse=np.linalg.inv(np.linalg.cholesky(hessian)),
                shares=shares,
                beyond=math.exp(-omega * settings.mpc_period * n),
                omega=omega,
                unit=settings.com_height,
                weight=settings.zmp_weight,
                capture_weight=settings.capture_weight,
            )
        )

    def solve(
        self,
        state: Pendulum,
        zmp: np.ndarray,
        normals: np.ndarray,
        bounds: np.ndarray,
    ) -> np.ndarray:
        """The knots ahead (knots, 2) [m].

        Args:
            state: now.
            zmp: preferred zero-moment points at the knots ahead, the tail included
                (knots + tail, 2) [m].
            normals: half-planes of the support at each knot (knots, edges, 2); zero
                where a polygon has fewer edges.
            bounds: of the half-planes (knots, edges) [m]; infinite there.

        Raises:
            ControlError: the solver found no answer.
        """
        knots, self.missing, answer = preview_knots(
            self._program, tuple(state), zmp, normals, bounds
        )
        if answer != SOLVED:
            raise ControlError(
                "no motion of the centre of mass keeps the zero-moment point in the "
                "support: its polygons are empty"
            )
        return knots


def _shares(step: float, n: int) -> np.ndarray:
    """Shares of knots 0..n in the integral of exp(-w t) z(t), z linear between them.

    The step is omega times the period.
    """
    decay = math.exp(-step)
    first = 1.0 - (1.0 - decay) / step
    second = 1.0 - decay - first
    powers = decay ** np.arange(n)
    shares = np.zeros(n + 1)
    shares[:-1] += first * powers
    shares[1:] += second * powers
    return shares


def _differences(n: int) -> np.ndarray:
    """Square of the differences of n knots, the first one from a given value of 0."""
    change = np.eye(n) - np.eye(n, k=-1)
    return change.T @ change
