# SPDX-License-Identifier: Apache-2.0
"""One assembly of a simulated robot: servos, floor, fall limit, contacts and steps.

Each robot has one file in ``config/robots``, named after its model. Scenarios, the
viewer, emulated boards and nodes take their numbers from it, so that one robot is the
same everywhere; what they are given explicitly takes the place of a number.

This is the lowest layer that knows servos and simulations: the emulated boards
(:mod:`humans_sim.kondo.emulation`) stand below the applications and use it, too. The
same robot with its walk is :mod:`humans_sim.applications.robots`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from humans_sim.actuation.servo import Servo
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import read_yaml
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.simulation import METHODS, Simulation
from humans_sim.dynamics.whole_body_contacts import whole_body_contacts
from humans_sim.models import Model

FOLDER = "robots"
"""Of ``config``."""
_SERVO = {
    # A default that a controller gives is zero where commands come over a topic.
    option.name: 0.0 if option.default is None else float(option.default)
    for option in inspect.signature(Servo).parameters.values()
    if option.kind is inspect.Parameter.KEYWORD_ONLY
}
SERVO_NUMBERS = tuple(_SERVO)
"""Numbers of :class:`~humans_sim.actuation.Servo` that a file may give."""
_POSITIVE = ("time_step", "sampling_period")
_NUMBERS = ("friction", "fall_tilt", "body_radius", *_POSITIVE)


@dataclass(frozen=True)
class RobotSetup:
    """How a robot is simulated; the defaults are for models without a file.

    Attributes:
        servo: numbers of :class:`~humans_sim.actuation.Servo`; its own where missing.
        friction: of the floor.
        fall_tilt: of the base, beyond it the robot has fallen [rad].
        body_radius: of balls at the tags of the body, which touch, too; 0: the feet
            alone do [m].
        method: ``event_driven`` or ``time_stepping``.
        time_step: of time stepping [s].
        sampling_period: between two commands, and two samples [s].
    """

    servo: Mapping[str, float] = field(default_factory=dict)
    friction: float = Ground.friction
    fall_tilt: float = math.radians(35.0)
    body_radius: float = 0.0
    method: str = "event_driven"
    time_step: float = 1e-3
    sampling_period: float = 0.01

    def __post_init__(self) -> None:
        """Refuse numbers without meaning.

        Raises:
            ParameterError: one is below zero, or zero where it may not be.
        """
        for name in _NUMBERS:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ParameterError(f"{name} must be 0 or more, not {value}")
            if name in _POSITIVE and value == 0.0:
                raise ParameterError(f"{name} must be above zero")
        if self.method not in METHODS:
            raise ParameterError(
                f"method must be one of {', '.join(METHODS)}, not '{self.method}'"
            )
        unknown = sorted(set(self.servo) - set(SERVO_NUMBERS))
        if unknown:
            raise ParameterError(f"a servo has no number '{unknown[0]}'")
        for name, value in self.servo.items():
            if not (math.isfinite(value) and value >= 0.0):
                raise ParameterError(f"servo.{name} must be 0 or more, not {value}")

    @classmethod
    def of_model(cls, model: Model, otherwise: str = "") -> RobotSetup:
        """What comes with the package for a model.

        Args:
            model: the model.
            otherwise: robot whose file is taken where the model has none; the defaults
                where this is empty.
        """
        name = model.name if has_setup(model) else otherwise
        return cls.from_file(name) if name else cls()

    @classmethod
    def from_file(cls, name: Path | str) -> RobotSetup:
        """Read a file of ``config/robots`` by its name, or one's own by its path.

        Raises:
            ModelFileError: the file is malformed; with file and line.
            ParameterError: the package has no such robot.
        """
        root = read_yaml(named_file(FOLDER, str(name), "robot"))
        fields = root.fields((), ("servo", "method", *_NUMBERS))
        values: dict[str, Any] = {}
        if "servo" in fields:
            servo = fields["servo"].fields((), SERVO_NUMBERS)
            values["servo"] = {key: item.number() for key, item in servo.items()}
        if "method" in fields:
            values["method"] = fields["method"].choice(tuple(METHODS))
        for key in _NUMBERS:
            if key in fields:
                unit = math.radians(1.0) if key == "fall_tilt" else 1.0
                values[key] = unit * fields[key].number()
        try:
            return cls(**values)
        except ParameterError as error:
            raise root.error(str(error)) from None

    def servo_numbers(self, **changes: Any) -> dict[str, Any]:
        """Numbers of the servos, some of them changed."""
        return {**self.servo, **changes}

    def servos(self, model: Model, *arguments: Any, **changes: Any) -> Servo:
        """The servos of a robot.

        Args:
            model: the robot.
            arguments: further ones of :class:`~humans_sim.actuation.Servo`.
            changes: numbers instead of the robot's own.
        """
        return Servo(model, *arguments, **self.servo_numbers(**changes))

    def ground(self, friction: float | None = None) -> Ground:
        """The floor of a robot, or one with another friction."""
        return Ground(friction=self.friction if friction is None else friction)

    def contacts(self, model: Model) -> dict[str, Any]:
        """Arguments of a simulation: what of a robot may touch."""
        if not self.body_radius:
            return {}
        return whole_body_contacts(model, self.body_radius)

    def simulation(
        self,
        model: Model,
        actuation: Actuation | None = None,
        controller: Any = None,
        **changes: Any,
    ) -> Simulation:
        """A robot on its floor, ready to run.

        Args:
            model: the robot.
            actuation: instead of its servos.
            controller: of :class:`~humans_sim.dynamics.simulation.Simulation`.
            changes: other arguments of the simulation instead of the robot's own.
        """
        options: dict[str, Any] = {
            "ground": self.ground(),
            "method": self.method,
            "time_step": self.time_step,
        }
        if not {"contacts", "contact_geometry"} & set(changes):
            options |= self.contacts(model)
        return Simulation(
            model,
            self.servos(model) if actuation is None else actuation,
            controller,
            **{**options, **changes},
        )


def has_setup(model: Model) -> bool:
    """Whether a file of the package says how a model is simulated."""
    return model.name in resource_names(FOLDER)


def servo_defaults(setup: RobotSetup) -> dict[str, float]:
    """All numbers of a robot's servos, by the names of their parameters."""
    return {**_SERVO, **setup.servo}
