# SPDX-License-Identifier: Apache-2.0
"""Ends of processes: a deadline for a stuck interpreter, and the memory of dead ones.

rclpy destroys nodes with the interpreter's lock held, and the middleware below it can
hang there while other participants vanish: no Python thread runs any more, and no
signal handler. So the end is left to a timer of the C library, whose thread calls
``_Exit`` without asking the interpreter.

Fast DDS passes messages between the processes of a machine through files below
``/dev/shm``. A process that is killed leaves its own there, some megabytes each time.
Beside each stands a file that its users hold locked while they live.

Apart from :mod:`~humans_sim.nodes.common.process`: this needs no ROS 2.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
    """End the process with an exit code unless the block is left in time [s]."""
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


FOLDER = Path("/dev/shm")
_PREFIX, _LOCK = "fastrtps_", "_el"
_YOUNG = 10.0
"""A file that is not older may be about to be locked by who made it [s]."""


def dead_segments(folder: Path = FOLDER, age: float = _YOUNG) -> list[str]:
    """Names of the segments that no living process uses; young ones are left out."""
    dead = []
    for lock in sorted(folder.glob(f"{_PREFIX}*{_LOCK}")):
        # Those of other users, and those that somebody else removes now, stay.
        with suppress(OSError):
            if time.time() - lock.stat().st_mtime > age and _is_free(lock):
                dead.append(lock.name.removesuffix(_LOCK))
    return dead


def remove_dead_segments(folder: Path = FOLDER) -> list[str]:
    """Remove the segments that no living process uses; their names."""
    removed = []
    for name in dead_segments(folder):
        with suppress(OSError):
            for file in (name, f"sem.{name}_mutex", f"{name}{_LOCK}"):
                (folder / file).unlink(missing_ok=True)
            removed.append(name)
    return removed


def _is_free(lock: Path) -> bool:
    """Whether nobody holds a lock file."""
    handle = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True
