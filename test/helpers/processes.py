# SPDX-License-Identifier: Apache-2.0
"""Groups of processes."""

from __future__ import annotations

import os


def group_alive(group: int) -> bool:
    """Whether a group has a process left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
