# SPDX-License-Identifier: Apache-2.0
"""Tasks of a batch: recordings to reconstruct, runs of a sweep.

A task is done when its record is written, after everything else of it; what a kill
interrupts has none and is done again.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from humans_sim.applications.batch.record import Ledger
from humans_sim.core.errors import HumansError

DONE, KEPT, FAILED = "done", "kept", "failed"
"""What became of a task; kept: it was done before."""

Watch = Callable[[str, int, int], None]
"""Called with the name of a task, how much of it is done, and of how much."""


class Task(Protocol):
    """Something to do once; it is sent to other processes.

    Its outcomes are dataclasses with at least ``name``, ``state``, ``message`` and
    ``mark``, the last one unlike any other.
    """

    @property
    def name(self) -> str:
        """Of its record, under the output folder."""

    @property
    def label(self) -> str:
        """For people, in messages."""

    @property
    def output(self) -> Path:
        """Folder of the batch."""

    @property
    def batch(self) -> str:
        """Mark of the run of the batch."""

    def run(self, watch: Watch | None = None) -> Any:
        """Do it; whatever goes wrong is an outcome, not raised."""

    def previous(self, ledger: Ledger) -> Any | None:
        """The outcome of an earlier batch that still holds, or None."""

    def failure(self, message: str, detail: str = "") -> Any:
        """The outcome of a task that did not work."""


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
