# SPDX-License-Identifier: Apache-2.0
"""Why a motion is not taken over."""

from __future__ import annotations

from humans_sim.core.errors import HumansError


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
        """Compose the message: what, where and when."""
        self.reason, self.joint, self.time = reason, joint, time
        where = f"{joint}: " if joint else ""
        when = f" (at {time:.2f} s)" if time == time else ""
        super().__init__(f"{where}{reason}{when}")

    def slowed(self, factor: float) -> RetargetError:
        """The same error of a motion that was slowed in vain."""
        tried = f"{self.reason}, even slowed by {factor:.2g}" if factor > 1 else ""
        return RetargetError(tried or self.reason, self.joint, self.time)
