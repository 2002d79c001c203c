"""The boards of a robot as one: all channels, whatever the boards speak.

A robot's thread (:mod:`.robot`) knows :class:`Boards` alone. Boards of another kind
(RCB-3, RCB-4) are another subclass of it and another name in
:mod:`~humans_sim.kondo.robot_settings`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from humans_sim.errors import HumansError
from humans_sim.kondo.link import LinkStatistics, NoAnswerError
from humans_sim.kondo.motion_file import CHANNELS


class BoardError(HumansError, RuntimeError):
    """A board does not do, or does not tell, what it should."""


class NotFreedError(NoAnswerError):
    """Servos were told to go limp, and not every board acknowledged it.

    Attributes:
        freed: names of the boards that did.
        perhaps: of those that did not: their servos may be limp, or may hold.
    """

    def __init__(
        self, freed: Sequence[str], perhaps: Sequence[str], seconds: float
    ) -> None:
        """Say which board is in which state.

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
    """

    statistics: LinkStatistics
    names: tuple[str, ...]
    resolution: float = 1.0

    def channels(self, board: int) -> slice:
        """Places of a board's channels among all of the robot, from 0."""
        count = CHANNELS // len(self.names)
        return slice(board * count, (board + 1) * count)

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
            whether it is certain that it took these values: where it did not answer,
            or answered perhaps to an earlier set point, it may have or not.
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
    def free(self, within: float) -> None:
        """Make every servo limp.

        Args:
            within: boards that do not acknowledge it are told for so long [s].

        Raises:
            NotFreedError: a board did not acknowledge it; it tells which.
        """

    @abstractmethod
    def close(self) -> None:
        """Free the port."""
