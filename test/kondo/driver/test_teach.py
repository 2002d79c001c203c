# SPDX-License-Identifier: Apache-2.0
"""Poses taken by hand from emulated boards whose servos are limp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from patient_boards import open_patient

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.board import BoardError
from humans_sim.kondo.driver.robot import KondoRobot
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.driver.teach import Lesson
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.motion.motion_file import MotionFileError, read_motion
from humans_sim.kondo.protocol.rcb1 import CHANNELS

SETTINGS = load_robot()


class Hand:
    """Bends the servos of emulated boards.

    Attributes:
        values: of all channels, to be changed [deg].
    """

    def __init__(self, emulator: Emulator) -> None:
        """Take hold of the robot as it is."""
        self.values = list(emulator.angles())
        for k, board in enumerate(emulator.boards):
            board.servo_angles = lambda _, k=k: self.values[
                k * CHANNELS : (k + 1) * CHANNELS
            ]


@pytest.fixture
def robot(emulator: Emulator) -> Iterator[KondoRobot]:
    """It, open and limp."""
    with KondoRobot(SETTINGS, emulator.port, open_boards=open_patient) as driven:
        yield driven


def test_poses_are_taken(emulator: Emulator, robot: KondoRobot, tmp_path: Path) -> None:
    """What the hand bends is in the file after every pose."""
    hand, path = Hand(emulator), tmp_path / "taught.csv"
    lesson = Lesson(robot, path, speed=5)
    assert not path.exists()
    first = lesson.take()
    assert (first.number, first.change, first.beyond) == (0, 0, {})
    assert first.pose.channels == SETTINGS.channels.home()
    hand.values[5] = 120.4  # the head
    second = lesson.take()
    assert (second.number, second.change) == (1, 30)
    motion = read_motion(path)
    assert [pose.channels[5] for pose in motion.poses] == [90, 120]
    assert {pose.speed for pose in motion.poses} == {5}


def test_ranges_are_kept(emulator: Emulator, robot: KondoRobot, tmp_path: Path) -> None:
    """A joint bent too far is kept at its end, and reported."""
    Hand(emulator).values[12] = 120.0  # the left hip roll goes to 105
    taken = Lesson(robot, tmp_path / "far.csv").take()
    assert taken.beyond == {"l_hip_roll": 15}
    assert taken.pose.channels[12] == 105


def test_a_moving_robot_is_not_taken(
    emulator: Emulator, robot: KondoRobot, tmp_path: Path
) -> None:
    """Two readings must agree; nothing is written otherwise."""
    places = iter(range(0, 100_000, 10))
    emulator.boards[0].servo_angles = lambda _: [next(places) % 180] * CHANNELS
    lesson = Lesson(robot, tmp_path / "moving.csv")
    with pytest.raises(BoardError, match="every reading"):
        lesson.take()
    assert lesson.poses == [] and not list(tmp_path.iterdir())


def test_what_cannot_be(robot: KondoRobot, tmp_path: Path) -> None:
    """Speed steps, full motions, and files that cannot be written are reported."""
    with pytest.raises(MotionFileError, match="speed step"):
        Lesson(robot, tmp_path / "fast.csv", speed=8)
    lesson = Lesson(robot, tmp_path / "long.csv")
    lesson.take()
    lesson.poses *= 100
    with pytest.raises(MotionFileError, match="100 poses"):
        lesson.take()
    (tmp_path / "file").write_text("")
    with pytest.raises(HumansError, match="file"):
        Lesson(robot, tmp_path / "file" / "taught.csv").take()
