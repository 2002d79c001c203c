# SPDX-License-Identifier: Apache-2.0
"""A planned motion for Kondo's boards, which send positions alone."""

from __future__ import annotations

import numpy as np

from humans_sim.control.retargeting.robot_motion import RobotMotion, low_pass
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import resource
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.motion.motion_file import KondoMotion
from humans_sim.kondo.motion.pose_servo import PoseServo
from humans_sim.kondo.motion.timed_poses import SHORTEST, timed_motion
from humans_sim.models import Model

_QUICKEST = 5.0
"""What joints do faster is not led [Hz]."""
_ROUNDED = 1.0
"""Degrees that rounding may add between two poses."""


def has_boards(model: Model) -> bool:
    """Whether the package knows the channels of a robot."""
    return resource("config", "kondo", f"{model.name}.yaml").is_file()


def board_settings(model: Model) -> RobotSettings:
    """Channels and limits of a robot.

    Raises:
        ParameterError: it has no boards.
    """
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
    """The motion in poses of the boards.

    Raises:
        ParameterError: the robot has no boards.
        MotionFileError: it is too long for them.
    """
    settings = board_settings(motion.model)
    return timed_motion(
        name,
        motion.t,
        board_commands(motion),
        motion.model.joint_names,
        settings.channels,
    )
