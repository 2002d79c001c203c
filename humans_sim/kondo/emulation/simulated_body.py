# SPDX-License-Identifier: Apache-2.0
"""The body of a robot on emulated boards: its servos, floor and weight.

Pure: it is given what the boards received and when, and goes through simulated time as
it is asked to. The same commands at the same times give the same motion, however late
they are worked off.

*Servos.* The torque is that of :class:`~humans_sim.kondo.motion.pose_servo.PoseServo`:
the board sends positions alone, so that the damping acts on the speed of the joint, and
the joint follows late by damping over gain. A limp channel has the friction of its gear
and no torque.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation.robots import RobotSetup
from humans_sim.actuation.servo import Servo
from humans_sim.control.falls.fall_detector import Lying
from humans_sim.control.falls.rising_walker import lying_on
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.kondo.driver.robot_settings import RobotSettings, load_robot
from humans_sim.kondo.emulation.virtual_board import VirtualBoard, virtual_boards
from humans_sim.kondo.motion.channels import ChannelMap
from humans_sim.kondo.motion.pose_servo import KONDO_ROBOT
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import CHANNELS
from humans_sim.models import Model, load_model
from humans_sim.results.records import Event, Sample
from humans_sim.results.run import Run

_MIDDLE = 90.0
"""What a channel without a joint is taken to stand at [deg]."""


_BOARD_NUMBERS = ("delay", "speed", "speed_step", "play")
"""Arguments of a servo that a board decides on."""


class BoardServo(Servo):
    """Servos that follow boards; joints without a channel stay where they started.

    Args:
        boards: that lead it, twelve channels each, in the order of the channels.
        channels: which turn which joint; a trim is what the board has in its memory,
            not what the channel map says.
        parameters: of :class:`~humans_sim.actuation.Servo`, but for delay, speeds and
            play.

    Raises:
        ParameterError: a channel's joint is none of the model's.
    """

    def __init__(
        self,
        model: Model,
        boards: Sequence[VirtualBoard],
        channels: ChannelMap,
        **parameters: Any,
    ) -> None:
        for name in _BOARD_NUMBERS:
            if name in parameters:
                raise ParameterError(f"{name} comes from the boards, or cannot be")
        super().__init__(model, **parameters)
        self._lags = self.lags
        self._boards = tuple(boards)
        self._until = math.inf
        self._limp = np.zeros(self._n, dtype=bool)
        used = []
        for number, channel in channels.channels.items():
            if channel.joint not in self.names:
                raise ParameterError(
                    f"ch{number} turns {channel.joint}, which {model.name} has not"
                )
            if number > CHANNELS * len(self._boards):
                raise ParameterError(f"no board has a channel {number}")
            used.append(replace(channel, trim=0.0))
        self._channels = tuple(used)
        self._places = np.array([channel.number - 1 for channel in used])
        self._joints = np.array([self.names.index(c.joint) for c in used])
        self._home = np.array([channel.home for channel in used])
        self._sense = np.radians([float(channel.sense) for channel in used])

    def servo_angles(self, q: np.ndarray, board: int) -> tuple[float, ...]:
        """Where the twelve servos of a board are in a configuration [deg]."""
        values = np.full(CHANNELS * len(self._boards), _MIDDLE)
        values[self._places] = q[7:][self._joints] / self._sense + self._home
        return tuple(values[CHANNELS * board : CHANNELS * (board + 1)].tolist())

    @property
    def driven(self) -> bool:
        """Whether every channel with a joint is driven."""
        return not self._limp.any()

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Stay where the start is, until the boards say otherwise."""
        z = super().initialise(t, q, v)
        self.refresh(t)
        return z

    def refresh(self, t: float) -> None:
        """Go where the boards lead from now on; to be called when one has heard."""
        leads = [board.lead(t) for board in self._boards]
        angles = np.array([v for lead in leads for v in lead.angles])[self._places]
        rates = np.array([v for lead in leads for v in lead.rates])[self._places]
        driven = [now for board in self._boards for now in board.driven]
        self._start_time = t
        self._origin, self._rate = self._origin.copy(), np.zeros(self._n)
        self._rate[self._joints] = self._sense * rates
        # A set point that trails by the lag takes its speed out of the damping.
        led = self._sense * (angles - self._home)
        trail = self._lags * self._rate
        self._origin[self._joints] = led - trail[self._joints]
        self._target = self._origin
        self._limp[self._joints] = ~np.array(driven)[self._places]
        self._until = min(lead.until for lead in leads)

    def next_time(self, t: float) -> float:
        """When a board comes to the end of a way [s]."""
        return self._until

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """The next way, or rest."""
        self.refresh(t)
        return z, ()

    def command(self, t: float, command: Any) -> None:
        """Refused: the boards command."""
        raise ParameterError("the servos follow their boards and take no commands")

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the servos on the joints."""
        force, rates = super().dynamics(t, q, v, z)
        if self._limp.any():
            viscous, coulomb, slow = self._parameters[self._limp, 5:].T
            turning = v[6:][self._limp]
            friction = viscous * turning + coulomb * np.tanh(turning / slow)
            force[6:][self._limp] = -friction
        return force, rates


_STRETCH = 1.5
"""Steps within which the stepper goes to what is due in one."""
_EVENTS = 20
"""Events kept for each sample, on the average."""


@dataclass(frozen=True)
class BodySettings:
    """Settings that differ from the robot's file in ``config/robots``.

    Attributes:
        friction: of the floor; None: the file's.
        servo: numbers of :class:`~humans_sim.actuation.Servo` instead of the file's;
            servos are late by damping over gain.
        keep: newest part of the run that is kept [s].
        lying: the side on which it lies at first; it stands unless given.
    """

    friction: float | None = None
    servo: Mapping[str, Any] = field(default_factory=dict)
    keep: float = 600.0
    lying: Lying = Lying.NOT

    def __post_init__(self) -> None:
        """Refuse times without meaning."""
        if not (math.isfinite(self.keep) and self.keep > 0.0):
            raise ParameterError(f"keep must be above zero, not {self.keep}")


class Displacement(NamedTuple):
    """How far a robot has come, seen from where it stood at first.

    Attributes:
        forward: [m].
        left: [m].
        turn: to the left [rad].
    """

    forward: float
    left: float
    turn: float


class SimulatedBody:
    """A robot on a floor, led by boards of its own that receive its commands.

    Until every channel is driven a hand holds it in its first posture, feet on the
    floor: a limp robot does not stand. After that nothing holds it any more.

    Args:
        robot: its boards and channels; None: the KHR-1.
        start: joint angles of the first posture [rad]; others are at home.

    Attributes:
        boards: its own; emulated boards on a line that heard the same are their twins.
        held: whether the hand still holds it.
        fallen: whether it has ever been lying, or tilted beyond return; of one that
            lay at first, whether it lies now.

    Raises:
        ParameterError: a joint is none of the robot's, or a number has no meaning.
    """

    def __init__(
        self,
        robot: RobotSettings | None = None,
        settings: BodySettings | None = None,
        start: Mapping[str, float] | None = None,
    ) -> None:
        self._robot = robot or load_robot()
        self._settings = settings or BodySettings()
        self.model: Model = load_model(self._robot.model)
        self._setup = RobotSetup.of_model(self.model, KONDO_ROBOT)
        home = self._robot.channels.home()
        self.boards = virtual_boards(self._robot.ids, home)
        self.servo = BoardServo(
            self.model,
            self.boards,
            self._robot.channels,
            numbers=replace(self._setup.servo, play=0.0),
            **self._settings.servo,
        )
        for k, board in enumerate(self.boards):
            board.servo_angles = partial(self._servo_angles, k)
        self.simulation = self._setup.simulation(
            self.model,
            self.servo,
            ground=self._setup.ground(self._settings.friction),
            method="time_stepping",
        )
        standing = self._standing(start or {})
        self._low = 0.5 * float(self.model.com(standing)[2])
        self._q0, self._lay = standing, self._settings.lying is not Lying.NOT
        if self._lay:
            assert isinstance(self.simulation.system, ModelSystem)
            lying = self._settings.lying
            self._q0 = lying_on(self.simulation.system, lying, standing[7:])
        self.q, self._t = self._q0.copy(), 0.0
        self._stepper = self.simulation.start(self._q0)
        kept = int(self._settings.keep / self._setup.sampling_period) + 1
        self._samples: deque[Sample] = deque(maxlen=kept)
        self._happened: deque[Event] = deque(maxlen=_EVENTS * kept)
        self._due = math.inf
        self.held, self.fallen = True, self._lay

    def _standing(self, start: Mapping[str, float]) -> np.ndarray:
        joints = np.zeros(len(self.model.joint_names))
        for name, angle in start.items():
            if name not in self.model.joint_names:
                raise ParameterError(f"{self.model.name} has no joint '{name}'")
            joints[self.model.joint_names.index(name)] = angle
        return self.model.standing(joints)

    @property
    def t(self) -> float:
        """The simulated time reached [s]."""
        return self._t

    @property
    def angles(self) -> dict[str, float]:
        """Joint angles now [rad]."""
        return dict(zip(self.model.joint_names, self.q[7:].tolist(), strict=True))

    def servo_angles(self, board: int) -> tuple[float, ...]:
        """Where the servos of a board are now [deg]; boards count from 0."""
        return self.servo.servo_angles(self.q, board)

    def _servo_angles(self, board: int, _: float) -> tuple[float, ...]:
        return self.servo_angles(board)

    def hear(self, t: float, command: rcb1.Command) -> rcb1.Reply | None:
        """Let a command act at a time, not before the last one; what a board says.

        Raises:
            ParameterError: the time is past.
            HumansError: the simulation cannot continue.
        """
        if not self._t <= t < math.inf:
            raise ParameterError(f"{t} s is past, or no time: it is {self._t} s")
        self._go(t, exactly=True)
        reply = None
        for board in self.boards:
            reply = reply or board.hear(command, t)
        self.servo.refresh(t)
        if self.held and self.servo.driven:
            self.held = False
            self._stepper = self.simulation.start(self._q0, t=t)
            self._keep()
        return reply

    def advance(self, t: float) -> None:
        """Advance to a time [s], or to the last whole step before it.

        Raises:
            HumansError: the simulation cannot continue.
        """
        self._go(t, exactly=False)

    def _go(self, t: float, exactly: bool) -> None:
        """Steps depend on what happens alone, not on when someone looks."""
        if self.held:
            self._t = max(self._t, t)
            return
        stepper, step = self._stepper, self._setup.time_step
        while True:
            now = stepper.t
            due = min(self.servo.next_time(now), self._due, t if exactly else math.inf)
            whole = now + _STRETCH * step
            if now >= t or (due > t and whole > t):
                break
            # The stepper stretches its last step before something is due.
            stepper.advance(due if due < whole else now + step)
            if stepper.t >= self._due:
                self._keep()
        self._t, self.q = stepper.t, stepper.q

    def _keep(self) -> None:
        """Take a sample, and look whether it lies."""
        self._samples.append(self._stepper.sample())
        self._happened.extend(self._stepper.events)
        self._stepper.events.clear()
        self._due = self._stepper.t + self._setup.sampling_period
        self.q = self._stepper.q
        x, y = self.q[3:5]
        upright = 1.0 - 2.0 * (x * x + y * y)
        lies = bool(self.model.com(self.q)[2] < self._low)
        lies = lies or bool(upright < math.cos(self._setup.fall_tilt))
        self.fallen = lies or (self.fallen and not self._lay)

    def displacement(self) -> Displacement:
        """How far it has come."""
        first = self.model.base_footprint(self._q0)
        moved = first.actInv(self.model.base_footprint(self.q))
        turn = math.atan2(moved.rotation[1, 0], moved.rotation[0, 0])
        return Displacement(
            float(moved.translation[0]), float(moved.translation[1]), turn
        )

    def run(self) -> Run:
        """The record of its motion, from when the hand let go.

        Raises:
            ParameterError: nothing has moved yet.
        """
        if not self._samples:
            raise ParameterError("nothing has moved yet: not all channels are driven")
        first = self._samples[0].t
        events = [event for event in self._happened if event.time >= first]
        return self.simulation.result(list(self._samples), events)
