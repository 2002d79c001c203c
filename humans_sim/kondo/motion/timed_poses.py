# SPDX-License-Identifier: Apache-2.0
"""Poses of a motion whose times are given: a channel without a servo keeps the time.

The boards lead all channels to a pose in the time of the largest change: poses that
change little come soon, whatever a motion needs, and no speed step is slow enough for a
slow motion. So a channel without a servo goes to and fro by as many degrees as the
fastest speed step takes for the time wanted. It always changes most.
"""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.servo_speeds import SPEED_STEPS
from humans_sim.kondo.motion.channels import ChannelMap
from humans_sim.kondo.motion.motion_file import (
    CHANNELS,
    POSES,
    UNUSED,
    KondoMotion,
    MotionFileError,
    Pose,
)

SHORTEST, LONGEST = 0.04, 0.1
"""Times between two poses: what the boards follow, and what a motion bears [s]."""


def timed_motion(
    name: str,
    times: np.ndarray,
    joints: np.ndarray,
    joint_names: tuple[str, ...],
    channels: ChannelMap,
) -> KondoMotion:
    """A motion of the boards that passes through joint angles at given times.

    Args:
        name: of the motion.
        times: from 0 on (n,) [s].
        joints: angles (n, njoints) [rad]; cut to the ranges of the channels.
        joint_names: of the columns; those without a channel are left out.
        channels: of the robot.

    Raises:
        MotionFileError: the motion is too long for the poses that a board keeps, or no
            channel is without a servo.
    """
    clock = max(set(range(1, CHANNELS + 1)) - set(channels.channels), default=0)
    if not clock:
        raise MotionFileError("no channel without a servo is left to keep the time")
    end = float(times[-1])
    period = max(SHORTEST, end / (POSES - 1))
    if period > LONGEST:
        raise MotionFileError(
            f"{end:.1f} s are too long: a board keeps {POSES} poses, which last "
            f"{(POSES - 1) * LONGEST:.1f} s; take a part of the recording"
        )
    count = math.ceil(end / period - 1e-9)
    poses: list[Pose] = []
    now, place = 0.0, 0
    for k in range(count + 1):
        if k:
            degrees = max(round((min(k * period, end) - now) / SPEED_STEPS[0]), 1)
            now += degrees * SPEED_STEPS[0]
            # To and fro; the next change starts wherever this one ended.
            place = place - degrees if place >= degrees else place + degrees
        values = _values(now, times, joints, joint_names, channels)
        values[clock - 1] = place
        poses.append(Pose(0, tuple(values)))
    return KondoMotion(name, tuple(poses))


def _values(
    t: float,
    times: np.ndarray,
    joints: np.ndarray,
    joint_names: tuple[str, ...],
    channels: ChannelMap,
) -> list[int]:
    """Channel values at a time, in whole degrees within their ranges."""
    values = [UNUSED] * CHANNELS
    for number, channel in channels.channels.items():
        if channel.joint not in joint_names:
            continue
        column = joints[:, joint_names.index(channel.joint)]
        value = channel.value(float(np.interp(t, times, column)))
        low, high = math.ceil(channel.lower), math.floor(channel.upper)
        values[number - 1] = min(max(round(value), low), high)
    return values
