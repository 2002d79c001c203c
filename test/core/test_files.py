# SPDX-License-Identifier: Apache-2.0
"""Files: bounded reading of regular ones; writing whole or not at all."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from largest_file import largest_file

import humans_sim as hs
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.bounded_text import fits, parse_json
from humans_sim.core.errors import FileError, FileWriteError
from humans_sim.core.files import (
    atomic_stream,
    read_bytes,
    read_text,
    remove_stale,
    write_atomically,
)
from humans_sim.core.npz_file import read_npz, write_npz
from humans_sim.dynamics import problems
from humans_sim.kondo.motion.motion_file import read_motion


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
    with pytest.raises(ZeroDivisionError), atomic_stream(path) as stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", ["npz", "csv", "mcap", "png"])
def test_full_disk(tmp_path: Path, ending: str) -> None:
    """A disk that fills up while a run is written: one line, the old file, no rest."""
    ball = hs.Simulation(problems.bouncing_ball(0.5))
    run = ball.run(np.array([0.2]), t_end=0.3, sampling_period=0.001)
    path = tmp_path / f"run.{ending}"
    path.write_text("old")
    writers = {"npz": run.save, "csv": run.to_csv, "mcap": run.to_mcap}
    with largest_file(4096), pytest.raises(FileWriteError) as caught:
        writers.get(ending, run.plot)(path)
    assert str(path) in str(caught.value) or "events" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A file where a folder should be, a folder, a device: a typed error each."""
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "fifo")
    for path, message in (
        (tmp_path / "file" / "x", "Not a directory|File exists"),
        (tmp_path, "something else"),
        (tmp_path / "fifo", "something else"),
        (tmp_path / ("x" * 256), "File name too long"),
        (Path("/proc/no/x"), "[Nn]o such file|Permission"),
        (tmp_path / "a\0b", "null"),
    ):
        with pytest.raises(FileWriteError, match=message):
            write_atomically(path, "text")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fifo", "file"]


def test_long_and_odd_names(tmp_path: Path) -> None:
    """As long a name as the system takes, and one that is no UTF-8."""
    long = tmp_path / ("x" * 255)
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    for path in (long, odd):
        write_atomically(path, "text")
        assert read_text(path) == "text"
    with pytest.raises(FileError, match=r"udcff") as caught:
        read_bytes(odd, limit=3)
    str(caught.value).encode("utf-8")


def test_what_a_killed_writer_left(tmp_path: Path) -> None:
    """The next writer removes it; the file of a writer that lives stays."""
    code = """if True:
        import sys, time
        from pathlib import Path
        from humans_sim.core.files import atomic_stream
        with atomic_stream(Path(sys.argv[1])) as stream:
            stream.write(b"half")
            stream.flush()
            print("there", flush=True)
            time.sleep(60)
    """
    path = tmp_path / "file.txt"
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None and writer.stdout.readline() == b"there\n"
    write_atomically(tmp_path / "other.txt", "text")
    assert len(list(tmp_path.glob(".humans-sim.*.part"))) == 1
    writer.kill()
    writer.wait()
    write_atomically(tmp_path / "other.txt", "text")
    assert [p.name for p in tmp_path.iterdir()] == ["other.txt"]
    writer.stdout.close()


def test_only_its_own_are_removed(tmp_path: Path) -> None:
    """Hidden files of others, and links with such a name, stay."""
    (tmp_path / ".humans-sim.notes.part").write_text("mine")
    link = tmp_path / f".humans-sim.{'0' * 32}.part"
    link.symlink_to(tmp_path / "elsewhere")
    remove_stale(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, chdir(path.parent):
        server.bind(path.name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "a pipe, not a regular file"),
        (_socket, "a socket, not a regular file"),
        (Path.mkdir, "a folder"),
        (lambda path: path.symlink_to("/dev/zero"), "a device, not a regular file"),
        (lambda path: path.symlink_to(path.name), "symbolic links|loop"),
        (lambda path: None, "no such file"),
        (lambda path: path.write_bytes(b"\xff\xfea\0"), "UTF-16"),
        (lambda path: path.write_bytes(b"a\xff"), "UTF-8"),
        (lambda path: path.write_bytes(b"a\0"), "zero byte"),
    ],
)
def test_no_regular_text(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    """Pipes, sockets, folders, devices and other bytes are refused at once."""
    for name, read in (
        ("x.txt", read_text),
        ("x.csv", read_motion),
        ("x.yaml", lambda path: read_scenario(str(path))),
        ("x.urdf", hs.load_model),
        ("x.trc", hs.read_markers),
    ):
        path = tmp_path / name
        make(path)
        with pytest.raises(FileError, match=message):
            read(path)


def test_too_large(tmp_path: Path) -> None:
    """A file above the limit is refused before it is read."""
    path = tmp_path / "large.npz"
    with path.open("wb") as stream:
        stream.truncate(1 << 34)
    with pytest.raises(FileError, match="more than the"):
        read_bytes(path)
    with pytest.raises(hs.errors.RunFileError, match="more than the"):
        hs.load_run(path)
    # Files of the kernel report no size before they are read.
    with pytest.raises(FileError, match="more than 10 bytes"):
        read_bytes("/proc/self/maps", limit=10)


def _archive(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    return write_npz(path, {"a": 1}, arrays)


def test_archives(tmp_path: Path) -> None:
    """Arrays come back as they were; those that lie about themselves do not."""
    good = {
        "x": np.arange(6.0).reshape(2, 3),
        "y": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "z": np.zeros((3, 0)),
        "big": np.arange(3.0).astype(">f8"),
    }
    path = _archive(tmp_path / "a.npz", good)
    header, arrays = read_npz(path, FileError, "an archive", tuple(good))
    assert header == {"a": 1}
    for name, array in good.items():
        assert np.array_equal(arrays[name], array) and arrays[name].dtype.isnative
    for bad in (
        np.array(["text"]),
        np.array([1j]),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array([{}], dtype=object),
    ):
        path = _archive(tmp_path / "b.npz", {"x": bad})
        with pytest.raises(FileError, match="not an archive"):
            read_npz(path, FileError, "an archive", ("x",))
    path = tmp_path / "c.npz"
    bomb = np.zeros((1 << 28) + 1, np.uint8)
    np.savez_compressed(path, header=np.array("{}"), x=bomb)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(FileError, match="would become"):
        read_npz(path, FileError, "an archive", ("x",))
    with zipfile.ZipFile(tmp_path / "d.npz", "w", zipfile.ZIP_BZIP2) as archive:
        for name in ("header.npy", "x.npy"):
            archive.writestr(name, b"\x93NUMPY")
    with pytest.raises(FileError, match="not known"):
        read_npz(tmp_path / "d.npz", FileError, "an archive", ("x",))


def test_json() -> None:
    """Depth and digits have bounds, and shapes are compared."""
    assert parse_json('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    for text in ("[]", "{", '{"a": ' + "9" * 5000 + "}", '{"a":' * 40 + "1" + "}" * 40):
        with pytest.raises(ValueError):
            parse_json(text)
    with pytest.raises(ValueError, match="deeply"):
        parse_json('{"a":' * 100_000)
    shape = {"a": [str], "b": {"c": (int, float)}}
    assert fits({"a": ["x"], "b": {"c": 1.5}}, shape)
    for text in (
        '{"a": [1], "b": {"c": 1}}',
        '{"a": [], "b": {}}',
        '{"a": [], "b": {"c": NaN}}',
        '{"a": [], "b": {"c": 1}, "d": 1}',
    ):
        assert not fits(json.loads(text), shape)
