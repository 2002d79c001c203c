# SPDX-License-Identifier: Apache-2.0
"""Between plain values and messages. Messages are checked here: topics are hostile.

What files of messages hold, too, is made by :mod:`humans_sim.results.ros_files`, as
plain fields with which ROS 2's classes are filled here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Point, Pose, TransformStamped, Twist, WrenchStamped
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from humans_sim.core.errors import ConfigurationError
from humans_sim.models import Model
from humans_sim.nodes.common.command_checks import LARGEST, named_values
from humans_sim.results import ros_files

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


def message_class(name: str) -> Any:
    """The class of ``package/msg/Name``."""
    package, kind, word = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), word)


def full_name(kind: str) -> str:
    """``package/msg/Name`` of ``package/Name``."""
    package, word = kind.split("/")
    return f"{package}/msg/{word}"


def filled(message: Any, fields: Mapping[str, Any]) -> Any:
    """A message with plain fields, those of messages inside it likewise."""
    for name, value in fields.items():
        if isinstance(value, dict):
            filled(getattr(message, name), value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            kind = message.get_fields_and_field_types()[name]
            inner = message_class(full_name(kind[len("sequence<") : -1]))
            setattr(message, name, [filled(inner(), item) for item in value])
        else:
            setattr(message, name, value)
    return message


def joint_state(
    stamp: Any,
    names: Sequence[str],
    position: Any = (),
    velocity: Any = (),
    effort: Any = (),
    frame: str = "",
) -> JointState:
    """JointState message of angles [rad], speeds [rad/s] and torques [N m]."""
    fields = ros_files.joint_state(stamp, names, position, velocity, effort, frame)
    return filled(JointState(), fields)


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
    """Joint angles of a message; joints it leaves out keep their ``last`` angle."""
    return joint_values(model, message.name, message.position, last, "position")


def joint_motion(
    model: Model, message: JointState, joints: np.ndarray, speeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Angles and speeds of a message; what it leaves out stays as it was."""
    names = message.name
    if not names:
        raise ConfigurationError("no joint is named")
    angles = joints_of(model, message, joints)
    return angles, joint_values(model, names, message.velocity, speeds, "velocity")


def base_of(pose: Pose) -> np.ndarray:
    """Position and quaternion (7,) of a pose; refused unless finite, of unit length."""
    p, o = pose.position, pose.orientation
    base = np.array([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    length = float(np.linalg.norm(base[3:]))
    if not (np.abs(base) <= LARGEST).all() or abs(length - 1.0) > 1e-2:
        raise ConfigurationError("the pose is not finite with a unit quaternion")
    if abs(length - 1.0) > _UNIT:
        base[3:] /= length
    return base


def rotation_of(message: Any) -> np.ndarray:
    """Rotation (3, 3) of a Quaternion message; refused unless of unit length."""
    quaternion = np.array([message.x, message.y, message.z, message.w])
    length = float(np.linalg.norm(quaternion))
    if not np.isfinite(quaternion).all() or abs(length - 1.0) > 1e-2:
        raise ConfigurationError(f"{quaternion} is no unit quaternion")
    if abs(length - 1.0) > _UNIT:
        quaternion /= length
    return pin.Quaternion(quaternion).matrix()


def velocity_of(twist: Twist) -> np.ndarray:
    """Linear and angular velocity (6,) of a twist."""
    return np.concatenate([vector_of(twist.linear), vector_of(twist.angular)])


def base_motion(message: Odometry) -> tuple[np.ndarray, np.ndarray]:
    """Pose (7,) and velocity (6,) of the base."""
    return base_of(message.pose.pose), velocity_of(message.twist.twist)


def load_of(message: WrenchStamped) -> float:
    """Force along the z axis of a wrench [N]."""
    return float(vector_of(message.wrench.force)[2])


def vector_of(message: Any) -> np.ndarray:
    """Array of a Vector3 or Point message; refused where it is not finite."""
    vector = np.array([message.x, message.y, message.z])
    if not (np.abs(vector) <= LARGEST).all():
        raise ConfigurationError(f"{vector} is not finite, or too large")
    return vector


def set_vector(message: Any, vector: np.ndarray) -> None:
    """Fill a Vector3 or Point message."""
    message.x, message.y, message.z = vector.tolist()


def set_pose(message: Pose, pose: np.ndarray) -> None:
    """Fill a Pose message with place and quaternion (7,)."""
    set_vector(message.position, pose[:3])
    set_rotation(message.orientation, pose[3:7])


def transform(stamp: Any, parent: str, child: str, pose: pin.SE3) -> TransformStamped:
    """TransformStamped of a pose."""
    base = pin.SE3ToXYZQUAT(pose)
    fields = ros_files.link_transform(stamp, parent, child, base)
    return filled(TransformStamped(), fields)


def odometry(
    stamp: Any, parent: str, child: str, q: np.ndarray, v: np.ndarray
) -> Odometry:
    """Odometry message of the base of a state; the twist is in the base's frame."""
    return filled(Odometry(), ros_files.odometry_message(stamp, q, v, parent, child))


def marker_array(
    markers: Iterable[Mapping[str, Any]], header: Header | None = None
) -> MarkerArray:
    """MarkerArray message.

    Args:
        markers: as ``ros_files.marker_array_bytes`` takes them.
        header: of all of them; None: each has its own.
    """
    return MarkerArray(markers=[_marker(marker, header) for marker in markers])


def _marker(fields: Mapping[str, Any], header: Header | None) -> Marker:
    words = ("ns", "id", "type", "action", "text", "frame_locked")
    message = Marker(**{word: fields[word] for word in words if word in fields})
    message.header = header or filled(message.header, fields["header"])
    set_pose(message.pose, fields["pose"])
    set_vector(message.scale, fields["scale"])
    message.color = _colour(fields["color"])
    points = np.asarray(fields.get("points", ()), dtype=float)
    message.points = [Point(x=x, y=y, z=z) for x, y, z in points.tolist()]
    message.colors = [_colour(colour) for colour in fields.get("colors", ())]
    return message


def _colour(parts: Iterable[float]) -> ColorRGBA:
    red, green, blue, alpha = (float(part) for part in parts)
    return ColorRGBA(r=red, g=green, b=blue, a=alpha)


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
