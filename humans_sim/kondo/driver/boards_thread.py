# SPDX-License-Identifier: Apache-2.0
"""The thread that owns the boards on a port: opens them, asks them, finds them again.

Other threads ask it through a :class:`RequestQueue`.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Self, TypeVar

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.board import BoardError, Boards, RobotStateError
from humans_sim.kondo.driver.rcb1_boards import open_rcb1
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.protocol.link import LinkError, NoAnswerError, PortError

T = TypeVar("T")


class RequestQueue:
    """A queue of requests, each a function of the boards."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[Callable[[Boards], object], Future[object]]] = (
            SimpleQueue()
        )

    @property
    def open(self) -> bool:
        """Whether any is open."""
        return not self._queue.empty()

    def ask(
        self, request: Callable[[Boards], T], wake: Callable[[], None], timeout: float
    ) -> T:
        """Ask and wait for the answer; errors of the request are raised here.

        Args:
            request: is called by the thread.
            wake: wakes the thread.
            timeout: longest wait [s].

        Raises:
            TimeoutError: it took longer.
        """
        answer: Future[object] = Future()
        self._queue.put((request, answer))
        wake()
        try:
            return answer.result(timeout)  # type: ignore[return-value]
        except FutureTimeoutError:
            if not answer.cancel() and answer.done():  # it came just now
                return answer.result()  # type: ignore[return-value]
            raise TimeoutError from None

    def answer(self, owned: Boards, fatal: type[Exception]) -> bool:
        """Answer all that are open, in the thread; whether any went well.

        Args:
            owned: what the requests are about.
            fatal: an error that is the thread's, too.

        Raises:
            fatal: a request met it.
        """
        answered = False
        with suppress(Empty):
            while True:
                request, answer = self._queue.get_nowait()
                if not answer.set_running_or_notify_cancel():
                    continue
                try:
                    answer.set_result(request(owned))
                    answered = True
                except fatal as error:
                    answer.set_exception(error)
                    raise
                except Exception as error:
                    answer.set_exception(error)
        return answered

    def refuse(self, error: Exception) -> None:
        """Answer all that are open by an error."""
        with suppress(Empty):
            while True:
                _, answer = self._queue.get_nowait()
                if answer.set_running_or_notify_cancel():
                    answer.set_exception(error)


PATIENCE = 5.0
"""Longest wait for the thread [s]."""
_LOOK = 0.5
"""Time between two looks for a line that is gone [s]."""


class BoardsThread(ABC):
    """Boards on a port; use it in a ``with`` statement.

    Args:
        port: name of the serial port.
        open_boards: opens the boards on a port.
    """

    def __init__(
        self,
        settings: RobotSettings,
        port: str,
        open_boards: Callable[[str, RobotSettings], Boards] = open_rcb1,
    ) -> None:
        self.settings, self.port = settings, port
        self._open_boards = open_boards
        self._boards: Boards | None = None
        self._lock = threading.Lock()  # of all but the thread's own
        self._wake = threading.Condition(self._lock)
        self._requests: RequestQueue = RequestQueue()
        self._thread: threading.Thread | None = None
        self._end = threading.Event()

    def __enter__(self) -> Self:
        """Open it."""
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; the servos stay as they are."""
        self.close()

    def open(self) -> None:
        """Open the port and make sure that every board answers; servos stay limp.

        Raises:
            PortError: the port cannot be opened.
            NoAnswerError: a board does not answer.
            RobotStateError: it is open already.
        """
        if self._thread is not None:
            raise RobotStateError(f"{self.port} is open already")
        boards = self._open_boards(self.port, self.settings)
        try:
            boards.find()
        except BaseException:
            boards.close()
            raise
        self._boards = boards
        self._opened(boards)
        self._end.clear()
        self._thread = threading.Thread(target=self._run, name="kondo", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and free the port; the servos stay as they are."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._end.set()
        self._wake_up()
        thread.join()
        if self._boards is not None:
            self._boards.close()
            self._boards = None
        self._requests.refuse(RobotStateError("the robot was closed"))
        self._closed()

    def ask(self, request: Callable[[Boards], T], timeout: float = PATIENCE) -> T:
        """Do something with the boards between two set points, and wait for it.

        Args:
            request: is called with the boards, in the robot's thread.
            timeout: longest wait [s].

        Raises:
            NoAnswerError: it took longer.
            RobotStateError: the robot is closed, or its line is lost.
        """
        if self._thread is None:
            raise RobotStateError("the robot is closed")
        try:
            return self._requests.ask(request, self._wake_up, timeout)
        except TimeoutError as error:
            if isinstance(error, HumansError):
                raise
            raise NoAnswerError(
                f"{self.port}: no answer within {timeout:g} s"
            ) from None

    def _wake_up(self) -> None:
        with self._wake:
            self._wake.notify_all()

    @abstractmethod
    def _opened(self, boards: Boards) -> None:
        """The port was opened, and every board answers."""

    @abstractmethod
    def _closed(self) -> None:
        """The port was closed."""

    # What follows runs in the thread.

    @abstractmethod
    def _beat(self, boards: Boards) -> float:
        """Do what is due; how long the next beat may wait from its beginning [s].

        Raises:
            PortError: the line is gone.
        """

    @abstractmethod
    def _hurries(self) -> bool:
        """Whether the next beat must not wait; the lock is held."""

    @abstractmethod
    def _line_is_back(self, boards: Boards) -> None:
        """The line is back, and every board answers.

        Raises:
            LinkError: the line is gone again.
            BoardError: a board does not report what it should.
        """

    @abstractmethod
    def _lost(self, boards: Boards, reason: str) -> None:
        """The line is gone."""

    @abstractmethod
    def _failed(self, boards: Boards | None, error: Exception) -> None:
        """The thread ends by a fault of the driver."""

    def _run(self) -> None:
        while not self._end.is_set():
            begun = time.monotonic()
            try:
                wait = (
                    self._look() if self._boards is None else self._beat(self._boards)
                )
            except PortError as error:
                boards, self._boards, wait = self._boards, None, 0.0
                if boards is not None:
                    boards.close()
                    self._lost(boards, str(error))
                self._requests.refuse(RobotStateError(str(error)))
            except Exception as error:  # a fault here must not leave servos driven
                self._failed(self._boards, error)
                self._requests.refuse(RobotStateError("the driver failed"))
                raise
            with self._wake:
                left = begun + wait - time.monotonic()
                if left > 0.0 and not self._requests.open and not self._hurries():
                    self._wake.wait(left)

    def _look(self) -> float:
        """Try to find the line again; how long to wait before the next try [s]."""
        self._requests.refuse(RobotStateError(f"{self.port} is lost"))
        try:
            boards = self._open_boards(self.port, self.settings)
        except LinkError:
            return _LOOK
        try:
            boards.find()
            self._line_is_back(boards)
        except (LinkError, BoardError):
            boards.close()
            return _LOOK
        self._boards = boards
        return 0.0
