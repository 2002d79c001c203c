# SPDX-License-Identifier: Apache-2.0
"""Settings of retargeting, and its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from humans_sim.core.errors import HumansError, ParameterError


@dataclass(frozen=True)
class RetargetSettings:
    """How a motion is taken over.

    Attributes:
        slowest: time of the robot over the person's, at most.
        speed_share: of the joints' speed limits that is used.
        torque_share: of their torque limits.
        least_step: quickest step over that of the robot's walk. Motions are played
            without sensors: steps are slower than those of a walk with feedback.
        stride: longest step over that of the robot's walk: legs that are almost
            straight turn fast.
        straightest: hips above ankles over the leg's length, at most.
        margin: that the zero-moment point keeps to the edges of the support over that
            of the walk.
        cutoff: what the person does faster is left out [Hz].
        period: between two samples [s]; None: that of the robot's commands.
    """

    slowest: float = 4.0
    speed_share: float = 0.9
    torque_share: float = 0.9
    least_step: float = 1.25
    stride: float = 0.8
    straightest: float = 0.98
    margin: float = 1.5
    cutoff: float = 4.0
    period: float | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that are not above zero, and shares above 1."""
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None:
                continue
            if not (math.isfinite(value) and value > 0.0):
                raise ParameterError(f"{item.name} must be above zero, not {value:g}")
        for name in ("speed_share", "torque_share", "straightest"):
            if getattr(self, name) > 1.0:
                raise ParameterError(f"{name} is a share: 1 at most")


class RetargetError(HumansError, ValueError):
    """A motion that a robot cannot make, even slowed.

    Attributes:
        reason: what is too much.
        joint: that is asked for too much; empty: none in particular.
        time: when, in the time of the robot's motion [s]; NaN: throughout.
    """

    def __init__(
        self, reason: str, joint: str = "", time: float = float("nan")
    ) -> None:
        self.reason, self.joint, self.time = reason, joint, time
        where = f"{joint}: " if joint else ""
        when = f" (at {time:.2f} s)" if time == time else ""
        super().__init__(f"{where}{reason}{when}")

    def slowed(self, factor: float) -> RetargetError:
        """The same error of a motion that was slowed in vain."""
        tried = f"{self.reason}, even slowed by {factor:.2g}" if factor > 1 else ""
        return RetargetError(tried or self.reason, self.joint, self.time)
