# SPDX-License-Identifier: Apache-2.0
"""Sections that several controllers of scenarios share: gait and feedback.

``gait`` is a human that walks like one.

``feedback`` is the true state, or sensors and observer:

.. code-block:: yaml

    feedback: observer                    # sensors: has encoders and feet
    feedback: {observer: {use: oldest, floor_height: 0, threshold: 40}}
    feedback: true_state                  # as without the key
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation import IdealTorque
from humans_sim.core.budget import RATE
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import Controller
from humans_sim.dynamics.sensor import Sensor
from humans_sim.models import Model

SERVO, LAW = "servo", "law"
"""Keys of actuations by the servos of a robot, and by a torque law of the joints."""
_PERIOD = 0.005
"""Time between two commands of torques and voltages unless a file gives it [s]."""


class ControlSection(NamedTuple):
    """The section of a controller, and what belongs to it.

    Attributes:
        value: the section.
        actuation: section of the drives, or None.
        model: what is controlled.
        scene: arguments of the simulation that say what the model may touch.
    """

    value: YamlValue
    actuation: YamlValue | None
    model: Model
    scene: Mapping[str, Any]


class ControlSetup(NamedTuple):
    """An actuation with its controller.

    Attributes:
        actuation: or None for a passive body.
        start: configuration from which the controller starts, or None.
        controller: what commands the actuation, or None.
        standing: configuration in which the first foot on the ground will be, where
            the start has none there; or None.
        velocity: with which the controller starts; zero where it is None.
    """

    actuation: Actuation | None
    start: np.ndarray | None = None
    controller: Controller | None = None
    standing: np.ndarray | None = None
    velocity: np.ndarray | None = None


def only(value: YamlValue, choices: tuple[str, ...]) -> tuple[str, YamlValue]:
    """The one key of a mapping, with its value."""
    given = value.fields((), choices)
    if len(given) != 1:
        raise value.error(f"exactly one of {', '.join(choices)} must be given")
    return next(iter(given.items()))


def numbers_of(value: YamlValue, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``make`` with the numbers of a mapping."""
    numbers = {key: item.number() for key, item in value.mapping().items()}
    try:
        with located_errors(value):
            return make(*arguments, **numbers)
    except TypeError as error:
        raise value.error(f"these parameters do not fit: {error}") from None


def torques_of(value: YamlValue | None, model: Model) -> IdealTorque:
    """Torques in all joints."""
    if value is None:
        return IdealTorque(model)
    _, section = only(value, ("torque",))
    numbers = {k: v.number() for k, v in section.fields((), ("delay",)).items()}
    with located_errors(section):
        return IdealTorque(model, **numbers)


def period_of(given: Mapping[str, YamlValue], otherwise: float = _PERIOD) -> float:
    """Time between two calls of a controller [s]."""
    if "period" not in given:
        return otherwise
    period = given["period"].positive()
    RATE.check("a controller", 1.0 / period, error=given["period"].error)
    return period


def gravity_of(scene: Mapping[str, Any]) -> float | None:
    """Size of the gravity that a scenario gives [m/s^2]; None: the model's."""
    if "gravity" not in scene:
        return None
    return float(np.linalg.norm(scene["gravity"]))


TRUE_STATE, OBSERVER = "true_state", "observer"
FEEDBACKS = (TRUE_STATE, OBSERVER)
_NUMBERS = ("threshold", "release", "floor_height")


def with_feedback(
    control: ControlSetup,
    value: YamlValue | None,
    chosen: str | None,
    model: Model,
    sensors: Sequence[Sensor],
) -> ControlSetup:
    """A controller that sees what a scenario says it sees.

    Args:
        control: the actuation and the controller.
        value: section ``feedback`` of the scenario, or None.
        chosen: one of :data:`FEEDBACKS` in place of the section's, or None.
        model: what is controlled.
        sensors: of the scenario.
    """
    if chosen is not None and chosen not in FEEDBACKS:
        raise ParameterError(
            f"feedback must be one of {', '.join(FEEDBACKS)}, not '{chosen}'"
        )
    kind, options = _section(value)
    kind = kind if chosen is None else chosen
    if kind == TRUE_STATE:
        return control
    if control.controller is None:
        raise ParameterError("feedback from an observer needs a controller")
    from humans_sim.observation.base.feedback import ObserverFeedback

    law, options = control.controller, {**options, "standing": control.standing}
    if value is None:
        feedback = ObserverFeedback.of_sensors(law, model, sensors, **options)
    else:
        with located_errors(value):
            feedback = ObserverFeedback.of_sensors(law, model, sensors, **options)
    return control._replace(controller=feedback)


def _section(value: YamlValue | None) -> tuple[str, dict[str, Any]]:
    """The kind of feedback, and options of the observer."""
    if value is None:
        return TRUE_STATE, {}
    if not value.is_mapping():
        return value.choice(FEEDBACKS), {}
    from humans_sim.observation.base.observer import USES

    section = value.fields((OBSERVER,))[OBSERVER]
    options: dict[str, Any] = {}
    for key, item in section.fields((), ("use", *_NUMBERS)).items():
        options[key] = item.choice(USES) if key == "use" else item.number()
    return OBSERVER, options


def gait_control(request: ControlSection) -> ControlSetup:
    """A human that walks by torques in its joints, from the middle of a stride."""
    from humans_sim.control.gait.gait_cycle import GaitCycle, GaitSettings
    from humans_sim.control.gait.gait_walk import GaitWalk

    value, actuation, model, scene = request
    given = value.fields(("speed",), ("period", "slope", "turn"))
    period = period_of(given)
    slope, turn = (
        given[key].number() if key in given else 0.0 for key in ("slope", "turn")
    )
    with located_errors(value):
        speed = given["speed"].positive()
        settings = GaitSettings(speed=speed, slope=math.radians(slope), turn=turn)
        cycle = GaitCycle(model, settings, gravity_of(scene))
        walk = GaitWalk(cycle, period)
    torques = torques_of(actuation, model)
    return ControlSetup(torques, walk.start(), walk, velocity=walk.start_velocity())
