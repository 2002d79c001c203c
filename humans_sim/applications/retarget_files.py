# SPDX-License-Identifier: Apache-2.0
"""A robot's motion as a file: Kondo's CSV, a JointTrajectory (YAML), or MCAP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from mcap_ros2.writer import Writer

from humans_sim.applications.retarget_boards import board_motion
from humans_sim.control.retargeting.robot_motion import RobotMotion
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream, write_atomically
from humans_sim.kondo.motion.motion_file import write_motion
from humans_sim.results.ros_messages import (
    base_transform,
    head,
    nanoseconds,
    stamp_of,
)
from humans_sim.results.ros_schemas import schema

ENDINGS = (".csv", ".yaml", ".yml", ".mcap")
_DIGITS = 6
_TOPICS = {
    "/joint_trajectory": "trajectory_msgs/JointTrajectory",
    "/joint_states": "sensor_msgs/JointState",
    "/tf": "tf2_msgs/TFMessage",
}


def write_robot_motion(motion: RobotMotion, path: Path | str) -> Path:
    """Write a motion, as the ending of the file says.

    ``.csv``
        Poses of Kondo's boards, for ``humans-sim kondo play``.
    ``.yaml``, ``.yml``
        A trajectory_msgs/msg/JointTrajectory, with torques as efforts.
    ``.mcap``
        The same as one message, and joint states and the base over time.

    Args:
        motion: of a robot.
        path: the file; it is written whole or not at all.

    Raises:
        ParameterError: the ending is none of these, or the robot has no boards.
        MotionFileError: the motion is too long for the boards.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".csv":
        return write_motion(board_motion(motion, path.stem), path)
    if ending in (".yaml", ".yml"):
        write_atomically(path, _yaml(motion))
        return path
    if ending == ".mcap":
        return _write_mcap(motion, path)
    raise ParameterError(
        f"a motion is written to one of {', '.join(ENDINGS)}, not to '{path.name}'"
    )


def joint_trajectory(motion: RobotMotion) -> dict[str, Any]:
    """The motion as a trajectory_msgs/JointTrajectory."""
    points = [
        {
            "positions": _plain(motion.joints[k]),
            "velocities": _plain(motion.v[k, 6:]),
            "accelerations": [],
            "effort": _plain(motion.torques[k]),
            "time_from_start": stamp_of(nanoseconds(float(motion.t[k]))),
        }
        for k in range(len(motion.t))
    ]
    return {
        "header": head(stamp_of(0)),
        "joint_names": list(motion.model.joint_names),
        "points": points,
    }


def _plain(row: np.ndarray) -> list[float]:
    return [round(float(value), _DIGITS) for value in row]


def _yaml(motion: RobotMotion) -> str:
    top = (
        "# trajectory_msgs/msg/JointTrajectory: rad, rad/s, N m.\n"
        f"# Robot: {motion.model.name}\n"
    )
    text = yaml.safe_dump(
        joint_trajectory(motion), sort_keys=False, default_flow_style=None, width=10_000
    )
    return top + text


def _write_mcap(motion: RobotMotion, path: Path) -> Path:
    with atomic_stream(path) as stream:
        writer = Writer(stream)
        about = {"model": motion.model.name, "remarks": list(motion.remarks)}
        writer.add_metadata(
            "humans_sim", {name: json.dumps(value) for name, value in about.items()}
        )
        schemas = {
            topic: writer.register_msgdef(kind.replace("/", "/msg/"), schema(kind))
            for topic, kind in _TOPICS.items()
        }
        topic = "/joint_trajectory"
        writer.write_message(topic, schemas[topic], joint_trajectory(motion), 0, 0, 0)
        for k, now in enumerate(motion.t.tolist()):
            time = nanoseconds(now)
            for topic, message in _messages(motion, k, time).items():
                writer.write_message(topic, schemas[topic], message, time, time, k)
        writer.finish()
    return path


def _messages(motion: RobotMotion, k: int, time: int) -> dict[str, dict[str, Any]]:
    stamp = stamp_of(time)
    return {
        "/joint_states": {
            "header": head(stamp),
            "name": list(motion.model.joint_names),
            "position": motion.joints[k].tolist(),
            "velocity": motion.v[k, 6:].tolist(),
            "effort": motion.torques[k].tolist(),
        },
        "/tf": base_transform(motion.q[k], stamp),
    }
