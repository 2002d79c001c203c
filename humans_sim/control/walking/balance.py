# SPDX-License-Identifier: Apache-2.0
r"""Balance of a walk: posture corrected by what the robot measures.

Three feedbacks, each with numbers of its own in the settings:

- *Lean*, slow. A floor that slopes, or legs that give way, tilt the body for long. The
  tilt of the base against the plan, averaged over ``lean_time``, is taken out of its
  attitude, and the centre of mass is put over the zero-moment point along the true
  vertical: moved by the height times the tilt.
- *Ankles*, fast. What is left of the tilt, and the angular velocity of the base that
  the plan does not have, turn the soles that stand against it: angles
  :math:`k_p e + k_d \dot e`, at most ``ankle_limit``.
- *Pressure*. The distance of the measured zero-moment point from the planned one moves
  the centre of mass by :math:`\dot d = k (p - p_{plan}) - d / T`, so that it gives way
  to a push and comes back.

*Standing without strain.* Both legs and the floor are a closed chain. A foot never
lands exactly where it was planned, because the legs give way under the load; servos
then press the soles apart or together, and the friction of the floor holds them. The
legs of such a stance push on one edge of each sole, and lift the other.

While the robot stands on both feet, the measured wrenches move the soles of the plan
until nothing is left of it: the half difference f of their horizontal forces moves the
soles against each other, and the half difference of their centres of pressure p,
relative to the middle of each sole, turns them against each other,

.. math::
    \dot d = \gamma h f / W, \qquad \dot\varphi = \gamma\, p / h

with the gain :math:`\gamma`, the height h of the centre of mass and the weight W. What
both feet feel alike is the business of the balance. In a step the soles come back to
the plan.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.control.walking.feedback_kernels import (
    BalanceNumbers,
    balance_correction,
)
from humans_sim.control.walking.settings import WalkSettings

_MOST_LEAN = math.radians(12.0)
"""Largest tilt that is taken for a slope [rad]."""
_MOST_GIVING = 0.02
"""Largest distance by which the centre of mass gives way [m]."""


class Correction(NamedTuple):
    """How a posture of the plan is changed.

    Attributes:
        com: shift of the centre of mass in the plan's world (3,) [m].
        attitude: turns the base, in the plan's world (3, 3).
        soles: turns the soles that stand, in the plan's world (3, 3).
        apart: moves and turns the left sole, and the right one the opposite way, in the
            frame of each: x, y [m], about x, about y [rad].
    """

    com: np.ndarray
    attitude: np.ndarray
    soles: np.ndarray
    apart: np.ndarray = np.zeros(4)


class Balance:
    """Keeps the state of the feedbacks of one walk, called once a period [s].

    Attributes:
        lean: averaged tilt against the plan, about x and y of the plan's world [rad].
        giving: shift of the centre of mass by pressure (2,) [m].
    """

    def __init__(self, settings: WalkSettings, period: float) -> None:
        self._numbers = tuple(
            BalanceNumbers(
                lean_share=-math.expm1(-period / settings.lean_time),
                most_lean=_MOST_LEAN,
                height=settings.com_height,
                period=period,
                pressure_gain=settings.pressure_gain,
                pressure_time=settings.pressure_time,
                most_giving=_MOST_GIVING,
                ankle_gain=settings.ankle_gain,
                ankle_damping=settings.ankle_damping,
                ankle_limit=settings.ankle_limit,
            )
        )
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._state = np.zeros((2, 2))
        self.lean, self.giving = self._state

    def update(
        self, tilt: np.ndarray, tilting: np.ndarray, pressure: np.ndarray
    ) -> Correction:
        """Take in what is measured at one time, about x and y of the plan's world (2,).

        The tilt of the base against the plan [rad], its rate [rad/s], and the measured
        zero-moment point less the planned one [m]; NaN where no sole is loaded.
        """
        return Correction(
            *balance_correction(self._numbers, self._state, tilt, tilting, pressure)
        )


_MOST_SPREAD = 0.1
"""Largest way of a sole, in heights of the centre of mass."""
_MOST_TURN = math.radians(3.0)
"""Largest turn of a sole [rad]."""


class SoleLoad(NamedTuple):
    """The load of a sole that stands, x forwards and y to the left (2,).

    Horizontal force of the floor on it [N], and centre of pressure less the middle of
    the sole [m].
    """

    force: np.ndarray
    pressure: np.ndarray


class StanceRelief:
    """Keeps how far the soles gave way.

    The gain is how fast they do [1/s], zero: never; height is of the centre of mass
    [m], weight of the robot [N]. Called once a period [s], they come back in a step
    within a time [s].

    Attributes:
        shift: of the left sole; the right one's is the opposite (2,) [m].
        turn: of the left sole about x and y; the right one's is the opposite (2,)
            [rad].
    """

    def __init__(
        self, gain: float, height: float, weight: float, period: float, time: float
    ) -> None:
        self._shift_gain = gain * height * period / weight
        self._turn_gain = gain * period / height
        self._most_shift = _MOST_SPREAD * height
        self._kept = math.exp(-period / time)
        self.reset()

    def reset(self) -> None:
        """The soles are where the plan has them."""
        self.shift, self.turn = np.zeros(2), np.zeros(2)

    def stand(self, left: SoleLoad, right: SoleLoad) -> None:
        """Give way to what both soles feel."""
        force = 0.5 * (left.force - right.force)
        shift = self.shift + self._shift_gain * force
        self.shift = np.clip(shift, -self._most_shift, self._most_shift)
        ahead, outwards = 0.5 * (left.pressure - right.pressure)
        # Pressure on the left edge: that edge goes up.
        turn = self.turn + self._turn_gain * np.array([outwards, -ahead])
        self.turn = np.clip(turn, -_MOST_TURN, _MOST_TURN)

    def step(self) -> None:
        """Come back to the plan."""
        self.shift, self.turn = self._kept * self.shift, self._kept * self.turn
