# SPDX-License-Identifier: Apache-2.0
"""Arms that swing against the legs: shoulders turn as the feet go apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.foot_motion import FootMotion
from humans_sim.models import Model
from humans_sim.models.legs.chains import PITCH, axis_kind, chain

_BESIDE = 0.05
"""Of the leg's length: shoulders are farther from the middle than this."""


@dataclass(frozen=True)
class Shoulders:
    """The pitch joints of the left and the right shoulder.

    Attributes:
        joints: places in ``model.joint_names`` (2,).
        along: y of their axes: a positive turn about y swings an arm back (2,).
    """

    joints: np.ndarray
    along: np.ndarray


def find_shoulders(
    model: Model, legs: Sequence[int], length: float
) -> Shoulders | None:
    """The first pitch joint of each arm; None where there are not just two of them.

    Args:
        model: the robot.
        legs: places of the legs' joints.
        length: of a leg [m].
    """
    data = model.data()
    pin.computeJointJacobians(model.pin, data, model.neutral())
    base = data.oMi[1]
    found: dict[int, list[tuple[int, float]]] = {1: [], -1: []}
    chosen: set[int] = set()
    for joint in range(2, model.pin.njoints):
        place = joint - 2
        if place in legs or chosen & set(chain(model, joint)):
            continue
        axis = base.rotation.T @ data.J[3:, model.pin.joints[joint].idx_v]
        aside = float(base.actInv(data.oMi[joint].translation)[1])
        if axis_kind(axis) != PITCH or abs(aside) < _BESIDE * length:
            continue
        found[1 if aside > 0 else -1].append((place, float(axis[1])))
        chosen.add(joint)
    if len(found[1]) != 1 or len(found[-1]) != 1:
        return None
    pairs = [found[1][0], found[-1][0]]
    return Shoulders(
        np.array([place for place, _ in pairs]), np.array([y for _, y in pairs])
    )


class ArmSwing:
    """Angles of the shoulders that belong to the places of the feet.

    Args:
        model: the robot.
        shoulders: its joints.
        rest: their angles while it stands (2,) [rad].
        gain: swing for a distance of the feet along the heading [rad/m].

    Attributes:
        columns: velocities of the shoulders (2,).
    """

    def __init__(
        self, model: Model, shoulders: Shoulders, rest: np.ndarray, gain: float
    ) -> None:
        self._places = 7 + shoulders.joints
        self.columns = 6 + shoulders.joints
        # The left arm goes forwards with the right foot.
        self._slope = -gain * np.array([1.0, -1.0]) / shoulders.along
        self._rest = rest
        self._low = model.lower_limits[shoulders.joints]
        self._high = model.upper_limits[shoulders.joints]

    def put(
        self, q: np.ndarray, left: pin.SE3, right: pin.SE3, attitude: np.ndarray
    ) -> None:
        """Turn the shoulders of a configuration."""
        ahead = float((right.translation - left.translation) @ attitude[:, 0])
        q[self._places] = np.clip(
            self._rest + self._slope * ahead, self._low, self._high
        )

    def rates(self, q: np.ndarray, left: FootMotion, right: FootMotion) -> np.ndarray:
        """Speeds of the shoulders (2,) [rad/s]."""
        heading = pin.Quaternion(q[3:7]).matrix()[:, 0]
        pace = float((right.velocity[:3] - left.velocity[:3]) @ heading)
        angles = q[self._places]
        free = (angles > self._low) & (angles < self._high)
        return np.where(free, self._slope * pace, 0.0)
