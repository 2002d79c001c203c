# SPDX-License-Identifier: Apache-2.0
"""Motion files: what is read is what was written; faults have their line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.kondo.motion.motion_file import (
    HEADER,
    POSES,
    UNUSED,
    KondoMotion,
    MotionFileError,
    Pose,
    read_motion,
    write_motion,
)

VALUES = st.one_of(st.integers(0, 180), st.just(UNUSED))
POSE = st.builds(
    Pose,
    speed=st.integers(0, 7),
    channels=st.lists(VALUES, min_size=24, max_size=24).map(tuple),
)


@given(poses=st.lists(POSE, min_size=1, max_size=5).map(tuple))
def test_written_and_read(
    poses: tuple[Pose, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Every motion comes back as it was."""
    path = tmp_path_factory.mktemp("motions") / "wave.csv"
    motion = KondoMotion("wave", poses)
    assert read_motion(write_motion(motion, path)) == motion


def lines() -> list[str]:
    """A sound file of two poses."""
    pose = ",".join(["90"] * 24)
    return [",".join(HEADER), f"0,4,{pose}", f"1,7,{pose}"]


@pytest.mark.parametrize(
    ("line", "old", "new", "message"),
    [
        (1, "position", "Position", "header"),
        (1, ",ch24", "", "header"),
        (2, "0,4,", "1,4,", "must be position 0"),
        (2, "0,4,", "0,8,", "speed step"),
        (3, "90", "181", "ch1 must be 0 to 180"),
        (3, "90", "224", "ch1 must be 0 to 180"),
        (3, "90", "-1", "ch1 must be a whole number"),
        (3, "90", "9.5", "ch1 must be a whole number"),
        (3, "90", "", "ch1 must be a whole number"),
        (3, "90", "90,90", "must be 26 numbers, not 27"),
    ],
)
def test_faults_name_their_line(
    tmp_path: Path, line: int, old: str, new: str, message: str
) -> None:
    """A fault is reported with the file and the line it stands in."""
    text = lines()
    text[line - 1] = text[line - 1].replace(old, new, 1)
    path = tmp_path / "broken.csv"
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(MotionFileError, match=message) as caught:
        read_motion(path)
    assert (caught.value.path, caught.value.line) == (path, line)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert isinstance(caught.value, hs.HumansError)


def test_files_that_are_none(tmp_path: Path) -> None:
    """Missing, empty, without poses, with too many."""
    with pytest.raises(MotionFileError, match="cannot read"):
        read_motion(tmp_path / "missing.csv")
    path = tmp_path / "file.csv"
    path.write_text("")
    with pytest.raises(MotionFileError, match="header"):
        read_motion(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MotionFileError, match="cannot read"):
        read_motion(path)
    path.write_text(lines()[0] + "\n")
    with pytest.raises(MotionFileError, match="1 to 100 poses, not 0"):
        read_motion(path)
    pose = ",".join(["90"] * 24)
    many = [f"{k},4,{pose}" for k in range(POSES + 1)]
    path.write_text("\n".join([lines()[0], *many]))
    with pytest.raises(MotionFileError, match="1 to 100 poses, not 101"):
        read_motion(path)


@pytest.mark.parametrize(("name", "poses"), [("walk_forward", 29), ("side_left", 22)])
def test_factory_motions(shared_data: Path, name: str, poses: int) -> None:
    """The factory's motions are sound, and every unused channel is unused."""
    motion = read_motion(shared_data / "khr1" / f"{name}.csv")
    assert motion.name == name
    assert len(motion.poses) == poses
    for pose in motion.poses:
        unused = [k for k, value in enumerate(pose.channels, 1) if value == UNUSED]
        assert unused == [4, 5, 10, 11, 12, 18, 24]
