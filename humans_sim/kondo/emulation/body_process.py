# SPDX-License-Identifier: Apache-2.0
"""A simulated body in a process of its own, so that the line it hangs on stays quick.

It answers requests on an inherited socket, and ends when that does;
:class:`~humans_sim.kondo.emulation.simulated_robot.SimulatedRobot` starts it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.emulation.simulated_body import (
    BodySettings,
    Displacement,
    SimulatedBody,
)
from humans_sim.kondo.emulation.virtual_board import Memory
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.frames import CHANNELS, FREE
from humans_sim.results.run import Run

_STANDS = 0.05
_FALLS = 0.5
"""Simulated times of the trial that compiles everything [s]."""


@dataclass(frozen=True)
class BodyPlan:
    """What is to be simulated.

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
        q: configuration.
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
                    self._advance(request)
                except HumansError as error:
                    self._failure = f"at {self._body.t:.6g} s: {error}"
            return BodyState.of(self._body, self._failure)
        return None if self._body.held else self._body.run()

    def _advance(self, request: Advance) -> None:
        for t, command in request.commands:
            self._body.hear(t, command)
        self._body.advance(request.t)


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
