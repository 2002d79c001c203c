# SPDX-License-Identifier: Apache-2.0
"""Waist, arms and head of a robot that follow a person at once; the legs stay.

The person counts as upright: directions are those against the pelvis, and the robot's
base stands for it. A joint never turns faster than its share of the limit, so the robot
comes to the person's posture slowly, however far it was.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from humans_sim.control.retargeting.limbs import person_limbs, robot_limbs
from humans_sim.control.retargeting.person_motion import HEAD_YAW
from humans_sim.control.retargeting.upper_body import UpperBody
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model


class LiveRetargeting:
    """Answers postures of a person by angles of a robot's upper body.

    Args:
        person: a Human36.
        robot: that follows.
        speed_share: of the joints' speed limits that is used.

    Attributes:
        joint_names: joints that it moves.
        error: largest angle between a limb and the person's, of the last answer [rad].
    """

    def __init__(self, person: Model, robot: Model, speed_share: float = 0.5) -> None:
        if not 0.0 < speed_share <= 1.0:
            raise ParameterError(
                f"speed_share is above 0, 1 at most, not {speed_share}"
            )
        self._person, self._robot = person_limbs(person), robot
        self._upper = UpperBody(robot_limbs(robot))
        if not self._upper.names:
            raise ParameterError(f"{robot.name} has no arms to follow a person with")
        places = self._upper.joints.tolist()
        self._head = -1
        if HEAD_YAW in robot.joint_names and HEAD_YAW in person.joint_names:
            self._head = robot.joint_names.index(HEAD_YAW)
            places.append(self._head)
        self._places = np.array(places)
        self.joint_names = tuple(robot.joint_names[place] for place in places)
        self._steps = speed_share * robot.velocity_limits[self._places]
        self._q = robot.neutral()
        self._posture, self._data = person.neutral(), person.data()
        self._sent: np.ndarray | None = None
        self.error = float("nan")

    def begin(self, present: Mapping[str, float]) -> None:
        """Take where the robot's joints are [rad]; those left out are at zero."""
        angles = [present.get(name, 0.0) for name in self.joint_names]
        self._sent = np.array(angles, dtype=float)
        self._q[7 + self._places] = self._sent

    @property
    def begun(self) -> bool:
        """Whether it knows where the robot is."""
        return self._sent is not None

    def follow(self, angles: np.ndarray, period: float) -> dict[str, float]:
        """Angles for the robot's joints, by name [rad].

        Args:
            angles: of the person's joints, in the order of the model [rad].
            period: since the last answer [s].

        Raises:
            ParameterError: :meth:`begin` was not called, or a number is not finite.
        """
        if self._sent is None:
            raise ParameterError("where the robot's joints are is not known yet")
        if not (np.isfinite(angles).all() and period >= 0.0):
            raise ParameterError("the person's joints are no finite angles")
        self._posture[7:] = angles
        pin.forwardKinematics(self._person.model.pin, self._data, self._posture)
        directions = self._person.directions(self._data, self._upper.names)
        torso = np.array(self._data.oMi[self._person.torso].rotation)
        target = self._sent.copy()
        count = len(self._upper.joints)
        target[:count] = self._upper.solve(self._q, np.eye(3), torso, directions)
        if self._head >= 0:
            yaw = angles[self._person.model.joint_names.index(HEAD_YAW)]
            low, high = self._robot.lower_limits, self._robot.upper_limits
            target[count] = np.clip(yaw, low[self._head], high[self._head])
        self._q[7 + self._places] = target
        most = self._steps * period
        self._sent = self._sent + np.clip(target - self._sent, -most, most)
        self.error = self._upper.worst(self._q, directions)
        return dict(zip(self.joint_names, self._sent.tolist(), strict=True))
