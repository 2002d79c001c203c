# SPDX-License-Identifier: Apache-2.0
r"""Balance of a whole motion: its zero-moment point stays in the support.

With the height h of the centre of mass given over time, its horizontal motion c and the
zero-moment point z of a body that does not turn belong together by

.. math:: z_i = c_i - \frac{h_i}{g + \ddot h_i}
    \frac{c_{i+1} - 2 c_i + c_{i-1}}{\Delta t^2} .

The part d of the turning limbs is known from the motion before. One quadratic program
over all samples looks for the c with the least

.. math:: w_c \sum \lVert c_i - c_i^* \rVert^2 + w_z \sum \lVert z_i + d_i - z_i^*
    \rVert^2 + w_r \sum \lVert (z_{i+1} - z_i)/\Delta t \rVert^2

that starts and ends at rest and keeps z + d in the support polygons, each shrunk by a
margin.

*Forces and limits* of a planned motion: zero-moment point, joint torques and speeds.

The zero-moment point is that of the whole body by the Newton-Euler recursion. Feet that
stand share the ground's force at their corners, within friction; two feet share it such
that corners are loaded evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import osqp
import pinocchio as pin
from scipy import sparse
from scipy.interpolate import CubicSpline

from humans_sim.control.retargeting.robot_motion import RobotMotion, nearest_limit
from humans_sim.control.retargeting.settings import RetargetError, RetargetSettings
from humans_sim.control.task.task_law import share_forces
from humans_sim.core.convex_polygon import HalfPlanes
from humans_sim.core.quadratic_program import solve_quadratic_program
from humans_sim.models import Model
from humans_sim.models.legs import sole_named, support_tags

_SOLVED = (osqp.SolverStatus.OSQP_SOLVED, osqp.SolverStatus.OSQP_SOLVED_INACCURATE)
"""Statuses with a solution."""
_SETTINGS = {
    "verbose": False,
    "eps_abs": 1e-6,
    "eps_rel": 1e-6,
    "max_iter": 20000,
    "polishing": True,
}


class BalanceWeights(NamedTuple):
    """Weights: places of centre of mass and ZMP, and the rate of the latter [s^2]."""

    com: float
    zmp: float
    rate: float


WALKING = BalanceWeights(1e-3, 1.0, 1e-3)
STANDING = BalanceWeights(1.0, 0.1, 1e-2)
_LEAST_WEIGHT = 0.2
"""Share of the weight that feet carry at least: the pendulum has none in free fall."""

_KNOTS = 0.04
"""Time between the knots of the centre of mass [s]."""


class BalancedCom(NamedTuple):
    """A motion of the centre of mass.

    Attributes:
        places: (n, 3) [m].
        zmp: zero-moment point of a body that does not turn (n, 2) [m].
    """

    places: np.ndarray
    zmp: np.ndarray


def balance_knots(t: np.ndarray) -> np.ndarray:
    """Times of the knots of a motion, about 0.04 s apart [s]."""
    count = max(round(float(t[-1] - t[0]) / _KNOTS), 6)
    return np.linspace(float(t[0]), float(t[-1]), count + 1)


class Balance:
    """Finds motions of the centre of mass over one plan of the feet.

    Between its knots the motion is a cubic spline.

    Args:
        t: times of the samples (n,) [s].
        knots: times at which it is sought (k,) [s].
        support: polygon at each knot, shrunk by its margin.
        weights: of the parts.
        gravity: [m/s^2].
    """

    def __init__(
        self,
        t: np.ndarray,
        knots: np.ndarray,
        support: Sequence[HalfPlanes],
        weights: BalanceWeights,
        gravity: float,
    ) -> None:
        self._t, self._knots, self._support = t, knots, support
        self._weights, self._gravity = weights, gravity

    def solve(
        self, heights: np.ndarray, reference: np.ndarray, extra: np.ndarray
    ) -> BalancedCom:
        """The motion.

        Args:
            heights: of the centre of mass (n,) [m].
            reference: of the centre of mass and of the zero-moment point (n, 2) [m].
            extra: of the zero-moment point by turning limbs (n, 2) [m].

        Raises:
            RetargetError: nothing keeps the zero-moment point in the support.
        """
        t, knots = self._t, self._knots

        def at(values: np.ndarray) -> np.ndarray:
            return np.column_stack([np.interp(knots, t, x) for x in values.T])

        height = CubicSpline(knots, np.interp(knots, t, heights), bc_type="clamped")
        climb = np.maximum(
            self._gravity + height(knots, 2), _LEAST_WEIGHT * self._gravity
        )
        com = self._search(height(knots) / climb, at(reference), at(extra))
        spline = CubicSpline(knots, com, bc_type="clamped")
        places = np.column_stack([spline(t), height(t)])
        climb = np.maximum(self._gravity + height(t, 2), _LEAST_WEIGHT * self._gravity)
        zmp = places[:, :2] - (places[:, 2] / climb)[:, None] * spline(t, 2)
        return BalancedCom(places, zmp)

    def _search(
        self, levers: np.ndarray, reference: np.ndarray, extra: np.ndarray
    ) -> np.ndarray:
        """Places at the knots (k, 2) [m]."""
        n, weights = len(self._knots), self._weights
        period = float(self._knots[1] - self._knots[0])
        lever = levers / period**2
        # z = c at the ends, where the body rests.
        lever[0] = lever[-1] = 0.0
        zmp = sparse.diags(
            [-lever[1:], 1.0 + 2.0 * lever, -lever[:-1]], [-1, 0, 1], format="csc"
        )
        step = sparse.diags([-1.0, 1.0], [0, 1], (n - 1, n)) / period
        change = step @ zmp
        hessian = (
            weights.com * sparse.eye(n)
            + weights.zmp * (zmp.T @ zmp)
            + weights.rate * (change.T @ change)
        )
        unit = float(np.mean(levers)) * self._gravity
        origin = reference[0]
        target, extra = (reference - origin) / unit, extra / unit
        gradient = -(
            weights.com * target
            + weights.zmp * (zmp.T @ (target - extra))
            - weights.rate * (change.T @ (step @ extra))
        )
        still = sparse.lil_matrix((4, n))
        for row, (a, b) in enumerate(((0, 1), (1, 2), (n - 1, n - 2), (n - 2, n - 3))):
            still[row, a], still[row, b] = 1.0, -1.0
        # Unknowns: x of all knots, then y.
        planes, bounds = _half_planes(zmp, self._support, origin, extra, unit)
        problem = osqp.OSQP()
        problem.setup(
            sparse.csc_matrix(sparse.triu(sparse.block_diag([hessian, hessian]))),
            gradient.T.ravel(),
            sparse.vstack([sparse.block_diag([still, still]), planes], format="csc"),
            np.concatenate([np.zeros(8), np.full(len(bounds), -np.inf)]),
            np.concatenate([np.zeros(8), bounds]),
            **_SETTINGS,
        )
        result = solve_quadratic_program(problem)
        if result.info.status_val not in _SOLVED:
            raise RetargetError(
                "no motion of the centre of mass keeps the zero-moment point in the "
                "support"
            )
        found: np.ndarray = origin + unit * result.x.reshape(2, n).T
        return found


def _half_planes(
    zmp: sparse.csc_matrix,
    support: Sequence[HalfPlanes],
    origin: np.ndarray,
    extra: np.ndarray,
    unit: float,
) -> tuple[sparse.csc_matrix, np.ndarray]:
    """The supports as rows on the unknowns."""
    counts = [len(planes.bounds) for planes in support]
    normals = np.vstack([planes.normals for planes in support])
    samples = np.repeat(np.arange(len(support)), counts)
    total = len(samples)
    pick = [
        sparse.csr_matrix((normals[:, axis], (np.arange(total), samples)))
        for axis in (0, 1)
    ]
    bounds = (
        np.concatenate([planes.bounds for planes in support]) - normals @ origin
    ) / unit - np.einsum("ij,ij->i", normals, extra[samples])
    return sparse.hstack([part @ zmp for part in pick]), bounds


def zero_moment_points(
    model: Model, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """Zero-moment points on the floor along a motion (n, 2) [m]."""
    data = model.buffers
    points = np.empty((len(q), 2))
    for k in range(len(q)):
        pin.rnea(model.pin, data, q[k], v[k], a[k])
        wrench = pin.XYZQUATToSE3(q[k, :7]).act(data.f[1])
        moment, load = wrench.angular, wrench.linear[2]
        points[k] = -moment[1] / load, moment[0] / load
    return points


class JointTorques:
    """Joint torques of a motion on its feet.

    The friction is what may be used of the floor's, the armature the inertia of the
    rotors at the joints (nv,) [kg m^2].
    """

    def __init__(
        self,
        model: Model,
        soles: tuple[str, str],
        friction: float,
        armature: np.ndarray,
    ) -> None:
        self.model, self._friction, self._armature = model, friction, armature
        self._points = [
            model.tag_points(support_tags(sole_named(model, sole))) for sole in soles
        ]

    def at(
        self, q: np.ndarray, v: np.ndarray, a: np.ndarray, down: tuple[bool, bool]
    ) -> np.ndarray:
        """Torques of the joints (njoints,) [N m]."""
        model = self.model
        force = model.inverse_dynamics(q, v, a) + self._armature * a
        pin.computeJointJacobians(model.pin, model.buffers, q)
        rows = np.concatenate(
            [
                points.jacobians(model.buffers)
                for points, stands in zip(self._points, down, strict=True)
                if stands
            ]
        )[:, [2, 0, 1]]
        share = share_forces(
            rows[:, :, :6], force[:6], self._friction, np.ones(len(rows))
        )
        torques: np.ndarray = force[6:] - np.einsum(
            "crn,cr->n", rows[:, :, 6:], share.forces
        )
        return torques


_TOO_STRONG = 1.5
"""Slowing to be tried where torques are too large."""


def limit_excess(
    motion: RobotMotion, settings: RetargetSettings
) -> tuple[float, RetargetError | None]:
    """How many times slower a motion has to be, and why; None: it may stay."""
    model = motion.model
    speed = "would have to turn with {:.1f} rad/s, its limit is {:.1f}"
    torque = "would need {:.2f} N m, its limit is {:.2f}"
    speeds, torques = settings.speed_share, settings.torque_share
    for values, share_used, limits, words, slower in (
        (motion.v[:, 6:], speeds, model.velocity_limits, speed, 0.0),
        (motion.torques, torques, model.effort_limits, torque, _TOO_STRONG),
    ):
        k, j, share = nearest_limit(values, share_used * limits)
        if share > 1.0:
            reason = words.format(abs(values[k, j]), limits[j])
            fault = RetargetError(reason, model.joint_names[j], float(motion.t[k]))
            return slower or share, fault
    return 1.0, None
