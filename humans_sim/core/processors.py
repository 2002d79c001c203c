# SPDX-License-Identifier: Apache-2.0
"""How many processors there are for processes and threads."""

from __future__ import annotations

import os


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1
