# SPDX-License-Identifier: Apache-2.0
"""HuMAnS/Optotrak tables: separators, names, occlusions; damage is refused by line."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from humans_sim.observation.markers import MarkerFileError, MarkerTrial

ROWS = (
    "10.5,1700,3,-20,15,6\n"
    "11.5,1701,4,-3.6973E+028,-3.6973E+028,-3.6973E+028\n"
    "12.5,1702,5,-18,17,8\n"
)


@pytest.fixture
def read(read_as: Callable[..., MarkerTrial]) -> Callable[..., MarkerTrial]:
    """Reads text as a table."""

    def read_text(text: str, ending: str = "csv", **options: object) -> MarkerTrial:
        return read_as(f"fl_c_dat#106.{ending}", text, **options)

    return read_text


def test_plain_numbers(read: Callable[..., MarkerTrial]) -> None:
    """Millimetres, 100 Hz, LEDs by number, up where the body is tall."""
    trial = read(ROWS)
    assert trial.names == ("led1", "led2")
    assert trial.times == pytest.approx([0.0, 0.01, 0.02])
    assert trial.frames.tolist() == [1, 2, 3]
    assert trial.positions[0, 0] == pytest.approx([0.0105, -0.003, 1.7])
    assert trial.occluded.tolist() == [[False, False], [False, True], [False, False]]


@pytest.mark.parametrize("up", ["x", "y", "z"])
def test_the_tallest_axis_is_up(
    up: str, rng: np.random.Generator, read: Callable[..., MarkerTrial]
) -> None:
    """A walk goes far in other directions, but its markers' means do not."""
    body = rng.uniform(-0.2, 0.2, (6, 3))
    height = rng.permutation(np.linspace(0.05, 1.75, 6))
    body["xyz".index(up)] = 0.0
    body[:, "xyz".index(up)] = height
    walk = np.zeros(3)
    walk["xyz".index(up) - 1] = 8.0
    motion = body + np.linspace(0, 1, 30)[:, None, None] * walk
    text = "\n".join(",".join(map(repr, row.ravel().tolist())) for row in motion)
    trial = read(text, units="m")
    assert trial.positions[7, :, 2] == pytest.approx(height)
    assert read(text, units="m", up="-" + up).positions[7, :, 2] == pytest.approx(
        -height
    )


@pytest.mark.parametrize(
    ("text", "ending"),
    [
        (ROWS.replace(",", "\t"), "tsv"),
        (ROWS.replace(",", "\t"), "txt"),
        (ROWS.replace(",", ";"), "csv"),
        (ROWS.replace(",", ";").replace(".", ","), "csv"),
        (ROWS.replace(",", " , "), "csv"),
        (ROWS.replace("\n", ",\r\n"), "csv"),
        (ROWS + "\n\n", "CSV"),
        (ROWS.replace("-3.6973E+028", "-3.697314e28"), "csv"),
        (ROWS.replace("-3.6973E+028", ""), "csv"),
        ("x1,y1,z1,x2,y2,z2\n" + ROWS, "csv"),
        ("X_1,Y_1,Z_1,X_2,Y_2,Z_2\n" + ROWS, "csv"),
        ('"led1 x","led1 y","led1 z",led2_x,led2_y,led2_z\n' + ROWS, "csv"),
        ("led1.X,led1.Y,led1.Z,led2 [x],led2 [y],led2 [z],\n" + ROWS, "csv"),
        ("led1,,,led2,,\n" + ROWS, "csv"),
        ("led1,led1,led1,led2,led2,led2\n" + ROWS, "csv"),
        ("Frequency: ,100\nUnits: ,mm\nNumber of frames: ,3\n\n" + ROWS, "csv"),
    ],
)
def test_dialects(text: str, ending: str, read: Callable[..., MarkerTrial]) -> None:
    """The same numbers, however they are written."""
    plain, other = read(ROWS), read(text, ending)
    np.testing.assert_array_equal(other.positions, plain.positions)
    np.testing.assert_array_equal(other.times, plain.times)
    assert other.names == plain.names


def test_labels_that_stand_twice(read: Callable[..., MarkerTrial]) -> None:
    """They get a number, and a note with the line."""
    trial = read("Units: mm\nAx,Ay,Az,Ax,Ay,Az\n" + ROWS)
    assert trial.names == ("A", "A_2")
    assert len(trial.notes) == 1 and trial.notes[0].startswith("line 2: 1 LEDs have")


@pytest.mark.parametrize("head", ["Frequency: 60\n", ""])
def test_times_lose_their_rounding(head: str, read: Callable[..., MarkerTrial]) -> None:
    """Milliseconds at 60 Hz are even again, whether the file says 60 Hz or not."""
    rows = "".join(f"{k / 60:.3f}0,1,2,3\n" for k in range(120))
    trial = read(f"{head}Time,A x,A y,A z\n" + rows)
    np.testing.assert_allclose(np.diff(trial.times), 1 / 60, rtol=1e-9)
    skipped = "".join(f"{k / 60:.3f}0,1,2,3\n" for k in range(120) if k != 50)
    trial = read(f"{head}Time,A x,A y,A z\n" + skipped)
    assert np.diff(trial.times).max() == pytest.approx(2 / 60, abs=1e-3)


def test_frames_and_times(read: Callable[..., MarkerTrial]) -> None:
    """Columns before the positions are taken where the names say so."""
    lines = ROWS.splitlines()
    numbered = "\n".join(
        f"{k},{line}" for k, line in zip((5, 6, 8), lines, strict=True)
    )
    trial = read("Frame,A x,A y,A z,B x,B y,B z\n" + numbered)
    assert trial.names == ("A", "B")
    assert trial.frames.tolist() == [5, 6, 8]
    assert trial.times == pytest.approx([0.0, 0.01, 0.03])
    timed = "\n".join(f"{k},{k / 8},{line}" for k, line in enumerate(lines))
    trial = read("Sample,Time [s],A x,A y,A z,B x,B y,B z\n" + timed)
    assert trial.times == pytest.approx([0.0, 0.125, 0.25])
    trial = read("Sample,Time [s],A x,A y,A z,B x,B y,B z\n" + timed, rate=10.0)
    assert trial.times == pytest.approx([0.0, 0.1, 0.2])


def test_what_is_said_above(read: Callable[..., MarkerTrial]) -> None:
    """Frequency and units of the file; the caller's go first."""
    text = "Number of frames: ,3\nFrequency: ,200.00\nUnits: ,m\n\n" + ROWS
    text = text.replace("1700", "1.700")
    assert read(text).rate == pytest.approx(200.0)
    assert read(text, up="y").positions[0, 0, 2] == pytest.approx(1.7)
    trial = read(text, up="y", rate=60.0, units="cm")
    assert trial.rate == pytest.approx(60.0)
    assert trial.positions[0, 0, 2] == pytest.approx(0.017)


DAMAGES = {
    "cut": (ROWS[: ROWS.rindex(",17")], 3, "4 columns, not 6"),
    "a field more": (ROWS.replace("1701", "1701,9"), 2, "7 columns, not 6"),
    "five columns": (ROWS.replace(",6\n", "\n"), 1, "5 columns"),
    "one column": ("1\n2\n3\n", 1, "no tab"),
    "a word": (ROWS.replace("1701", "hello"), 2, "'hello' is no number"),
    "two coordinates": (ROWS.replace("1701", ""), 2, "'led1' lacks"),
    "NaN in one": (ROWS.replace("1701", "NaN"), 2, "'led1' lacks"),
    "infinite": (ROWS.replace("1701", "-inf"), 2, "infinite"),
    "far": (ROWS.replace("1701", "3e28"), 2, "check the file and its units"),
    "names alone": ("x1,y1,z1\n", None, "no samples"),
    "blank lines": ("\n,,\n\n", None, "no samples"),
    "names of no LED": ("p,q,r,s,t,u\n" + ROWS, 1, "no x, y and z"),
    "names of two LEDs": ("Ax,Ay,Bz,Bx,By,Bz\n" + ROWS, 1, "no x, y and z"),
    "four names": ("Ax,Ay,Az,Bx\n" + ROWS, 1, "4 columns"),
    "frequency of a word": ("Frequency: fast\n" + ROWS, 1, "'fast'"),
    "negative frequency": ("Units: mm\nFrequency: -5\n" + ROWS, 2, "-5 Hz"),
    "unknown units": ("Units: furlong\n" + ROWS, 1, "furlong"),
    "2 GB said": ("Number of frames: 999999999\n" + ROWS, 1, "but 3 follow"),
    "empty line among": (ROWS.replace("\n11", "\n\n11"), 2, "1 columns"),
    "decimal commas": (ROWS.replace("10.5", "10,5"), 1, "no LED|7 columns"),
    "frames go back": ("n,x,y,z\n2,1,2,3\n1,1,2,3\n", 3, "must grow"),
    "times stand": ("n,t,x,y,z\n1,0,1,2,3\n2,0,1,2,3\n", 3, "must grow"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(damage: str, read: Callable[..., MarkerTrial]) -> None:
    """The error names file, line and fault."""
    text, line, words = DAMAGES[damage]
    with pytest.raises(MarkerFileError, match=words) as caught:
        read(text)
    assert caught.value.line == line
    assert "fl_c_dat#106.csv:" in str(caught.value)
