# SPDX-License-Identifier: Apache-2.0
"""Files of the manual's chapter 9: parameters, binary and tab tables."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.posture.humans_tables import (
    read_rec_pos_bin,
    read_reconstruction_parameters,
    write_csv_table,
    write_rec_pos_bin,
    write_reconstruction_parameters,
    write_tab_table,
)


def test_parameters_come_back(tmp_path: Path, human: hs.Model) -> None:
    """Each subject is a column; lengths and tags of the model are those written."""
    path = tmp_path / "ReconstructionParameters.csv"
    tall = human.with_height(1.9)
    write_reconstruction_parameters(path, "01")
    write_reconstruction_parameters(path, "0102", tall)
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + 31 + 84 and lines[0] == "Subject,01,0102"
    subjects = read_reconstruction_parameters(path)
    assert list(subjects) == ["01", "0102"]
    subject = subjects["0102"]
    assert subject.height == pytest.approx(1.9, abs=1e-12)
    model, markers = subject.model(), subject.marker_set()
    assert model.lengths == pytest.approx(tall.lengths, abs=1e-15)
    np.testing.assert_array_equal([m.at for m in markers.markers], tall.tag_positions)
    assert markers.names == human.tag_names


def test_a_subject_is_written_with_its_markers(tmp_path: Path) -> None:
    """A subject's own lengths and marker places go into its column and its file."""
    path = tmp_path / "ReconstructionParameters.csv"
    write_reconstruction_parameters(path, "01")
    first = read_reconstruction_parameters(path)["01"]
    longer = {**first.lengths, "r_yfemur": 0.5}
    moved = tuple(replace(m, at=m.at + 0.01) for m in first.markers)
    write_reconstruction_parameters(
        path, "02", replace(first, lengths=longer, markers=moved)
    )
    second = read_reconstruction_parameters(path)["02"]
    assert second.lengths["r_yfemur"] == 0.5
    np.testing.assert_allclose(second.markers[3].at, first.markers[3].at + 0.01)
    again = hs.load_subject(second.save(tmp_path / "subject.yaml"))
    assert again.lengths["r_yfemur"] == 0.5


@pytest.mark.parametrize(
    ("line", "new", "message"),
    [
        (0, "Subject,one", "no number of a subject"),
        (0, "Name,01", "a line of Subject"),
        (3, "L3,-0.1", "subject 01: .*must be"),
        (3, "L3,nan", "no length in metres"),
        (3, "L3,inf", "no length in metres"),
        (3, "L3,1_0", "no length in metres"),
        (3, "L3,0.1,0.2", "1 values"),
        (3, None, "115 lines, not 116"),
    ],
)
def test_bad_parameters(
    tmp_path: Path, line: int, new: str | None, message: str
) -> None:
    """A file that is not whole is refused, with its line."""
    path = write_reconstruction_parameters(
        tmp_path / "ReconstructionParameters.csv", "01"
    )
    lines = path.read_text().splitlines()
    lines[line : line + 1] = [] if new is None else [new]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(hs.errors.MarkerFileError, match=message):
        read_reconstruction_parameters(path)


def test_parameters_that_are_refused(tmp_path: Path, bip: hs.Model) -> None:
    """A number twice, a word as a number, and another model get typed errors."""
    path = write_reconstruction_parameters(tmp_path / "p.csv", "01")
    before = path.read_text()
    for number, model, message in (
        ("01", None, "has a subject 01 already"),
        ("x", None, "no number of a subject"),
        ("02", bip, "parameters are those of human36"),
    ):
        with pytest.raises(hs.errors.ParameterError, match=message):
            write_reconstruction_parameters(path, number, model)
    assert path.read_text() == before


def test_rec_pos_bin_comes_back(tmp_path: Path, rng: np.random.Generator) -> None:
    """The bytes are NDOF, NSamplings and QREC by columns; damaged ones are refused."""
    motion = rng.normal(size=(5, 42))
    path = write_rec_pos_bin(tmp_path / "RecPosBin106", motion)
    np.testing.assert_array_equal(read_rec_pos_bin(path), motion)
    data = path.read_bytes()
    assert struct.unpack("<ii", data[:8]) == (42, 5)
    qrec = np.frombuffer(data[8:], "<f8").reshape((42, 5), order="F")
    np.testing.assert_array_equal(qrec[:, 2], motion[2])
    for bad, message in (
        (data[:-1], "its head says"),
        (data[:5], "ends in its head"),
        (struct.pack("<ii", -1, 5) + data[8:], "its head says"),
        (data[:-8] + struct.pack("<d", np.nan), "not a finite"),
    ):
        path.write_bytes(bad)
        with pytest.raises(hs.errors.MarkerFileError, match=message):
            read_rec_pos_bin(path)


def test_tables_of_the_manual(tmp_path: Path) -> None:
    """Comma tables have names on both sides, tab tables a line of text."""
    matrix = np.array([[1.0, 2.5], [0.1, -3.0]])
    path = write_csv_table(tmp_path / "t.csv", matrix, ["a", "b"], ["n", "r1", "r2"])
    assert path.read_text() == "n,a,b\nr1,1.0,2.5\nr2,0.1,-3.0\n"
    path = write_tab_table(tmp_path / "t.txt", matrix, "two columns")
    assert path.read_text() == "two columns\n1.0\t2.5\n0.1\t-3.0\n"
    with pytest.raises(hs.errors.ParameterError, match="2 \\+ 1 names of rows"):
        write_csv_table(tmp_path / "x.csv", matrix, ["a", "b"], ["r1", "r2"])
    with pytest.raises(hs.errors.ParameterError, match="would break"):
        write_csv_table(tmp_path / "x.csv", matrix, ["a,", "b"], ["n", "r1", "r2"])
    with pytest.raises(hs.errors.ParameterError, match="would break"):
        write_tab_table(tmp_path / "x.txt", matrix, "two\nlines")
