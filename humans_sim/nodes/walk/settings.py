# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node ``walk``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import setting
from humans_sim.kondo.motion.pose_servo import can_get_up
from humans_sim.models import Model
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.start_posture import walk_settings

NEVER, ASKED, ALWAYS = GET_UP = ("never", "asked", "always")
"""Whether a robot that fell lies, waits to be asked by a service, or gets up."""


@dataclass(frozen=True)
class WalkNodeSettings:
    """Settings from the parameters.

    Attributes:
        velocity: to walk with from the start on; None stands.
        velocity_timeout: after which a ``cmd_vel`` does not count [s]; infinite: never.
        get_up: what it does where it fell: one of :data:`GET_UP`.
    """

    walking: WalkSettings
    velocity: Velocity | None
    velocity_timeout: float
    get_up: str
    period: float = setting(0.02, "between two states [s]", 1e-3, 0.1)
    stamped: bool = setting(False, "cmd_vel is a TwistStamped")
    sensor_timeout: float = setting(
        1.0, "wall time until a sensor is missing [s]", 0.01
    )
    rise_time: float = setting(1.0, "from another posture to the walk's [s]", 0.02)
    rise_tolerance: float = setting(0.1, "of a joint at the start [rad]", 0.0)
    odometry_topic: str = setting("odom", "where the base is")
    drawing_period: float = setting(0.1, "between two drawings of the plan [s]", 0.0)

    @classmethod
    def declare(cls, given: Parameters, model: Model) -> WalkNodeSettings:
        """Declare the parameters and read them."""
        velocity = given.numbers(
            "cmd_vel", "to walk with at the start: vx, vy [m/s], wz [rad/s]", 3
        )
        timeout = given.number(
            "cmd_vel_timeout", 0.0, "then cmd_vel does not count [s]; 0: never", 0.0
        )
        file = given.path("walking", "how it walks; empty: the model's own")
        return cls(
            walking=walk_settings(model, file),
            velocity=Velocity(*velocity) if any(velocity) else None,
            velocity_timeout=timeout or math.inf,
            get_up=get_up_of(given, model),
            **given.settings(cls),
        )


def get_up_of(given: Parameters, model: Model) -> str:
    """The value of the parameter ``get_up``; refused where no motions get it up."""
    word = given.text(
        "get_up", "", "after a fall: never, asked, always; empty: asked if it can"
    )
    if not word:
        return ASKED if can_get_up(model) else NEVER
    if word not in GET_UP:
        raise ParameterError(f"get_up must be one of {', '.join(GET_UP)}, not '{word}'")
    if word != NEVER and not can_get_up(model):
        raise ParameterError(f"get_up: no motions get {model.name} up")
    return word
