# SPDX-License-Identifier: Apache-2.0
"""The files of ``config/robots``: how the robots of the package are simulated.

A file is named after its model. Servos read their numbers there
(:class:`~humans_sim.actuation.servo_numbers.ServoNumbers`), the assembly of a whole
robot the rest (:class:`~humans_sim.actuation.robots.RobotSetup`).
"""

from __future__ import annotations

from pathlib import Path

from humans_sim.core.resources import named_file, resource_names
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models import Model

FOLDER = "robots"
"""Of ``config``."""


def has_robot_file(model: Model) -> bool:
    """Whether a file of the package says how a model is simulated."""
    return model.name in resource_names(FOLDER)


def robot_of(model: Model, otherwise: str = "") -> str:
    """Name of the robot whose file describes a model; empty where there is none.

    Args:
        model: the model.
        otherwise: robot whose file is taken where the model has none.
    """
    return model.name if has_robot_file(model) else otherwise


def read_robot_file(name: Path | str) -> YamlValue:
    """A file of the package by its name, or one's own by its path.

    Raises:
        ModelFileError: the file is malformed; with file and line.
        ParameterError: the package has no such robot.
    """
    return read_yaml(named_file(FOLDER, str(name), "robot"))
