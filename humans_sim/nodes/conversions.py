"""Between arrays and messages. Messages are checked here: topics are hostile."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from geometry_msgs.msg import Pose, TransformStamped
from sensor_msgs.msg import JointState

from humans_sim.errors import ConfigurationError
from humans_sim.models import Model


def joint_state(
    model: Model, stamp: Any, joints: np.ndarray, speeds: np.ndarray
) -> JointState:
    """JointState message of angles [rad] and speeds [rad/s]."""
    message = JointState()
    message.header.stamp = stamp
    message.name = list(model.joint_names)
    message.position = [float(x) for x in joints]
    message.velocity = [float(x) for x in speeds]
    return message


def joints_of(model: Model, message: JointState, last: np.ndarray) -> np.ndarray:
    """Joint angles of a message; joints it leaves out keep their ``last`` angle.

    Raises:
        ConfigurationError: an unknown joint, lists of different lengths, or a number
            that is not finite.
    """
    if len(message.name) != len(message.position):
        raise ConfigurationError(
            f"joint_states has {len(message.name)} names and "
            f"{len(message.position)} positions"
        )
    joints = last.copy()
    for name, position in zip(message.name, message.position, strict=True):
        if name not in model.joint_names:
            raise ConfigurationError(f"{model.name} has no joint '{name}'")
        if not np.isfinite(position):
            raise ConfigurationError(f"the position of '{name}' is {position}")
        joints[model.joint_names.index(name)] = position
    return joints


def base_of(pose: Pose) -> np.ndarray:
    """Base position and quaternion (7,) of a pose.

    Raises:
        ConfigurationError: not finite, or a quaternion far from unit length.
    """
    p, o = pose.position, pose.orientation
    base = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    length = float(np.linalg.norm(base[3:]))
    if not np.isfinite(base).all() or abs(length - 1.0) > 1e-2:
        raise ConfigurationError("the pose is not finite with a unit quaternion")
    base[3:] /= length
    return base


def transform(stamp: Any, parent: str, child: str, pose: pin.SE3) -> TransformStamped:
    """TransformStamped of a pose."""
    message = TransformStamped()
    message.header.stamp = stamp
    message.header.frame_id = parent
    message.child_frame_id = child
    x, y, z, qx, qy, qz, qw = (float(value) for value in pin.SE3ToXYZQUAT(pose))
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z = x, y, z
    rotation.x, rotation.y, rotation.z, rotation.w = qx, qy, qz, qw
    return message
