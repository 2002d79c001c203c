"""Atomic writing: whole files, readable ones, and nothing left of a failure."""

from __future__ import annotations

from pathlib import Path

import pytest

import humans_sim as hs
from humans_sim.errors import FileWriteError
from humans_sim.files import write_atomically


def test_saved_model(khr1: hs.Model, tmp_path: Path) -> None:
    """A saved model is its two files, readable as any other file."""
    path = khr1.save(tmp_path / "sub" / "khr1.urdf")
    assert sorted(p.name for p in path.parent.iterdir()) == ["khr1.urdf", "khr1.yaml"]
    assert path.read_text() == khr1.urdf()
    plain = tmp_path / "plain"
    plain.write_text("")
    assert path.stat().st_mode == plain.stat().st_mode


def test_failure_keeps_the_old_file(tmp_path: Path) -> None:
    """Text that cannot be encoded leaves the old file and no temporary one."""
    path = tmp_path / "file.txt"
    write_atomically(path, "old")
    with pytest.raises(FileWriteError, match="UTF-8"):
        write_atomically(path, "new \udc00")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
