# SPDX-License-Identifier: Apache-2.0
r"""Direct-current motors that drive the joints through screws and rods (Bip).

The rotors turn with the joints, :math:`\dot\theta = J_r(q)\, \dot q`, so the torques of
the motors act on the joints as :math:`J_r^T \tau_r`. The inertia of the rotors is part
of the model's mass matrix.

The manual freezes the gear ratios at the posture of the start, because they took long
to compute. Here they follow the posture; ``frozen_ratio`` does as the manual says.

*Motor*, with a permanent magnet:

.. math:: i = (u - k \dot\theta) / R, \qquad
   \tau = k i - b \dot\theta - c \tanh(\dot\theta / \omega_c)

The inductance is left out: its time constant, a tenth of a millisecond, is far below
that of the rotor. All of the electrical power is accounted for:

.. math:: u i = R i^2 + (b \dot\theta + c \tanh(\dot\theta / \omega_c)) \dot\theta
   + \tau \dot\theta.

No source prints the motors of Bip. What is known are the inertias of their rotors, and
the values here are assumed: torque constant and supply such that every joint reaches
3 rad/s with the torques of walking, viscous friction for a no-load current of 0.4 A,
below a hundredth of the stall current, and a resistance that falls with the size of the
rotor, so that the mechanical time constant :math:`I R / k^2` is 5.6 ms for all, of the
size that motors of a few hundred watts have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation.delayed_actuation import (
    ActuatorState,
    CommandKind,
    DelayedActuation,
    StateSignal,
)
from humans_sim.core.arrays import PositiveNumbers
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.models import Model
from humans_sim.models.rotors import rotor_jacobian

TORQUE_CONSTANT = 0.05
"""[N m/A], which is [V s/rad] (assumed)."""
TIME_CONSTANT = 5.6e-3
"""Mechanical time constant I R / k^2 [s] (assumed)."""
VISCOUS = 2e-5
"""Friction of the bearings and the screw at the rotor [N m s/rad] (assumed)."""
MAX_VOLTAGE = 48.0
"""Supply [V] (assumed)."""


@dataclass(frozen=True)
class DCMotor(PositiveNumbers):
    """Constants of a motor, and what follows from them in closed form.

    Attributes:
        resistance: R [ohm].
        torque_constant: k, torque per current and voltage per speed [N m/A].
        viscous: friction b [N m s/rad].
        coulomb: friction c [N m].
        coulomb_speed: speed at which that friction is three quarters there [rad/s].
        max_voltage: supply, the limit of the voltage on both sides [V].
    """

    MAY_BE_ZERO = ("viscous", "coulomb")

    resistance: float
    torque_constant: float = TORQUE_CONSTANT
    viscous: float = VISCOUS
    coulomb: float = 0.0
    coulomb_speed: float = 1.0
    max_voltage: float = MAX_VOLTAGE

    @classmethod
    def of_rotor(cls, inertia: float) -> DCMotor:
        """The motor that we take for a rotor of this inertia [kg m^2]."""
        if not (math.isfinite(inertia) and inertia > 0):
            raise ParameterError(f"a rotor's inertia must be above zero, not {inertia}")
        return cls(resistance=TIME_CONSTANT * TORQUE_CONSTANT**2 / inertia)

    def current(self, speed: float, voltage: float | None = None) -> float:
        """Current at a speed, under the full supply unless given [A]."""
        volts = self.max_voltage if voltage is None else voltage
        return (volts - self.torque_constant * speed) / self.resistance

    def torque(self, speed: float, voltage: float | None = None) -> float:
        """Torque at the shaft at a speed, under the full supply unless given [N m]."""
        friction = self.viscous * speed
        friction += self.coulomb * math.tanh(speed / self.coulomb_speed)
        return self.torque_constant * self.current(speed, voltage) - friction

    @property
    def stall_torque(self) -> float:
        """Torque at rest under the full supply [N m]."""
        return self.torque_constant * self.max_voltage / self.resistance

    @property
    def no_load_speed(self) -> float:
        """Speed without load under the full supply [rad/s]."""
        slope = self.torque_constant**2 / self.resistance + self.viscous
        return (self.stall_torque - self.coulomb) / slope

    @property
    def max_efficiency(self) -> float:
        r"""Most that mechanical power can be of electrical power.

        With :math:`\beta = R b / k^2`, :math:`\gamma = R c / (k U)` and the slip
        :math:`y = 1 - k \dot\theta / U`, the efficiency is
        :math:`1 - y - (\beta (1 - y)^2 + \gamma (1 - y)) / y`, greatest at
        :math:`y^2 = (\beta + \gamma) / (1 + \beta)`.
        """
        beta = self.resistance * self.viscous / self.torque_constant**2
        gamma = self.coulomb / self.stall_torque
        y = math.sqrt((beta + gamma) / (1 + beta))
        if y == 0.0:
            return 1.0
        return 1 - y - (beta * (1 - y) ** 2 + gamma * (1 - y)) / y


_NO_STATES = np.zeros(0)


class MotorPower(NamedTuple):
    """Where the power of each motor goes: electrical = heat + friction + mechanical.

    Attributes:
        electrical: taken from the supply, negative when given back (nmotors,) [W].
        heat: in the windings (nmotors,) [W].
        friction: of the rotors (nmotors,) [W].
        mechanical: to the joints, the rotors' inertia included (nmotors,) [W].
    """

    electrical: np.ndarray
    heat: np.ndarray
    friction: np.ndarray
    mechanical: np.ndarray


class ScrewDriveMotors(DelayedActuation):
    """Motors on all rotors of a model; the command is their voltages (nmotors,) [V].

    Motors are in the order of ``model.rotors.names``, which is that of the joints of
    the HuMAnS vector. As in the manual, the first command at the start acts without a
    delay.

    Args:
        delay: from a command to its effect, the manual's ControlDelay [s].
        motors: one for each rotor, or one for all; by default motors that fit the
            inertias of the rotors.
        frozen_ratio: keep the gear ratios of the posture of the start.
    """

    KIND = "motors"
    SIGNALS = (
        StateSignal("command", "command", "V"),
        StateSignal("voltage", "voltage", "V"),
        StateSignal("current", "current", "A"),
        StateSignal("rotor_speed", "velocity", "rad/s"),
        StateSignal("rotor_torque", "torque", "N m"),
        StateSignal("electrical_power", "electrical_power", "W"),
    )

    def __init__(
        self,
        model: Model,
        delay: float = 0.0,
        *,
        motors: DCMotor | Sequence[DCMotor] | None = None,
        frozen_ratio: bool = False,
    ) -> None:
        """No voltage until the first command."""
        if model.rotors is None:
            raise ParameterError(
                f"{model.name} has no rotors for motors to turn: take bip with its "
                "rotors, or another actuation"
            )
        self._rotors = model.rotors
        self.names = self._rotors.names
        count = len(self.names)
        super().__init__(self.names, "motor voltages [V]", delay)
        if motors is None:
            motors = [DCMotor.of_rotor(float(i)) for i in self._rotors.inertia]
        elif isinstance(motors, DCMotor):
            motors = [motors] * count
        if len(motors) != count:
            raise ParameterError(f"{count} motors must be given, not {len(motors)}")
        self.motors = tuple(motors)
        if any(m.viscous or m.coulomb for m in motors):
            self.frictional_joints = tuple(model.joint_names)
        # Rows as the kernel takes them.
        self._constants = np.array(
            [
                [m.torque_constant, m.resistance, m.viscous, m.coulomb, m.coulomb_speed]
                for m in motors
            ]
        ).T.copy()
        self._max_voltage = np.array([m.max_voltage for m in motors])
        self._frozen_ratio = frozen_ratio
        self._frozen = np.zeros((0, 0))
        self._frozen_at = (np.zeros(0), np.zeros(0))
        self._asked, self._voltage = np.zeros(count), np.zeros(count)
        self._first: float | None = None

    @property
    def voltage(self) -> np.ndarray:
        """Voltages that act now (nmotors,) [V]."""
        return self._voltage.copy()

    @property
    def saturated(self) -> np.ndarray:
        """Motors whose command is beyond the supply (nmotors,)."""
        return np.abs(self._asked) > self._max_voltage

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """No voltage; take the posture whose gear ratios are kept, if they are."""
        self._asked = np.zeros_like(self._asked)
        self._voltage = np.zeros_like(self._voltage)
        self._first = t
        if self._frozen_ratio:
            self._frozen = self._rotors.jacobian(q)
            self._frozen_at = (np.array(q[7:]), self._rotors.angles(q))
        return super().initialise(t, q, v)

    def command(self, t: float, command: Any) -> None:
        """Send voltages on their way; the first ones at the start act at once."""
        if t == self._first:
            self.apply(t, self.check(command))
        else:
            super().command(t, command)
        self._first = None

    def apply(self, t: float, command: np.ndarray) -> None:
        """Let voltages act from now on, as far as the supply goes."""
        self._asked = command
        self._voltage = np.clip(command, -self._max_voltage, self._max_voltage)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Torques of the motors on the joints."""
        table = self._rotors.table
        return _force(q, v, table, self._frozen, self._voltage, self._constants), z

    def gear_ratios(self, q: np.ndarray) -> np.ndarray:
        """Rotor speeds per joint speeds, frozen where they are (nmotors, njoints)."""
        return self._frozen if self._frozen.size else self._rotors.jacobian(q)

    def rotor_torques(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Torques on the rotors now (nmotors,) [N m]."""
        speed = self.gear_ratios(q) @ v[6:]
        return self._constants[0] * self._current(speed) - self._friction(speed)

    def voltages(
        self, q: np.ndarray, v: np.ndarray, joint_torques: np.ndarray
    ) -> np.ndarray:
        """Voltages that give these joint torques now, not limited (nmotors,) [V].

        The inverse of the motor model: friction and back EMF are compensated.

        Args:
            q: configuration.
            v: velocity.
            joint_torques: in the order of ``model.joint_names`` (njoints,) [N m].

        Raises:
            ConfigurationError: the drives have a dead point in this posture.
        """
        joint_torques = np.asarray(joint_torques, dtype=float)
        ratios = self.gear_ratios(q)
        if joint_torques.shape != ratios.shape[1:]:
            raise ParameterError(
                f"{ratios.shape[1]} joint torques [N m] must be given, not shape "
                f"{joint_torques.shape}"
            )
        try:
            torques = np.linalg.solve(ratios.T, joint_torques)
        except np.linalg.LinAlgError:
            raise ConfigurationError(
                "the drives are at a dead point: some joint torques are out of reach"
            ) from None
        speed = ratios @ v[6:]
        k, resistance = self._constants[:2]
        return resistance / k * (torques + self._friction(speed)) + k * speed

    def power(self, q: np.ndarray, v: np.ndarray) -> MotorPower:
        """Where the power of each motor goes now."""
        speed = self.gear_ratios(q) @ v[6:]
        current, friction = self._current(speed), self._friction(speed)
        k, resistance = self._constants[:2]
        return MotorPower(
            electrical=self._voltage * current,
            heat=resistance * current**2,
            friction=friction * speed,
            mechanical=(k * current - friction) * speed,
        )

    def states(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray = _NO_STATES
    ) -> tuple[ActuatorState, ...]:
        """State of every motor."""
        ratios = self.gear_ratios(q)
        speed = ratios @ v[6:]
        if self._frozen.size:
            angles = self._frozen_at[1] + ratios @ (q[7:] - self._frozen_at[0])
        else:
            angles = self._rotors.angles(q)
        current, torques = self._current(speed), self.rotor_torques(q, v)
        received = self.pending[-1][1] if self.pending else self._asked
        saturated = self.saturated
        states = []
        for m, name in enumerate(self.names):
            driven = ratios[m][ratios[m] != 0.0]
            states.append(
                ActuatorState(
                    name=name,
                    kind=CommandKind.VOLTAGE,
                    command=float(received[m]),
                    applied=float(self._voltage[m]),
                    position=float(angles[m]),
                    velocity=float(speed[m]),
                    torque=float(torques[m]),
                    saturated=bool(saturated[m]),
                    gear_ratio=float(driven[0]) if len(driven) == 1 else nan,
                    current=float(current[m]),
                    voltage=float(self._voltage[m]),
                    electrical_power=float(self._voltage[m] * current[m]),
                )
            )
        return tuple(states)

    def _current(self, speed: np.ndarray) -> np.ndarray:
        k, resistance = self._constants[:2]
        return (self._voltage - k * speed) / resistance

    def _friction(self, speed: np.ndarray) -> np.ndarray:
        _, _, viscous, coulomb, slow = self._constants
        return viscous * speed + coulomb * np.tanh(speed / slow)


@kernel(error_model="numpy")
def _force(q, v, table, frozen, voltage, constants):
    """Generalised force of the motors; an empty ``frozen`` means the true ratios."""
    motors = voltage.size
    ratios = frozen if frozen.size else rotor_jacobian(q, table, motors)
    force = np.zeros(v.size)
    for m in range(motors):
        speed = 0.0
        for j in range(v.size - 6):
            speed += ratios[m, j] * v[6 + j]
        k, resistance, viscous = constants[0, m], constants[1, m], constants[2, m]
        coulomb, slow = constants[3, m], constants[4, m]
        torque = k * (voltage[m] - k * speed) / resistance - viscous * speed
        if coulomb > 0.0:
            torque -= coulomb * np.tanh(speed / slow)
        for j in range(v.size - 6):
            force[6 + j] += ratios[m, j] * torque
    return force
