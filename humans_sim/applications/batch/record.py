# SPDX-License-Identifier: Apache-2.0
"""The record of a batch in its output folder, by which it resumes.

The folder ``.humans-sim`` in there holds a record of each trial that is done, written
whole after everything else of that trial: it is what makes the trial done. The journal
has a line for each doing. Locks are those of the system: they end with the process that
holds them, however it ends.

*Tasks* are recordings to reconstruct or runs of a sweep. A task is done when its record
is written, after everything else of it; what a kill interrupts has none and is done
again.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from humans_sim.core.bounded_text import parse_json
from humans_sim.core.errors import FileError, FileWriteError, HumansError
from humans_sim.core.files import read_bytes, read_text, remove_stale, write_atomically

HOME = ".humans-sim"


class BatchBusyError(HumansError):
    """Another process works on the same output folder."""


class Ledger:
    """Records, journal and locks of an output folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / HOME
        self.journal = self.home / "journal.jsonl"

    def read(self, name: str) -> dict[str, Any]:
        """The record of a trial; empty where there is none that can be read."""
        try:
            return parse_json(read_text(self._record(name)))
        except ValueError:  # a FileError is one
            return {}

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Say that a trial is done."""
        write_atomically(self._record(name), json.dumps(record, indent=1) + "\n")

    def forget(self, name: str) -> tuple[str, ...]:
        """A trial is no longer done; the files that it had."""
        files = self.read(name).get("files", ())
        self._record(name).unlink(missing_ok=True)
        if not isinstance(files, list):
            return ()
        words = (file for file in files if isinstance(file, str) and "\0" not in file)
        safe = (file for file in words if ".." not in Path(file).parts)
        return tuple(file for file in safe if not Path(file).is_absolute())

    def _record(self, name: str) -> Path:
        return self.home / "records" / f"{name}.json"

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the journal."""
        line = json.dumps({"time": _now(), **entry}) + "\n"
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            with self.journal.open("ab+") as stream:
                if stream.tell():
                    stream.seek(-1, os.SEEK_END)
                    if stream.read(1) != b"\n":
                        line = "\n" + line  # a line before was cut off
                stream.write(line.encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise FileWriteError(error.strerror or str(error), self.journal) from error

    def entries(self) -> list[dict[str, Any]]:
        """Lines of the journal; one that was cut off is left out."""
        try:
            data = read_bytes(self.journal)
        except FileError:
            return []
        entries = []
        for line in data.decode("utf-8", "replace").splitlines():
            if not line.startswith("{"):
                continue
            try:
                entries.append(parse_json(line))
            except ValueError:
                continue
        return entries

    def sweep(self, names: Iterable[str]) -> None:
        """Drop what a killed process left half written of some trials."""
        folders = {(self.folder / name).parent for name in names}
        folders |= {self._record(name).parent for name in names}
        for folder in folders:
            if folder.is_dir():
                remove_stale(folder)

    def catch_up(self) -> None:
        """Log the records that a killed process did not."""
        logged = {str(entry.get("mark")) for entry in self.entries()}
        records = self.home / "records"
        for path in sorted(records.rglob("*.json")):
            name = path.relative_to(records).as_posix().removesuffix(".json")
            record = self.read(name)
            if record.get("mark") and str(record["mark"]) not in logged:
                self.log(journal_entry(record))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only process that runs a batch in this folder.

        Raises:
            BatchBusyError: another one is.
            FileWriteError: the folder cannot be written.
        """
        path = self.home / "lock"
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            stream = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise FileWriteError(error.strerror or str(error), path) from None
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                stream.seek(0)
                who = stream.read().strip() or "another process"
                raise BatchBusyError(
                    f"{self.folder} is in use by {who}: wait until it ends, or give "
                    "another --output"
                ) from None
            try:
                stream.truncate(0)
                who = f"process {os.getpid()} on {socket.gethostname()} ({_now()})"
                stream.write(who)
                stream.flush()
            except OSError as error:
                raise FileWriteError(error.strerror or str(error), path) from None
            yield
            stream.truncate(0)

    @contextmanager
    def claim(self, name: str) -> Iterator[None]:
        """Be the only one that does a trial; waits for another that does it."""
        path = self.home / "claims" / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield


def journal_entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """The journal's line of a trial."""
    keys = ("name", "state", "mark", "fingerprint", "seconds", "message", "detail")
    return {key: record[key] for key in keys if record.get(key)}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


DONE, KEPT, FAILED = "done", "kept", "failed"
"""What became of a task; kept: it was done before."""

Watch = Callable[[str, int, int], None]
"""Called with the name of a task, how much of it is done, and of how much."""


class Job(Protocol):
    """Something to do; it is sent to other processes."""

    @property
    def label(self) -> str:
        """For people, in messages."""

    def run(self, watch: Watch | None = None) -> Any:
        """Do it; whatever goes wrong is an outcome, not raised."""

    def failure(self, message: str, detail: str = "") -> Any:
        """The outcome of a job that did not work."""


class Task(Job, Protocol):
    """Something to do once.

    Its outcomes are dataclasses with at least ``name``, ``state``, ``message`` and
    ``mark``, the last one unlike any other.
    """

    @property
    def name(self) -> str:
        """Of its record, under the output folder."""

    @property
    def output(self) -> Path:
        """Folder of the batch."""

    @property
    def batch(self) -> str:
        """Mark of the run of the batch."""

    def previous(self, ledger: Ledger) -> Any | None:
        """The outcome of an earlier batch that still holds, or None."""


def run_claimed(task: Task, do: Callable[[Ledger], Any]) -> Any:
    """Do a task that nobody else does meanwhile; errors become its outcome."""
    ledger = Ledger(task.output)
    try:
        with ledger.claim(task.name):
            return do(ledger)
    except HumansError as error:
        return task.failure(str(error))
    except MemoryError:
        return task.failure(f"{task.label}: too little memory")
    except OSError as error:
        where = error.filename or task.label
        return task.failure(f"{where}: {error.strerror or error}")
    except Exception as error:  # one bad task must not end the others
        message = f"{task.label}: unexpected {type(error).__name__}: {error}"
        return task.failure(message, traceback.format_exc())
