# SPDX-License-Identifier: Apache-2.0
"""Between arrays and messages. Messages are checked here: topics are hostile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Pose, TransformStamped, Twist, Wrench
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState

from humans_sim.core.errors import ConfigurationError
from humans_sim.models import Model
from humans_sim.nodes.common.command_checks import LARGEST, named_values

_SECOND = 1_000_000_000
_UNIT = 1e-9
"""A length this near to one is one: what a simulator sends stays as it is."""


def time_of(nanoseconds: int) -> Time:
    """Time message."""
    seconds, rest = divmod(nanoseconds, _SECOND)
    return Time(sec=seconds, nanosec=rest)


def duration_of(seconds: float) -> Duration:
    """Duration message."""
    time = time_of(round(seconds * 1e9))
    return Duration(sec=time.sec, nanosec=time.nanosec)


def nanoseconds_of(time: Any) -> int:
    """Nanoseconds of a Time or Duration message."""
    return int(time.sec) * _SECOND + int(time.nanosec)


def joint_state(
    model: Model,
    stamp: Any,
    joints: np.ndarray,
    speeds: np.ndarray,
    efforts: Sequence[float] | np.ndarray = (),
) -> JointState:
    """JointState message of angles [rad], speeds [rad/s] and torques [N m]."""
    message = JointState()
    message.header.stamp = stamp
    message.name = list(model.joint_names)
    message.position = [float(x) for x in joints]
    message.velocity = [float(x) for x in speeds]
    message.effort = [float(x) for x in efforts]
    return message


def joint_values(
    model: Model,
    names: Sequence[str],
    values: Sequence[float],
    last: np.ndarray,
    what: str,
) -> np.ndarray:
    """Values by joint name; joints that are left out keep their ``last`` value.

    Raises:
        ConfigurationError: an unknown joint or one named twice, lists of different
            lengths, or a number that is not finite.
    """
    return named_values(model.joint_names, names, values, last, what, model.name)


def joints_of(model: Model, message: JointState, last: np.ndarray) -> np.ndarray:
    """Joint angles of a message; joints it leaves out keep their ``last`` angle.

    Raises:
        ConfigurationError: as :func:`joint_values`.
    """
    return joint_values(model, message.name, message.position, last, "position")


def base_of(pose: Pose) -> np.ndarray:
    """Base position and quaternion (7,) of a pose.

    Raises:
        ConfigurationError: not finite, or a quaternion far from unit length.
    """
    p, o = pose.position, pose.orientation
    base = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    length = float(np.linalg.norm(base[3:]))
    if not (np.abs(base) <= LARGEST).all() or abs(length - 1.0) > 1e-2:
        raise ConfigurationError("the pose is not finite with a unit quaternion")
    if abs(length - 1.0) > _UNIT:
        base[3:] /= length
    return base


def rotation_of(message: Any) -> np.ndarray:
    """Rotation matrix (3, 3) of a Quaternion message.

    Raises:
        ConfigurationError: not finite, or far from unit length.
    """
    quaternion = np.array([message.x, message.y, message.z, message.w])
    length = float(np.linalg.norm(quaternion))
    if not np.isfinite(quaternion).all() or abs(length - 1.0) > 1e-2:
        raise ConfigurationError(f"{quaternion} is no unit quaternion")
    if abs(length - 1.0) > _UNIT:
        quaternion /= length
    return pin.Quaternion(quaternion).matrix()


def velocity_of(twist: Twist) -> np.ndarray:
    """Linear and angular velocity (6,) of a twist.

    Raises:
        ConfigurationError: not finite.
    """
    return np.concatenate([vector_of(twist.linear), vector_of(twist.angular)])


def vector_of(message: Any) -> np.ndarray:
    """Array of a Vector3 or Point message.

    Raises:
        ConfigurationError: not finite.
    """
    vector = np.array([message.x, message.y, message.z])
    if not (np.abs(vector) <= LARGEST).all():
        raise ConfigurationError(f"{vector} is not finite, or too large")
    return vector


def set_vector(message: Any, vector: np.ndarray) -> None:
    """Fill a Vector3 or Point message."""
    message.x, message.y, message.z = vector.tolist()


def set_wrench(message: Wrench, force: np.ndarray, moment: np.ndarray) -> None:
    """Fill a Wrench message."""
    set_vector(message.force, force)
    set_vector(message.torque, moment)


def transform(stamp: Any, parent: str, child: str, pose: pin.SE3) -> TransformStamped:
    """TransformStamped of a pose."""
    message = TransformStamped()
    message.header.stamp = stamp
    message.header.frame_id = parent
    message.child_frame_id = child
    base = pin.SE3ToXYZQUAT(pose)
    set_vector(message.transform.translation, base[:3])
    set_rotation(message.transform.rotation, base[3:])
    return message


def odometry(
    stamp: Any, parent: str, child: str, q: np.ndarray, v: np.ndarray
) -> Odometry:
    """Odometry message of the base of a state; the twist is in the child's frame."""
    message = Odometry()
    message.header.stamp = stamp
    message.header.frame_id = parent
    message.child_frame_id = child
    set_vector(message.pose.pose.position, q[:3])
    set_rotation(message.pose.pose.orientation, q[3:7])
    set_vector(message.twist.twist.linear, v[:3])
    set_vector(message.twist.twist.angular, v[3:6])
    return message


class ImuData(NamedTuple):
    """The data of an Imu message beside its header.

    Attributes:
        attitude: quaternion (x, y, z, w).
        rate: angular velocity in the frame (3,) [rad/s].
        specific_force: acceleration minus gravity in the frame (3,) [m/s^2].
        variances: of an axis of the specific force and of the rate; zero: not known.
    """

    attitude: np.ndarray
    rate: np.ndarray
    specific_force: np.ndarray
    variances: tuple[float, float]


def imu(stamp: Any, frame: str, data: ImuData) -> Imu:
    """Imu message, as REP 145 has it: at rest it reads 9.81 m/s^2 upwards."""
    message = Imu()
    message.header.stamp, message.header.frame_id = stamp, frame
    set_rotation(message.orientation, data.attitude)
    set_vector(message.angular_velocity, data.rate)
    set_vector(message.linear_acceleration, data.specific_force)
    force, rate = data.variances
    for k in (0, 4, 8):
        message.linear_acceleration_covariance[k] = force
        message.angular_velocity_covariance[k] = rate
    return message


def set_rotation(message: Any, quaternion: np.ndarray) -> None:
    """Fill a Quaternion message with (x, y, z, w)."""
    message.x, message.y, message.z, message.w = quaternion.tolist()
