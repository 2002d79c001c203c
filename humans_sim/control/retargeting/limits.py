# SPDX-License-Identifier: Apache-2.0
"""Whether a planned motion stays within the speeds and torques of the joints."""

from __future__ import annotations

from humans_sim.control.retargeting.errors import RetargetError
from humans_sim.control.retargeting.robot_motion import RobotMotion, nearest_limit
from humans_sim.control.retargeting.settings import RetargetSettings

_TOO_STRONG = 1.5
"""Slowing to be tried where torques are too large."""


def limit_excess(
    motion: RobotMotion, settings: RetargetSettings
) -> tuple[float, RetargetError | None]:
    """How many times slower a motion has to be, and why; None: it may stay.

    Args:
        motion: a plan.
        settings: shares of the limits that may be used.
    """
    model = motion.model
    speeds = settings.speed_share * model.velocity_limits
    k, j, share = nearest_limit(motion.v[:, 6:], speeds)
    if share > 1.0:
        fault = RetargetError(
            f"would have to turn with {abs(motion.v[k, 6 + j]):.1f} rad/s, its "
            f"limit is {model.velocity_limits[j]:.1f}",
            model.joint_names[j],
            float(motion.t[k]),
        )
        return share, fault
    torques = settings.torque_share * model.effort_limits
    k, j, share = nearest_limit(motion.torques, torques)
    if share > 1.0:
        fault = RetargetError(
            f"would need {abs(motion.torques[k, j]):.2f} N m, its limit is "
            f"{model.effort_limits[j]:.2f}",
            model.joint_names[j],
            float(motion.t[k]),
        )
        return _TOO_STRONG, fault
    return 1.0, None
