# SPDX-License-Identifier: Apache-2.0
"""Requests name files of one folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from humans_sim.core.errors import ParameterError
from humans_sim.nodes.common.request_files import RequestFolder


def test_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to the folder, or in full; without a folder, where it was started."""
    (tmp_path / "files").mkdir()
    folder = RequestFolder(tmp_path / "files")
    walk = tmp_path.resolve() / "files" / "walk.trc"
    for name in ("walk.trc", "./deep/../walk.trc", str(walk)):
        assert folder.path(name) == walk
    assert folder.known_or_path("greeting", ".csv") == "greeting"
    assert folder.known_or_path("mine.csv", ".csv") == str(walk.with_name("mine.csv"))
    monkeypatch.chdir(tmp_path / "files")
    assert RequestFolder().path("walk.trc") == walk


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../secret.trc",
        "deep/../../secret.trc",
        "link/secret.trc",
        "link",
        "file-link",
        "../files2/walk.trc",
        "a\0b",
        "loop",
        "x" * 5000,
    ],
)
def test_outside(tmp_path: Path, name: str) -> None:
    """Neither by dots, nor in full, nor by a link; names that cannot be are refused."""
    inside = tmp_path / "files"
    inside.mkdir()
    (tmp_path / "files2").mkdir()
    (inside / "link").symlink_to(tmp_path)
    (inside / "file-link").symlink_to("/etc/passwd")
    (inside / "loop").symlink_to("loop")
    folder = RequestFolder(inside)
    with pytest.raises(ParameterError, match="there only|no name") as caught:
        folder.path(name)
    assert len(str(caught.value)) < 500 and "\n" not in str(caught.value)
    with pytest.raises(ParameterError):
        folder.known_or_path(f"{name}/x.csv", ".csv")
