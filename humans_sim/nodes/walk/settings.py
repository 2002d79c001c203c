# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node ``walk``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from humans_sim.control.walking import Velocity, WalkSettings
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.motion.pose_servo import can_get_up
from humans_sim.models import Model
from humans_sim.nodes.common.parameters import Parameters
from humans_sim.nodes.common.start_posture import walk_settings

NEVER, ASKED, ALWAYS = GET_UP = ("never", "asked", "always")
"""Whether a robot that fell lies, waits to be asked by a service, or gets up."""


@dataclass(frozen=True)
class WalkNodeSettings:
    """Settings from the parameters, described where they are declared.

    Attributes:
        velocity: to walk with from the start on; None stands.
        velocity_timeout: after which a ``cmd_vel`` does not count [s]; infinite: never.
        get_up: what it does where it fell: one of :data:`GET_UP`.
    """

    walking: WalkSettings
    period: float
    velocity: Velocity | None
    stamped: bool
    velocity_timeout: float
    sensor_timeout: float
    rise_time: float
    rise_tolerance: float
    odometry_topic: str
    drawing_period: float
    get_up: str

    @classmethod
    def declare(cls, given: Parameters, model: Model) -> WalkNodeSettings:
        """Declare the parameters and read them."""
        number = given.number
        velocity = given.numbers(
            "cmd_vel", "to walk with at the start: vx, vy [m/s], wz [rad/s]", 3
        )
        timeout = number(
            "cmd_vel_timeout", 0.0, "then cmd_vel does not count [s]; 0: never", 0.0
        )
        return cls(
            walking=walk_settings(
                model, given.path("walking", "how it walks; empty: the model's own")
            ),
            period=number("period", 0.02, "between two states [s]", 1e-3, 0.1),
            velocity=Velocity(*velocity) if any(velocity) else None,
            stamped=given.flag("stamped", False, "cmd_vel is a TwistStamped"),
            velocity_timeout=timeout or math.inf,
            sensor_timeout=number(
                "sensor_timeout", 1.0, "wall time until a sensor is missing [s]", 0.01
            ),
            rise_time=number(
                "rise_time", 1.0, "from another posture to the walk's [s]", 0.02
            ),
            rise_tolerance=number(
                "rise_tolerance", 0.1, "of a joint at the start [rad]", 0.0
            ),
            odometry_topic=given.text("odometry_topic", "odom", "where the base is"),
            drawing_period=number(
                "drawing_period", 0.1, "between two drawings of the plan [s]", 0.0
            ),
            get_up=get_up_of(given, model),
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
