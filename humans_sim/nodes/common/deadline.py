# SPDX-License-Identifier: Apache-2.0
"""An end of the process that comes even when the interpreter is stuck.

rclpy destroys nodes with the interpreter's lock held, and the middleware below it can
hang there while other participants vanish: no Python thread runs any more, and no
signal handler. So the end is left to a timer of the C library, whose thread calls
``_Exit`` without asking the interpreter.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_CLOCK_MONOTONIC = 1
_SIGEV_THREAD = 2
_SIGEVENT_SIZE = 64


class _Event(ctypes.Structure):
    """``struct sigevent`` of Linux with glibc on 64-bit machines."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_byte * 32),
    )


class _Times(ctypes.Structure):
    """``struct itimerspec``."""

    _fields_ = (("interval", ctypes.c_long * 2), ("value", ctypes.c_long * 2))


@contextmanager
def deadline(seconds: float, code: int) -> Iterator[None]:
    """End the process with an exit code unless the block is left in time.

    Args:
        seconds: how long the block may take [s].
        code: exit code of the process where it takes longer.
    """
    cancel = end_after(seconds, code)
    try:
        yield
    finally:
        cancel()


def end_after(seconds: float, code: int) -> Callable[[], None]:
    """End the process with an exit code after some time; returns what prevents that."""
    timer = _start(seconds, code)
    if timer is not None:
        return lambda: ctypes.CDLL(None).timer_delete(timer)
    # Another C library: at least a hang that lets threads run is ended.
    thread = threading.Timer(seconds, os._exit, (code,))
    thread.daemon = True
    thread.start()
    return thread.cancel


def _start(seconds: float, code: int) -> ctypes.c_void_p | None:
    """Start a timer that ends the process; None where the C library has none."""
    library = ctypes.CDLL(None)
    names = ("gnu_get_libc_version", "timer_create")
    if not all(hasattr(library, name) for name in names):
        return None
    if ctypes.sizeof(_Event) != _SIGEVENT_SIZE:  # not a 64-bit machine
        return None
    end = ctypes.cast(library._Exit, ctypes.c_void_p).value
    event = _Event(value=code, notify=_SIGEV_THREAD, function=end)
    timer = ctypes.c_void_p()
    if library.timer_create(_CLOCK_MONOTONIC, ctypes.byref(event), ctypes.byref(timer)):
        return None
    whole, part = divmod(max(seconds, 1e-3), 1.0)
    times = _Times()
    times.value[0], times.value[1] = int(whole), int(1e9 * part)
    if library.timer_settime(timer, 0, ctypes.byref(times), None):
        library.timer_delete(timer)
        return None
    return timer
