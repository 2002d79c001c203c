# SPDX-License-Identifier: Apache-2.0
"""Positions that trail behind the board's, as the joints of the real robot do.

The damping of the robot's servos knows the speed of the joint, not that of the set
point, so that a joint follows late, by damping over gain (:mod:`.pose_servo`). Servos
that follow closely move alike when their commands trail by as much.
"""

from __future__ import annotations

import math

import numpy as np

from humans_sim.core.errors import ParameterError


class Lag:
    """A first-order lag, sampled.

    Args:
        constant: time by which an even motion is late [s]; 0: none.
        period: time between two calls [s].
    """

    def __init__(self, constant: float, period: float) -> None:
        """Begin with the first position that comes."""
        if not (math.isfinite(constant) and constant >= 0 and period > 0):
            raise ParameterError(
                f"a lag of {constant} s in periods of {period} s cannot be"
            )
        self._keeps = math.exp(-period / constant) if constant else 0.0
        self._last: np.ndarray | None = None

    def reset(self, position: np.ndarray) -> None:
        """Begin anew, at rest."""
        self._last = np.array(position, dtype=float)

    def follow(self, position: np.ndarray) -> np.ndarray:
        """Where the trailing positions are when the leading ones are here."""
        if self._last is None:
            self.reset(position)
        self._last = position + self._keeps * (self._last - position)
        return self._last.copy()
