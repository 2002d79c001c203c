"""The boards of a robot as one: all channels, whatever the boards speak.

A robot's thread (:mod:`.robot`) knows :class:`Boards` alone. Boards of another kind
(RCB-3, RCB-4) are another subclass of it and another name in
:mod:`~humans_sim.kondo.robot_settings`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from humans_sim.errors import HumansError
from humans_sim.kondo.link import LinkStatistics


class BoardError(HumansError, RuntimeError):
    """A board does not do, or does not tell, what it should."""


class Boards(ABC):
    """What a robot's boards can do.

    Channel values are degrees, one for each channel of the robot in its order; None
    where a channel is to be left alone, or has no servo.

    Attributes:
        statistics: of the line.
        names: of the boards.
    """

    statistics: LinkStatistics
    names: tuple[str, ...]

    @abstractmethod
    def find(self) -> None:
        """Make sure that every board answers.

        Raises:
            NoAnswerError: one does not; it tells which.
        """

    @abstractmethod
    def move(self, board: int, values: Sequence[float | None], duration: float) -> bool:
        """Tell the channels of a board once where to be, there after about a duration.

        Args:
            board: which, counted from 0.
            values: of all channels of the robot.
            duration: of the way [s].

        Returns:
            whether it said that it heard.
        """

    @abstractmethod
    def read(self, sure: bool = False) -> tuple[float | None, ...]:
        """Where the servos are.

        Args:
            sure: ask until the same is told twice: no wrong pose is begun from.

        Raises:
            NoAnswerError: a board does not answer.
            BoardError: what it says cannot be.
        """

    @abstractmethod
    def free(self) -> None:
        """Make every servo limp.

        Raises:
            NoAnswerError: a board does not answer.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the port."""
