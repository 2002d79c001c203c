"""A robot on a serial line, driven from a thread of its own.

Commands are taken at once and never wait for the line: the latest one wins. The thread
sends set points in a steady beat, also while nothing changes: what a bad line lost or
damaged is put right by the next frame. Whatever was asked for, limits are enforced last
(:mod:`.safety`).

A watchdog holds the robot when no command comes, then frees it; a driver that was
paused holds, too. Steps count from what the boards acknowledged. A line that is gone is
looked for; when it is back, the pose is read, and the servos hold it.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeVar

from humans_sim.errors import HumansError
from humans_sim.kondo.board import BoardError, Boards, NotFreedError
from humans_sim.kondo.link import LinkError, NoAnswerError, PortError
from humans_sim.kondo.motion_file import CHANNELS
from humans_sim.kondo.questions import Questions
from humans_sim.kondo.rcb1_boards import open_rcb1
from humans_sim.kondo.robot_health import ENERGISED, Health, RobotState
from humans_sim.kondo.robot_settings import RobotSettings
from humans_sim.kondo.safety import Guard, JointCommandError
from humans_sim.kondo.taken_range import TakenRange
from humans_sim.kondo.watchdog import Watchdog

T = TypeVar("T")
_SILENCE = 1.0
"""A board that did not answer for so long is lost [s]."""
_MISSES = 5
"""... and left so many frames in a row unanswered: a busy machine is no lost line."""
_TRY = 0.1
"""A set point is repeated for no longer [s]."""
_LOOK = 0.5
"""Time between two looks for a line that is gone [s]."""
_LIMP_BEAT = 0.05
"""Beat of the thread while nothing is sent [s]."""
_PATIENCE = 5.0
"""Longest wait for the thread [s]."""
_FREE, _AGAIN = 4.0, 0.3
"""Servos are told to go limp for so long, and in the background afterwards [s]."""


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


class KondoRobot:
    """Joint angles in, set points on the line; use it in a ``with`` statement.

    Attributes:
        settings: of the robot.
        port: of the line.
        joint_names: joints that have a servo, in the order of the channels.
    """

    def __init__(
        self,
        settings: RobotSettings,
        port: str,
        *,
        command_timeout: float = 0.5,
        free_timeout: float = 10.0,
        open_boards: Callable[[str, RobotSettings], Boards] = open_rcb1,
    ) -> None:
        """Name the robot and its port; nothing is opened yet.

        Args:
            settings: of the robot.
            port: name of the serial port.
            command_timeout: no command for so long: the robot holds [s]; 0: never.
            free_timeout: it has held for so long since: it is freed [s]; 0: never.
            open_boards: opens the boards on a port.

        Raises:
            ParameterError: a time is negative or no number.
        """
        self.settings, self.port = settings, port
        self.joint_names = settings.joint_names
        self._watchdog = Watchdog(command_timeout, free_timeout)
        self._open_boards = open_boards
        self._boards: Boards | None = None
        self._guard = Guard(settings)
        self._taken = TakenRange(CHANNELS)
        self._health = Health()
        self._lock = threading.Lock()  # of all below but the thread's own
        self._wake = threading.Condition(self._lock)
        self._questions: Questions[Boards] = Questions()
        self._reading: Reading | None = None
        self._reading_wanted = False
        self._pending: float | None = None
        self._before = RobotState.LIMP
        self._unfreed: tuple[str, ...] = ()
        self._last_step = self._since = 0.0
        self._heard: list[float] = []
        self._acknowledged: list[float] = []  # when these set points were made
        self._misses: list[int] = []
        self._thread: threading.Thread | None = None
        self._end = threading.Event()

    def __enter__(self) -> KondoRobot:
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
        self._health = Health(RobotState.LIMP, line=boards.statistics)
        self._end.clear()
        self._all_heard(boards)
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
        self._questions.refuse(RobotStateError("the robot was closed"))
        with self._lock:
            self._be(RobotState.CLOSED)

    @property
    def state(self) -> RobotState:
        """What the servos do."""
        with self._lock:
            return self._health.state

    def health(self) -> Health:
        """What the robot says of itself; a copy."""
        with self._lock:
            return replace(
                self._health,
                limited=self._guard.limited,
                latencies=self._health.latencies.copy(),
            )

    def check(self, angles: Mapping[str, float]) -> None:
        """Whether a command would be taken.

        Raises:
            JointCommandError: a name, or a number, cannot be.
        """
        self._guard.check(angles)

    def command(self, angles: Mapping[str, float]) -> None:
        """Let joints be there; others keep their targets. The latest command wins.

        After the servos were energised, or held, the way there is slow.

        Args:
            angles: of joints [rad].

        Raises:
            JointCommandError: a name, or a number, cannot be: nothing is followed.
            RobotStateError: the servos are not energised, or were stopped.
        """
        with self._wake:
            self._hold_if_overdue()
            state = self._health.state
            if state not in (RobotState.HOLDING, RobotState.FOLLOWING):
                self._health.refused += 1
                why = f" ({self._health.reason})" if self._health.reason else ""
                raise RobotStateError(
                    f"the robot is {state.value}{why}: it follows no command before it "
                    "is energised"
                )
            try:
                self._guard.aim(angles, slowly=state == RobotState.HOLDING)
            except JointCommandError:
                self._health.refused += 1
                raise
            self._health.given += 1
            self._pending = time.monotonic()
            self._watchdog.command()
            if state == RobotState.HOLDING:
                self._be(RobotState.FOLLOWING)
            self._wake.notify_all()

    def energise(self) -> None:
        """Read where the servos are and tell them to stay there.

        Raises:
            LinkError: the boards do not answer.
            BoardError: what they tell cannot be.
            RobotStateError: the robot is closed or lost.
        """
        state = self.state
        if state in (RobotState.CLOSED, RobotState.LOST):
            raise RobotStateError(f"the robot is {state.value}")
        self.ask(self._take_pose)

    def hold(self, reason: str = "") -> None:
        """Stay where the set points are; the next command is approached slowly.

        Raises:
            RobotStateError: the servos are not energised.
        """
        self._stay(RobotState.HOLDING, reason)

    def stop(self, reason: str = "stopped") -> None:
        """Stay where the set points are, whatever is commanded, until energised anew.

        Limp servos stay limp. A robot whose line is lost is stopped when it is back.
        It does not wait for the line: :meth:`unacknowledged` tells who heard of it.
        """
        with self._lock:
            if self._health.state == RobotState.LOST and self._before in ENERGISED:
                self._before = RobotState.STOPPED
        with suppress(RobotStateError):
            self._stay(RobotState.STOPPED, reason)

    def unacknowledged(self, within: float = 2.0) -> tuple[str, ...]:
        """Boards that have not acknowledged the state that the robot is in.

        Args:
            within: wait so long for them at most [s].

        Returns:
            names of the boards that did not; none where nothing is told to servos.
        """
        end = time.monotonic() + within
        with self._wake:
            while True:
                boards = self._boards
                deaf: tuple[str, ...] = ("every board",)
                if boards is not None:
                    deaf = self._unfreed
                    if self._health.state in ENERGISED:
                        pairs = zip(boards.names, self._acknowledged, strict=True)
                        deaf = tuple(name for name, t in pairs if t <= self._since)
                left = end - time.monotonic()
                if not deaf or left <= 0.0:
                    return deaf
                self._wake.wait(min(left, _LIMP_BEAT))

    def free(self, reason: str = "") -> None:
        """Make the servos limp; no set point is sent from now on.

        A board that does not acknowledge it is told for seconds, and in the background
        afterwards, until it does or the servos are energised.

        Raises:
            NotFreedError: a board did not acknowledge it; it tells which.
            LinkError: the line is gone.
            RobotStateError: the robot is closed, or lost: it is freed when it is back.
        """
        with self._lock:
            if self._health.state == RobotState.CLOSED:
                raise RobotStateError("the robot is closed")
            if self._health.state == RobotState.LOST:
                self._before, self._unfreed = RobotState.LIMP, ("every board",)
                raise RobotStateError(
                    "the robot is lost: its servos are freed when its line is back"
                )
        self.ask(lambda boards: self._let_go(boards, reason))

    def set_points(self) -> dict[str, float]:
        """Where the servos are told to be; empty while they were told nothing [rad]."""
        with self._lock:
            return self._guard.angles() if self._health.state in ENERGISED else {}

    def approaching(self) -> bool:
        """Whether the robot is still on its slow way to what was commanded."""
        with self._lock:
            return (
                self._health.state == RobotState.FOLLOWING and self._guard.approaching
            )

    def reading(self) -> Reading | None:
        """Where the servos last said they are."""
        with self._lock:
            return self._reading

    def request_reading(self) -> None:
        """Let the servos be asked where they are, when the line is free."""
        with self._wake:
            self._reading_wanted = True
            self._wake.notify_all()

    def read_back(self) -> dict[str, float]:
        """Ask the servos where they are [rad].

        Raises:
            LinkError: the boards do not answer.
            BoardError: what they tell cannot be.
        """
        return self.ask(self._read).angles

    def ask(self, question: Callable[[Boards], T], timeout: float = _PATIENCE) -> T:
        """Do something with the boards between two set points, and wait for it.

        Args:
            question: is called with the boards, in the robot's thread.
            timeout: longest wait [s].

        Raises:
            NoAnswerError: it took longer.
            RobotStateError: the robot is closed, or its line is lost.
        """
        if self._thread is None:
            raise RobotStateError("the robot is closed")
        try:
            return self._questions.ask(question, self._wake_up, timeout)
        except TimeoutError as error:
            if isinstance(error, HumansError):
                raise
            raise NoAnswerError(
                f"{self.port}: no answer within {timeout:g} s"
            ) from None

    def _wake_up(self) -> None:
        with self._wake:
            self._wake.notify_all()

    # What follows runs in the robot's thread.

    def _run(self) -> None:
        while not self._end.is_set():
            begun = time.monotonic()
            try:
                wait = self._beat()
            except PortError as error:
                self._lose(str(error))
                wait = 0.0
            except Exception as error:  # a fault of ours must not leave servos driven
                self._fail(error)
                raise
            with self._wake:
                left = begun + wait - time.monotonic()
                if left > 0.0 and not self._questions.open and self._pending is None:
                    self._wake.wait(left)

    def _beat(self) -> float:
        """Do what is due; how long the next beat may wait from now [s]."""
        if self._boards is None:
            return self._look()
        self._notice_gap()
        if self._questions.answer(self._boards, PortError):
            self._all_heard(self._boards)
        self._watch()
        if self.state in ENERGISED:
            self._send(self._boards)
        elif self._unfreed:
            with suppress(NotFreedError):
                self._let_go(self._boards, "acknowledged late", _AGAIN)
        if self._reading_wanted:
            with suppress(NoAnswerError, BoardError):
                self._read(self._boards)
        if self.state not in ENERGISED:
            return _LIMP_BEAT
        with self._lock:
            return 0.0 if self._pending is not None else self.settings.period

    def _send(self, boards: Boards) -> None:
        """One set point, said until every board heard it or another one is due."""
        self._notice_gap()
        with self._lock:
            begun = time.monotonic()
            reach = self._taken.reach(self.settings.limits.step, boards.resolution)
            values = self._guard.step(begun - self._last_step, reach)
            self._last_step, pending = begun, self._pending
        # The board that has waited longest comes first, or none would ever be heard
        # of that is second where commands come faster than the line takes them.
        order = sorted(range(len(boards.names)), key=self._heard.__getitem__)
        deaf, newer, now = deque(order), False, begun
        while deaf and not newer and not self._questions.open:
            board = deaf.popleft()
            heard = self._tell(boards, board, values)
            now = time.monotonic()
            # A set point that was heard once is said again by the next beat.
            if not heard and pending is not None and now < begun + _TRY:
                deaf.append(board)
            with self._lock:
                self._misses[board] = 0 if heard else self._misses[board] + 1
                if heard:
                    self._heard[board], self._acknowledged[board] = now, begun
                newer = self._pending not in (None, pending)
        with self._lock:
            if pending is not None and not newer and min(self._heard) >= begun:
                self._pending = None
                self._health.delivered += 1
                self._health.latencies.append(now - pending)
        for k, name in enumerate(boards.names):
            if now > self._heard[k] + _SILENCE and self._misses[k] >= _MISSES:
                raise PortError(
                    f"{self.port}: {name} did not answer for {_SILENCE:g} s: is it on?"
                )

    def _tell(self, boards: Boards, board: int, values: Sequence[float | None]) -> bool:
        """Set points for one board; whether it took them for certain."""
        part, unit = boards.channels(board), boards.resolution
        told = [None if v is None else round(v / unit) * unit for v in values[part]]
        self._taken.perhaps(part, told)
        heard = boards.move(board, values, self.settings.period)
        if heard:
            self._taken.taken(part, told)
        return heard

    def _all_heard(self, boards: Boards) -> None:
        self._heard = [time.monotonic()] * len(boards.names)
        self._acknowledged = [-math.inf] * len(boards.names)
        self._misses = [0] * len(boards.names)

    def _notice_gap(self) -> None:
        """Hold after a pause of this thread: what was commanded is out of date."""
        with self._lock:
            gap = self._watchdog.beat()
            if gap and self._health.state == RobotState.FOLLOWING:
                self._hold_now(f"the driver was kept from its line for {gap:.1f} s")

    def _hold_if_overdue(self) -> None:
        """Hold a robot that nobody commanded in time; the lock is held."""
        following = self._health.state == RobotState.FOLLOWING
        if following and self._watchdog.command_overdue():
            timeout = self._watchdog.command_timeout
            self._hold_now(f"no command came for {timeout:g} s")

    def _hold_now(self, reason: str) -> None:
        self._guard.hold()
        self._health.held += 1
        self._be(RobotState.HOLDING, reason)

    def _watch(self) -> None:
        """Hold, then free, a robot that nobody commands."""
        with self._lock:
            self._hold_if_overdue()
            state = self._health.state
        resting = state in (RobotState.HOLDING, RobotState.STOPPED)
        if resting and self._watchdog.free_overdue():
            assert self._boards is not None
            with suppress(NoAnswerError):
                why = f"{state.value} for {self._watchdog.free_timeout:g} s"
                self._let_go(self._boards, why)

    def _take_pose(self, boards: Boards, reason: str = "") -> None:
        values = boards.read(sure=True)
        with self._lock:
            self._unfreed = ()
            self._guard.begin(values)
            # A servo may still be on its way to its last set point.
            everything = slice(None)
            if self._taken.farthest(everything, values) <= self.settings.limits.step:
                self._taken.perhaps(everything, values)
            else:
                self._taken.taken(everything, values)
            self._last_step = time.monotonic()
            self._all_heard(boards)
            self._be(RobotState.HOLDING, reason)

    def _let_go(self, boards: Boards, reason: str, within: float = _FREE) -> None:
        unfreed: tuple[str, ...] = boards.names
        try:
            boards.free(within)
            unfreed = ()
        except NotFreedError as error:
            unfreed, reason = error.perhaps, str(error)
            raise
        finally:
            # Whatever came of it: a set point would make freed servos stiff again.
            with self._lock:
                self._unfreed = unfreed
                self._be(RobotState.LIMP, reason)
                self._taken = TakenRange(CHANNELS)

    def _read(self, boards: Boards) -> Reading:
        values = boards.read()
        channels = self.settings.channels.channels
        angles = {
            channel.joint: channel.angle(value)
            for number, channel in channels.items()
            if (value := values[number - 1]) is not None
        }
        with self._lock:
            self._reading_wanted = False
            self._reading = Reading(angles, time.monotonic())
            return self._reading

    def _stay(self, state: RobotState, reason: str) -> None:
        with self._wake:
            if self._health.state not in ENERGISED:
                raise RobotStateError(
                    f"the robot is {self._health.state.value}: energise it first"
                )
            self._guard.hold()
            self._be(state, reason)
            self._wake.notify_all()

    def _be(self, state: RobotState, reason: str = "") -> None:
        """Note a state; the lock is held."""
        self._health.state, self._health.reason = state, reason
        self._since = time.monotonic()
        self._watchdog.rest()
        if state != RobotState.FOLLOWING:
            self._pending = None

    def _lose(self, reason: str) -> None:
        """The line is gone."""
        boards, self._boards = self._boards, None
        if boards is not None:
            boards.close()
        with self._lock:
            if self._health.state != RobotState.LOST:
                self._before = self._health.state
            self._be(RobotState.LOST, reason)
        self._questions.refuse(RobotStateError(reason))

    def _look(self) -> float:
        """Try to find the line again; how long to wait before the next try [s]."""
        self._questions.refuse(RobotStateError(f"{self.port} is lost"))
        try:
            boards = self._open_boards(self.port, self.settings)
        except LinkError:
            return _LOOK
        try:
            boards.find()
            if self._before in ENERGISED:
                self._take_pose(boards)
        except (LinkError, BoardError):
            boards.close()
            return _LOOK
        self._boards = boards
        with self._lock:
            stopped = self._before in (RobotState.STOPPED, RobotState.LIMP)
            back = self._before if stopped else RobotState.HOLDING
            self._be(back, "the line was lost, and is back")
            self._health.line = boards.statistics
            self._health.reconnections += 1
        return 0.0

    def _fail(self, error: Exception) -> None:
        if self._boards is not None:
            with suppress(HumansError):
                self._boards.free(_FREE)
        with self._lock:
            self._be(RobotState.LOST, f"the driver failed: {error!r}")
        self._questions.refuse(RobotStateError("the driver failed"))
