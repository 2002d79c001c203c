# SPDX-License-Identifier: Apache-2.0
r"""Joint torques and ground reaction of a reconstructed motion.

Velocities and accelerations are differences of the postures on the configuration's
manifold; inverse dynamics then gives the generalised force
:math:`M \dot v + N` that the motion took. Its six rows of the base can come from the
ground alone: forces at the contact points of the feet, inside their friction cones, are
found that give them (nonnegative least squares on the edges of the cones), cheaper
where a point is low and slow. What they leave over is the *residual*: errors of the
markers, of the masses, or a hand on a rail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.optimize import nnls

from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.models.soles import support_tags
from humans_sim.observation.markers.filters import zero_phase
from humans_sim.observation.posture.result import Reconstruction

CUTOFF = 6.0
"""Low pass of the postures: markers give accelerations no better [Hz]."""
_EDGES = 8
"""Edges of a friction cone."""
_LEVER = 0.2
"""Length that weighs moments against forces [m]."""
_HEIGHT, _SPEED = 0.02, 0.3
"""Height over the floor and speed at which a point is twice as dear [m, m/s]."""
_PRICE = 1e-3
"""Price of a force against what it leaves over."""
_FEWEST = 5


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """Forces of a motion.

    Attributes:
        t: times (n,) [s].
        q: configurations, after the low pass (n, nq).
        v: velocities (n, nv).
        a: accelerations (n, nv).
        torques: of the joints (n, nv - 6) [N m].
        feet: ground reaction of each sole: force [N] and moment about the world's
            origin [N m] (n, 6).
        residual: what the ground could not give: force, and moment about the base
            (n, 6).
        floor: height of the floor [m].
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    torques: np.ndarray
    feet: dict[str, np.ndarray]
    residual: np.ndarray
    floor: float

    @property
    def ground(self) -> np.ndarray:
        """Ground reaction of all feet: force, moment about the origin (n, 6)."""
        return sum(self.feet.values(), np.zeros((len(self.t), 6)))

    @property
    def pressure_centre(self) -> np.ndarray:
        """Centre of pressure on the floor (n, 2) [m]; NaN without a load."""
        force = self.ground
        lift = np.where(force[:, 2] > 1.0, force[:, 2], np.nan)
        x = (-force[:, 4] + self.floor * force[:, 0]) / lift
        y = (force[:, 3] + self.floor * force[:, 1]) / lift
        return np.stack([x, y], axis=1)


def inverse_dynamics(
    result: Reconstruction,
    *,
    cutoff: float = CUTOFF,
    floor: float | None = None,
    friction: float = 0.8,
) -> InverseDynamics:
    """Torques and ground reaction of a reconstruction.

    Args:
        result: of a model with soles.
        cutoff: low pass of the postures [Hz], 0 for none.
        floor: its height [m]; None: where the feet are lowest.
        friction: coefficient of the floor.

    Raises:
        ParameterError: the motion is too short, or a number is out of its range.
    """
    model = result.model
    if not model.soles:
        raise ParameterError(f"{model.name} has no soles: name them in its YAML")
    if len(result.t) < _FEWEST:
        raise ParameterError(f"inverse dynamics takes {_FEWEST} frames and more")
    if not friction > 0.0:
        raise ParameterError(f"friction must be above zero, not {friction}")
    q = low_pass(result.q, result.trial.rate, cutoff) if cutoff else result.q
    v, a = rates(model, result.t, q)
    names = tuple(dict.fromkeys(t for sole in model.soles for t in support_tags(sole)))
    owners = np.array([_owner(model, name) for name in names])
    points = model.tag_points(names)
    data = model.data()
    n = len(q)
    heights, speeds = np.empty((n, len(names))), np.empty((n, len(names)))
    for row in range(n):
        pin.computeJointJacobians(model.pin, data, q[row])
        heights[row] = points.positions(data)[:, 2]
        speeds[row] = np.linalg.norm(points.jacobians(data) @ v[row], axis=1)
    if floor is None:
        floor = float(np.percentile(heights.min(axis=1), 10))
    price = 1.0 + (np.maximum(heights - floor, 0.0) / _HEIGHT) ** 2
    price *= 1.0 + (speeds / _SPEED) ** 2
    torques, residual = np.empty((n, model.nv - 6)), np.empty((n, 6))
    feet = {sole.name: np.zeros((n, 6)) for sole in model.soles}
    cone = _cone(friction)
    for row in range(n):
        total = model.inverse_dynamics(q[row], v[row], a[row])
        pin.computeJointJacobians(model.pin, data, q[row])
        jacobians, places = points.jacobians(data), points.positions(data)
        forces, left = _share(jacobians, total[:6], cone, price[row])
        torques[row] = total[6:] - np.einsum("pij,pi->j", jacobians, forces)[6:]
        # The base's own axes carry its generalised force.
        world = pin.Quaternion(*np.roll(q[row, 3:7], 1)).matrix()
        residual[row] = np.concatenate([world @ left[:3], world @ left[3:]])
        for place, force, owner in zip(places, forces, owners, strict=True):
            feet[owner][row] += np.concatenate([force, np.cross(place, force)])
    return InverseDynamics(result.t, q, v, a, torques, feet, residual, floor)


def rates(model: Model, t: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations of a motion by differences (n, nv), (n, nv).

    Those of the two ends are their neighbours'.
    """
    n = len(q)
    v, a = np.empty((n, model.nv)), np.empty((n, model.nv))
    for k in range(1, n - 1):
        before, after = t[k] - t[k - 1], t[k + 1] - t[k]
        back = pin.difference(model.pin, q[k], q[k - 1])
        on = pin.difference(model.pin, q[k], q[k + 1])
        v[k] = (on * before / after - back * after / before) / (before + after)
        a[k] = 2.0 * (on / after + back / before) / (before + after)
    v[0], a[0], v[-1], a[-1] = v[1], a[1], v[-2], a[-2]
    return v, a


def low_pass(q: np.ndarray, rate: float, cutoff: float) -> np.ndarray:
    """Postures through a zero-phase Butterworth filter (n, nq)."""
    even = q.copy()
    # A quaternion and its opposite are one attitude: keep to one side.
    turned = np.cumprod(np.sign(np.sum(q[1:, 3:7] * q[:-1, 3:7], axis=1)))
    even[1:, 3:7] *= turned[:, None]
    smooth = zero_phase(even, rate, cutoff)
    smooth[:, 3:7] /= np.linalg.norm(smooth[:, 3:7], axis=1, keepdims=True)
    return smooth


def _owner(model: Model, contact: str) -> str:
    return next(sole.name for sole in model.soles if contact in support_tags(sole))


def _cone(friction: float) -> np.ndarray:
    """Edges of a friction cone about the vertical (edges, 3)."""
    angle = 2 * np.pi * np.arange(_EDGES) / _EDGES
    return np.stack(
        [friction * np.cos(angle), friction * np.sin(angle), np.ones(_EDGES)], axis=1
    )


def _share(
    jacobians: np.ndarray, generalised: np.ndarray, cone: np.ndarray, price: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Forces at the points (p, 3), and what they leave over of the base's force."""
    count, edges = len(jacobians), len(cone)
    columns = np.einsum("pij,ei->jpe", jacobians[:, :, :6], cone).reshape(6, -1)
    scale = np.array([1.0, 1.0, 1.0, 1 / _LEVER, 1 / _LEVER, 1 / _LEVER])
    cost = np.sqrt(_PRICE * np.repeat(price, edges))
    matrix = np.concatenate([scale[:, None] * columns, np.diag(cost)])
    target = np.concatenate([scale * generalised, np.zeros(count * edges)])
    along, _ = nnls(matrix, target, maxiter=20 * matrix.shape[1])
    forces = along.reshape(count, edges) @ cone
    left: np.ndarray = generalised - columns @ along
    return forces, left
