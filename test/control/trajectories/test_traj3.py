# SPDX-License-Identifier: Apache-2.0
"""Trajectory files: exact round trip, faults with their line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import humans_sim as hs
from humans_sim.control.trajectories.trajectory import (
    Trajectory,
    TrajectoryFileError,
    read_traj3,
    write_traj3,
)

GOOD = """Nombre de points
3
Temps et contacts
0.0 1 2.0
Coordonnees points
0.0 0.25 -1e-3
1 2 3
4.5 5.5 6.5
"""


def write(folder: Path, text: str) -> Path:
    """A file with this text."""
    path = folder / "OneStep.traj3"
    path.write_bytes(text.encode())
    return path


def test_reads(tmp_path: Path) -> None:
    """The three blocks, with blank lines, tabs and line ends of any system."""
    spread = GOOD.replace("0.0 1 2.0", "0.0\n\n1\t2.0").replace("\n", "\r\n")
    for text in (GOOD, spread, GOOD.rstrip()):
        trajectory = read_traj3(write(tmp_path, text), size=3)
        np.testing.assert_array_equal(trajectory.times, [0.0, 2.0])
        assert [int(phase) for phase in trajectory.phases] == [1]
        expected = [[0, 0.25, -1e-3], [1, 2, 3], [4.5, 5.5, 6.5]]
        np.testing.assert_array_equal(trajectory.positions, expected)


@settings(max_examples=30, deadline=None)
@given(
    points=arrays(float, (5, 4), elements=st.floats(allow_nan=False, width=64)),
    times=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3, unique=True),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, points: np.ndarray, times: list[float]
) -> None:
    """What is written is read to the last bit, and written again the same."""
    points = np.clip(points, -1e300, 1e300)
    path = Trajectory(points, sorted(times), (4, 5))
    file = write_traj3(tmp_path_factory.mktemp("t") / "deep" / "a.traj3", path)
    again = read_traj3(file)
    np.testing.assert_array_equal(again.positions, path.positions)
    np.testing.assert_array_equal(np.signbit(again.positions), np.signbit(points))
    assert again.data == path.data
    text = file.read_text()
    assert write_traj3(file, again).read_text() == text


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("Nombre de points", "Nombre de point", 1, "must be 'Nombre de points'"),
        ("Nombre de points\n", "", 1, "before any number"),
        ("3\nTemps", "3.0\nTemps", 2, "not a number of points"),
        ("3\nTemps", "Temps", 1, "holds one number"),
        ("3\nTemps", "3 4\nTemps", 2, "holds one number"),
        ("3\nTemps", "4\nTemps", 4, "holds 3 numbers, not 4"),
        ("0.0 1 2.0", "0.0 1 2.0 3", 4, "holds 4 numbers, not 3"),
        ("0.0 1 2.0", "0.0 1 0.0", 4, "does not come after"),
        ("0.0 1 2.0", "0.0\n7 2.0", 5, "code is 7"),
        ("0.0 1 2.0\n", "", 3, "holds 0 numbers"),
        ("1 2 3\n", "", 7, "holds 2 lines, not 3"),
        ("1 2 3", "1 2", 7, "3 coordinates, this line 2"),
        ("1 2 3", "1 2_0 3", 7, "'2_0' is not a finite number"),
        ("1 2 3", "1 nan 3", 7, "'nan' is not a finite number"),
        ("1 2 3", "x 2 3", 7, "must be numbers"),
        ("1 2 3", "1 -1.7e308 3", 4, "too far from the next"),
        ("1 2 3\n4.5", "1e307 2 3\n-1.7e308", 4, "too far from the next"),
        ("6.5\n", "6.5\n7 8 9\n", 9, "holds 4 lines, not 3"),
        ("Coordonnees points", "0 0 0", None, "'Coordonnees points' is missing"),
    ],
)
def test_faults(
    tmp_path: Path, old: str, new: str, line: int | None, message: str
) -> None:
    """Each fault is named with its file and line."""
    assert old in GOOD
    file = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(TrajectoryFileError, match=message) as caught:
        read_traj3(file)
    assert caught.value.line == line
    assert caught.value.path == file
    assert isinstance(caught.value, hs.HumansError)


def test_even_count(tmp_path: Path) -> None:
    """A trajectory that ends on an intermediate position is refused at the count."""
    text = GOOD.replace("3\n", "2\n", 1).replace("0.0 1 2.0", "0.0 1")
    file = write(tmp_path, text.replace("4.5 5.5 6.5\n", ""))
    with pytest.raises(TrajectoryFileError, match="odd") as caught:
        read_traj3(file)
    assert caught.value.line == 1


def test_wrong_size_missing_and_binary(tmp_path: Path) -> None:
    """Coordinates of another robot, no file, no text."""
    file = write(tmp_path, GOOD)
    with pytest.raises(TrajectoryFileError, match="21 coordinates, this line 3"):
        read_traj3(file, size=21)
    with pytest.raises(TrajectoryFileError, match="cannot read the file"):
        read_traj3(tmp_path / "none.traj3")
    file.write_bytes(b"Nombre de points\n\xff\xfe")
    with pytest.raises(TrajectoryFileError, match="no UTF-8 text") as caught:
        read_traj3(file)
    assert caught.value.line == 2
