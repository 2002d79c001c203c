# SPDX-License-Identifier: Apache-2.0
"""Shared memory that dead processes left behind.

Fast DDS passes messages between the processes of a machine through files below
``/dev/shm``. A process that is killed leaves its own there, some megabytes each time.
Beside each stands a file that its users hold locked while they live.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
_PREFIX, _LOCK = "fastrtps_", "_el"
_YOUNG = 10.0
"""A file that is not older may be about to be locked by who made it [s]."""


def dead_segments(folder: Path = FOLDER, age: float = _YOUNG) -> list[str]:
    """Names of the segments that no living process uses.

    Args:
        folder: where they are.
        age: younger ones are left out [s].
    """
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
