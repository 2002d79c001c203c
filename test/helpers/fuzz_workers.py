# SPDX-License-Identifier: Apache-2.0
"""Cases in processes of their own, with limits of time and memory."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import socket
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

READ, REFUSED, UNTYPED, HANG, DIED, LARGE, SILENT = OUTCOMES = (
    *("read", "refused", "untyped", "hang", "died", "memory", "silent"),
)
"""What became of a case; the last five are faults."""
FAULTS = (UNTYPED, HANG, DIED, LARGE, SILENT)
MEMORY = 3 << 29
"""Addresses that a worker may take beyond what it has after its imports [bytes]."""
LARGEST = 1000.0
"""Memory that a process may have in a case [MB]."""
PATIENCE = 12.0
"""Time on the clock that a case gets for a second of processor time it may take."""

Work = Callable[[int], tuple[str, str]]
"""Does a case by its number; its outcome, and what was wrong."""


@dataclass
class Tally:
    """What became of many cases.

    Attributes:
        counts: by outcome.
        faults: number and description of each case that is a fault.
        memory: most that a worker had [MB].
        seconds: most processor time that a case took [s].
    """

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[int, str]] = field(default_factory=list)
    memory: float = 0.0
    seconds: float = 0.0

    def add(self, case: int, outcome: str, detail: str) -> None:
        """Count a case."""
        self.counts[outcome] += 1
        if outcome in FAULTS:
            self.faults.append((case, f"{outcome}: {detail}"))


def run_cases(
    make: Callable[..., Work],
    arguments: tuple[object, ...],
    cases: range,
    limit: float,
    imported: str = "",
) -> Tally:
    """Do cases one after the other in a process; a new one where it dies.

    Args:
        make: called in the process with the arguments; gives what does a case.
        arguments: for ``make``.
        cases: numbers of the cases.
        limit: processor time that a case may take [s]; one that waits instead is
            stopped after twelve times as long on the clock: machines are busy.
        imported: a module that is imported once, for all processes; empty: none.
    """
    tally = Tally()
    context = multiprocessing.get_context("forkserver" if imported else "spawn")
    if imported:
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for the server
        context.set_forkserver_preload([imported])
    home = tempfile.mkdtemp(prefix="fuzz", dir=_memory())
    at = cases.start
    while at < cases.stop:
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_serve,
            args=(theirs, home, make, arguments, range(at, cases.stop)),
            daemon=True,
        )
        process.start()
        theirs.close()
        try:
            ours.recv()  # imports are done
            while at < cases.stop:
                if not _answers(ours, process, limit):
                    tally.add(at, HANG, f"more than {limit:g} s")
                    break
                outcome, detail, memory, seconds = ours.recv()
                if seconds > limit:
                    outcome, detail = HANG, f"{seconds:.1f} s of processor time"
                elif memory > LARGEST:
                    outcome, detail = LARGE, f"{memory:.0f} MB"
                tally.add(at, outcome, detail)
                tally.memory = max(tally.memory, memory)
                tally.seconds = max(tally.seconds, seconds)
                at += 1
        except (EOFError, ConnectionError):
            process.join(5.0)
            tally.add(at, DIED, f"exit code {process.exitcode}")
        at += at < cases.stop
        process.kill()
        process.join()
        ours.close()
    shutil.rmtree(home, ignore_errors=True)  # also what a killed process left
    return tally


def _answers(pipe: Connection, process: BaseProcess, limit: float) -> bool:
    """Whether a process answers before its time is over."""
    end, spent = time.monotonic() + PATIENCE * limit, _processor_time(process)
    while not pipe.poll(0.2):
        if time.monotonic() > end or _processor_time(process) - spent > limit:
            return pipe.poll(0)
    return True


def _processor_time(process: BaseProcess) -> float:
    """What a process has used so far [s]; none where it has ended."""
    try:
        words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _serve(
    pipe: Connection,
    home: str,
    make: Callable[..., Work],
    arguments: tuple[object, ...],
    cases: range,
) -> None:
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # libraries print what they think of a file
        os.dup2(silence, stream)
    tempfile.tempdir = home
    work = make(*arguments)
    most = _virtual() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    pipe.send("ready")
    for case in cases:
        Path("/proc/self/clear_refs").write_text("5")  # the most so far is forgotten
        before = time.process_time()
        outcome, detail = work(case)
        seconds = time.process_time() - before
        pipe.send((outcome, detail, _resident(), seconds))


def _memory() -> str | None:
    """A place for files in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _resident() -> float:
    """Most that this process had in memory; getrusage would count its parent's [MB]."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _virtual() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


@contextlib.contextmanager
def clean_folder() -> Iterator[Path]:
    """A folder for one case."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
        server.bind(path.name)


def _sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 34)


_MIB = 1 << 20
SPECIAL: tuple[Callable[[Path], object], ...] = (
    _pipe,
    _socket,
    _sparse,
    Path.mkdir,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("/dev/tty"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("/proc/self/mem"),
    lambda path: path.write_bytes(b""),
    lambda path: None,
    lambda path: path.write_bytes(b"[" * 100_000),
    lambda path: path.write_bytes(b"{" * 100_000),
    lambda path: path.write_bytes(b"(" * 100_000),
    lambda path: path.write_bytes(b"- " * 100_000),
    lambda path: path.write_bytes(b"-" * 900),
    lambda path: path.write_bytes(b"9" * 100_000),
    lambda path: path.write_bytes(b"<a>" * 100_000),
    lambda path: path.write_bytes(b'{"a":' * 100_000),
    lambda path: path.write_bytes(b"\0" * _MIB),
    lambda path: path.write_bytes(b"a,\n" * _MIB),
    lambda path: path.write_bytes(random.Random(1).randbytes(_MIB)),
)
"""Files that no accident makes of a sound one."""


def described(error: BaseException) -> str:
    """An exception in one line, with the place it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "humans_sim" in f.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
    return f"{type(error).__name__} at {place}: {str(error)[:150]}"
