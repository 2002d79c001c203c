# SPDX-License-Identifier: Apache-2.0
r"""Standing without strain: the feet give way to what the legs press against the floor.

Both legs and the floor are a closed chain. A foot never lands exactly where it was
planned, because the legs give way under the load; servos then press the soles apart or
together, and the friction of the floor holds them. The legs of such a stance push on
one edge of each sole, and lift the other.

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

_MOST_SPREAD = 0.1
"""Largest way of a sole, in heights of the centre of mass."""
_MOST_TURN = math.radians(3.0)
"""Largest turn of a sole [rad]."""


class SoleLoad(NamedTuple):
    """What a sole that stands feels.

    Attributes:
        force: horizontal force of the floor on the sole, x forwards and y to the left
            (2,) [N].
        pressure: centre of pressure less the middle of the sole (2,) [m].
    """

    force: np.ndarray
    pressure: np.ndarray


class StanceRelief:
    """Keeps how far the soles gave way.

    Args:
        gain: how fast they do [1/s]; zero: never.
        height: of the centre of mass [m].
        weight: of the robot [N].
        period: time between two calls [s].
        time: in which they come back in a step [s].

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
