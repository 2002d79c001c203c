# SPDX-License-Identifier: Apache-2.0
"""Postures of a biped: feet, centre of mass and attitude of the base are given.

The unknowns are the position of the base and the joints of the legs; the other joints
stay. A leg of six joints puts its sole into any pose. One without a yaw joint cannot
turn its sole: on an upright base a flat sole has the heading of the base, and the row
of the sole's yaw is left out.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.control.task.task_functions import CentreOfMass, FramePose, Stacked
from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.settings import (
    HIP_YAW,
    SLIP,
    SettingError,
    WalkSettings,
)
from humans_sim.control.walking.swing import FootMotion
from humans_sim.models import Model

_CLOSE, _GOOD = 1e-10, 1e-6
"""Error at which the search ends, and the largest that an answer may have [m, rad]."""
_STEPS = 50
_DAMPING = 1e-10
_LONGEST = 0.3
"""Longest step of the search [rad]."""
_LEG_JOINTS = {HIP_YAW: 6, SLIP: 5}


class WalkKinematics:
    """From feet and centre of mass to joints, by damped Newton steps within limits."""

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        """Find the legs: the joints between the base and each sole.

        Raises:
            SettingError: the legs cannot move as the settings say.
        """
        self.model = model
        soles = (settings.left, settings.right)
        self._task = Stacked(
            [CentreOfMass(model), *(FramePose(model, sole) for sole in soles)]
        )
        legs = [leg_joints(model, sole) for sole in soles]
        needed = _LEG_JOINTS[settings.turns]
        for sole, leg in zip(soles, legs, strict=True):
            if len(leg) < needed:
                raise SettingError(
                    "turns",
                    f"{settings.turns} needs {needed} joints between the base and "
                    f"{sole}, {model.name} has {len(leg)}",
                )
        self.legs = np.array(sorted(legs[0] + legs[1]))
        self._low = model.lower_limits[self.legs]
        self._high = model.upper_limits[self.legs]
        self._columns = np.r_[0:3, 6 + self.legs]
        yaw_rows = [8, 14] if settings.turns == SLIP else []
        self._rows = np.setdiff1d(np.arange(self._task.size), yaw_rows)
        self._places = np.ix_(self._rows, self._columns)
        self._damping = _DAMPING * np.eye(len(self._columns))

    def solve(
        self,
        guess: np.ndarray,
        com: np.ndarray,
        left: pin.SE3,
        right: pin.SE3,
        attitude: np.ndarray,
    ) -> np.ndarray:
        """The configuration near a guess; joints of legs stay within their limits.

        Args:
            guess: where the search begins; its joints outside the legs are kept.
            com: centre of mass in the world (3,) [m].
            left: pose of the left sole in the world.
            right: pose of the right sole.
            attitude: rotation of the base (3, 3).

        Raises:
            ControlError: the legs do not reach that far.
        """
        task, data = self._task, self.model.buffers
        target = np.concatenate([com, FramePose.target(left), FramePose.target(right)])
        q = np.array(guess, dtype=float)
        q[3:7] = pin.Quaternion(attitude).coeffs()
        joints = 7 + self.legs
        worst = np.inf
        for _ in range(_STEPS):
            pin.computeJointJacobians(self.model.pin, data, q)
            error = task.difference(task.read_value(data, q), target)[self._rows]
            worst = float(np.abs(error).max())
            if worst < _CLOSE:
                return q
            step = self._damped(task.read_jacobian(data), error)
            step *= min(1.0, _LONGEST / float(np.abs(step).max()))
            q[:3] += attitude @ step[:3]
            q[joints] = np.clip(q[joints] + step[3:], self._low, self._high)
        if worst < _GOOD:
            return q
        stuck = (q[joints] <= self._low) | (q[joints] >= self._high)
        names = [self.model.joint_names[j] for j in self.legs[stuck]]
        at = f"; at their limits: {', '.join(names)}" if names else ""
        raise ControlError(
            f"{self.model.name} does not reach this step: {worst:.3g} are missing{at}"
        )

    def rates(
        self,
        q: np.ndarray,
        com_velocity: np.ndarray,
        left: FootMotion,
        right: FootMotion,
        spin: np.ndarray,
    ) -> np.ndarray:
        """The velocity (nv,) that belongs to a configuration of :meth:`solve`.

        Args:
            q: the configuration.
            com_velocity: (3,) [m/s].
            left: motion of the left foot.
            right: motion of the right foot.
            spin: angular velocity of the base in its own axes (3,) [rad/s].
        """
        data = self.model.buffers
        pin.computeJointJacobians(self.model.pin, data, q)
        jacobian = self._task.read_jacobian(data)
        rates = np.concatenate([com_velocity, left.velocity, right.velocity])
        rates -= jacobian[:, 3:6] @ spin
        v = np.zeros(self.model.nv)
        v[3:6] = spin
        v[self._columns] = self._damped(jacobian, rates[self._rows])
        return v

    def _damped(self, jacobian: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Least squares, damped where a leg is (almost) straight."""
        rows = jacobian[self._places]
        return np.linalg.solve(rows.T @ rows + self._damping, rows.T @ rates)


def leg_joints(model: Model, sole: str) -> list[int]:
    """Places in ``model.joint_names`` of the joints between the base and a sole."""
    joint = model.pin.frames[model.pin.getFrameId(sole)].parentJoint
    places = []
    while joint > 1:
        places.append(joint - 2)
        joint = model.pin.parents[joint]
    return places[::-1]
