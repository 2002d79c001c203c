# SPDX-License-Identifier: Apache-2.0
"""Batches of tasks: each done once, on processes or a cluster, resumed after a kill."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from humans_sim.applications.batch.record import Ledger, journal_entry
from humans_sim.applications.batch.tasks import DONE, FAILED, Task, Watch
from humans_sim.applications.batch.workers import on_cluster, on_processes
from humans_sim.core.errors import HumansError, ParameterError


def run_tasks(
    tasks: Sequence[Task],
    workers: int | None = None,
    cluster: str | None = None,
    watch: Watch | None = None,
) -> Generator[Any, None, None]:
    """Do the tasks of a batch that are not done yet.

    Close the iterator to end early: nothing half done stays.

    Args:
        tasks: all with one output folder.
        workers: processes; None: as many as there are cores; 0: this process does
            them.
        cluster: address of a dask scheduler, instead of processes here.
        watch: called with the progress of tasks.

    Yields:
        An outcome for each task: those kept first, then as they come.

    Raises:
        BatchBusyError: another process works on the same output folder.
        HumansError: the folder cannot be written, or the cluster does not answer.
        ParameterError: the number of workers is negative.
    """
    if workers is not None and workers < 0:
        raise ParameterError(f"0 workers or more are wanted, not {workers}")
    if not tasks:
        return
    ledger = Ledger(tasks[0].output)
    with ledger.lock():
        names = [task.name for task in tasks]
        ledger.sweep(names)
        ledger.catch_up()
        try:
            open_tasks = []
            for task in tasks:
                outcome = _before(task, ledger)
                if outcome is None:
                    open_tasks.append(task)
                else:
                    yield _logged(outcome, ledger)
            processes = cores() if workers is None else workers
            doing = _doing(open_tasks, processes, cluster, watch)
            with closing(doing):
                for outcome in doing:
                    yield _logged(outcome, ledger)
        finally:
            ledger.sweep(names)


def _doing(
    tasks: Sequence[Task], workers: int, cluster: str | None, watch: Watch | None
) -> Generator[Any, None, None]:
    if cluster is not None and tasks:
        yield from on_cluster(tasks, cluster)
    elif len(tasks) == 1 or not workers:
        yield from (task.run(watch) for task in tasks)
    else:
        yield from on_processes(tasks, workers, watch)


def _before(task: Task, ledger: Ledger) -> Any | None:
    """What is known of a task without doing it."""
    try:
        return task.previous(ledger)
    except HumansError as error:
        return task.failure(str(error))


def _logged(outcome: Any, ledger: Ledger) -> Any:
    if outcome.state in (DONE, FAILED):
        ledger.log(journal_entry(asdict(outcome)))
    return outcome


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
