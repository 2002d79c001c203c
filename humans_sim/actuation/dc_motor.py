# SPDX-License-Identifier: Apache-2.0
r"""A direct-current motor with a permanent magnet.

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
from dataclasses import dataclass

from humans_sim.core.checked_numbers import PositiveNumbers
from humans_sim.core.errors import ParameterError

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
