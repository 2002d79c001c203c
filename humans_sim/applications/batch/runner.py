# SPDX-License-Identifier: Apache-2.0
"""Batches of tasks: each done once, on processes or a cluster, resumed after a kill.

Tasks are done by processes of this machine, or by a dask cluster. Processes are started
anew (spawn), use one thread each and do one task at a time. One that dies, whatever
kills it, fails the task it had and is replaced; all of them end with the process that
started them.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from humans_sim.applications.batch.record import (
    DONE,
    FAILED,
    Job,
    Ledger,
    Task,
    Watch,
    journal_entry,
)
from humans_sim.core.errors import HumansError, MissingDependencyError, ParameterError
from humans_sim.core.kernel_compilation import Compilation, forward, report_compilation
from humans_sim.core.processors import cores

_ONE_THREAD = (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_REPORT_PERIOD = 0.1
"""Time between two reports of a worker's progress [s]."""
_ANSWER = 15.0
"""Time in which a scheduler has to answer [s]."""


class ClusterError(HumansError, ConnectionError):
    """A cluster cannot be used."""


class _Finished(NamedTuple):
    """The message of a worker at the end of a task."""

    outcome: Any


class _Worker:
    """A process and the task it has."""

    def __init__(self) -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.task: Job | None = None
        self.process: BaseProcess = context.Process(
            target=_work, args=(theirs,), daemon=True
        )
        with _one_thread():
            self.process.start()
        theirs.close()

    def give(self, task: Job) -> bool:
        """Hand a task over; False: the worker is dead."""
        try:
            self.pipe.send(task)
        except OSError:
            return False
        self.task = task
        return True

    def end(self) -> None:
        """End at once."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def on_processes(
    tasks: Sequence[Job], workers: int, watch: Watch | None = None
) -> Iterator[Any]:
    """Do tasks in processes of this machine; outcomes in the order they come."""
    waiting = deque(tasks)
    crew: dict[Any, _Worker] = {}
    try:
        for _ in range(min(workers, len(waiting))):
            _employ(crew, waiting)
        while crew:
            for pipe in connection.wait(list(crew)):
                worker = crew[pipe]
                try:
                    message = worker.pipe.recv()
                except (EOFError, OSError):
                    del crew[pipe]
                    yield _lost(worker)
                    _employ(crew, waiting)
                    continue
                if isinstance(message, Compilation):
                    forward(message)
                    continue
                if not isinstance(message, _Finished):
                    if watch is not None:
                        watch(*message)
                    continue
                yield message.outcome
                worker.task = None
                if not waiting or not worker.give(waiting[0]):
                    del crew[pipe]
                    worker.end()
                    _employ(crew, waiting)
                else:
                    waiting.popleft()
    finally:
        for worker in crew.values():
            worker.end()


def _employ(crew: dict[Any, _Worker], waiting: deque[Job]) -> None:
    """Start a worker for the next task, if there is one."""
    if not waiting:
        return
    with _interrupts_later():
        worker = _Worker()
        crew[worker.pipe] = worker
        worker.give(waiting.popleft())


def _lost(worker: _Worker) -> Any:
    """The task of a worker that died."""
    assert worker.task is not None  # one without a task is ended, not waited for
    worker.process.join()
    code = worker.process.exitcode or 0
    how = f"ended with code {code}"
    if code < 0:
        how = f"was killed by {signal.Signals(-code).name}"
    worker.pipe.close()
    advice = "if memory is short, try fewer --workers"
    return worker.task.failure(f"{worker.task.label}: the worker {how}; {advice}")


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Keep signals until the end of the block, and from processes started in it.

    A process that is left in the middle of its start complains.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: noted.append(number))
        for number in _INTERRUPTS
    }
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _INTERRUPTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for late in noted:
            signal.raise_signal(late)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Processes started meanwhile use one thread each: workers are the parallelism."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Any) -> None:
    """A worker's life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _INTERRUPTS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    reported = 0.0

    def watch(name: str, done: int, total: int) -> None:
        nonlocal reported
        now = time.monotonic()
        if now - reported > _REPORT_PERIOD or done == total:
            reported = now
            pipe.send((name, done, total))

    try:
        with report_compilation(pipe.send):
            while True:
                pipe.send(_Finished(pipe.recv().run(watch)))
    except (EOFError, BrokenPipeError):
        return


def _end_with_parent() -> None:
    parent = mp.parent_process()
    assert parent is not None
    connection.wait([parent.sentinel])
    os._exit(1)


def on_cluster(tasks: Sequence[Task], address: str) -> Iterator[Any]:
    """Do tasks on a dask cluster whose workers see the same folders.

    Outcomes in the order they come; the address is that of the scheduler, e.g.
    ``tcp://10.0.0.1:8786``.

    Raises:
        MissingDependencyError: dask.distributed is not installed.
        ClusterError: no scheduler answers, or it has no workers.
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise MissingDependencyError(
            "a cluster needs dask.distributed: pip install 'humans-sim[dask]'"
        ) from None
    try:
        client = Client(address, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no dask scheduler answers at '{address}' ({error}): start one with "
            "'dask scheduler'"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise ClusterError(
                f"the scheduler at {address} has no workers: start some with "
                f"'dask worker {address}'"
            )
        futures = {
            client.submit(_run, task, key=f"{task.name}-{task.batch}"): task
            for task in tasks
        }
        try:
            for future in as_completed(futures, loop=client.loop):
                lost = future.exception()
                if lost is None:
                    yield future.result()
                    continue
                task = futures[future]
                what = f"{type(lost).__name__}: {lost}"
                yield task.failure(f"{task.label}: lost on the cluster: {what}")
        finally:
            client.cancel(list(futures))


def _run(task: Task) -> Any:
    return task.run()


def run_tasks(
    tasks: Sequence[Task],
    workers: int | None = None,
    cluster: str | None = None,
    watch: Watch | None = None,
    here: Callable[[Sequence[Any]], Generator[Any, None, None]] | None = None,
) -> Generator[Any, None, None]:
    """Do the tasks of a batch that are not done yet.

    Close the iterator to end early: nothing half done stays.

    Args:
        tasks: all with one output folder.
        workers: processes; None: as many as there are cores; 0: this process does
            them.
        cluster: address of a dask scheduler, instead of processes here.
        watch: called with the progress of tasks.
        here: does tasks in this process, with 0 workers; by default one by one.

    Yields:
        An outcome for each task: those kept first, then as they come.

    Raises:
        BatchBusyError: another process works on the same output folder.
        HumansError: the folder cannot be written, or the cluster does not answer.
        ParameterError: the number of workers is negative.
    """
    if workers is not None and workers < 0:
        raise ParameterError(f"workers must be 0 or more, not {workers}")
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
            if cluster is None and not processes and here is not None:
                doing = here(open_tasks)
            else:
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
    """The outcome of a task that need not be done."""
    try:
        return task.previous(ledger)
    except HumansError as error:
        return task.failure(str(error))


def _logged(outcome: Any, ledger: Ledger) -> Any:
    if outcome.state in (DONE, FAILED):
        ledger.log(journal_entry(asdict(outcome)))
    return outcome
