# SPDX-License-Identifier: Apache-2.0
r"""Hips against a push: the trunk bends the way the body falls.

A push moves the capture point. Where it leaves the sole, ankles can do no more: the
zero-moment point is on the edge already. A trunk that speeds up forwards presses the
feet forwards against the floor, as if the sole were longer by
:math:`I \ddot\theta / (m g)` (Horak and Nashner 1986; Stephens 2007). The bend is the
error e of the capture point ahead, beyond a distance :math:`e_0` that a walk has by
itself, over the height h of the centre of mass,

.. math:: \theta = k\,(|e| - e_0)\,\operatorname{sgn}(e) / h

at most ``hip_limit``; it comes back with the time constant ``hip_time``, slowly,
because a trunk that is brought back presses the other way. Only pitch is used: a stance
is wide.
"""

from __future__ import annotations

import math

from humans_sim.control.walking.settings import WalkSettings


class HipStrategy:
    """Keeps the bend of one walk.

    Args:
        settings: of the walk.
        period: time between two calls [s].

    Attributes:
        bend: pitch of the base beyond the plan, positive forwards [rad].
    """

    def __init__(self, settings: WalkSettings, period: float) -> None:
        self._settings = settings
        self._kept = math.exp(-period / settings.hip_time)
        self.reset()

    def reset(self) -> None:
        """Upright."""
        self.bend = 0.0

    def update(self, ahead: float) -> float:
        """Answer an error of the capture point.

        Args:
            ahead: measured capture point less the planned one, forwards [m].

        Returns:
            The bend [rad].
        """
        settings = self._settings
        beyond = max(abs(ahead) - settings.hip_error, 0.0)
        size = settings.hip_gain * beyond / settings.com_height
        bend = math.copysign(min(size, settings.hip_limit), ahead)
        kept = self._kept * self.bend
        self.bend = bend if abs(bend) > abs(kept) else kept
        return self.bend
