# SPDX-License-Identifier: Apache-2.0
"""Ends of ``humans-sim`` by Ctrl-C (SIGINT) and SIGTERM, and its exit codes.

Light, as it has to be there before anything heavy is imported.

A signal raises :class:`Interrupted` or :class:`Terminated`, both a
:class:`KeyboardInterrupt`, in the main thread, which cleans up on its way out. That
alone would not do:

- Python raises between two instructions of its own. While a library compiles or
  computes, nothing would happen.
- Libraries try imports and catch whatever comes; what is raised in a destructor or a
  callback from C is printed and forgotten.

Therefore a process that is importing is ended at once, so is one whose interrupt got
lost, and a thread watches: if the process has not ended :data:`GRACE` seconds after the
signal, it ends it. Half written files are removed in each case. A second signal ends
the process at once.
"""

from __future__ import annotations

import gc
import math
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from humans_sim.core.errors import HumansError

GRACE = 1.5
"""Time to clean up after a signal [s]."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_IMPORT = "<frozen importlib._bootstrap>"


class Interrupted(KeyboardInterrupt):
    """Ctrl-C.

    A class of its own: CPython notes a plain ``KeyboardInterrupt`` that passes through
    ``exec``, and lets the process die of the signal even if it is handled later.
    """


class Terminated(KeyboardInterrupt):
    """The process was asked to end by SIGTERM."""


def exit_code(interrupt: BaseException) -> int:
    """130 after Ctrl-C, 143 after SIGTERM, as a shell reports them."""
    terminated = isinstance(interrupt, Terminated)
    return 128 + (signal.SIGTERM if terminated else signal.SIGINT)


def raise_interrupt(number: int, _frame: object = None) -> NoReturn:
    """A signal handler: SIGTERM, SIGHUP and SIGINT unwind alike."""
    raise Interrupted if number == signal.SIGINT else Terminated


class _Watch:
    """Watches that the process ends after a signal."""

    def __init__(self) -> None:
        self.suspended = 0
        self.forced_code: int | None = None
        self.pending = 0
        """The signal that unwinds the process; 0: none."""
        self._writer: int | None = None
        self._cleanup: list[Callable[[], object]] = []

    def install(self) -> None:
        """Handle the signals from now on."""
        for number in SIGNALS:
            # What a shell starts in the background ignores Ctrl-C: that is kept.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)
        reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, args=(reader,), daemon=True).start()
        usual = sys.unraisablehook

        def unraisable(lost: Any) -> None:
            if self.suspended or not self.pending:
                usual(lost)
            elif isinstance(lost.exc_value, KeyboardInterrupt):
                self.end(self.pending)
            # Others follow from work that was left half done: not worth a word.

        sys.unraisablehook = unraisable

    def at_forced_end(self, cleanup: Callable[[], object]) -> None:
        """Call something before the process is ended by force."""
        self._cleanup.append(cleanup)

    def settle(self) -> None:
        """The signal was dealt with, and the process continues."""
        self.pending = 0
        if self._writer is not None:
            os.write(self._writer, b"\0")

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.pending:  # a process on its way out is not interrupted again
            return
        self.pending = number
        if _importing(frame):
            self.end(number)
        raise_interrupt(number)

    def _watch(self, reader: int) -> None:
        """Reads every signal from the wake-up descriptor, whatever Python does."""
        first, end = 0, math.inf
        while True:
            left = None if math.isinf(end) else max(end - time.monotonic(), 0.0)
            ready = select.select([reader], [], [], left)[0]
            number = os.read(reader, 1)[0] if ready else first
            if number == 0 or self.suspended:
                first, end = 0, math.inf
            elif number not in SIGNALS:
                continue
            elif first:  # the second one, or time is up
                self.end(number)
            else:
                first, end = number, time.monotonic() + GRACE

    def end(self, number: int) -> NoReturn:
        """End now; nothing half done stays."""
        for cleanup in self._cleanup:
            cleanup()
        os._exit(128 + number if self.forced_code is None else self.forced_code)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORT:
            return True
        frame = frame.f_back
    return False


_watch = _Watch()
_endings: list[Callable[[int], None]] = []
install = _watch.install
at_forced_end = _watch.at_forced_end


def at_end(ending: Callable[[int], None]) -> None:
    """Call something with the exit code when everything else is done."""
    _endings.append(ending)


def finish(code: int) -> NoReturn:
    """End the process.

    Raises:
        SystemExit: with the exit code.
    """
    for ending in _endings:
        ending(code)
    if _endings:
        # Libraries that end so late have threads which a dying interpreter trips over.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # nothing is left to be collected: the end would look at all objects
    sys.exit(code)


def pending_exit_code() -> int | None:
    """Exit code of the signal that ends the process; None: there was none.

    What follows from an interrupt that a library caught is no error of its own.
    """
    return 128 + _watch.pending if _watch.pending else None


@contextmanager
def own_handling() -> Iterator[None]:
    """Who handles signals itself is neither hurried nor ended by force."""
    _watch.suspended += 1
    try:
        yield
    finally:
        _watch.suspended -= 1


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Run until Ctrl-C or SIGTERM, which end it without failure."""
    _watch.forced_code = 0
    try:
        yield
    except KeyboardInterrupt:
        pass
    except Exception:
        if not _watch.pending:
            raise
    finally:
        _watch.forced_code = None
        _watch.settle()


DONE, FAILED, WRONG_USAGE, DOUBTFUL = 0, 1, 2, 3


class DoubtfulResultError(HumansError):
    """A command did what it was asked to, and its result is to be looked at first."""


def code_of(error: HumansError) -> int:
    """The exit code of a command that ends by an error."""
    return DOUBTFUL if isinstance(error, DoubtfulResultError) else FAILED
