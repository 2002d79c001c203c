# SPDX-License-Identifier: Apache-2.0
r"""Arms and waist of a robot from the directions of a person's limbs.

Joints q of waist and arms are sought within their limits, frame by frame, for the least

.. math:: \sum_i \lVert d_i(q) - d_i^* \rVert^2 + \lVert \log(R^* R(q)^T) \rVert^2
    + \mu \lVert q - q_0 \rVert^2

d are the directions of upper arms and forearms, R the attitude of the shoulders, and
q_0 the joints of the frame before, which hold what no direction says. Steps are those
of Gauss and Newton; a joint at a limit stays there while its gradient points beyond.

*Live*: waist, arms and head follow a person at once; the legs stay. The person counts
as upright: directions are those against the pelvis, and the robot's base stands for it.
A joint never turns faster than its share of the limit, so the robot comes to the
person's posture slowly, however far it was.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pinocchio as pin

from humans_sim.control.retargeting.person_motion import (
    FOREARM,
    HEAD_YAW,
    SIDES,
    UPPER_ARM,
    Limbs,
    person_limbs,
    robot_limbs,
)
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

_STEPS = 12
_CLOSE = 1e-4
"""Largest step of a joint at which the search ends [rad]."""
_HELD = 1e-3
"""Weight of the joints of the frame before."""
_SMALL = 1e-9
"""Sine of a turn that is its own angle."""
_STARTS = 6
"""Postures from which the first frame is searched."""
_ROUNDS, _MIDDLE = 3, (0.2, 0.8)
"""Searches from each of them; the part of the joints' ranges in which they are."""
_LONGEST = 0.5
"""Longest step of the search: directions are linear about so far [rad]."""


class UpperBody:
    """Finds the joints of waist and arms.

    Attributes:
        names: limbs that are followed, in the order of the directions.
        joints: places in ``model.joint_names`` of the joints that are moved.
    """

    def __init__(self, limbs: Limbs) -> None:
        self._limbs, model = limbs, limbs.model
        self.model = model
        arms = [f"{side}_{part}" for side in SIDES for part in (UPPER_ARM, FOREARM)]
        self.names = tuple(name for name in arms if name in limbs.limbs)
        moved = set(limbs.waist)
        for name in self.names:
            moved |= set(limbs.limbs[name].joints)
        self.joints = np.array(sorted(moved), dtype=int)
        self._low = model.lower_limits[self.joints]
        self._high = model.upper_limits[self.joints]
        self._moves = np.array(
            [np.isin(self.joints, limbs.limbs[name].joints) for name in self.names]
        ).reshape(len(self.names), len(self.joints))
        self._turns = np.isin(self.joints, limbs.waist)
        data = model.data()
        pin.forwardKinematics(model.pin, data, model.neutral())
        self._upright = np.array(data.oMi[limbs.torso].rotation)
        self._data = model.data()

    def solve(
        self,
        guess: np.ndarray,
        attitude: np.ndarray,
        torso: np.ndarray,
        directions: np.ndarray,
    ) -> np.ndarray:
        """Angles of :attr:`joints` near a guess [rad].

        Args:
            guess: a configuration; joints that are not moved count as they are.
            attitude: rotation of the base in the axes of the directions (3, 3).
            torso: rotation of the shoulders from upright, in the same axes (3, 3).
            directions: of the limbs :attr:`names` (n, 3).
        """
        q = np.array(guess, dtype=float)
        q[3:7] = pin.Quaternion(attitude).coeffs()
        places = 7 + self.joints
        held = np.clip(q[places], self._low, self._high)
        q[places] = held
        for _ in range(_STEPS):
            error, rows = self._linear(q, torso, directions)
            gradient = rows.T @ error - _HELD * (q[places] - held)
            stuck = ((q[places] <= self._low) & (gradient < 0)) | (
                (q[places] >= self._high) & (gradient > 0)
            )
            free = ~stuck
            hessian = rows[:, free].T @ rows[:, free]
            hessian[np.diag_indices_from(hessian)] += _HELD
            step = np.zeros(len(places))
            step[free] = np.linalg.solve(hessian, gradient[free])
            step *= min(
                1.0, _LONGEST / max(float(np.abs(step).max(initial=0.0)), 1e-12)
            )
            before = q[places]
            q[places] = np.clip(before + step, self._low, self._high)
            if np.abs(q[places] - before).max(initial=0.0) < _CLOSE:
                break
        return q[places]

    def first(
        self,
        guess: np.ndarray,
        attitude: np.ndarray,
        torso: np.ndarray,
        directions: np.ndarray,
    ) -> np.ndarray:
        """As :meth:`solve`, the best of several guesses."""
        rng = np.random.default_rng(0)
        best, least = guess[7 + self.joints], np.inf
        for start in range(_STARTS):
            q = np.array(guess, dtype=float)
            if start:
                share = rng.uniform(*_MIDDLE, len(self.joints))
                q[7 + self.joints] = self._low + share * (self._high - self._low)
            for _ in range(_ROUNDS):
                q[7 + self.joints] = self.solve(q, attitude, torso, directions)
            q[3:7] = pin.Quaternion(attitude).coeffs()
            error, _ = self._linear(q, torso, directions)
            if error @ error < least - 1e-6:
                best, least = q[7 + self.joints].copy(), float(error @ error)
        return best

    def worst(self, q: np.ndarray, directions: np.ndarray) -> float:
        """Largest angle between a limb and its direction, on an upright base [rad]."""
        upright = np.array(q, dtype=float)
        upright[3:7] = 0.0, 0.0, 0.0, 1.0
        pin.forwardKinematics(self.model.pin, self._data, upright)
        now = self._limbs.directions(self._data, self.names)
        cosines = np.einsum("ij,ij->i", now, directions)
        return float(np.arccos(np.clip(cosines, -1.0, 1.0)).max(initial=0.0))

    def _linear(
        self, q: np.ndarray, torso: np.ndarray, directions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The error, and its derivative by the joints."""
        tree, data = self.model.pin, self._data
        pin.computeJointJacobians(tree, data, q)
        turning = data.J[3:, 6 + self.joints]
        now = self._limbs.directions(data, self.names)
        errors = [(directions - now).ravel()] if len(self.names) else []
        rows = []
        if len(self.names):
            # A direction d turns by w x d.
            across = np.zeros((len(now), 3, 3))
            for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
                across[:, a, b], across[:, b, a] = now[:, c], -now[:, c]
            rows.append(
                ((across @ turning) * self._moves[:, None, :]).reshape(
                    -1, turning.shape[1]
                )
            )
        if self._turns.any():
            turned = data.oMi[self._limbs.torso].rotation @ self._upright.T
            errors.append(_turn(torso @ turned.T))
            rows.append(np.where(self._turns, turning, 0.0))
        if not errors:
            return np.zeros(0), np.zeros((0, len(self.joints)))
        return np.concatenate(errors), np.vstack(rows)


def _turn(rotation: np.ndarray) -> np.ndarray:
    """Rotation vector of a matrix (3,) [rad]; also of one that is rounded."""
    r = rotation
    axis = 0.5 * np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), 0.5 * (float(np.trace(r)) - 1.0)
    if sine < _SMALL:
        return axis
    return axis * (np.arctan2(sine, cosine) / sine)


class LiveRetargeting:
    """Answers postures of a person by angles of a robot's upper body.

    Of the joints' speed limits a share is used.

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
