# SPDX-License-Identifier: Apache-2.0
"""Forces of a planned motion: zero-moment point and joint torques.

The zero-moment point is that of the whole body by the Newton-Euler recursion. Feet that
stand share the ground's force at their corners, within friction; two feet share it such
that corners are loaded evenly.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.control.task.force_share import share_forces
from humans_sim.models import Model
from humans_sim.models.soles import sole_named, support_tags


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

    Args:
        model: the robot.
        soles: names of the left and the right one.
        friction: of the floor that may be used.
        armature: inertia of the rotors at the joints (nv,) [kg m^2].
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
