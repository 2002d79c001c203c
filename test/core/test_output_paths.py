# SPDX-License-Identifier: Apache-2.0
"""Places of results are checked before the work, and nothing is left by that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import (
    check_ending,
    check_output_file,
    check_output_folder,
    make_output_folder,
)


def test_files(tmp_path: Path) -> None:
    """A file that can be written is none yet; others are refused with their reason."""
    check_output_file(tmp_path / "run.NPZ", (".npz",))
    assert not list(tmp_path.iterdir())
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "there.npz").write_text("old")
    os.mkfifo(tmp_path / "pipe.npz")
    check_output_file(tmp_path / "there.npz", (".npz",))
    for name, reason in (
        ("run.txt", "ends in '.txt': .npz or .csv is written"),
        ("folder.npz", "is a folder"),
        ("pipe.npz", "is no ordinary file"),
        ("none/run.npz", "there is no folder"),
        ("there.npz/run.npz", "there is no folder"),
    ):
        with pytest.raises(ParameterError, match=reason):
            check_output_file(tmp_path / name, (".npz", ".csv"))
    with pytest.raises(ParameterError, match="--overwrite"):
        check_output_file(tmp_path / "there.npz", (".npz",), replace=False)
    assert (tmp_path / "there.npz").read_text() == "old"


def test_a_folder_that_takes_nothing() -> None:
    """Where rights alone would not show."""
    if not Path("/proc/self").is_dir():
        pytest.skip("no /proc here")
    with pytest.raises(ParameterError, match="nothing can be written to /proc"):
        check_output_file(Path("/proc/run.npz"), (".npz",))
    with pytest.raises(ParameterError, match="nothing can be written to /proc"):
        check_output_folder(Path("/proc/results"))


def test_folders(tmp_path: Path) -> None:
    """Made in one that is there, not below one that is not."""
    folder = tmp_path / "results"
    check_output_folder(folder)
    assert not folder.exists()
    assert make_output_folder(folder) and folder.is_dir()
    assert not make_output_folder(folder)
    (tmp_path / "file").write_text("")
    for name, reason in (("file", "is a file"), ("none/deep", "there is no folder")):
        with pytest.raises(ParameterError, match=reason):
            make_output_folder(tmp_path / name)


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_names_that_no_folder_can_have(name: str) -> None:
    """One line, as for files."""
    with pytest.raises(ParameterError) as caught:
        check_output_folder(Path(name))
    assert "\n" not in str(caught.value)


def test_endings() -> None:
    """In small letters; any other one is refused with those there are."""
    assert check_ending("a run", Path("walk.NPZ"), (".npz", ".csv")) == ".npz"
    with pytest.raises(ParameterError, match="a run is written to .npz, .csv, not to"):
        check_ending("a run", Path("walk.txt"), iter((".npz", ".csv")))
