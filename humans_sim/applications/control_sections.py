# SPDX-License-Identifier: Apache-2.0
"""Parts of the controllers that scenarios name: what several of their sections have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from humans_sim.actuation import IdealTorque
from humans_sim.core.budget import RATE
from humans_sim.core.yaml_file import YamlValue, located_errors
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import Controller
from humans_sim.models import Model

SERVO, LAW = "servo", "law"
"""Keys of actuations by the servos of a robot, and by a torque law of the joints."""
_PERIOD = 0.005
"""Time between two commands of torques and voltages unless a file gives it [s]."""


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
        raise value.error(f"exactly one of {', '.join(choices)} is wanted")
    return next(iter(given.items()))


def numbers_of(value: YamlValue, make: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``make`` with the numbers of a mapping."""
    numbers = {key: item.number() for key, item in value.mapping().items()}
    try:
        with located_errors(value):
            made = make(*arguments, **numbers)
    except TypeError as error:
        raise value.error(f"these parameters do not fit: {error}") from None
    return made


def torques_of(value: YamlValue | None, model: Model) -> IdealTorque:
    """Torques in all joints."""
    if value is None:
        return IdealTorque(model)
    _, section = only(value, ("torque",))
    numbers = {k: v.number() for k, v in section.fields((), ("delay",)).items()}
    with located_errors(section):
        torques = IdealTorque(model, **numbers)
    return torques


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


def truth_of(value: YamlValue) -> bool:
    """``true`` or ``false``."""
    return value.choice(("true", "false")) == "true"
