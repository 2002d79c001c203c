# SPDX-License-Identifier: Apache-2.0
"""The boards of a robot as one: all channels, whatever the boards speak.

A robot's thread (:mod:`.robot`) knows :class:`Boards` alone. Boards of another kind
(RCB-3, RCB-4) are another subclass of it and another name in
:mod:`~humans_sim.kondo.driver.robot_settings`.

*Set points in force*, where a board did not acknowledge all. A frame that was not
answered was taken or not. The set point in force is the last one that is known to have
been taken, or any that was sent since; what lies between the least and the largest of
them bounds the next step. An acknowledgement that is late, or could be an earlier
frame's, still rules out what was sent before that frame: so a robot on a slow line
continues, by one step for two acknowledgements.

An acknowledgement has no sum: another reply may become one on the line, and a damaged
frame whose sum is right by chance is acknowledged like the one that was sent. So what
an acknowledgement rules out bounds the next step all the same, until the next one
comes: one such fault makes no step too long.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import NamedTuple

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.kondo.motion.motion_file import CHANNELS
from humans_sim.kondo.protocol.link import LinkStatistics, NoAnswerError

_TINY = 1e-9
_MOST = 32
"""Set points that are kept apart; older ones become one range."""
_BEFORE = -1
"""Number of what was known before anything was sent."""


class _Possible(NamedTuple):
    number: int
    low: np.ndarray
    high: np.ndarray


Values = Sequence[float | None] | np.ndarray
"""Of the channels of a board [deg]; None or NaN: not commanded."""


def array_of(values: Values) -> np.ndarray:
    """Values as an array."""
    if isinstance(values, np.ndarray):
        return values
    return np.array([math.nan if v is None else v for v in values], dtype=float)


class TakenRange:
    """From the least to the largest set point that each channel may have in force.

    Args:
        count: channels of the board; nothing is known of them at first.
    """

    def __init__(self, count: int) -> None:
        unknown = np.full(count, math.nan)
        self._possible = deque([_Possible(_BEFORE, unknown, unknown)])
        self._doubted: list[_Possible] = []

    def known(self, values: Values) -> None:
        """These are in force for certain [deg]; None: not known."""
        self._possible = deque([_Possible(_BEFORE, *([array_of(values)] * 2))])
        self._doubted = []

    def inherit(self, other: TakenRange, values: Values) -> None:
        """These are in force [deg], or what was before the line was opened anew."""
        (low, high), now = other._bounds(), array_of(values)
        joined = _Possible(_BEFORE, np.fmin(low, now), np.fmax(high, now))
        self._possible = deque([joined])
        self._doubted = []

    def sent(self, number: int, values: Values) -> None:
        """A set point of a higher number goes out: it is taken, or not [deg]."""
        commanded = array_of(values)
        self._possible.append(_Possible(number, commanded, commanded))
        if len(self._possible) > _MOST:
            first, second = self._possible.popleft(), self._possible.popleft()
            low, high = np.fmin(first.low, second.low), np.fmax(first.high, second.high)
            self._possible.appendleft(_Possible(first.number, low, high))

    def acknowledged(self, number: int) -> None:
        """The request of a number was taken, or one that was sent after it."""
        ruled_out = []
        while len(self._possible) > 1 and self._possible[1].number <= number:
            ruled_out.append(self._possible.popleft())
        if ruled_out:
            self._doubted = ruled_out

    def same_since(self, values: Values) -> int | None:
        """Number of the first of the last set points that all are these; None: none.

        Whichever of them is acknowledged: these values are in force then.
        """
        if len(self._possible) == 1:
            return None
        commanded, number = array_of(values), None
        for entry in list(self._possible)[:0:-1]:
            if not _equal(entry.low, commanded) or not _equal(entry.high, commanded):
                break
            number = entry.number
        return number

    def certain(self, values: Values) -> bool:
        """Whether nothing but these values can be in force."""
        commanded, (low, high) = array_of(values), self.ends()
        return _equal(low, commanded) and (low is high or _equal(high, commanded))

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest values that may be in force [deg]; NaN: not known."""
        return _ends_of(self._possible)

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The same, should the last acknowledgement have been none."""
        return _ends_of([*self._doubted, *self._possible])

    def farthest(self, values: Values) -> float:
        """The longest distance that one of the channels may have to values [deg]."""
        commanded, (low, high) = array_of(values), self.ends()
        distances = np.fmax(commanded - low, high - commanded)
        return float(np.fmax.reduce(distances, initial=0.0))

    def reach(self, step: float, resolution: float) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest next set points that are no step too long from any [deg].

        That holds also where the last acknowledgement was none.

        Args:
            step: longest [deg].
            resolution: what is sent is rounded to multiples of it [deg].
        """
        count = max(math.floor(step / resolution + _TINY), 1)
        low, high = self._bounds()
        lower, upper = high - count * resolution, low + count * resolution
        return (
            np.where(np.isnan(lower), -math.inf, lower),
            np.where(np.isnan(upper), math.inf, upper),
        )


def _ends_of(entries: Collection[_Possible]) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values of some [deg]."""
    if len(entries) == 1:
        (entry,) = entries
        return entry.low, entry.high
    low = np.fmin.reduce([entry.low for entry in entries])
    high = np.fmax.reduce([entry.high for entry in entries])
    return low, high


def _equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether values agree; those that are not commanded in the other do not matter."""
    return bool(np.all((one == other) | np.isnan(other)))


class BoardError(HumansError, RuntimeError):
    """A board does not do, or does not report, what it should."""


class NotFreedError(NoAnswerError):
    """Servos were commanded to go limp, and not every board acknowledged it.

    Attributes:
        freed: names of the boards that did.
        perhaps: of those that did not: their servos may be limp, or may hold.
    """

    def __init__(
        self, freed: Sequence[str], perhaps: Sequence[str], seconds: float
    ) -> None:
        self.freed, self.perhaps = tuple(freed), tuple(perhaps)
        super().__init__(
            f"freed: {', '.join(freed) or 'no board'}; perhaps freed: "
            f"{', '.join(perhaps)}, which did not acknowledge it for {seconds:.1f} s: "
            "is it on? Switch the robot off if it is stiff"
        )


class Boards(ABC):
    """The boards of a robot.

    Channel values are degrees, one for each channel of the robot in its order; None
    where a channel is to be left alone, or has no servo.

    Attributes:
        resolution: set points are multiples of it [deg].
        taken: set points that each board may have in force; kept by :meth:`move`,
            forgotten by :meth:`free`.
        heard_at: when each board answered last, by time.monotonic() [s].
        withheld: asked by :meth:`move` at the last moment: whether nothing may be sent.
    """

    resolution: float = 1.0

    def __init__(self, names: Sequence[str], statistics: LinkStatistics) -> None:
        self.names, self.statistics = tuple(names), statistics
        self.withheld: Callable[[], bool] = lambda: False
        self.heard_at = [-math.inf] * len(self.names)
        self.forget()

    def forget(self) -> None:
        """No set point is in force: servos are limp, or nothing is known of them."""
        count = CHANNELS // len(self.names)
        self.taken = [TakenRange(count) for _ in self.names]

    def channels(self, board: int) -> slice:
        """Places of a board's channels among all of the robot, from 0."""
        count = CHANNELS // len(self.names)
        return slice(board * count, (board + 1) * count)

    def rounded(self, values: Sequence[float | None]) -> list[float | None]:
        """Values as they are sent [deg]."""
        unit = self.resolution
        return [None if v is None else round(v / unit) * unit for v in values]

    def reach(self, step: float) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest next set points, by the longest step from any [deg]."""
        ends = [taken.reach(step, self.resolution) for taken in self.taken]
        lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
        return lower, upper

    def certain(self, board: int, values: Sequence[float | None]) -> bool:
        """Whether nothing but the robot's values can be in force on a board."""
        return self.taken[board].certain(self.rounded(values[self.channels(board)]))

    @abstractmethod
    def find(self) -> None:
        """Make sure that every board answers.

        Raises:
            NoAnswerError: one does not; the message names it.
        """

    @abstractmethod
    def move(self, board: int, values: Sequence[float | None], duration: float) -> bool:
        """Send a board's channels a set point once, reached after about a duration.

        Args:
            board: which, counted from 0.
            values: of all channels of the robot.
            duration: of the motion [s].

        Returns:
            whether it acknowledged a set point that may be this one. It may be an
            earlier one, where that is open; and a board that did not answer in time may
            have taken this one: :attr:`taken` says what may be in force.
        """

    @abstractmethod
    def settle(self, board: int) -> None:
        """Find out which acknowledgements of a board still come; nothing moves."""

    @abstractmethod
    def read(self, sure: bool = False) -> tuple[float | None, ...]:
        """Where the servos are.

        Args:
            sure: ask until two answers agree: no motion begins from a wrong pose.

        Raises:
            NoAnswerError: a board does not answer.
            BoardError: what it says cannot be.
        """

    @abstractmethod
    def free(self, within: float) -> None:
        """Make every servo limp.

        Args:
            within: boards that do not acknowledge it are commanded for so long [s].

        Raises:
            NotFreedError: a board did not acknowledge it; the message names it.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the port."""


_LATENCIES = 10_000
_STILL = math.radians(0.6)
"""Boards count whole degrees: what is no more is no motion [rad]."""


class RobotState(Enum):
    """The state of the servos."""

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
    """The state of the servos after a lost line, a pause or another fault."""

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
    """The motion of energising: the servos begin where they are.

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
    """State and counts of commands of a driven robot.

    Attributes:
        state: of the robot.
        reason: of the state, in words; empty where it was asked for.
        given: commands that were taken.
        delivered: of them, that every board acknowledged before the next one came. An
            acknowledgement does not name its frame: it counts where it may be this
            set point's, also if an earlier one is still open. Steps are limited by what
            is certain (:class:`TakenRange`), and so is
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
