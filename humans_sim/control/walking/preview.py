# SPDX-License-Identifier: Apache-2.0
r"""Motion of the centre of mass by linear model predictive control on OSQP.

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

inside the support polygons, where e is what is missing in the condition. Unlike in the
article the condition is soft, so that the program always has a solution.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import osqp
from scipy import sparse

from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.core.quadratic_program import SOLVED, solve_quadratic_program

_SETTINGS = {
    "verbose": False,
    "eps_abs": 1e-6,
    "eps_rel": 1e-6,
    "max_iter": 4000,
    "check_termination": 5,
    "polishing": False,
    "adaptive_rho": False,
    "scaling": 0,
}


class Pendulum(NamedTuple):
    """Linear inverted pendulum, horizontal axes.

    Attributes:
        com: centre of mass (2,) [m].
        velocity: of it (2,) [m/s].
        zmp: zero-moment point (2,) [m].
    """

    com: np.ndarray
    velocity: np.ndarray
    zmp: np.ndarray

    def after(self, time: float, zmp_rate: np.ndarray, omega: float) -> Pendulum:
        """The exact state after some time at a constant rate of the ZMP [m/s]."""
        cosh, sinh = math.cosh(omega * time), math.sinh(omega * time)
        zmp = self.zmp + zmp_rate * time
        apart, pace = self.com - self.zmp, self.velocity - zmp_rate
        return Pendulum(
            zmp + apart * cosh + pace * (sinh / omega),
            zmp_rate + apart * (omega * sinh) + pace * cosh,
            zmp,
        )

    def acceleration(self, omega: float) -> np.ndarray:
        """Acceleration of the centre of mass (2,) [m/s^2]."""
        return omega**2 * (self.com - self.zmp)

    def capture_point(self, omega: float) -> np.ndarray:
        """Where the zero-moment point would have to rest for it to come to rest [m]."""
        return self.com + self.velocity / omega


class Preview:
    """The quadratic program, set up once; every solution starts from the last one.

    Attributes:
        knots: number of knots that are sought.
        tail: number of knots of the plan that are looked at beyond them.
        missing: e of the last solution, what lacks for a bounded motion (2,) [m].
    """

    def __init__(self, settings: WalkSettings, omega: float, edges: int) -> None:
        """Set up.

        Args:
            settings: period, horizon and weights.
            omega: of the pendulum [rad/s].
            edges: largest number of edges of a support polygon.
        """
        self.knots = n = settings.horizon_knots
        self.tail = n
        self.missing = np.zeros(2)
        self._edges, self._omega = edges, omega
        self._unit = settings.com_height
        shares = _shares(omega * settings.mpc_period, n)
        self._shares, self._beyond = shares, math.exp(-omega * settings.mpc_period * n)
        self._weight = settings.zmp_weight
        rate = settings.zmp_rate_weight / settings.mpc_period**2
        # Unknowns: x and y of each knot in turn, then what the condition misses.
        hessian = self._weight * np.eye(n) + rate * _differences(n)
        whole = sparse.block_diag(
            [np.kron(hessian, np.eye(2)), settings.capture_weight * np.eye(2)]
        )
        rows = np.zeros((n * edges + 2, 2 * n + 2))
        for i in range(n):
            rows[i * edges : (i + 1) * edges, 2 * i : 2 * i + 2] = 1.0
            rows[-2, 2 * i] = rows[-1, 2 * i + 1] = shares[i + 1]
        rows[-2, -2] = rows[-1, -1] = 1.0
        self._gradient = np.zeros(2 * n + 2)
        matrix = sparse.csc_matrix(rows)
        # In a column of a knot the edges of its polygon come first, then the condition.
        self._values = matrix.data.copy()
        self._columns = self._values[: 2 * n * (edges + 1)].reshape(n, 2, edges + 1)
        self._low = np.full(len(rows), -np.inf)
        self._high = np.full(len(rows), np.inf)
        self._low[-2:] = self._high[-2:] = 0.0
        self._problem = osqp.OSQP()
        self._problem.setup(
            sparse.csc_matrix(sparse.triu(whole)),
            self._gradient,
            matrix,
            self._low,
            self._high,
            **_SETTINGS,
        )
        self._last: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

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
        n, unit, origin = self.knots, self._unit, state.zmp
        local = (zmp - origin) / unit
        self._columns[:, :, :-1] = normals.transpose(0, 2, 1)
        self._high[:-2] = ((bounds - normals @ origin) / unit).ravel()
        capture = (state.capture_point(self._omega) - origin) / unit
        later = self._shares @ local[n - 1 :] + self._beyond * local[-1]
        self._low[-2:] = self._high[-2:] = capture - self._beyond * later
        self._gradient[:-2] = -self._weight * local[:n].ravel()
        self._problem.update(
            q=self._gradient, l=self._low, u=self._high, Ax=self._values
        )
        if self._last is not None:
            self._problem.warm_start(*self._shifted(origin))
        result = solve_quadratic_program(self._problem)
        if result.info.status_val not in SOLVED:
            raise ControlError(
                f"no motion of the centre of mass keeps the zero-moment point in the "
                f"support: {result.info.status}"
            )
        self._last = (result.x.copy(), result.y.copy(), origin)
        self.missing = unit * result.x[-2:]
        return origin + unit * result.x[:-2].reshape(n, 2)

    def _shifted(self, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last solution, one knot later."""
        assert self._last is not None
        x, y, before = self._last
        e = self._edges
        moved = np.concatenate([x[2:-2], x[-4:]])
        moved[:-2].reshape(-1, 2)[:] -= (origin - before) / self._unit
        return moved, np.concatenate([y[e:-2], y[-2 - e :]])


def _shares(step: float, n: int) -> np.ndarray:
    """Shares of knots 0..n in the integral of exp(-w t) z(t), z linear between them.

    Args:
        step: omega times the period.
        n: number of intervals.
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
