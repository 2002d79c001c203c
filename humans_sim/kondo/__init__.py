# SPDX-License-Identifier: Apache-2.0
"""Kondo's robots: channels of their boards, motion files, and how they are played."""

from typing import TYPE_CHECKING, Any

from humans_sim.kondo.motion.channels import Channel, ChannelMap, load_channels
from humans_sim.kondo.motion.motion_file import (
    UNUSED,
    KondoMotion,
    MotionFileError,
    Pose,
    read_motion,
    write_motion,
)
from humans_sim.kondo.motion.player import MotionPlayer

if TYPE_CHECKING:
    from humans_sim.kondo.motion.pose_servo import PosePlayer, PoseServo


def __getattr__(name: str) -> Any:
    """Names that need the simulation, at their first use: no driver needs that."""
    if name not in ("PosePlayer", "PoseServo"):
        raise AttributeError(f"module 'humans_sim.kondo' has no attribute '{name}'")
    from humans_sim.kondo.motion import pose_servo

    return getattr(pose_servo, name)


__all__ = [
    "UNUSED",
    "Channel",
    "ChannelMap",
    "KondoMotion",
    "MotionFileError",
    "MotionPlayer",
    "Pose",
    "PosePlayer",
    "PoseServo",
    "load_channels",
    "read_motion",
    "write_motion",
]
