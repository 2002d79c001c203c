# SPDX-License-Identifier: Apache-2.0
"""Force files of OpenSim: forces of the ground on the feet, z up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import MarkerFileError, read_force_file
from humans_sim.observation.markers.assemble import read_lines

COLUMNS = [f"ground_force_{word}{axis}" for word in "vp" for axis in "xyz"]
TORQUES = [f"ground_torque_{axis}" for axis in "xyz"]
ROWS = [
    [0.0, 10, 700, 3, 0.4, 0.0, 0.1, 0, 5, 0],
    [0.01, 11, 5, 3, 99.0, 0.0, 0.1, 0, 0, 0],
]


def text(columns: list[str], rows: list[list[float]]) -> str:
    """A file of these columns."""
    head = ["forces", "version=1", f"nRows={len(rows)}", "inDegrees=no", "endheader"]
    lines = ["\t".join(["time", *columns])]
    lines += ["\t".join(map(str, row)) for row in rows]
    return "\n".join(head + lines) + "\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file goes."""
    return tmp_path / "walk.mot"


def test_axes_and_load(path: Path) -> None:
    """The vertical force comes to z; without load there is no point."""
    path.write_text(text(COLUMNS + TORQUES, ROWS))
    (reaction,) = read_force_file(path)
    assert reaction.name == "ground_force"
    np.testing.assert_allclose(reaction.force, [[10, -3, 700], [11, -3, 5]])
    np.testing.assert_allclose(reaction.point, [[0.4, -0.1, 0.0], [np.nan] * 3])
    np.testing.assert_allclose(reaction.torque, [[0, 0, 5], [0, 0, 0]])
    np.testing.assert_allclose(reaction.times, [0.0, 0.01])
    (as_it_is,) = read_force_file(path, up="z")
    np.testing.assert_allclose(as_it_is.force[0], [10, 700, 3])


@pytest.mark.parametrize("rate", [None, 1200])
def test_times_lose_their_rounding(rate: int | None, path: Path) -> None:
    """Times of 1200 Hz in tenths of a millisecond are even again."""
    rows = [[float(f"{k / 1200:.4f}"), *ROWS[0][1:7]] for k in range(50)]
    content = text(COLUMNS, rows)
    if rate is not None:
        content = content.replace("inDegrees=no", f"DataRate={rate}")
    path.write_text(content)
    (reaction,) = read_force_file(path)
    np.testing.assert_allclose(np.diff(reaction.times), 1 / 1200, rtol=1e-9)
    path.write_text(content.replace("DataRate=1200", "DataRate=0"))
    if rate is not None:
        with pytest.raises(MarkerFileError, match="walk.mot:4: .*0 Hz"):
            read_force_file(path)


@pytest.mark.parametrize(
    ("force", "torque"),
    [
        ("ground_force_r_v", "ground_torque_r_"),
        ("1_ground_force_v", "1_ground_torque_"),
        ("ground_force_1_v", "ground_moment_1_m"),
        ("FP2_force_v", "FP2_moment_"),
    ],
)
def test_names_of_columns(force: str, torque: str, path: Path) -> None:
    """The torque belongs to the force whose name it has, however it is written."""
    columns = [force + axis for axis in "xyz"]
    columns += [force[:-1] + "p" + axis for axis in "xyz"]
    columns += [torque + axis for axis in "xyz"]
    path.write_text(text(columns + ["muscle"], [row + [1.0] for row in ROWS]))
    (reaction,) = read_force_file(path)
    assert reaction.name == force[:-2]
    assert reaction.torque[0, 2] == pytest.approx(5.0)


def test_two_feet_without_torques(path: Path) -> None:
    """Each force is a reaction of its own; torques may be missing."""
    columns = COLUMNS + [f"1_{name}" for name in COLUMNS]
    path.write_text(text(columns, [row[:7] + row[1:7] for row in ROWS]))
    right, left = read_force_file(path)
    assert (right.name, left.name) == ("ground_force", "1_ground_force")
    assert not left.torque.any()


WRONG = {
    "no header": ("time\ta\n0\t1\n", "endheader"),
    "no columns": ("endheader\n", "not called time"),
    "no time": ("endheader\na\tb\n1\t2\n", "not called time"),
    "a column twice": ("endheader\ntime\ta\ta\n0\t1\t2\n", "two columns"),
    "no forces": ("endheader\ntime\thip\n0\t1\n", "ground_force_vx"),
    "no rows": (text(COLUMNS, []), "no samples"),
    "short row": (text(COLUMNS, [row[:5] for row in ROWS]), "5 columns, not 7"),
    "a word": (text(COLUMNS, [[*ROWS[0][:6], "x"]]), "'x' is no number"),  # type: ignore[list-item]
    "infinite": (text(COLUMNS, [[*ROWS[0][:6], np.inf]]), "infinite"),
    "no force": (text(COLUMNS, [[0, np.nan, *ROWS[0][2:7]]]), "is missing"),
    "no point": (text(COLUMNS, [[*ROWS[0][:6], np.nan]]), "is missing"),
    "far away": (text(COLUMNS, [[*ROWS[0][:6], 1e9]]), "10000 m away"),
    "times fall": (text(COLUMNS, [row[:7] for row in ROWS[::-1]]), "must grow"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong(case: str, path: Path) -> None:
    """What is wrong is named with its file."""
    content, words = WRONG[case]
    path.write_text(content)
    with pytest.raises(MarkerFileError, match=words) as caught:
        read_force_file(path)
    assert str(path) in str(caught.value)


def test_no_axis(path: Path) -> None:
    """An axis that is none is refused before the file is read."""
    with pytest.raises(ParameterError, match="'w'"):
        read_force_file(path, up="w")


@pytest.mark.parametrize(
    ("name", "mass"),
    [("mocap/walk_forces.mot", None), ("mocap_gait2354/subject01_walk1_grf.mot", 72.6)],
)
def test_real_files(name: str, mass: float | None, shared_data: Path) -> None:
    """Forces of walking push up with 0.6 to 1.4 times the weight in single support."""
    path = shared_data / name
    if not path.is_file():
        pytest.skip(f"{name} is not in the shared data")
    reactions = read_force_file(path)
    assert len(reactions) == 2
    total = sum(reaction.force[:, 2] for reaction in reactions)
    columns = [line.split() for line in read_lines(path) if line[:1].isdigit()]
    assert len(reactions[0].times) == len([row for row in columns if len(row) > 5])
    for reaction in reactions:
        assert reaction.force[:, 2].min() > -20 and reaction.force[:, 2].max() > 600
        points = reaction.point[~np.isnan(reaction.point).any(axis=1)]
        assert np.ptp(points, axis=0).max() < 4.0
    if mass is not None:
        assert np.median(total) == pytest.approx(mass * 9.81, rel=0.2)
