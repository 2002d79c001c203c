# SPDX-License-Identifier: Apache-2.0
"""Numbers of a position servo."""

from __future__ import annotations

import math
from dataclasses import dataclass

from humans_sim.core.errors import ParameterError

SERVO = "servo"
"""Key of the numbers in a file of ``config/robots``."""
_POSITIVE = ("stall_torque", "no_load_speed", "speed", "coulomb_speed")


@dataclass(frozen=True)
class ServoNumbers:
    """What a :class:`~humans_sim.actuation.Servo` is like.

    The defaults are for models of which nothing is known: a small hobby servo
    with torque and speed of the KRS-784ICS as commonly quoted (0.85 N m, 60 degrees in
    0.168 s). No data sheet gives the others; they are assumed, of the size that small
    geared servos have. The damping is that of a servo which knows the speed of its set
    point.

    Attributes:
        gain: torque for an error of one radian [N m/rad].
        damping: torque for a speed error [N m s/rad].
        stall_torque: largest torque at rest [N m].
        no_load_speed: speed at which no torque is left [rad/s].
        speed: how fast the set point runs to the command, at most [rad/s].
        dead_band: error that the servo does not see [rad].
        viscous: friction of the gear [N m s/rad].
        coulomb: friction of the gear [N m].
        coulomb_speed: speed at which that friction is three quarters there [rad/s].
        rotor_inertia: of the rotor, at the joint [kg m^2].
        play: width of the gap between motor and joint [rad].
    """

    gain: float = 22.0
    damping: float = 0.5
    stall_torque: float = 0.85
    no_load_speed: float = 6.23
    speed: float = 6.23
    dead_band: float = 0.0
    viscous: float = 0.002
    coulomb: float = 0.01
    coulomb_speed: float = 0.05
    rotor_inertia: float = 1.5e-3
    play: float = 0.0

    def __post_init__(self) -> None:
        """Refuse numbers without meaning.

        Raises:
            ParameterError: one is below zero, or zero where it may not be.
        """
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value >= 0):
                raise ParameterError(f"{name} must be 0 or more, not {value}")
            if name in _POSITIVE and value == 0:
                raise ParameterError(f"{name} must be above zero")
        if self.play and not self.damping:
            raise ParameterError("a servo with play needs a damping above zero")

    @property
    def lag(self) -> float:
        """Time by which a joint follows positions that come without a speed [s].

        Raises:
            ParameterError: the gain is zero: nothing follows.
        """
        if self.gain == 0.0:
            raise ParameterError("servos that follow positions need a gain above zero")
        return self.damping / self.gain
