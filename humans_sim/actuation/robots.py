# SPDX-License-Identifier: Apache-2.0
"""A simulated robot: servos, floor, fall limit, contacts and steps.

Each robot has one file in ``config/robots``, named after its model. Scenarios, the
viewer, emulated boards and nodes take their numbers from it, so that one robot is the
same everywhere; what they are given explicitly takes the place of a number.

This is the lowest layer that knows servos and simulations: the emulated boards
(:mod:`humans_sim.kondo.emulation`) stand below the applications and use it, too. The
same robot with its walk is :mod:`humans_sim.applications.walk_control`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.actuation.servo import Servo
from humans_sim.actuation.servo_set import (
    SERVO,
    ServoNumbers,
    ServoSet,
    has_robot_file,
    read_robot_file,
    robot_file,
    robot_of,
)
from humans_sim.contact.geometry.ground import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import located_errors
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.contacts import Contacts
from humans_sim.dynamics.simulation import METHODS, Simulation
from humans_sim.models import Model

_POSITIVE = ("time_step", "sampling_period")
_NUMBERS = ("friction", "fall_tilt", "lag", *_POSITIVE)
_STRENGTH = 17.0
"""Weight times height that servos of the KHR-1's size carry, at most [N m]."""


@dataclass(frozen=True)
class RobotSetup:
    """How a robot is simulated; the defaults are for models without a file.

    Attributes:
        servo, servo_joints: the servos of all joints, and of some, by name.
        friction: of the floor.
        fall_tilt: of the base, beyond it the robot has fallen [rad].
        whole_body: whether all links touch, not the feet alone.
        method: ``event_driven`` or ``time_stepping``.
        time_step: of time stepping [s].
        sampling_period: between two commands, and two samples [s].
        lag: by which servos trail that follow positions and know no speeds [s]; a walk
            commands so much ahead.
    """

    servo: ServoNumbers = field(default_factory=ServoNumbers)
    servo_joints: Mapping[str, ServoNumbers] = field(default_factory=dict)
    friction: float = Ground.friction
    fall_tilt: float = math.radians(35.0)
    whole_body: bool = True
    method: str = "event_driven"
    time_step: float = 1e-3
    sampling_period: float = 0.01
    lag: float = 0.0

    def __post_init__(self) -> None:
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

    @classmethod
    def of_model(cls, model: Model, otherwise: str = "") -> RobotSetup:
        """The setup of a model: of the package, or of a file beside the model.

        A robot in ``robot.urdf`` may have a ``robot.robot.yaml``; without one, its
        limits suggest its servos.

        Args:
            model: the model.
            otherwise: robot whose file is taken where the model has none; the defaults
                where this is empty.
        """
        name = robot_of(model, otherwise)
        beside = robot_file(model.parts.source)
        if name:
            return cls.from_file(name)
        if os.path.lexists(beside):
            return cls.from_file(beside)
        return cls(servo_joints=ServoSet.of_model(model).joints)

    @classmethod
    def from_file(cls, name: Path | str) -> RobotSetup:
        """Read a file of ``config/robots`` by its name, or one's own by its path.

        Raises:
            ModelFileError: the file is malformed; with file and line.
            ParameterError: the package has no such robot.
        """
        root = read_robot_file(name)
        given = root.fields((), (SERVO, "method", "whole_body", *_NUMBERS))
        values: dict[str, Any] = {}
        if SERVO in given:
            servos = ServoSet.of_section(given[SERVO])
            values |= {SERVO: servos.common, "servo_joints": servos.joints}
        if "method" in given:
            values["method"] = given["method"].choice(tuple(METHODS))
        if "whole_body" in given:
            word = given["whole_body"].choice(("true", "false"))
            values["whole_body"] = word == "true"
        for key in _NUMBERS:
            if key in given:
                unit = math.radians(1.0) if key == "fall_tilt" else 1.0
                values[key] = unit * given[key].number()
        with located_errors(root):
            return cls(**values)

    def servo_problem(self, model: Model) -> str:
        """Why servos that nobody chose for a model cannot carry it; else empty."""
        if has_robot_file(model) or self.servo_joints:
            return ""
        data = model.data()
        pin.forwardKinematics(model.pin, data, model.neutral())
        height = max(joint.translation[2] for joint in data.oMi)
        weight = model.mass * np.linalg.norm(model.pin.gravity.linear)
        if weight * height <= _STRENGTH:
            return ""
        return (
            f"{model.name} is too heavy for small servos: give it others, or a "
            "file in config/robots"
        )

    def servos(self, model: Model, *arguments: Any, **changes: Any) -> Servo:
        """The servos of a robot, with changes and further arguments of ``Servo``."""
        return Servo(
            model,
            *arguments,
            numbers=self.servo,
            joints=self.servo_joints,
            **{"lag": self.lag, **changes},
        )

    def ground(self, friction: float | None = None) -> Ground:
        """The floor of a robot, or one with another friction."""
        return Ground(friction=self.friction if friction is None else friction)

    def simulation_arguments(self) -> dict[str, Any]:
        """Arguments of a simulation: floor, method, step and what may touch."""
        return {
            "ground": self.ground(),
            "method": self.method,
            "time_step": self.time_step,
            "contacts": Contacts(whole_body=self.whole_body),
        }

    def simulation(
        self,
        model: Model,
        actuation: Actuation | None = None,
        controller: Any = None,
        **changes: Any,
    ) -> Simulation:
        """A robot on its floor; ``changes``: other arguments of the simulation."""
        options = self.simulation_arguments()
        if "contacts" in changes:
            changes["contacts"] = changes["contacts"].over(options["contacts"])
        return Simulation(
            model,
            self.servos(model) if actuation is None else actuation,
            controller,
            **{**options, **changes},
        )
