# SPDX-License-Identifier: Apache-2.0
"""A simulated robot on emulated boards: a program that talks to their port moves it.

The boards' line is of real time, the body's simulation of its own. So each command
carries the time at which a board heard it, and acts on the body then: a simulation that
is late does the same as one that is not. It is worked off in another process; the
boards answer as quickly as without it.

*Process of the body*, so that the line stays quick. It answers requests on an inherited
socket, and ends when that does; :class:`SimulatedRobot` starts it.
"""

from __future__ import annotations

import copy
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from typing import cast

import numpy as np

from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.emulator import Emulator
from humans_sim.kondo.emulation.simulated_body import (
    BodySettings,
    Displacement,
    SimulatedBody,
)
from humans_sim.kondo.emulation.virtual_board import Memory
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS, FREE
from humans_sim.results.run import Run

_STANDS = 0.05
_FALLS = 0.5
"""Simulated times of the trial that compiles everything [s]."""


@dataclass(frozen=True)
class BodyPlan:
    """The body to be simulated.

    Attributes:
        robot: its boards and channels.
        settings: of servos and floor.
        start: joint angles of the first posture [rad].
        memories: what its boards keep already.
    """

    robot: RobotSettings
    settings: BodySettings
    start: Mapping[str, float]
    memories: Sequence[Memory]

    def body(self) -> SimulatedBody:
        """The body, held in its first posture."""
        body = SimulatedBody(self.robot, self.settings, self.start)
        for board, memory in zip(body.boards, self.memories, strict=True):
            board.memory = memory
        return body


@dataclass(frozen=True)
class Advance:
    """Let the body hear commands at their times, and advance to a time.

    Attributes:
        t: [s].
        commands: times [s] and commands, in the order of time, none after t.
    """

    t: float
    commands: Sequence[tuple[float, rcb1.Command]]


@dataclass(frozen=True)
class BodyState:
    """Where a body is.

    Attributes:
        t: simulated time [s].
        servo_angles: where the servos are, board after board [deg].
        displacement: how far it has come.
        held: whether a hand holds it still.
        fallen: whether it has fallen.
        failure: why the simulation could not continue; empty where it does.
    """

    t: float
    q: np.ndarray
    servo_angles: tuple[tuple[float, ...], ...]
    displacement: Displacement = field(
        default_factory=lambda: Displacement(0.0, 0.0, 0.0)
    )
    held: bool = True
    fallen: bool = False
    failure: str = ""

    @classmethod
    def of(cls, body: SimulatedBody, failure: str = "") -> BodyState:
        """The state of a body now."""
        servo_angles = tuple(body.servo_angles(k) for k in range(len(body.boards)))
        return cls(
            body.t,
            body.q.copy(),
            servo_angles,
            body.displacement(),
            body.held,
            body.fallen,
            failure,
        )


RUN = "run"
"""Request for the :class:`~humans_sim.results.run.Run`; None: nothing moved yet."""


class _Server:
    """Answers requests about one body."""

    def __init__(self, plan: BodyPlan) -> None:
        _try(plan)
        self._body, self._failure = plan.body(), ""

    def answer(self, request: object) -> BodyState | Run | None:
        if isinstance(request, Advance):
            if not self._failure:
                try:
                    for t, command in request.commands:
                        self._body.hear(t, command)
                    self._body.advance(request.t)
                except HumansError as error:
                    self._failure = f"at {self._body.t:.6g} s: {error}"
            return BodyState.of(self._body, self._failure)
        return None if self._body.held else self._body.run()


def _try(plan: BodyPlan) -> None:
    """Compile what there is to compile, before time counts: stand, go limp and fall."""
    body = SimulatedBody(plan.robot, plan.settings, plan.start)
    home = plan.robot.channels.home()
    for t, channels in ((0.0, home), (_STANDS, [FREE] * len(home))):
        for k, board in enumerate(body.boards):
            part = tuple(channels[CHANNELS * k : CHANNELS * (k + 1)])
            body.hear(t, rcb1.SetPositions(board.board, 7, part))
    body.advance(_STANDS + _FALLS)
    system = body.simulation.system
    system.terms(body.q, np.zeros(system.nv), np.array([0]))  # of rare corrections


def serve(connection: Connection) -> None:
    """Answer requests until the other end is closed."""
    with suppress(EOFError, ConnectionError):
        try:
            server = _Server(connection.recv())
        except HumansError as error:
            connection.send(str(error))
            return
        connection.send("")
        while True:
            connection.send(server.answer(connection.recv()))


def main() -> None:
    """Serve on the socket whose number is the first argument."""
    # The program that started it decides what these mean; its end ends this, too.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with Connection(int(sys.argv[1])) as line:
        serve(line)


_BEAT = 0.01
"""Time between two looks at the body [s]."""
_FIRST = 600.0
"""Longest wait for the simulation to be compiled [s]."""
_END = 5.0
"""Longest wait for the process to end [s]."""
_LAGS = 100_000
_CHILD = "from humans_sim.kondo.emulation.simulated_robot import main; main()"


class SimulatedBodyError(HumansError, RuntimeError):
    """The simulation of a robot's body cannot continue."""


class SimulatedRobot:
    """A body that follows an emulator's boards in step with real time.

    Use it in a ``with`` statement, or call :meth:`close`. A hand holds it in its first
    posture until every channel is driven; time counts from when it was made.

    Args:
        emulator: of the boards, which must be limp yet.
        robot: channels; None: the KHR-1.
        start: joint angles of the first posture [rad]; others are at home.

    Attributes:
        lags: how late the simulation was, at every look at it [s].

    Raises:
        ParameterError: the boards are driven already, or too few for the channels.
        SimulatedBodyError: the body cannot be simulated.
    """

    def __init__(
        self,
        emulator: Emulator,
        *,
        robot: RobotSettings | None = None,
        settings: BodySettings | None = None,
        start: Mapping[str, float] | None = None,
    ) -> None:
        self.emulator = emulator
        self._check_limp()
        self.lags: deque[float] = deque(maxlen=_LAGS)
        settings = settings or BodySettings()
        ids = tuple(board.board for board in emulator.boards)
        plan = BodyPlan(
            replace(robot or load_robot(), ids=ids),
            settings,
            dict(start or {}),
            copy.deepcopy([board.memory for board in emulator.boards]),
        )
        first = BodyState.of(plan.body())
        self._state, self._run = first, cast(Run | None, None)
        self._thread: threading.Thread | None = None
        self._log: list[tuple[float, rcb1.Command]] = []
        self._line_lock = threading.Lock()  # of the connection
        self._changed = threading.Condition()  # of the state
        self._end = threading.Event()
        self._connection, self._process = _start(plan)
        for k, board in enumerate(emulator.boards):
            board.servo_angles = partial(self._servo_angles, k)
        self._zero = emulator.join(self._hear)
        try:
            self._check_limp()  # still, while the process started
        except ParameterError:
            self.close()
            raise
        self._thread = threading.Thread(target=self._follow, name="body", daemon=True)
        self._thread.start()

    def __enter__(self) -> SimulatedRobot:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _check_limp(self) -> None:
        if any(any(board.driven) for board in self.emulator.boards):
            raise ParameterError("couple the robot before its boards are commanded")

    @property
    def t(self) -> float:
        """The simulated time reached [s]."""
        return self._state.t

    @property
    def lag(self) -> float:
        """How far the simulation is behind real time now [s]."""
        return time.monotonic() - self._zero - self._state.t

    @property
    def q(self) -> np.ndarray:
        """Configuration."""
        return self._state.q.copy()

    @property
    def held(self) -> bool:
        """Whether a hand holds it still: not all channels were driven yet."""
        return self._state.held

    @property
    def fallen(self) -> bool:
        """Whether it has fallen."""
        return self._state.fallen

    @property
    def failure(self) -> str:
        """Why the simulation could not continue; empty where it does."""
        return self._state.failure

    def displacement(self) -> Displacement:
        """How far it has come, seen from where it stood at first."""
        return self._state.displacement

    def catch_up(self, timeout: float = 30.0) -> None:
        """Wait until the simulation has come to the present.

        Raises:
            SimulatedBodyError: it did not, or cannot continue.
        """
        now = time.monotonic() - self._zero
        with self._changed:
            come = self._changed.wait_for(
                lambda: self.t >= now or self.failure or self._end.is_set(), timeout
            )
        if self.failure or not come:
            raise SimulatedBodyError(
                self.failure or f"it is late by more than {timeout:g} s"
            )

    def run(self) -> Run:
        """The record of its motion, from when the hand let go.

        Raises:
            SimulatedBodyError: nothing has moved yet, or the process is gone.
        """
        if self._run is None and not self._end.is_set():
            run = self._ask(RUN)
            if isinstance(run, Run):
                return run
        if self._run is None:
            raise SimulatedBodyError(
                self.failure or "nothing has moved yet: not all channels are driven"
            )
        return self._run

    def close(self) -> None:
        """Keep the run, end the process and let go of the boards."""
        if self._end.is_set():
            return
        with suppress(SimulatedBodyError):
            self._run = self.run()
        self._end.set()
        if self._thread is not None:
            self._thread.join()
        self.emulator.leave(self._hear)
        for board in self.emulator.boards:
            board.servo_angles = None
        self._connection.close()
        try:
            self._process.wait(_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _servo_angles(self, board: int, _: float) -> tuple[float, ...]:
        """Where the servos of a board were, last we knew [deg]."""
        return self._state.servo_angles[board]

    def _hear(self, t: float, command: rcb1.Command) -> None:
        """Note a command; the emulator's boards wait meanwhile."""
        self._log.append((t, command))

    def _follow(self) -> None:
        """Let the body follow real time."""
        while not self._end.is_set():
            begun = time.monotonic()
            now, log = self.emulator.moment(self._taken)
            request = Advance(
                now - self._zero, [(t - self._zero, command) for t, command in log]
            )
            try:
                state = cast(BodyState, self._ask(request))
            except SimulatedBodyError as error:
                state = replace(self._state, failure=str(error))
            with self._changed:
                self._state = state
                self._changed.notify_all()
            if state.failure:
                return
            self.lags.append(time.monotonic() - self._zero - state.t)
            self._end.wait(max(begun + _BEAT - time.monotonic(), 0.0))

    def _taken(self) -> list[tuple[float, rcb1.Command]]:
        log, self._log = self._log, []
        return log

    def _ask(self, request: object) -> object:
        try:
            with self._line_lock:
                self._connection.send(request)
                return self._connection.recv()
        except (EOFError, OSError):
            raise SimulatedBodyError(
                "the process of the simulated body is gone"
            ) from None


def _start(plan: BodyPlan) -> tuple[Connection, subprocess.Popen[bytes]]:
    """A process that simulates a body, ready to be asked."""
    own, its = socket.socketpair()
    with own, its:
        number = its.fileno()
        process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(number)],
            pass_fds=[number],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        connection = Connection(own.detach())
    problem = "its process ended"
    with suppress(EOFError, OSError):
        connection.send(plan)
        problem = "it took too long to start"
        if connection.poll(_FIRST):
            problem = connection.recv()
    if problem:
        connection.close()
        process.kill()
        process.wait()
        raise SimulatedBodyError(f"the body cannot be simulated: {problem}")
    return connection, process
