# SPDX-License-Identifier: Apache-2.0
"""TRC files: what systems write is understood, what is damaged is refused by line."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers import (
    MarkerFileError,
    MarkerTrial,
    read_markers,
    write_trc,
)
from humans_sim.observation.markers.assemble import METRES, UP_AXES

HEAD = (
    "PathFileType\t4\t(X/Y/Z)\twalk.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\n"
    "100.00\t100.00\t3\t2\tmm\t100.00\n"
    "Frame#\tTime\tHEAD\t\t\tTOE\t\t\t\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\t\n"
    "\n"
)
ROWS = (
    "1\t0.00\t1000\t1700\t50\t1100\t20\t60\t\n"
    "2\t0.01\t1001\t1701\t51\t\t\t\t\n"
    "3\t0.02\t1002\t1702\t52\t1102\t22\t62\t\n"
)


@pytest.fixture
def read(read_as: Callable[..., MarkerTrial]) -> Callable[..., MarkerTrial]:
    """Reads text as a TRC file."""
    return partial(read_as, "walk.trc")


@pytest.fixture
def trial(rng: np.random.Generator) -> MarkerTrial:
    """Noise with gaps at 120 Hz."""
    positions = rng.normal(size=(9, 4, 3))
    positions[3:5, 1] = np.nan
    positions[0, 0] = np.nan
    frames = np.arange(17, 26)
    return MarkerTrial(("A", "B 2", "Cé", "*3"), frames / 120.0, positions, frames)


def test_what_it_holds(read: Callable[..., MarkerTrial]) -> None:
    """Metres, z up, blank columns missing."""
    trial = read(HEAD + ROWS)
    assert trial.names == ("HEAD", "TOE")
    assert trial.frames.tolist() == [1, 2, 3]
    assert trial.times.tolist() == [0.0, 0.01, 0.02]
    assert trial.positions[0, 0] == pytest.approx([1.0, -0.05, 1.7], abs=1e-15)
    assert trial.occluded.tolist() == [[False, False], [False, True], [False, False]]
    assert trial.source is not None and trial.source.name == "walk.trc"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n\n", "\n"),
        lambda text: text.replace("\t\n", "\n").replace("51\t\t\t\n", "51\t\t\t\t\n"),
        lambda text: text.replace("51\t\t\t\t", "51\tNaN\tnan\tNaN\t"),
        lambda text: text.replace("51\t\t\t\t", "51\t0.0\t0\t-0.000\t"),
        lambda text: text.replace("\n100.00\t", "\n  100.0\t\t  "),
        lambda text: text.replace("\t4\t(X/Y/Z)\t", "  4\t(X/Y/Z) "),
        lambda text: text + "\n\n\t\t\n",
        lambda text: text.replace("\tX1\tY1\tZ1\tX2\tY2\tZ2\t", ""),
    ],
)
def test_dialects(
    change: Callable[[str], str], read: Callable[..., MarkerTrial]
) -> None:
    """Line ends, blanks, missing samples: however they are written."""
    plain, other = read(HEAD + ROWS), read(change(HEAD + ROWS))
    assert change(HEAD + ROWS) != HEAD + ROWS
    np.testing.assert_array_equal(other.positions, plain.positions)
    np.testing.assert_array_equal(other.times, plain.times)
    assert other.names == plain.names


def test_names_of_no_length(read: Callable[..., MarkerTrial]) -> None:
    """A column without a name is called after its place."""
    assert read(HEAD.replace("TOE", "") + ROWS).names == ("HEAD", "unnamed2")


@pytest.mark.parametrize("unit", METRES)
def test_units(unit: str, read: Callable[..., MarkerTrial]) -> None:
    """Every unit is known, in capitals too, and the caller's goes first."""
    for word in (unit, unit.upper()):
        trial = read(HEAD.replace("\tmm\t", f"\t{word}\t") + ROWS)
        assert trial.positions[0, 0, 2] == pytest.approx(1700 * METRES[unit])
    trial = read(HEAD.replace("\tmm\t", "\tparsec\t") + ROWS, units=unit)
    assert trial.positions[0, 0, 2] == pytest.approx(1700 * METRES[unit])


@pytest.mark.parametrize("up", UP_AXES)
def test_axes(up: str, read: Callable[..., MarkerTrial]) -> None:
    """The axis called up becomes z; distances and handedness stay."""
    file = np.array([1.0, 1.7, 0.05])
    trial = read(HEAD + ROWS, up=up)
    sign, axis = (-1, up[1]) if up[0] == "-" else (1, up)
    assert trial.positions[0, 0, 2] == pytest.approx(sign * file["xyz".index(axis)])
    toe = np.array([1.1, 0.02, 0.06])
    end = np.array([1.102, 0.022, 0.062])
    volume = np.linalg.det([file, toe, end])
    found = np.linalg.det([*trial.positions[0], trial.positions[2, 1]])
    assert found == pytest.approx(volume, rel=1e-9)


def test_times_lose_their_rounding(read: Callable[..., MarkerTrial]) -> None:
    """Three digits at 120 Hz are evenly spaced again; skipped frames stay skipped."""
    head = HEAD.replace("100.00", "120.00")
    for times, wanted in (
        ("0.000 0.008 0.017", [0, 1 / 120, 2 / 120]),
        ("0.000000 0.008000 0.017000", [0, 1 / 120, 2 / 120]),
        ("0e0 8e-3 1.7e-2", [0, 1 / 120, 2 / 120]),
        ("0.000 0.008 0.025", [0, 0.008, 0.025]),
        ("0.000000 0.008000 0.025000", [0, 0.008, 0.025]),
        ("0.000000 0.008000 0.017001", [0, 0.008, 0.017001]),
    ):
        text = ROWS
        for old, new in zip(("0.00", "0.01", "0.02"), times.split(), strict=True):
            text = text.replace(f"\t{old}\t", f"\t{new}\t")
        if "0.025" in times:
            text = text.replace("\n3\t", "\n4\t")
        assert read(head + text).times == pytest.approx(wanted, abs=1e-12)


def test_padded_times_of_a_long_trial(tmp_path: Path) -> None:
    """At 60 Hz in padded milliseconds the rate and the differences are exact."""
    count = 300
    lines = HEAD.replace("100.00", "60.00").replace("\t3\t2", f"\t{count}\t2")
    for k in range(count):
        lines += f"{k + 1}\t{k / 60:.3f}000\t1\t2\t3\t4\t5\t6\n"
    path = tmp_path / "run.trc"
    path.write_text(lines)
    trial = read_markers(path)
    assert trial.rate == pytest.approx(60.0, rel=1e-12)
    np.testing.assert_allclose(np.diff(trial.times), 1 / 60, rtol=1e-9)


def test_labels_that_stand_twice(read: Callable[..., MarkerTrial]) -> None:
    """They get a number, and a note with the line."""
    trial = read((HEAD + ROWS).replace("TOE", "HEAD"))
    assert trial.names == ("HEAD", "HEAD_2")
    assert trial.notes == (
        "line 4: 1 markers have the label of another and get a number: 'HEAD'",
    )


def test_rate_of_the_caller(read: Callable[..., MarkerTrial]) -> None:
    """It goes before the file's."""
    assert read(HEAD + ROWS, rate=50.0).times.tolist() == [0.0, 0.02, 0.04]
    wrong = HEAD.replace("100.00", "0") + ROWS
    assert read(wrong, rate=50.0).rate == pytest.approx(50.0)


@pytest.mark.parametrize("up", UP_AXES)
@pytest.mark.parametrize("units", ["mm", "m", "in"])
def test_round_trip(trial: MarkerTrial, up: str, units: str, tmp_path: Path) -> None:
    """What was written is read again, to the last digits."""
    path = write_trc(trial, tmp_path / "new" / "a.TRC", up=up, units=units)
    back = read_markers(path, up=up)
    assert back.names == trial.names
    np.testing.assert_array_equal(back.times, trial.times)
    np.testing.assert_array_equal(back.frames, trial.frames)
    np.testing.assert_array_equal(back.occluded, trial.occluded)
    np.testing.assert_allclose(back.positions, trial.positions, rtol=4e-16)
    assert [p.name for p in path.parent.iterdir()] == ["a.TRC"]


def test_one_sample(trial: MarkerTrial, tmp_path: Path) -> None:
    """A trial of one sample is a trial."""
    path = write_trc(trial.samples(slice(2, 3)), tmp_path / "a.trc")
    assert len(read_markers(path)) == 1


@pytest.mark.parametrize("name", ["", " A", "A\tB", "A\nB"])
def test_names_that_cannot_be_written(
    name: str, trial: MarkerTrial, tmp_path: Path
) -> None:
    """They would come back as others."""
    with pytest.raises(ParameterError, match="cannot be written"):
        write_trc(replace(trial, names=(name, "B", "C", "D")), tmp_path / "a.trc")
    assert not list(tmp_path.iterdir())


DAMAGES = {
    "truncated in a row": (lambda t: t[: t.rindex("1102")], 9, "columns"),
    "truncated between rows": (lambda t: t[: t.rindex("3\t0.02")], 3, "2 follow"),
    "truncated in the header": (lambda t: t[: t.index("Frame#")], 3, "within its head"),
    "another file": (lambda t: "hello\n" + t, 1, "PathFileType"),
    "another order": (lambda t: t.replace("X/Y/Z", "X/Z/Y"), 1, "order"),
    "no rate": (lambda t: t.replace("DataRate", "Rate"), 2, "DataRate is missing"),
    "too few values": (lambda t: t.replace("3\t2\tmm\t100.00", "3\t2"), 3, "Units has"),
    "more frames said": (lambda t: t.replace("\t3\t2", "\t4\t2"), 3, "3 follow"),
    "2 GB said": (lambda t: t.replace("\t3\t2", "\t2000000000\t2"), 3, "3 follow"),
    "a billion markers": (
        lambda t: t.replace("\t3\t2", "\t3\t1e9"),
        4,
        "2 names",
    ),
    "fewer markers said": (lambda t: t.replace("\t3\t2", "\t3\t1"), 4, "2 names"),
    "half a marker": (lambda t: t.replace("\t3\t2", "\t3\t1.5"), 3, "at least 1"),
    "no frames said": (lambda t: t.replace("\t3\t2", "\t0\t2"), 3, "NumFrames"),
    "words for counts": (lambda t: t.replace("\t3\t2", "\tthree\t2"), 3, "no number"),
    "no samples": (lambda t: t[: len(HEAD)], 3, "0 follow"),
    "negative rate": (lambda t: t.replace("100.00", "-100"), 3, "-100 Hz"),
    "rate of NaN": (lambda t: t.replace("100.00", "nan"), 3, "nan Hz"),
    "another rate": (lambda t: t.replace("100.00", "50"), 7, "the times 100 Hz"),
    "unknown units": (lambda t: t.replace("\tmm\t", "\tfurlong\t"), 3, "furlong"),
    "a name off its column": (lambda t: t.replace("HEAD\t", "HEAD"), 4, "does not"),
    "no names": (lambda t: t.replace("Frame#", "Bild"), 4, "Frame# and Time"),
    "a word": (lambda t: t.replace("1701", "17O1"), 8, "column 4: '17O1'"),
    "Python's digits": (lambda t: t.replace("1701", "1_701"), 8, "no number"),
    "infinite": (lambda t: t.replace("1701", "inf"), 8, "infinite"),
    "far away": (lambda t: t.replace("1701", "1.7e30"), 8, "'HEAD' is 1.7e"),
    "two coordinates": (lambda t: t.replace("1701", ""), 8, "'HEAD' lacks"),
    "NaN time": (lambda t: t.replace("0.01", "NaN"), 8, "time is missing"),
    "times stand": (lambda t: t.replace("0.02", "0.01"), 9, "must grow"),
    "times go back": (lambda t: t.replace("0.01", "-1"), 8, "must grow"),
    "no frame number": (lambda t: t.replace("\n2\t", "\nx\t"), 8, "no number"),
    "frame of a half": (lambda t: t.replace("\n2\t", "\n1.5\t"), 8, "of a frame"),
    "frames go back": (lambda t: t.replace("\n3\t", "\n1\t"), 9, "must grow"),
    "a column more": (lambda t: t.replace("62\t", "62\t9"), 9, "9 columns, not 8"),
    "empty line among": (lambda t: t.replace("\n2\t", "\n\n2\t"), 8, "columns"),
    "zero bytes": (lambda t: t.replace("1701", "\0"), 8, "no text"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage(damage: str, read: Callable[..., MarkerTrial]) -> None:
    """The error names file, line and fault."""
    change, line, words = DAMAGES[damage]
    text = change(HEAD + ROWS)
    assert text != HEAD + ROWS
    with pytest.raises(MarkerFileError) as caught:
        read(text)
    assert caught.value.line == line
    assert words in str(caught.value)
    assert f"walk.trc:{line}: " in str(caught.value)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"", None, "empty"),
        ((HEAD + ROWS).encode("utf-16"), 1, "UTF-16"),
        ((HEAD + ROWS).replace("TOE", "ZEHÉ").encode("latin-1"), 4, "0xc9"),
        (b"\x00\x01" * 500, 1, "zero byte"),
        (bytes(range(128, 256)), 1, "UTF-8"),
    ],
)
def test_wrong_encoding(
    data: bytes, line: int | None, words: str, read: Callable[..., MarkerTrial]
) -> None:
    """Only UTF-8 is read, since labels would be guessed otherwise."""
    with pytest.raises(MarkerFileError, match=words) as caught:
        read(data)
    assert caught.value.line == line


def test_what_is_no_file(tmp_path: Path) -> None:
    """Folders, missing files and unknown endings."""
    (tmp_path / "folder.trc").mkdir()
    for name, words in (
        ("folder.trc", "folder"),
        ("none.trc", "no such file"),
        ("a.xlsx", r"\.c3d, \.csv, \.trc"),
        ("noending", "not known"),
        ("a\0.trc", "cannot read"),
        ("x" * 300 + ".trc", "cannot read"),
    ):
        with pytest.raises(MarkerFileError, match=words):
            read_markers(tmp_path / name)


def test_options_that_cannot_be(tmp_path: Path) -> None:
    """They are refused before the file is looked at."""
    for options in (
        {"up": "north"},
        {"units": "furlong"},
        {"rate": 0.0},
        {"rate": float("nan")},
    ):
        with pytest.raises(ParameterError):
            read_markers(tmp_path / "none.trc", **options)  # type: ignore[arg-type]


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    """A pipe has no end."""
    import os

    path = tmp_path / "pipe.trc"
    os.mkfifo(path)
    with pytest.raises(MarkerFileError, match="regular"):
        read_markers(path)


@pytest.mark.parametrize(
    ("name", "frames", "markers"), [("walk", 238, 41), ("static_walk", 287, 64)]
)
def test_real_files(name: str, frames: int, markers: int, shared_data: Path) -> None:
    """Numbers of OpenSim's example, against a plain reading of its columns."""
    path = shared_data / "mocap" / f"{name}.trc"
    trial = read_markers(path)
    assert (len(trial), len(trial.names)) == (frames, markers)
    assert trial.rate == pytest.approx(100.0)
    with path.open() as stream:
        rows = [row for row in csv.reader(stream, delimiter="\t") if row[:1] == ["100"]]
    x, y, z = (float(word) / 1000 for word in rows[-1][2:5])
    assert trial.positions[99, 0] == pytest.approx([x, -z, y], abs=1e-12)
    assert trial.positions[0, trial.names.index("R.Shoulder"), 2] > 1.4
    assert trial.positions[0, trial.names.index("R.Heel"), 2] < 0.3
