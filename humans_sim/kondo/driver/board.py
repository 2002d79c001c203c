# SPDX-License-Identifier: Apache-2.0
"""The boards of a robot as one: all channels, whatever the boards speak.

A robot's thread (:mod:`.robot`) knows :class:`Boards` alone. Boards of another kind
(RCB-3, RCB-4) are another subclass of it and another name in
:mod:`~humans_sim.kondo.driver.robot_settings`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.taken_range import TakenRange
from humans_sim.kondo.motion.motion_file import CHANNELS
from humans_sim.kondo.protocol.link import LinkStatistics, NoAnswerError


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
        """Report which board is in which state.

        Args:
            freed: names of boards.
            perhaps: names of the others.
            seconds: how long it was tried [s].
        """
        self.freed, self.perhaps = tuple(freed), tuple(perhaps)
        super().__init__(
            f"freed: {', '.join(freed) or 'no board'}; perhaps freed: "
            f"{', '.join(perhaps)}, which did not acknowledge it for {seconds:.1f} s: "
            "is it on? Switch the robot off if it is stiff"
        )


class Boards(ABC):
    """What a robot's boards can do.

    Channel values are degrees, one for each channel of the robot in its order; None
    where a channel is to be left alone, or has no servo.

    Attributes:
        statistics: of the line.
        names: of the boards.
        resolution: set points are multiples of it [deg].
        taken: set points that each board may have in force; kept by :meth:`move`,
            forgotten by :meth:`free`.
        heard_at: when each board answered last, by time.monotonic() [s].
        withheld: asked by :meth:`move` at the last moment: whether nothing may be sent.
    """

    resolution: float = 1.0

    def __init__(self, names: Sequence[str], statistics: LinkStatistics) -> None:
        """Nothing is known of them yet.

        Args:
            names: of the boards.
            statistics: of the line.
        """
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
        """Least and largest next set point of every channel [deg].

        Args:
            step: longest from any that may be in force [deg].
        """
        ends = [taken.reach(step, self.resolution) for taken in self.taken]
        lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
        return lower, upper

    def certain(self, board: int, values: Sequence[float | None]) -> bool:
        """Whether nothing but these values can be in force.

        Args:
            board: which, counted from 0.
            values: of all channels of the robot.
        """
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
        """Find out which acknowledgements of a board still come; nothing moves.

        Args:
            board: which, counted from 0.
        """

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
