# SPDX-License-Identifier: Apache-2.0
"""Whether a robot can play a motion: looked at before anything moves."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.joint_path import MotionPath
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.driver.self_collision import check_clear
from humans_sim.kondo.motion.motion_file import KondoMotion
from humans_sim.kondo.motion.player import MotionPlayer
from humans_sim.models import Model

_SAME = 1e-9


def check_motion(
    model: Model, settings: RobotSettings, motion: KondoMotion, rate: float = 1.0
) -> None:
    """Refuse a motion that leaves the ranges or speeds of joints, or lets links touch.

    Args:
        model: of the robot.
        settings: its channels and limits.
        motion: what shall be played.
        rate: speed relative to the recorded one.

    Raises:
        ParameterError: it does; the message names the pose, and what can be done.
        SelfCollisionError: links touch; the message names them.
    """
    if not (math.isfinite(rate) and rate > 0.0):
        raise ParameterError(f"rate must be above zero, not {rate}")
    player = MotionPlayer(model, motion, settings.channels)
    _check_speed(model, settings, motion, player, rate)
    first = dict.fromkeys(settings.joint_names, 0.0)
    first |= settings.channels.angles(motion.poses[0].channels)
    check_clear(settings, MotionPath(model, settings, motion, first))


def _check_speed(
    model: Model,
    settings: RobotSettings,
    motion: KondoMotion,
    player: MotionPlayer,
    rate: float,
) -> None:
    spans = np.diff(player.times)
    changes = np.degrees(np.abs(np.diff(player.angles, axis=0)))
    moving = spans > _SAME
    if not moving.any():
        return
    speeds = changes[moving] / spans[moving, np.newaxis]
    k, joint = np.unravel_index(int(np.argmax(speeds)), speeds.shape)
    fastest, limit = float(speeds[k, joint]), settings.limits.speed
    if fastest * rate <= limit * (1.0 + _SAME):
        return
    pose = int(np.flatnonzero(moving)[k])
    slower = math.floor(100.0 * limit / fastest) / 100.0
    raise ParameterError(
        f"{motion.name}: on the way to pose {pose}, {model.joint_names[joint]} turns "
        f"with {fastest * rate:.0f} deg/s; the robot's limit is {limit:g}: play it "
        f"with --rate {slower:g}, or with a slower speed step"
    )
