# SPDX-License-Identifier: Apache-2.0
"""What can be wrong with a contact between two surfaces."""

from __future__ import annotations

from humans_sim.core.errors import HumansError


class ContactError(HumansError, ValueError):
    """Parent of the errors of contact joints."""


class SurfaceError(ContactError):
    """A surface has no point, normal or curvature at the place it is asked for."""


class NoContactError(ContactError):
    """The surfaces do not touch.

    Attributes:
        gap: distance between the surfaces, below zero where they overlap [m].
        angle: between one normal and the opposite of the other [rad].
    """

    def __init__(self, gap: float, angle: float) -> None:
        """Say how far the surfaces are from touching."""
        self.gap, self.angle = gap, angle
        how = "overlap" if gap < 0 else "are apart"
        super().__init__(
            f"the surfaces do not touch: they {how} by {abs(gap):.3e} m and their "
            f"normals differ by {angle:.3e} rad; move a body, or start from points of "
            "both surfaces"
        )


class CurvatureSumError(ContactError):
    """The curvatures of both surfaces sum to zero or less: no single contact point.

    Attributes:
        total: the sum of the curvatures [1/m].
    """

    def __init__(self, total: float, conforming: bool) -> None:
        """Say what the sum means."""
        self.total = total
        what = (
            "the surfaces conform (C1 + C2 = 0) and touch along a whole curve"
            if conforming
            else f"the surfaces cross: C1 + C2 = {total:.3e} 1/m is below zero"
        )
        super().__init__(f"{what}; give the inner surface the smaller radius")


class ForbiddenMotionError(ContactError):
    """A velocity moves a joint in a direction that it does not allow.

    Attributes:
        motions: the forbidden motions and how much of each was asked for.
    """

    def __init__(self, motions: dict[str, float], why: str) -> None:
        """List what was asked for."""
        self.motions = dict(motions)
        asked = ", ".join(f"{name} ({value:.3g})" for name, value in motions.items())
        super().__init__(f"forbidden: {asked}; {why}")
