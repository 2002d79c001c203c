# SPDX-License-Identifier: Apache-2.0
"""Shared memory that dead processes left behind."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from humans_sim.nodes.common.process_end import remove_dead_segments

OLD = 1_000_000_000
"""A time long ago [s]."""


def make(folder: Path, name: str, age: int = OLD) -> Path:
    """Make the files of a segment; that with its lock."""
    for path in (folder / name, folder / f"sem.{name}_mutex"):
        path.touch()
    lock = folder / f"{name}_el"
    lock.touch()
    os.utime(lock, (age, age))
    return lock


def test_dead_segments_go_and_others_stay(tmp_path: Path) -> None:
    """A segment goes where nobody holds its lock, unless it was made just now."""
    make(tmp_path, "fastrtps_dead")
    held = make(tmp_path, "fastrtps_held")
    make(tmp_path, "fastrtps_young", age=2 * OLD + 10**9)
    (tmp_path / "of_another_program").touch()
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert remove_dead_segments(tmp_path) == ["fastrtps_dead"]
    left = {path.name for path in tmp_path.iterdir()}
    assert not any("dead" in name for name in left)
    assert sum("held" in name for name in left) == 3
    assert sum("young" in name for name in left) == 3
    assert "of_another_program" in left


def test_links_are_not_followed(tmp_path: Path) -> None:
    """A link in the folder, which others may write to, is left alone."""
    target = tmp_path / "target"
    target.touch()
    os.utime(target, (OLD, OLD))
    shared = tmp_path / "shm"
    shared.mkdir()
    (shared / "fastrtps_x_el").symlink_to(target)
    assert remove_dead_segments(shared) == []
    assert target.exists()
