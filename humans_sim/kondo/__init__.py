"""Kondo's robots: channels of their boards, motion files, and how they are played."""

from humans_sim.kondo.channels import Channel, ChannelMap, load_channels
from humans_sim.kondo.motion_file import (
    UNUSED,
    KondoMotion,
    MotionFileError,
    Pose,
    read_motion,
    write_motion,
)
from humans_sim.kondo.player import MotionPlayer
from humans_sim.kondo.pose_servo import PoseServo

__all__ = [
    "UNUSED",
    "Channel",
    "ChannelMap",
    "KondoMotion",
    "MotionFileError",
    "MotionPlayer",
    "Pose",
    "PoseServo",
    "load_channels",
    "read_motion",
    "write_motion",
]
