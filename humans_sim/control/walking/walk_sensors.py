# SPDX-License-Identifier: Apache-2.0
"""What the sensors of a biped that walks measure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.errors import ParameterError


class SoleWrench(NamedTuple):
    """What the ground does to a sole, in the frame of the sole.

    Attributes:
        force: (3,) [N].
        moment: about the origin of the frame (3,) [N m].
    """

    force: np.ndarray
    moment: np.ndarray


class WalkSensors(NamedTuple):
    """What the sensors of a robot measure at one time.

    Attributes:
        attitude: rotation of the base in the world (3, 3); its heading is not used.
        angular_velocity: of the base, in its own axes (3,) [rad/s]; the heading is held
            by it.
        left: on the left sole.
        right: on the right sole.
        joints: angles (njoints,) [rad]; None where nobody measures them.
        joint_speeds: (njoints,) [rad/s]; None likewise.
    """

    attitude: np.ndarray
    angular_velocity: np.ndarray
    left: SoleWrench
    right: SoleWrench
    joints: np.ndarray | None = None
    joint_speeds: np.ndarray | None = None


def check_sensors(sensors: WalkSensors) -> None:
    """Refuse measurements that are no numbers.

    Raises:
        ParameterError: one is not finite.
    """
    parts = [np.ravel(sensors.attitude), sensors[1], *sensors.left, *sensors.right]
    parts += [x for x in (sensors.joints, sensors.joint_speeds) if x is not None]
    if not np.isfinite(np.concatenate(parts)).all():
        raise ParameterError("a measurement of the walker is not finite")
