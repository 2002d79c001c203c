# SPDX-License-Identifier: Apache-2.0
"""RequestQueue to a thread that owns something: asked from others, answered by it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Owned = TypeVar("Owned")
T = TypeVar("T")


class RequestQueue(Generic[Owned]):
    """A queue of requests, each a function of what the thread owns."""

    def __init__(self) -> None:
        """No request is open."""
        self._queue: SimpleQueue[tuple[Callable[[Owned], object], Future[object]]] = (
            SimpleQueue()
        )

    @property
    def open(self) -> bool:
        """Whether any is open."""
        return not self._queue.empty()

    def ask(
        self, request: Callable[[Owned], T], wake: Callable[[], None], timeout: float
    ) -> T:
        """Ask and wait for the answer; errors of the request are raised here.

        Args:
            request: is called by the thread.
            wake: wakes the thread.
            timeout: longest wait [s].

        Raises:
            TimeoutError: it took longer.
        """
        answer: Future[object] = Future()
        self._queue.put((request, answer))
        wake()
        try:
            return answer.result(timeout)  # type: ignore[return-value]
        except FutureTimeoutError:
            if not answer.cancel() and answer.done():  # it came just now
                return answer.result()  # type: ignore[return-value]
            raise TimeoutError from None

    def answer(self, owned: Owned, fatal: type[Exception]) -> bool:
        """Answer all that are open, in the thread; whether any went well.

        Args:
            owned: what the requests are about.
            fatal: an error that is the thread's, too.

        Raises:
            fatal: a request met it.
        """
        answered = False
        with suppress(Empty):
            while True:
                request, answer = self._queue.get_nowait()
                if not answer.set_running_or_notify_cancel():
                    continue
                try:
                    answer.set_result(request(owned))
                    answered = True
                except fatal as error:
                    answer.set_exception(error)
                    raise
                except Exception as error:
                    answer.set_exception(error)
        return answered

    def refuse(self, error: Exception) -> None:
        """Answer all that are open by an error."""
        with suppress(Empty):
            while True:
                _, answer = self._queue.get_nowait()
                if answer.set_running_or_notify_cancel():
                    answer.set_exception(error)
