# SPDX-License-Identifier: Apache-2.0
"""Reports of the kernels' compilation, which may take a minute at their first use.

Nothing is reported where all machine code is kept already (:mod:`.kernels`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Compilation:
    """How far the compilation is.

    Attributes:
        kernel: name of the kernel that is compiled now; empty: none, for the moment.
        count: kernels compiled so far.
        seconds: time spent compiling so far [s].
    """

    kernel: str
    count: int
    seconds: float


_callbacks: list[Callable[[Compilation], None]] = []
_lock = threading.RLock()


@contextmanager
def report_compilation(callback: Callable[[Compilation], None]) -> Iterator[None]:
    """Call a callback when a kernel is compiled, in any thread.

    It is called at the beginning and at the end of each compilation that is really
    done, by the thread that does it; kernels loaded from the cache do not count.
    Processes that a batch starts report to their parent's callbacks.

    Args:
        callback: takes how far it is, for example to log it:
            ``lambda c: logger.info(f"compiling {c.kernel}")``.
    """
    from numba.core import event

    counter = _Counter(callback)

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            counter.begin(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            counter.end()

    listener = Listener()
    _callbacks.append(callback)
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)
        _callbacks.remove(callback)


def forward(compilation: Compilation) -> None:
    """Hand on what another process reports of itself."""
    for callback in list(_callbacks):
        callback(compilation)


class _Counter:
    """Counts compilations; one inside another is a part of it."""

    def __init__(self, callback: Callable[[Compilation], None]) -> None:
        self._callback = callback
        self._names: list[str] = []
        self._count, self._seconds, self._begun = 0, 0.0, 0.0

    def begin(self, kernel: str) -> None:
        with _lock:
            if not self._names:
                self._begun = time.monotonic()
            self._names.append(kernel)
            self._report()

    def end(self) -> None:
        with _lock:
            self._names.pop()
            self._count += 1
            if not self._names:
                self._seconds += time.monotonic() - self._begun
            self._report()

    def _report(self) -> None:
        running = time.monotonic() - self._begun if self._names else 0.0
        kernel = self._names[-1] if self._names else ""
        self._callback(Compilation(kernel, self._count, self._seconds + running))
