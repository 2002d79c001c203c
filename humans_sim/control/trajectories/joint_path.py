# SPDX-License-Identifier: Apache-2.0
"""What a robot is led along, and how that fares."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class JointPath(Protocol):
    """Angles of some joints over time."""

    @property
    def duration(self) -> float:
        """From the beginning to the end [s]."""

    def angles(self, t: float) -> dict[str, float]:
        """Where the joints shall be [rad]; the ends hold outside."""


class Progress(Enum):
    """How a path fares."""

    IDLE = "idle"
    """There is none."""
    RUNNING = "running"
    ARRIVED = "arrived"
    """It is over, and the set points are at its end."""
    BROKEN = "broken"
    """Something else has got hold of the robot; the path was given up."""
