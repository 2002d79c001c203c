# SPDX-License-Identifier: Apache-2.0
"""Retargeting from files: a recording, reconstructed and taken over by a robot.

The library and ``humans-sim retarget`` call it. The robot's motion is written as
Kondo's CSV (for boards that send positions alone), a JointTrajectory (YAML), or MCAP.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from humans_sim.analysis.foot_contacts import find_contacts, sole_points
from humans_sim.analysis.inverse_dynamics import rates
from humans_sim.applications.reconstruction import reconstruct
from humans_sim.control.retargeting.person_motion import (
    PersonMotion,
    person_limbs,
    person_motion,
)
from humans_sim.control.retargeting.retarget import Retargeting
from humans_sim.control.retargeting.robot_motion import RobotMotion, low_pass
from humans_sim.control.retargeting.settings import RetargetError, RetargetSettings
from humans_sim.control.walking.sole_legs import sole_sides
from humans_sim.core.errors import ParameterError
from humans_sim.core.files import write_atomically
from humans_sim.core.resources import resource
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.motion.channels import SHORTEST, timed_motion
from humans_sim.kondo.motion.motion_file import KondoMotion, write_motion
from humans_sim.kondo.motion.pose_servo import PoseServo
from humans_sim.models import Model, load_model
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction, load_reconstruction
from humans_sim.results.ros_files import (
    Message,
    RosTopics,
    Stamp,
    base_transform,
    head,
    joint_state,
    nanoseconds,
    stamp_of,
    write_topics,
)

_QUICKEST = 5.0
"""What joints do faster is not led [Hz]."""
_ROUNDED = 1.0
"""Degrees that rounding may add between two poses."""


def has_boards(model: Model) -> bool:
    """Whether the package knows the channels of a robot."""
    return resource("config", "kondo", f"{model.name}.yaml").is_file()


def board_settings(model: Model) -> RobotSettings:
    """Channels and limits of a robot; refuses one without boards."""
    if not has_boards(model):
        raise ParameterError(
            f"{model.name} has no Kondo boards: write .yaml or .mcap instead of .csv"
        )
    return load_robot(model.name)


def board_commands(motion: RobotMotion) -> np.ndarray:
    """Angles for servos that receive positions alone (n, njoints) [rad].

    Such servos trail by damping over gain: commands lead the motion by that time.
    """
    lead = PoseServo(motion.model).lags * motion.v[:, 6:]
    led: np.ndarray = motion.commands + low_pass(lead, 1.0 / motion.period, _QUICKEST)
    return led


def board_excess(motion: RobotMotion) -> float:
    """Largest speed of a channel between two poses over the robot's limit."""
    limits = board_settings(motion.model).limits
    rows = board_commands(motion)
    stride = max(round(SHORTEST / motion.period), 1)
    change = np.degrees(np.abs(rows[stride:] - rows[:-stride])).max(initial=0.0)
    return float((change + _ROUNDED) / (stride * motion.period)) / limits.speed


def board_motion(motion: RobotMotion, name: str) -> KondoMotion:
    """The motion in poses of the boards; refused where it is too long for them."""
    settings = board_settings(motion.model)
    return timed_motion(
        name,
        motion.t,
        board_commands(motion),
        motion.model.joint_names,
        settings.channels,
    )


_STORED = ".npz"
_TRIES = 6
"""Of slower motions for boards."""
_POWER = 0.7
"""Speeds fall with the time that a motion takes, accelerations with its square."""


def retarget(
    source: Reconstruction | MarkerTrial | Path | str,
    robot: Model | Path | str,
    *,
    settings: RetargetSettings | None = None,
    start: float = 0.0,
    end: float = 0.0,
    **options: Any,
) -> RobotMotion:
    """A robot's motion from a person's.

    Args:
        source: a recording, a stored reconstruction (``.npz``), or either in
            memory.
        robot: a model, its name, or a URDF with soles (``humans-sim init-robot`` finds
            them).
        settings: how it is taken over.
        start: first frame, in the recording's time [s].
        end: last frame [s]; 0: to the end.
        options: of :func:`humans_sim.reconstruct`, for a recording.

    Raises:
        RetargetError: the robot cannot make this motion, even slowed; with the joint
            and the time.
        HumansError: a file is wrong, or nothing says who is in the recording.
    """
    person = captured_motion(captured(source, **options), start, end)
    return retarget_person(person, robot, settings)


def retarget_person(
    person: PersonMotion,
    robot: Model | Path | str,
    settings: RetargetSettings | None = None,
) -> RobotMotion:
    """A robot's motion from what is known of a person's.

    The robot is a model, its name, or a URDF with soles; one that cannot make the
    motion, even slowed, is a RetargetError.
    """
    model = robot if isinstance(robot, Model) else load_model(robot)
    retargeting = Retargeting(model, settings)
    motion = retargeting.retarget(person)
    if not has_boards(model):
        return motion
    spent = motion.frame_time * len(motion.t)
    for _ in range(_TRIES):
        excess = board_excess(motion)
        if excess <= 1.0:
            return replace(motion, frame_time=spent / len(motion.t))
        # Boards lead their servos by positions alone, ahead by the servos' lag.
        slower = 1.02 * excess**_POWER * motion.plan.slowdown
        motion = retargeting.retarget(person, slower)
        spent += motion.frame_time * len(motion.t)
    raise RetargetError(
        f"the boards' servos would have to turn {excess:.2g} times as fast as they may"
    )


def captured(
    source: Reconstruction | MarkerTrial | Path | str, **options: Any
) -> Reconstruction:
    """The postures of a recording, stored (``.npz``), in memory, or found now.

    The options are those of :func:`humans_sim.reconstruct`, for a recording.
    """
    if isinstance(source, Reconstruction):
        stored = source
    elif isinstance(source, MarkerTrial):
        return reconstruct(source, uncertainty=False, **options)
    elif Path(source).suffix.lower() == _STORED:
        stored = load_reconstruction(Path(source).expanduser())
    else:
        return reconstruct(source, uncertainty=False, **options)
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(f"{given[0]} goes with a recording: this is reconstructed")
    return stored


def captured_motion(
    postures: Reconstruction, start: float = 0.0, end: float = 0.0
) -> PersonMotion:
    """The part of a reconstruction that a robot takes over.

    Args:
        postures: of the person.
        start: first frame, in the recording's time [s].
        end: last frame [s]; 0: to the end.
    """
    model, t, q = postures.model, np.asarray(postures.t), np.asarray(postures.q)
    rows = (t >= start) & (t <= (end if end > 0.0 else math.inf))
    t, q = t[rows], q[rows]
    limbs = person_limbs(model)
    if len(t) > 2:
        v, _ = rates(model, t, q)
        contacts = find_contacts(t, sole_points(model, q, v))
        order = [contacts.soles.index(name) for name in sole_sides(model)]
        down = contacts.down[:, order]
    else:
        down = np.ones((len(t), 2), dtype=bool)
    return person_motion(limbs, t, q, down)


ENDINGS = (".csv", ".yaml", ".yml", ".mcap")
_DIGITS = 6


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
        top = (
            "# trajectory_msgs/msg/JointTrajectory: rad, rad/s, N m.\n"
            f"# Robot: {motion.model.name}\n"
        )
        text = yaml.safe_dump(
            joint_trajectory(motion),
            sort_keys=False,
            default_flow_style=None,
            width=10_000,
        )
        write_atomically(path, top + text)
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


def _write_mcap(motion: RobotMotion, path: Path) -> Path:
    def joints(k: int, stamp: Stamp) -> Message:
        rows = motion.joints[k], motion.v[k, 6:], motion.torques[k]
        return joint_state(stamp, motion.model.joint_names, *rows)

    trajectory = [(0.0, lambda _: joint_trajectory(motion))]
    topics = RosTopics(
        sampled={
            "/joint_states": ("sensor_msgs/JointState", joints),
            "/tf": (
                "tf2_msgs/TFMessage",
                lambda k, stamp: base_transform(motion.q[k], stamp),
            ),
        },
        single={"/joint_trajectory": ("trajectory_msgs/JointTrajectory", trajectory)},
    )
    about = {"model": motion.model.name, "remarks": list(motion.remarks)}
    return write_topics(path, motion.t.tolist(), topics, about)
