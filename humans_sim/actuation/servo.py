# SPDX-License-Identifier: Apache-2.0
r"""Hobby servos: position control with limited speed and torque, and play in the gear.

Each joint has a set point that runs to its command at the speed of the servo's speed
step, or evenly over the time between two commands where that is longer, and a motor
that pulls the joint there:

.. math:: \tau = \operatorname{sat}\bigl(k_p\, e + k_d (\dot r - \dot q)\bigr)
   - b\, \dot q - c \tanh(\dot q / \omega_c)

e is the error beyond the dead band; the torque is limited by the line from the stall
torque at rest to zero at the no-load speed. The rotor turns with the joint through the
gear: its inertia, times the ratio squared, adds to the joint's (``armature``), and on a
light robot it is the larger part.

Play is a gap between the motor's side of the gear and the joint; the sensor sits on the
joint. Where the motor stands in the gap, :math:`g \in [-p/2, p/2]`, is a state z. At an
end of the gap the motor pushes the joint with the torque above, in one direction alone.
When that torque would turn round the motor leaves the end, and nothing but friction
acts on the joint until the motor has gone through the gap, at the speed at which its
torque is zero: :math:`\dot g = \dot r + k_p e / k_d - \dot q`, limited by the no-load
speed. Arriving and leaving are events. The motor gives its own work or none, so play
creates no energy; what is left out is the inertia of the rotor inside the gap, which
stays with the joint, and the blow of the teeth.

Joints may have servos of their own. Numbers that are not given are those of
:class:`~humans_sim.actuation.servo_set.ServoSet`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from humans_sim.actuation.delayed_actuation import (
    ActuatorState,
    CommandKind,
    DelayedActuation,
    StateSignal,
)
from humans_sim.actuation.servo_set import ServoNumbers, ServoSet
from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.actuation_interface import DriveTable, drive_torques, pull
from humans_sim.models import Model
from humans_sim.results.records import Event

GEAR_ENGAGED = "gear_engaged"
GEAR_FREE = "gear_free"
"""Kinds of events."""
SERVO_NUMBERS = "servo_numbers"
"""Key of a run's information: what its servos are like."""
_LEAVES = 1e-7
"""Speed into the gap at which the motor leaves its end [rad/s]; less is rounding."""
_ROOM = 1e-9
"""Share of the play by which the motor may be beyond an end before it is there."""
_LATE = 1e-12
"""Time that set points of a stream run on when they are there [s].

The next command comes at that time, but for rounding. It finds them moving: what is
measured then has no set point in it that stops for no time at all.
"""
_NO_STATES = np.zeros(0)


class Servo(DelayedActuation):
    """Position servos in all joints of a model; the command is (njoints,) [rad].

    Attributes:
        armature: inertia of the rotors at the joints (nv,) [kg m^2].
    """

    KIND = "servos"
    SIGNALS = (
        StateSignal("command", "command", "rad"),
        StateSignal("set_point", "applied", "rad"),
        StateSignal("saturated", "saturated", "1"),
    )

    def __init__(
        self,
        model: Model,
        delay: float = 0.0,
        speed_step: int | None = None,
        *,
        command_period: float | None = None,
        lag: float = 0.0,
        numbers: ServoNumbers | None = None,
        joints: Mapping[str, ServoNumbers] | None = None,
        **changes: float | None,
    ) -> None:
        """Put a servo into every joint.

        Args:
            model: whose joints they turn.
            delay: from a command to its effect [s].
            speed_step: of the RCB-1, 0 (fast) to 7 (slow); takes the place of
                ``speed``.
            command_period: time that the set point takes at least [s]: that between
                two commands of a stream makes its motion even; 0 runs at ``speed``. By
                default the period of the simulation's controller, where it has one,
                else 0.
            lag: by which set points trail, as of servos that follow positions and know
                no speed of them [s].
            numbers: of the servos; by default those of the model's file in
                ``config/robots``, those that its URDF suggests, or of a small hobby
                servo (:class:`~humans_sim.actuation.servo_set.ServoSet`).
            joints: numbers of joints whose servos are others, by name; they play as
                all the others.
            changes: other values of fields of :class:`ServoNumbers`, e.g. ``gain``.
        """
        self.names = tuple(model.joint_names)
        self._n = len(self.names)
        super().__init__(self.names, "joint angles [rad]", delay)
        changed = {key: x for key, x in changes.items() if x is not None}
        if speed_step is not None:
            if "speed" in changed:
                raise ParameterError(
                    "give a servo its speed or its speed_step, not both"
                )
            if speed_step not in range(len(SPEED_STEPS)):
                raise ParameterError(f"speed_step must be 0 to 7, not {speed_step}")
            changed["speed"] = math.radians(1.0) / SPEED_STEPS[int(speed_step)]
        own = ServoSet.of_model(model) if numbers is None else ServoSet(numbers)
        if joints is not None:
            own = ServoSet(own.common, joints)
        for name in own.joints:
            if name not in self.names:
                raise ParameterError(f"{model.name} has no joint '{name}'")
        self.numbers = replace(own.common, **changed)
        each = [replace(own.of_joint(name), **changed) for name in self.names]
        self._each = tuple(each)
        self._command_period = command_period or 0.0
        if not (math.isfinite(self._command_period) and self._command_period >= 0):
            raise ParameterError(
                f"command_period must be 0 or more, not {command_period}"
            )
        self._takes_period = command_period is None
        if not (math.isfinite(lag) and lag >= 0):
            raise ParameterError(f"lag must be 0 or more, not {lag}")
        self._lag = lag
        self._parameters = np.array([item.row() for item in each]).reshape(-1, 8)
        self._speeds = np.array([item.speed for item in each])
        rotors = np.array([item.rotor_inertia for item in each])
        self.armature = np.concatenate([np.zeros(6), rotors])
        if self._parameters[:, 5:7].any():
            self.frictional_joints = self.names
        self._start_time = 0.0
        # Set points: origin + rate * time since the start, until they arrive.
        self._origin, self._rate = np.zeros(self._n), np.zeros(self._n)
        self._target = np.zeros(self._n)
        self._arrivals = np.full(self._n, math.inf)
        self._end, self._unsettled = 0.5 * self.numbers.play, math.inf
        self._next_arrival = math.inf  # the first of them; asked for at every step
        # The end of the gap at which each motor pushes: -1, 1, or 0 between them.
        self._engaged = np.zeros(self._n, dtype=np.int64)
        self.decoupled = not self.numbers.play
        if self.numbers.play:
            self.nz = self._n
            self.z_names = tuple(f"play of {name}" for name in self.names)

    @property
    def lags(self) -> np.ndarray:
        """Times by which joints follow positions that come without a speed (njoints,).

        Raises:
            ParameterError: a gain is zero: nothing follows.
        """
        return np.array([item.lag for item in self._each])

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Hold the posture of the start, the motors in the middle of their play."""
        self._start_time = t
        self._origin, self._rate = np.array(q[7:]), np.zeros(self._n)
        self._target = self._origin.copy()
        self._arrivals = np.full(self._n, math.inf)
        self._engaged = np.zeros(self._n, dtype=np.int64)
        self._next_arrival = self._unsettled = math.inf
        return super().initialise(t, q, v)

    def expect_commands_every(self, period: float) -> None:
        """Spread the motion to a command over the time between two of them [s]."""
        if self._takes_period:
            self._command_period = period

    def set_point(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Where the servos want to be, and how fast that moves (njoints,)."""
        return self._origin + self._rate * (t - self._start_time), self._rate.copy()

    def apply(self, t: float, command: np.ndarray) -> None:
        """Let the set points run to these angles from now on."""
        self._arrive(t)
        self._origin = self.set_point(t)[0]
        self._target, self._start_time = command, t
        distance = command - self._origin
        duration = np.abs(distance) / self._speeds
        moves = duration > 0.0
        even = moves & (duration <= self._command_period)
        duration[even] = self._command_period
        self._rate = np.divide(distance, duration, out=np.zeros(self._n), where=moves)
        self._arrivals = t + np.where(even, duration + _LATE, duration)
        self._arrive(t)
        if self.nz:
            # Torques jump: motors may leave their ends now.
            self._unsettled = t

    def _arrive(self, t: float) -> None:
        """Set points whose time has come rest at their targets."""
        arrived = self._arrivals <= t
        self._origin = np.where(arrived, self._target, self._origin)
        self._rate = np.where(arrived, 0.0, self._rate)
        self._arrivals = np.where(arrived, math.inf, self._arrivals)
        self._next_arrival = float(self._arrivals.min())

    def next_time(self, t: float) -> float:
        """When a command comes, or a set point arrives: its speed jumps to zero."""
        return min(super().next_time(t), self._next_arrival, self._unsettled)

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """Motors that arrive at an end of their play, or leave it."""
        if not self.nz:
            return _NO_STATES
        room = self._end * (1.0 + _ROOM) - np.abs(z)
        into = self._engaged * self._travel(t, q, v)
        return np.where(self._engaged == 0, room, into + _LEAVES)

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Commands, set points that have arrived, and the ends of the play."""
        z, happened = super().handle(t, q, v, z, fired)
        self._arrive(t)
        if not self.nz:
            return z, happened
        self._unsettled = math.inf
        before = self._engaged.copy()
        arrived = fired & (before == 0)
        self._engaged = np.where(arrived, np.sign(z).astype(np.int64), before)
        self._engaged[fired & (before != 0)] = 0
        self._release(t, q, v)
        changed = np.flatnonzero(self._engaged != before)
        events = [
            Event(t, GEAR_ENGAGED if self._engaged[j] else GEAR_FREE, self.names[j])
            for j in changed
        ]
        return np.clip(z, -self._end, self._end), [*happened, *events]

    def reset(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """An impact may turn joints away from their motors."""
        if self.nz:
            self._release(t, q, v)
        return z

    def _release(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Let go where a motor would pull instead of pushing."""
        into = self._engaged * self._travel(t, q, v)
        self._engaged = np.where(into < -_LEAVES, 0, self._engaged)

    def _travel(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Speed of the motors through their play, without load (njoints,) [rad/s]."""
        damping, no_load = self._parameters[:, 1], self._parameters[:, 3]
        free = self._demands(t, q, v)[0] / damping + v[6:]
        return np.clip(free, -no_load, no_load) - v[6:]

    def _demands(
        self, t: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques that the motors want, and what of it they have (njoints,) [N m]."""
        return _demands(self._path(t), q, v, self._parameters)

    def _path(self, t: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Time since set points began to move [s], where they were, their rates."""
        return t - self._start_time, self._trailing(), self._rate

    def _trailing(self) -> np.ndarray:
        """Where set points began, with the lag by which they trail (njoints,)."""
        return self._origin - self._lag * self._rate if self._lag else self._origin

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the servos on the joints, and their rates through the play."""
        path = self._path(t)
        if self.nz:
            return _with_play(path, q, v, self._parameters, self._engaged)
        return drive_torques(path, q, v, self._parameters), z

    def record(self) -> dict[str, dict[str, list[float]]]:
        """Numbers of the servos by their joints, as in a :class:`DriveTable`."""
        rows = self._parameters.tolist()
        return {SERVO_NUMBERS: dict(zip(self.names, rows, strict=True))}

    def drives(self) -> DriveTable | None:
        """The same torques as a table for kernels; None where the gears have play."""
        if self.nz or type(self).dynamics is not Servo.dynamics:
            return None
        return DriveTable(
            self._start_time, self._trailing(), self._rate, self._parameters
        )

    def state_columns(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Commands received, set points, and who cannot follow (njoints,)."""
        received = self.pending[-1][1] if self.pending else self._target
        point = self.set_point(t)[0]
        demand, torque = self._demands(t, q, v)
        return received, point, (demand != torque) | (point != self._target)

    def states(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray = _NO_STATES
    ) -> tuple[ActuatorState, ...]:
        """State of every servo; its shaft is the output, at the joint."""
        received, point, limited = self.state_columns(t, q, v, z)
        force = self.dynamics(t, q, v, z)[0]
        return tuple(
            ActuatorState(
                name=name,
                kind=CommandKind.POSITION,
                command=float(received[j]),
                applied=float(point[j]),
                position=float(q[7 + j]),
                velocity=float(v[6 + j]),
                torque=float(force[6 + j]),
                saturated=bool(limited[j]),
            )
            for j, name in enumerate(self.names)
        )


@kernel
def _demands(path, q, v, parameters):
    """Torques that the motors want, and those they have."""
    elapsed, origin, rate = path
    demand, torque = np.empty(origin.shape[0]), np.empty(origin.shape[0])
    for j in range(origin.shape[0]):
        demand[j], torque[j] = pull(
            origin[j] + rate[j] * elapsed, rate[j], q[7 + j], v[6 + j], parameters[j]
        )
    return demand, torque


@kernel
def _with_play(path, q, v, parameters, engaged):
    """Force of servos with play, and the speeds of the motors in their gaps.

    Arguments as of :func:`_demands`; ``engaged``: the end of the gap at which each
    motor pushes, -1 or 1, or 0 between them (njoints,).
    """
    elapsed, origin, rate = path
    force, rates = np.zeros(v.shape[0]), np.zeros(origin.shape[0])
    for j in range(origin.shape[0]):
        turning = v[6 + j]
        damping, no_load = parameters[j, 1], parameters[j, 3]
        viscous, coulomb, slow = parameters[j, 5:]
        demand, torque = pull(
            origin[j] + rate[j] * elapsed, rate[j], q[7 + j], turning, parameters[j]
        )
        if engaged[j] == 0:
            torque = 0.0
            free = demand / damping + turning
            rates[j] = min(no_load, max(-no_load, free)) - turning
        elif engaged[j] * torque < 0.0:
            torque = 0.0
        force[6 + j] = torque - viscous * turning - coulomb * np.tanh(turning / slow)
    return force, rates
