# SPDX-License-Identifier: Apache-2.0
"""Motions taught by hand: poses read from limp servos, kept in a motion file."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.motion.motion_file import (
    POSES,
    UNUSED,
    KondoMotion,
    MotionFileError,
    Pose,
    write_motion,
)


class Taken(NamedTuple):
    """A pose that was taken.

    Attributes:
        number: of the pose, from 0.
        pose: as it is kept.
        change: largest one of a channel since the pose before [deg].
        beyond: joints that were bent out of their ranges, and by how much [deg]; kept
            at the end of the range.
    """

    number: int
    pose: Pose
    change: int
    beyond: dict[str, int]


class Lesson:
    """Poses taken from a robot; the file holds all of them at every time.

    Args:
        robot: open; its servos should be limp.
        speed: step towards every pose, 0 (fast) to 7 (slow).

    Raises:
        MotionFileError: there is no such speed step.
    """

    def __init__(self, robot: KondoRobot, path: Path, speed: int = 6) -> None:
        self._robot, self._path, self._speed = robot, path, speed
        self.poses: list[Pose] = []
        Pose(speed, robot.settings.channels.home())

    @property
    def full(self) -> bool:
        """Whether a motion has no room for more poses."""
        return len(self.poses) == POSES

    def take(self) -> Taken:
        """Read the pose, keep it, and write the file.

        Raises:
            BoardError: the robot is not at rest, or reports no pose; nothing is kept.
            LinkError: the boards do not answer.
            MotionFileError: a motion has no room for more.
            HumansError: the file cannot be written; the pose is kept.
        """
        if self.full:
            raise MotionFileError(f"a motion has no more than {POSES} poses")
        read = self._robot.ask(lambda boards: boards.read(sure=True))
        values, beyond = [UNUSED] * len(read), {}
        for number, channel in self._robot.settings.channels.channels.items():
            value = read[number - 1]
            assert value is not None  # or the boards had raised
            kept = round(min(max(value, channel.lower), channel.upper))
            if kept != round(value):
                beyond[channel.joint] = abs(round(value) - kept)
            values[number - 1] = kept
        pose = Pose(self._speed, tuple(values))
        before = self.poses[-1].channels if self.poses else pose.channels
        change = max(abs(a - b) for a, b in zip(pose.channels, before, strict=True))
        self.poses.append(pose)
        try:
            write_motion(KondoMotion(self._path.stem, tuple(self.poses)), self._path)
        except OSError as error:
            raise HumansError(f"{self._path}: {error.strerror or error}") from None
        return Taken(len(self.poses) - 1, pose, change, beyond)
