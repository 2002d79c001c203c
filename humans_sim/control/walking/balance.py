# SPDX-License-Identifier: Apache-2.0
r"""Balance: how a posture is changed by what the robot measures.

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
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.walking.settings import WalkSettings

_MOST_LEAN = math.radians(12.0)
"""Largest tilt that is taken for a slope [rad]."""
_MOST_GIVING = 0.02
"""Largest distance by which the centre of mass gives way [m]."""
_NOT_APART = np.zeros(4)


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
    apart: np.ndarray = _NOT_APART


class Balance:
    """Keeps the state of the feedbacks of one walk.

    Attributes:
        lean: averaged tilt against the plan, about x and y of the plan's world [rad].
        giving: shift of the centre of mass by pressure (2,) [m].
    """

    def __init__(self, settings: WalkSettings, period: float) -> None:
        """Start without any correction.

        Args:
            settings: of the walk.
            period: time between two calls of :meth:`update` [s].
        """
        self._settings, self._period = settings, period
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.lean, self.giving = np.zeros(2), np.zeros(2)

    def update(
        self, tilt: np.ndarray, tilting: np.ndarray, pressure: np.ndarray
    ) -> Correction:
        """Take in what is measured at one time.

        Args:
            tilt: of the base against the plan, about x and y of the plan's world (2,)
                [rad].
            tilting: angular velocity against the plan, about the same axes (2,)
                [rad/s].
            pressure: measured zero-moment point less the planned one (2,) [m]; NaN
                where no sole is loaded.
        """
        settings, period = self._settings, self._period
        share = -math.expm1(-period / settings.lean_time)
        self.lean = np.clip(self.lean + share * (tilt - self.lean), *_RANGE)
        pull = np.where(np.isfinite(pressure), pressure, 0.0)
        rate = settings.pressure_gain * pull - self.giving / settings.pressure_time
        giving = self.giving + period * rate
        self.giving = np.clip(giving, -_MOST_GIVING, _MOST_GIVING)
        upright = settings.com_height * np.array([-self.lean[1], self.lean[0]])
        ankles = settings.ankle_gain * (tilt - self.lean)
        ankles = ankles + settings.ankle_damping * tilting
        ankles = np.clip(ankles, -settings.ankle_limit, settings.ankle_limit)
        return Correction(
            np.array([*(upright + self.giving), 0.0]), _turn(-self.lean), _turn(ankles)
        )


_RANGE = (-_MOST_LEAN, _MOST_LEAN)


def tilt_against(attitude: np.ndarray, planned: np.ndarray) -> np.ndarray:
    """Turn of the base from the plan to what is measured, heading aside (3,) [rad].

    In the plan's world; both are rotations of the base (3, 3).
    """
    up, planned_up = attitude[2], planned[2]
    axis = np.array(
        [
            up[1] * planned_up[2] - up[2] * planned_up[1],
            up[2] * planned_up[0] - up[0] * planned_up[2],
            up[0] * planned_up[1] - up[1] * planned_up[0],
        ]
    )
    size = math.sqrt(float(axis @ axis))
    angle = math.atan2(size, float(up @ planned_up))
    return planned @ axis * (angle / size if size > 1e-12 else 1.0)


def _turn(about: np.ndarray) -> np.ndarray:
    """Rotation by a small vector about x and y (3, 3)."""
    return np.asarray(pin.exp3(np.array([*about, 0.0])))
