# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and SIGTERM, sent to real processes at known moments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from recordings import swaying, tags_of, write_recordings
from typed import Process, type_command, wait_for_line

import humans_sim as hs
from humans_sim.cli.signals import GRACE
from humans_sim.observation.markers import write_trc

LIMIT = 10.0
"""Far more than an end may take: no clock is judged here, a hang is [s]."""


def end(process: Process, number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Send a signal to a command; its exit code and what it said after that."""
    process.send_signal(number)
    try:
        out, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert "Traceback" not in out + errors, out + errors
    assert "Exception ignored" not in errors, errors
    return process.returncode, out, errors


@pytest.mark.parametrize("module", ["typer.main", "numpy", "pinocchio", "scipy"])
def test_during_imports(module: str) -> None:
    """Libraries are still being loaded: 130, and not a word."""
    process = type_command("run", "drop", PYTHONPROFILEIMPORTTIME="1")
    wait_for_line(process.stderr, f" {module}\n")
    assert end(process)[0] == 130


@pytest.mark.study
def test_during_compilation(tmp_path: Path) -> None:
    """Kernels are being compiled: 130, nothing written."""
    cache = tmp_path / "cache"
    process = type_command(
        *("run", "drop", "--save", tmp_path / "run.npz"), NUMBA_CACHE_DIR=str(cache)
    )
    wait_for_line(process.stderr, "compiling kernels, once")
    assert end(process)[0] == 130
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_while_it_simulates(number: int, code: int) -> None:
    """A walk with its quadratic programs is left where it is."""
    process = type_command("run", "khr1-walk", "--end", 1000, "--json")
    wait_for_line(process.stderr, "1000 s")
    returned, out, _ = end(process, number)
    assert returned == code
    assert not out or '"error": "interrupted"' in out


@pytest.mark.study
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_runs_until_then_is_done(number: int) -> None:
    """A page that is shown until Ctrl-C was shown: 0."""
    process = type_command("view", "khr1", "--port", "0")
    wait_for_line(process.stdout, "Ctrl-C ends")
    assert end(process, number)[0] == 0


@pytest.mark.study
def test_a_walk_in_the_browser() -> None:
    """The threads of a page and of its simulation end, too."""
    process = type_command("view", "khr1", "--walk", "--port", "0")
    wait_for_line(process.stdout, "Ctrl-C ends")
    assert end(process)[0] == 0


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory, human: hs.Model) -> Path:
    """A person that stands, long enough to be interrupted."""
    trial = tags_of(human, swaying(human, 400))
    return write_trc(trial, tmp_path_factory.mktemp("person") / "standing.trc")


@pytest.mark.study
def test_calibrate_and_reconstruct(standing: Path, tmp_path: Path) -> None:
    """Nothing half done is left."""
    process = type_command(
        *("calibrate", standing, "--marker-set", "canonical"),
        *("-o", tmp_path / "subject.yaml"),
    )
    wait_for_line(process.stdout, "measuring")
    assert end(process)[0] == 130
    assert not list(tmp_path.iterdir())
    process = type_command(
        *("reconstruct", standing, "--marker-set", "canonical", "--mode", "smooth"),
        *("-o", tmp_path / "out"),
    )
    wait_for_line(process.stdout, "1 recording")
    code, out, _ = end(process)
    assert code == 130
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    # A recording that was claimed keeps its lock file, which nobody holds.
    left = {path.name for path in files if path.parent.name != "claims"}
    assert left <= {"lock", "journal.jsonl"}, files


@pytest.mark.study
def test_workers_end(human: hs.Model, tmp_path: Path) -> None:
    """SIGTERM of a batch with workers: none of them stays."""
    write_recordings(human, tmp_path / "in", 8, 300)
    process = type_command(
        *("reconstruct", tmp_path / "in", "--marker-set", "canonical", "--workers", 2),
        *("-o", tmp_path / "out"),
    )
    wait_for_line(process.stdout, "8 recordings")
    wait_for_workers(process.pid)
    assert end(process, signal.SIGTERM)[0] == 143
    patience = time.monotonic() + 20.0  # workers see that they are alone, and end
    while members(process.pid) and time.monotonic() < patience:
        time.sleep(0.1)
    assert not members(process.pid)


def members(session: int) -> list[int]:
    """Processes of a session that still run."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, own = path.read_text().rsplit(")", 1)[1].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(own) == session and state != "Z":
            processes.append(int(path.parent.name))
    return processes


def wait_for_workers(session: int) -> None:
    """Until two of them were started."""
    while len(members(session)) < 3:
        assert session in members(session)


STUCK = """
    import hashlib, signal, sys
    from pathlib import Path
    from humans_sim.cli import signals
    from humans_sim.core.files import atomic_stream, remove_unfinished

    signals.install()
    signals.at_forced_end(remove_unfinished)
    with atomic_stream(Path(sys.argv[1])) as stream:
        stream.write(b"half")
        stream.flush()
        while True:  # the signal may come before the library is called
            try:
                print("stuck", flush=True)
                hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
            except KeyboardInterrupt:
                pass
"""


@pytest.mark.parametrize("twice", [False, True])
def test_a_library_that_does_not_return(tmp_path: Path, twice: bool) -> None:
    """The process is ended after a while, at once by a second signal; no file stays."""
    assert GRACE < 2.0
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(STUCK), tmp_path / "file.txt"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for_line(process.stdout, "stuck")
    assert len(list(tmp_path.iterdir())) == 1
    if twice:
        process.send_signal(signal.SIGTERM)
    assert end(process)[0] in ((130, 143) if twice else (130,))
    assert not list(tmp_path.iterdir())
