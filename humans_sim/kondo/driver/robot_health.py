# SPDX-License-Identifier: Apache-2.0
"""What a driven robot says of itself."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from humans_sim.core.errors import HumansError
from humans_sim.kondo.protocol.link import LinkStatistics

_LATENCIES = 10_000


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
    """They stay where they are, and no command moves them."""
    LOST = "lost"
    """The boards do not answer, or the port is gone; both are looked for."""


ENERGISED = (RobotState.HOLDING, RobotState.FOLLOWING, RobotState.STOPPED)
"""States in which the servos are commanded."""


class RobotStateError(HumansError, RuntimeError):
    """The robot cannot do that now."""


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
    reconnections: int = 0
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_LATENCIES))
    line: LinkStatistics | None = None
