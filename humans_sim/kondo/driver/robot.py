# SPDX-License-Identifier: Apache-2.0
"""A robot on a serial line, driven from a thread of its own.

Commands are taken at once and never wait for the line: the latest one wins. The thread
sends set points in a steady beat, also while nothing changes: what a bad line lost or
damaged is put right by the next frame. Whatever was asked for, limits are enforced last
(:mod:`.safety`).

A watchdog holds the robot when no command comes, then frees it. Steps count from what
the boards acknowledged. A line that is gone is looked for. After a lost line, a pause
of the driver or another fault the robot is stopped: whatever goes on commanding,
nothing is followed until somebody energises the servos on purpose.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from humans_sim.control.trajectories.joint_trajectory import JointPath
from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.board import (
    ENERGISED,
    MOVABLE,
    BoardError,
    Boards,
    Health,
    Move,
    NotFreedError,
    OnFault,
    Reading,
    RobotState,
    RobotStateError,
    TakenRange,
)
from humans_sim.kondo.driver.boards_thread import BoardsThread
from humans_sim.kondo.driver.rcb1_boards import open_rcb1
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.driver.safety import Guard, JointCommandError, SetPointDelivery
from humans_sim.kondo.driver.self_collision import SPACING, SelfCollisionCheck
from humans_sim.kondo.driver.watchdog import PAUSE, Watchdog
from humans_sim.kondo.protocol.link import NoAnswerError, PortError

__all__ = ["KondoRobot", "Reading", "RobotStateError"]

_LIMP_BEAT = 0.05
"""Beat of the thread while nothing is sent [s]."""
_FREE, _AGAIN, _LEAST = 1.8, 0.3, 0.2
"""To free servos: at first, again in the background, however late it begins [s]."""
_THREAD = 1.0
"""The thread is waited for so much longer [s]."""
_EVERY = ("every board",)
_WAITING = 1.0
"""Something that commanded a stopped robot within so long commands it still [s]."""
_HOW = "energise it on purpose (`energise()`, the service energize)"


class KondoRobot(BoardsThread):
    """Joint angles in, set points on the line; use it in a ``with`` statement.

    Args:
        settings: of the robot: its channels, servos and limits.
        port: name of the serial port.
        command_timeout: no command for so long: the robot holds [s]; 0: never.
        free_timeout: it has held for so long since: it is freed [s]; 0: never.
        pause_timeout: the driver did not run for so long: the robot is stopped [s].
        on_fault: what the servos do after a lost line, a pause or a fault.
        open_boards: opens the boards on a port.

    Attributes:
        joint_names: joints that have a servo, in the order of the channels.

    Raises:
        ParameterError: a time is negative or no number.
    """

    def __init__(
        self,
        settings: RobotSettings,
        port: str,
        *,
        command_timeout: float = 0.5,
        free_timeout: float = 10.0,
        pause_timeout: float = PAUSE,
        on_fault: OnFault = OnFault.KEEP,
        open_boards: Callable[[str, RobotSettings], Boards] = open_rcb1,
    ) -> None:
        super().__init__(settings, port, open_boards)
        self.joint_names = settings.joint_names
        self._watchdog = Watchdog(command_timeout, free_timeout, pause_timeout)
        self._guard = Guard(settings)
        self._collisions: SelfCollisionCheck | None = None
        self._delivery: SetPointDelivery | None = None
        self._before_loss: list[TakenRange] = []
        self._health = Health()
        self._reading: Reading | None = None
        self._reading_requested = False
        self._pending: float | None = None
        self._before = RobotState.LIMP
        self._on_fault = OnFault(on_fault)
        # After a fault: nothing is sent; and what the servos shall do is still due.
        self._silent = self._fault_due = False
        self._waiting: tuple[float, dict[str, float]] | None = None
        self._stops = 0
        self._unfreed: tuple[str, ...] = ()
        self._last_step = self._since = 0.0

    def _opened(self, boards: Boards) -> None:
        self._deliver_to(boards)
        self._before_loss, self._unfreed = [], ()
        with self._lock:
            self._health = Health(RobotState.LIMP, line=boards.statistics)

    def _deliver_to(self, boards: Boards) -> None:
        self._delivery = SetPointDelivery(boards, self.settings.period)
        boards.withheld = self._withheld

    def _closed(self) -> None:
        with self._lock:
            self._be(RobotState.CLOSED)

    @property
    def state(self) -> RobotState:
        """The state of the servos."""
        with self._lock:
            return self._health.state

    def health(self) -> Health:
        """State and counts of the robot; a copy."""
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

        After the servos were energised, or held, the approach is slow.

        Args:
            angles: of joints [rad].

        Raises:
            JointCommandError: a name, or a number, cannot be: nothing is followed.
            SelfCollisionError: on the way there two links of the robot would touch.
            RobotStateError: the servos are not energised, or were stopped.
        """
        with self._wake:
            self._hold_if_overdue()
            self._check_movable(angles)
            collisions = self._collisions
            path, slowly = None, self._health.state == RobotState.HOLDING
            with suppress(JointCommandError):  # refused below, for another reason
                if collisions is not None:
                    path = self._guard.path_to(angles, slowly, SPACING)
        if collisions is not None and path is not None:
            try:
                collisions.check(path)
            except JointCommandError:
                with self._lock:
                    self._health.refused += 1
                raise
        with self._wake:
            self._check_movable(angles)
            state = self._health.state
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

    def check_path(self, path: JointPath) -> None:
        """Whether a path, from the present set points on, keeps links apart.

        Raises:
            SelfCollisionError: it does not.
        """
        if self._collisions is not None:
            self._collisions.check_path(path, self.set_points())

    def energise(self) -> None:
        """Read where the servos are and hold them there; commands count from now on.

        :meth:`preview` says before what will move.

        Raises:
            LinkError: the boards do not answer.
            BoardError: what they report cannot be.
            RobotStateError: the robot is closed or lost, or was stopped meanwhile.
        """
        stops = self._stops
        self._check_there()
        overlap = self.settings.self_collision
        if overlap is not None and self._collisions is None:
            self._collisions = SelfCollisionCheck(self.settings, overlap)
        self.ask(lambda boards: self._take_pose(boards, stops=stops))

    def preview(self) -> Move:
        """The motion of energising, from where the servos are now; nothing moves.

        Raises:
            LinkError: the boards do not answer.
            BoardError: what they report cannot be.
            RobotStateError: the robot is closed or lost.
        """
        self._check_there()
        return self.move_from(self.read_back())

    def move_from(self, angles: Mapping[str, float]) -> Move:
        """The motion of energising from a pose [rad].

        A robot that something commands, though it is stopped, goes where that was last;
        else joints that were bent out of their ranges go back.
        """
        with self._lock:
            target, waiting = self._guard.nearest(angles), self._waiting
            commanded = waiting is not None and time.monotonic() < waiting[0] + _WAITING
            if waiting is not None and commanded:
                target |= waiting[1]
        joint = max(target, key=lambda name: abs(target[name] - angles[name]))
        distance = target[joint] - angles[joint]
        speed = math.radians(self.settings.limits.approach)
        return Move(joint, distance, abs(distance) / speed, commanded)

    def fault(self, reason: str) -> None:
        """Stop for a fault that others noticed, such as a low voltage.

        The servos do what ``on_fault`` says; limp ones stay limp.
        """
        with self._wake:
            self._stop_for(reason)
            self._wake.notify_all()

    def hold(self, reason: str = "") -> None:
        """Stay where the set points are; the next command is approached slowly.

        Raises:
            RobotStateError: the servos are not energised, or were stopped.
        """
        self._stay(RobotState.HOLDING, reason)

    def stop(self, reason: str = "stopped") -> None:
        """Stay where the set points are, whatever is commanded, until energised anew.

        Limp servos stay limp, and nothing is sent to those that a fault has stopped. A
        robot whose line is lost is stopped when it is back.
        It does not wait for the line: :meth:`unacknowledged` gives who did not hear.
        """
        with self._lock:
            self._stops += 1
            if self._health.state == RobotState.LOST and self._before in ENERGISED:
                self._before = RobotState.STOPPED
        with suppress(RobotStateError):
            self._stay(RobotState.STOPPED, reason)

    def unacknowledged(self, within: float = 2.0) -> tuple[str, ...]:
        """Boards that have not acknowledged the state that the robot is in.

        Args:
            within: wait so long for them at most [s].

        Returns:
            names of the boards that did not; none where no set point is sent.
        """
        end = time.monotonic() + within
        with self._wake:
            while True:
                delivery, deaf = self._delivery, self._unfreed
                if self._boards is None or delivery is None:
                    deaf = _EVERY
                elif self._sends:
                    deaf = delivery.unacknowledged(self._since)
                left = end - time.monotonic()
                if not deaf or left <= 0.0:
                    return deaf
                self._wake.wait(min(left, _LIMP_BEAT))

    def free(self, reason: str = "") -> None:
        """Make the servos limp; no set point is sent from now on.

        The command is repeated for two seconds, and in the background afterwards, until
        every board acknowledges it or the servos are energised.

        Raises:
            NotFreedError: a board did not acknowledge it; the error names it.
            LinkError: the line is gone.
            RobotStateError: the robot is closed, or lost: it is freed when it is back.
        """
        begun = time.monotonic()
        with self._lock:
            if self._health.state == RobotState.CLOSED:
                raise RobotStateError("the robot is closed")
            if self._health.state == RobotState.LOST or self._boards is None:
                self._before, self._unfreed = RobotState.LIMP, _EVERY
                raise RobotStateError(
                    "the robot is lost: its servos are as they were; they are freed "
                    "when its line is back while this program runs"
                )
            # No set point goes out from here on, however late the thread is.
            self._unfreed = self._boards.names
            self._be(RobotState.LIMP, reason)

        def let_go(boards: Boards) -> None:
            left = begun + _FREE - time.monotonic()
            self._let_go(boards, reason, max(left, _LEAST))

        try:
            self.ask(let_go, _FREE + _THREAD)
        except NotFreedError:
            raise
        except NoAnswerError:
            raise NotFreedError((), _EVERY, time.monotonic() - begun) from None

    def set_points(self) -> dict[str, float]:
        """Set points of the servos; empty while they were not commanded [rad]."""
        with self._lock:
            return self._guard.angles() if self._sends else {}

    def approaching(self) -> bool:
        """Whether the robot is still in its slow approach to what was commanded."""
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
            self._reading_requested = True
            self._wake.notify_all()

    def read_back(self) -> dict[str, float]:
        """Ask the servos where they are [rad].

        Raises:
            LinkError: the boards do not answer.
            BoardError: what they report cannot be.
        """
        return self.ask(self._read).angles

    @property
    def _sends(self) -> bool:
        """Whether set points are sent; the lock is held."""
        return self._health.state in ENERGISED and not self._silent

    def _check_there(self) -> None:
        health = self.health()
        if health.state == RobotState.CLOSED:
            raise RobotStateError("the robot is closed: open it")
        if health.state == RobotState.LOST:
            raise RobotStateError(
                f"the robot is lost ({health.reason}): energise it when it is back"
            )

    def _check_movable(self, angles: Mapping[str, float]) -> None:
        """Refuse a command where none is followed; the lock is held."""
        state = self._health.state
        if state in MOVABLE:
            return
        self._health.refused += 1
        with suppress(JointCommandError):
            self._guard.check(angles)
            self._waiting = time.monotonic(), dict(angles)
        why = f" ({self._health.reason})" if self._health.reason else ""
        raise RobotStateError(
            f"the robot is {state.value}{why}: it follows no command until you {_HOW}"
        )

    # What follows runs in the robot's thread.

    def _hurries(self) -> bool:
        return self._pending is not None

    def _beat(self, boards: Boards) -> float:
        self._notice_gap()
        if self._requests.answer(boards, PortError) and self._delivery:
            self._delivery.answered()
            with self._lock:  # a robot at rest is asked for as long as that takes
                if self._health.state != RobotState.FOLLOWING:
                    self._watchdog.beat()
        if self._fault_due:  # hold or free the servos; where that fails, they stay
            self._fault_due, reason = False, self.health().reason
            with suppress(NoAnswerError, BoardError):
                if self._on_fault is OnFault.HOLD:
                    self._take_pose(boards, RobotState.STOPPED, reason)
                else:
                    self._let_go(boards, reason, _FREE)
        self._watch(boards)
        with self._lock:
            sends = self._sends
        if sends and self._delivery is not None:
            self._send(boards, self._delivery)
        elif self._unfreed:
            with suppress(NotFreedError):
                self._let_go(boards, "acknowledged late", _AGAIN)
        if self._reading_requested:
            with suppress(NoAnswerError, BoardError):
                self._read(boards)
        with self._lock:
            if not self._sends:
                return _LIMP_BEAT
            return 0.0 if self._pending is not None else self.settings.period

    def _send(self, boards: Boards, delivery: SetPointDelivery) -> None:
        """One set point, said until every board heard it or another one is due."""
        self._notice_gap()
        with self._lock:
            if not self._sends:
                return
            begun = time.monotonic()
            reach = boards.reach(self.settings.limits.step)
            values = self._guard.step(begun - self._last_step, reach)
            self._last_step, pending = begun, self._pending

        def interrupted() -> bool:
            newer = self._pending not in (None, pending)
            return newer or self._requests.open or self._withheld()

        new = pending is not None
        if delivery.deliver(values, new, interrupted) and pending is not None:
            with self._lock:
                if self._pending == pending:
                    self._pending = None
                    self._health.delivered += 1
                    self._health.latencies.append(time.monotonic() - pending)
        delivery.settle(interrupted)
        silent = delivery.silent()
        if silent is not None:
            raise PortError(f"{self.port}: {silent}")

    def _withheld(self) -> bool:
        """Whether nothing is to be sent; frame by frame: a slow line is no pause."""
        self._notice_gap()
        return not self._sends

    def _notice_gap(self) -> None:
        """Stop after a pause of this thread: nobody knows what happened meanwhile."""
        with self._lock:
            gap = self._watchdog.beat()
            if gap and self._sends:
                self._stop_for(f"the driver was kept from its line for {gap:.1f} s")

    def _stop_for(self, reason: str) -> None:
        """Stop for a fault: nothing more is sent; the lock is held."""
        if not self._sends:
            return
        if self._health.state == RobotState.STOPPED:
            reason = f"{self._health.reason}; {reason}"
        self._health.faults += 1
        self._be_faulty(reason)

    def _be_faulty(self, reason: str) -> None:
        self._be(RobotState.STOPPED, reason)
        self._silent, self._fault_due = True, self._on_fault is not OnFault.KEEP

    def _hold_if_overdue(self) -> None:
        """Hold a robot that nobody commanded in time; the lock is held."""
        following = self._health.state == RobotState.FOLLOWING
        if following and self._watchdog.command_overdue():
            timeout = self._watchdog.command_timeout
            self._guard.hold()
            self._health.held += 1
            self._be(RobotState.HOLDING, f"no command came for {timeout:g} s")

    def _watch(self, boards: Boards) -> None:
        """Hold, then free, a robot that nobody commands."""
        with self._lock:
            self._hold_if_overdue()
            state, reason = self._health.state, self._health.reason
        resting = state in (RobotState.HOLDING, RobotState.STOPPED)
        if resting and self._watchdog.free_overdue():
            with suppress(NoAnswerError):
                why = f"{state.value} for {self._watchdog.free_timeout:g} s"
                why += f" ({reason})" if reason else ""
                self._let_go(boards, why, _FREE)

    def _take_pose(
        self,
        boards: Boards,
        state: RobotState = RobotState.HOLDING,
        reason: str = "",
        stops: int | None = None,
    ) -> None:
        values = boards.read(sure=True)
        with self._lock:
            if stops not in (None, self._stops):
                raise RobotStateError(
                    "the robot was stopped meanwhile: energise it anew"
                )
            self._unfreed = ()
            self._guard.begin(values)
            before = self._before_loss or boards.taken
            for board, old in enumerate(before):
                at = values[boards.channels(board)]
                # A servo may still be on its way to its last set point.
                if old.farthest(at) <= self.settings.limits.step:
                    boards.taken[board].inherit(old, at)
                else:
                    boards.taken[board].known(at)
            self._before_loss = []
            self._last_step = time.monotonic()
            self._watchdog.beat()
            if self._delivery is not None:
                self._delivery.answered()
            self._be(state, reason)

    def _let_go(self, boards: Boards, reason: str, within: float) -> None:
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
                self._unfreed, self._before_loss = unfreed, []
                self._be(RobotState.LIMP, reason)

    def _read(self, boards: Boards) -> Reading:
        values = boards.read()
        channels = self.settings.channels.channels
        angles = {
            channel.joint: channel.angle(value)
            for number, channel in channels.items()
            if (value := values[number - 1]) is not None
        }
        with self._lock:
            self._reading_requested = False
            self._reading = Reading(angles, time.monotonic())
            return self._reading

    def _stay(self, state: RobotState, reason: str) -> None:
        with self._wake:
            now = self._health.state
            if now not in MOVABLE and not (now == state == RobotState.STOPPED):
                raise RobotStateError(f"the robot is {now.value}: {_HOW} first")
            silent, due = self._silent, self._fault_due
            if not silent:
                self._guard.hold()
            self._be(state, reason)
            self._silent, self._fault_due = silent, due
            self._wake.notify_all()

    def _be(self, state: RobotState, reason: str = "") -> None:
        """Note a state; the lock is held."""
        self._health.state, self._health.reason = state, reason
        self._silent = self._fault_due = False
        self._since = time.monotonic()
        self._watchdog.rest()
        if state != RobotState.FOLLOWING:
            self._pending = None

    def _lost(self, boards: Boards, reason: str) -> None:
        self._delivery, self._before_loss = None, boards.taken
        with self._lock:
            self._before = self._health.state
            self._be(RobotState.LOST, reason)

    def _line_is_back(self, boards: Boards) -> None:
        self._deliver_to(boards)
        with self._lock:
            reason = f"the line was lost, and is back ({self._health.reason})"
            if self._before in ENERGISED:
                self._health.faults += 1
                self._be_faulty(reason)
            else:
                self._be(RobotState.LIMP, reason)
            self._health.line = boards.statistics
            self._health.reconnections += 1

    def _failed(self, boards: Boards | None, error: Exception) -> None:
        if boards is not None:
            with suppress(HumansError):
                boards.free(_FREE)
        with self._lock:
            self._be(RobotState.LOST, f"the driver failed: {error!r}")
