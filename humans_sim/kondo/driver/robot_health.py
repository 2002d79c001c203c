# SPDX-License-Identifier: Apache-2.0
"""What a driven robot says of itself."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

from humans_sim.core.errors import HumansError
from humans_sim.kondo.protocol.link import LinkStatistics

_LATENCIES = 10_000
_STILL = math.radians(0.6)
"""Boards count whole degrees: what is no more is no motion [rad]."""


class RobotState(Enum):
    """What the servos do."""

    CLOSED = "closed"
    """The port is not open."""
    LIMP = "limp"
    """The servos are free, or were never commanded."""
    HOLDING = "holding"
    """They stay where they are."""
    FOLLOWING = "following"
    """They follow commands."""
    STOPPED = "stopped"
    """No command moves them until somebody energises them on purpose: they hold, or,
    after a fault, are as the boards have them (:class:`OnFault`)."""
    LOST = "lost"
    """The boards do not answer, or the port is gone; both are looked for."""


class OnFault(StrEnum):
    """What the servos do after a lost line, a pause of the driver or another fault."""

    KEEP = "keep"
    """As the boards have them: nothing is sent. Boards that stayed on hold their last
    set points; servos that were switched off stay limp."""
    HOLD = "hold"
    """Their pose is read, and held."""
    FREE = "free"
    """They are made limp."""


MOVABLE = (RobotState.HOLDING, RobotState.FOLLOWING)
"""States in which commands are followed."""
ENERGISED = (*MOVABLE, RobotState.STOPPED)
"""States in which the servos may be stiff."""


class RobotStateError(HumansError, RuntimeError):
    """The robot cannot do that now."""


class Move(NamedTuple):
    """What energising moves: the servos begin where they are.

    Attributes:
        joint: that goes farthest.
        distance: of it, from where it is [rad].
        duration: of the approach [s].
        commanded: whether something commands the robot already; else a joint that was
            bent out of its range goes back into it.
    """

    joint: str
    distance: float
    duration: float
    commanded: bool

    def __str__(self) -> str:
        """In words."""
        if abs(self.distance) < _STILL:
            return "nothing moves: the servos hold where they are"
        why = "something commands it" if self.commanded else "it is out of its range"
        return (
            f"{self.joint} moves by {math.degrees(abs(self.distance)):.0f} degrees, the"
            f" farthest of all joints, within {self.duration:.1f} s: {why}"
        )


class Reading(NamedTuple):
    """Where the servos said they are.

    Attributes:
        angles: of the joints [rad].
        time: of the answer, by time.monotonic() [s].
    """

    angles: dict[str, float]
    time: float


@dataclass
class Health:
    """What became of commands.

    Attributes:
        state: of the robot.
        reason: of the state, in words; empty where it was asked for.
        given: commands that were taken.
        delivered: of them, that every board acknowledged before the next one came. An
            acknowledgement does not name its frame: it counts where it may be this
            set point's, also if an earlier one is still open. Steps are limited by what
            is certain (:mod:`.taken_range`), and so is
            :meth:`~.robot.KondoRobot.unacknowledged`.
        refused: commands that were not taken.
        limited: set points that the limits kept from their targets.
        held: times that the watchdog made the robot hold.
        faults: times that a fault stopped the robot.
        reconnections: times that the line came back.
        latencies: from a command to the answer of the last board [s].
        line: what the line has done; None before it was opened.
    """

    state: RobotState = RobotState.CLOSED
    reason: str = ""
    given: int = 0
    delivered: int = 0
    refused: int = 0
    limited: int = 0
    held: int = 0
    faults: int = 0
    reconnections: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))
    line: LinkStatistics | None = None
