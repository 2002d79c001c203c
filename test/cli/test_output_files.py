# SPDX-License-Identifier: Apache-2.0
"""Results that cannot be written, and names that nobody would choose: one line each."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from largest_file import largest_file

from humans_sim.cli.commands import run_app
from humans_sim.cli.output import described_os_errors
from humans_sim.core.errors import FileWriteError

BOUNCE = ("run", "bounce", "--end", "0.3")
ODD = (
    b"two\nlines.npz",
    b"tab\tand\x1b[31mred.npz",
    b"no-utf-8-\xff\xfe.npz",
    "écriture – 走る.npz".encode(),
    b"'; rm -rf $HOME `ls` ${w}.npz",
    b"%s%n%d.npz",
    b"[red]markup[bold] [x=y].npz",
    b"x" * 251 + b".npz",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_of(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed on standard error: one line."""
    text = capsys.readouterr().err.strip()
    assert text.startswith("humans-sim: ")
    assert "\n" not in text and "Traceback" not in text
    return text


@pytest.mark.parametrize("name", ODD)
def test_odd_names(
    name: bytes, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are written, read, checked and reported as any other."""
    path = os.fsdecode(name)
    assert run_app([*BOUNCE, "--save", path]) == 0
    assert run_app(["check", path]) == 0
    assert os.listdir(os.fsencode(folder)) == [name]
    assert "\x1b[31m" not in capsys.readouterr().out
    missing = os.fsdecode(name.replace(b".npz", b"2.npz")[-200:])
    assert run_app(["check", missing]) == 1
    assert "no such file" in line_of(capsys)


def test_leading_dashes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file called as an option is one behind ``--`` or ``=``, and by its folder."""
    assert run_app([*BOUNCE, "--save=--end.npz"]) == 0
    assert run_app(["check", "--", "--end.npz"]) == 0
    assert run_app(["check", "./--end.npz"]) == 0
    capsys.readouterr()
    assert run_app(["check", "--end.npz"]) == 2
    line_of(capsys)


@pytest.mark.parametrize("name", ["x" * 252 + ".npz", "a\0b.npz", "x/" * 3000 + ".npz"])
def test_names_that_cannot_be(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Too long for the system, or with a null byte: refused before the work."""
    assert run_app([*BOUNCE, "--save", name]) == 2
    line_of(capsys)
    assert run_app(["check", name]) in (1, 2)
    line_of(capsys)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("ending", ["npz", "csv", "mcap"])
def test_a_full_disk(
    ending: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1, the name once, the old file as it was, nothing else."""
    path = folder / f"run.{ending}"
    path.write_text("old")
    assert run_app(BOUNCE) == 0  # compiled kernels are kept
    capsys.readouterr()
    with largest_file(512):
        assert run_app([*BOUNCE, "--save", str(path)]) == 1
    line = line_of(capsys)
    assert "cannot write the file: File too large" in line
    assert line.count(str(folder)) == 1
    assert path.read_text() == "old"
    assert [p.name for p in folder.iterdir()] == [path.name]


def test_a_report_on_a_full_disk(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page that does not fit is no page."""
    assert run_app([*BOUNCE, "--save", "run.npz"]) == 0
    capsys.readouterr()
    with largest_file(1024):
        words = ["report", "run.npz", "--output", "page.html", "--no-animation"]
        assert run_app(words) == 1
    assert "page.html: cannot write the file: File too large" in line_of(capsys)
    assert [p.name for p in folder.iterdir()] == ["run.npz"]


def test_the_name_is_printed_once(tmp_path: Path) -> None:
    """An error of a file names it once, whoever raises it again."""
    path, reason = tmp_path / "x.npz", "cannot write the file: No space"
    with pytest.raises(FileWriteError) as caught, described_os_errors(path):
        raise FileWriteError("No space", path)
    assert str(caught.value) == f"{path}: {reason}"
    assert str(FileWriteError("No space", "two\nlines")) == f"two lines: {reason}"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 kB of which 8 are free."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if done.returncode:
        pytest.skip(f"no disk can be mounted: {done.stderr.decode().strip()}")
    (place / "filler").write_bytes(bytes(56 << 10))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_without_space(
    small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same on a disk that is full indeed."""
    path = small_disk / "run.csv"
    path.write_text("old")
    assert run_app([*BOUNCE, "--save", str(path)]) == 1
    assert "cannot write the file: No space left on device" in line_of(capsys)
    assert path.read_text() == "old"
    assert sorted(p.name for p in small_disk.iterdir()) == ["filler", "run.csv"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may look into; those of pytest are closed to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_folder_without_rights(open_folder: Path) -> None:
    """Refused before the work, exit code 2, as a user who may not write there."""
    if os.geteuid() == 0 and not Path("/usr/bin/setpriv").exists():
        pytest.skip("root may write everywhere, and there is no setpriv to be another")
    closed = open_folder / "closed"
    closed.mkdir()
    code = "import sys; from humans_sim.cli.main import main; main()"
    words = [sys.executable, "-c", code, *BOUNCE, "--save", str(closed / "run.npz")]
    closed.chmod(0o555)
    if os.geteuid() == 0:
        if not os.access(sys.executable, os.X_OK) or _hidden(Path(sys.executable)):
            pytest.skip("another user than root cannot run this Python")
        words = ["setpriv", "--reuid=65534", "--clear-groups", *words]
    done = subprocess.run(words, capture_output=True, check=False, text=True)
    assert done.returncode == 2, done.stderr
    assert "nothing can be written" in done.stderr and "Traceback" not in done.stderr
    assert list(closed.iterdir()) == []


def _hidden(path: Path) -> bool:
    """Whether a folder above keeps others out."""
    parents = {*path.parents, *path.resolve().parents}
    return any(not parent.stat().st_mode & 0o001 for parent in parents)
