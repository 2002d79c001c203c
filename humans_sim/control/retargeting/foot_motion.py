# SPDX-License-Identifier: Apache-2.0
"""The feet of a plan over time."""

from __future__ import annotations

from humans_sim.control.retargeting.foot_plan import PlannedPhase
from humans_sim.control.walking.foot_motion import FootMotion
from humans_sim.control.walking.footsteps import Side
from humans_sim.control.walking.swing import resting, swing

Feet = tuple[FootMotion, FootMotion]
"""Left and right."""


def feet_at(phase: PlannedPhase, t: float, lift: float) -> Feet:
    """Motions of the left and the right foot.

    Args:
        phase: of the plan.
        t: a time in it [s].
        lift: of a foot half way of its swing [m].
    """
    motions = []
    for side in (Side.LEFT, Side.RIGHT):
        place = phase.feet[side]
        if side is phase.swing:
            duration = phase.end - phase.start
            motions.append(swing(place, phase.target, lift, duration, t - phase.start))
        else:
            motions.append(resting(place))
    return motions[0], motions[1]


def feet_down(phase: PlannedPhase) -> tuple[bool, bool]:
    """Whether the left and the right foot stand."""
    return phase.swing is not Side.LEFT, phase.swing is not Side.RIGHT
