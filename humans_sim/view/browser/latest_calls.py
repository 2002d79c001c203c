# SPDX-License-Identifier: Apache-2.0
"""Calls in a thread of their own, of which only the newest of each kind counts.

A slider that is dragged asks for more than can be done: what is overtaken is left out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class LatestCalls:
    """Does what pages ask for, one call after the other.

    Args:
        failed: called with what a call raised.
    """

    def __init__(self, failed: Callable[[Exception], None]) -> None:
        """Begin the thread."""
        self._failed = failed
        self._waiting: dict[str, Callable[[], None]] = {}
        self._change = threading.Condition()
        self._ended = self._busy = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def ask(self, kind: str, call: Callable[[], None]) -> None:
        """Have something done; it takes the place of a waiting call of its kind."""
        with self._change:
            self._waiting.pop(kind, None)
            self._waiting[kind] = call
            self._change.notify_all()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; whether that is so."""
        with self._change:
            return self._change.wait_for(
                lambda: not (self._waiting or self._busy), timeout
            )

    def stop(self) -> None:
        """End the thread after the call it is at."""
        with self._change:
            self._ended = True
            self._waiting.clear()
            self._change.notify_all()
        self._thread.join(timeout=10.0)

    def _work(self) -> None:
        while True:
            with self._change:
                self._busy = False
                self._change.notify_all()
                self._change.wait_for(lambda: self._waiting or self._ended)
                if self._ended:
                    return
                kind = next(iter(self._waiting))
                call = self._waiting.pop(kind)
                self._busy = True
            try:
                call()
            except Exception as error:  # the page shows it
                self._failed(error)
