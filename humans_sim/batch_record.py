"""What a batch has done, kept in its output folder, so that it can go on.

The folder ``.humans-sim`` in there holds a record of each trial that is done, written
whole after everything else of that trial: it is what makes the trial done. The journal
has a line for each doing. Locks are those of the system: they end with the process that
holds them, however it ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from humans_sim.errors import HumansError
from humans_sim.files import write_atomically

HOME = ".humans-sim"
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}")
"""Names that files have while they are written."""


class BatchBusyError(HumansError):
    """Another process works on the same output folder."""


class Ledger:
    """Records, journal and locks of an output folder."""

    def __init__(self, folder: Path) -> None:
        """Look at a folder; nothing is made yet."""
        self.folder = folder
        self.home = folder / HOME
        self.journal = self.home / "journal.jsonl"

    def read(self, name: str) -> dict[str, Any]:
        """The record of a trial; empty where there is none that can be read."""
        try:
            found = json.loads(self._record(name).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, name: str, record: Mapping[str, Any]) -> None:
        """Say that a trial is done."""
        write_atomically(self._record(name), json.dumps(record, indent=1) + "\n")

    def forget(self, name: str) -> tuple[str, ...]:
        """A trial is no longer done; the files that it had."""
        files = self.read(name).get("files", ())
        self._record(name).unlink(missing_ok=True)
        safe = (file for file in files if ".." not in Path(file).parts)
        return tuple(file for file in safe if not Path(file).is_absolute())

    def _record(self, name: str) -> Path:
        return self.home / "records" / f"{name}.json"

    def log(self, entry: Mapping[str, Any]) -> None:
        """Add a line to the journal."""
        self.home.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"time": _now(), **entry}) + "\n"
        with self.journal.open("ab+") as stream:
            if stream.tell() and not _ends_a_line(stream):
                line = "\n" + line  # a line before was cut off
            stream.write(line.encode())
            stream.flush()
            os.fsync(stream.fileno())

    def entries(self) -> list[dict[str, Any]]:
        """Lines of the journal; one that was cut off is left out."""
        try:
            lines = self.journal.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                found.append(entry)
        return found

    def sweep(self, names: Iterable[str]) -> None:
        """Drop what a killed process left half written of some trials."""
        folders = {(self.folder / name).parent for name in names}
        folders |= {self._record(name).parent for name in names}
        for folder in folders:
            for path in folder.glob(".*") if folder.is_dir() else ():
                if _TEMPORARY.fullmatch(path.name):
                    path.unlink(missing_ok=True)

    def catch_up(self) -> None:
        """Log the records that a killed process did not."""
        logged = {entry.get("mark") for entry in self.entries()}
        records = self.home / "records"
        for path in sorted(records.rglob("*.json")):
            name = path.relative_to(records).as_posix().removesuffix(".json")
            record = self.read(name)
            if record.get("mark") and record["mark"] not in logged:
                self.log(journal_entry(record))

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only process that runs a batch in this folder.

        Raises:
            BatchBusyError: another one is.
            HumansError: the folder cannot be written.
        """
        path = self.home / "lock"
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            stream = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise HumansError(
                f"{self.folder}: cannot be written: {error.strerror or error}"
            ) from None
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
            stream.truncate(0)
            stream.write(f"process {os.getpid()} on {socket.gethostname()} ({_now()})")
            stream.flush()
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


def _ends_a_line(stream: IO[bytes]) -> bool:
    stream.seek(-1, os.SEEK_END)
    return stream.read(1) == b"\n"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
