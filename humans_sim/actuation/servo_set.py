# SPDX-License-Identifier: Apache-2.0
"""The servos of a robot: numbers for all of them, and for joints that have others.

A robot of the package has them in its file of ``config/robots``; one of a URDF in the
section ``servo`` of ``robot.robot.yaml`` beside it, or as its limits suggest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from humans_sim.actuation.robot_files import read_robot_file, robot_of
from humans_sim.actuation.servo_numbers import SERVO, ServoNumbers
from humans_sim.actuation.servo_proposal import proposed_servos
from humans_sim.core.errors import ParameterError
from humans_sim.core.yaml_file import YamlValue, read_yaml
from humans_sim.models import Model

JOINTS = "joints"
"""Key of joints with servos of their own, in a section of servos."""
_URDF = (".urdf", ".xacro", ".xml")


@dataclass(frozen=True)
class ServoSet:
    """Servos of a robot.

    Attributes:
        common: of joints that have none of their own.
        joints: servos of some joints, by name.
    """

    common: ServoNumbers = field(default_factory=ServoNumbers)
    joints: Mapping[str, ServoNumbers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse gears that play in some joints alone.

        Raises:
            ParameterError: the play differs.
        """
        for name, numbers in self.joints.items():
            if numbers.play != self.common.play:
                raise ParameterError(
                    f"{name}: the play must be that of the others, {self.common.play}"
                )

    def of_joint(self, name: str) -> ServoNumbers:
        """Numbers of a joint's servo."""
        return self.joints.get(name, self.common)

    def check_joints(self, model: Model) -> None:
        """Refuse servos of joints that are not there.

        Raises:
            ParameterError: the model has no such joint.
        """
        for name in self.joints:
            if name not in model.joint_names:
                raise ParameterError(f"{model.name} has no joint '{name}'")

    @classmethod
    def of_model(cls, model: Model, otherwise: str = "") -> ServoSet:
        """Those of a model's own file, or those that its URDF suggests.

        Args:
            model: the model.
            otherwise: robot whose file is taken where the model has none.
        """
        name = robot_of(model, otherwise)
        source = model.parts.source
        beside = robot_file(source)
        if name:
            given = read_robot_file(name).mapping()
        elif os.path.lexists(beside):
            given = read_yaml(beside).mapping()
        elif source.suffix.lower() in _URDF:
            return cls(joints=proposed_servos(model))
        else:
            return cls()
        return cls.of_section(given[SERVO]) if SERVO in given else cls()

    @classmethod
    def of_section(cls, section: YamlValue) -> ServoSet:
        """Those of a section of a file; of joints, what differs from the others.

        Raises:
            ModelFileError: a number has no meaning; with file and line.
        """
        names = tuple(item.name for item in fields(ServoNumbers))
        given = section.fields((), (*names, JOINTS))
        own = given.pop(JOINTS, None)
        common = _numbers(section, ServoNumbers(), given)
        joints = {}
        for name, item in own.mapping().items() if own is not None else ():
            joints[name] = _numbers(item, common, item.fields((), names))
        try:
            return cls(common, joints)
        except ParameterError as error:
            raise section.error(str(error)) from None


def robot_file(source: Path) -> Path:
    """Where servos and floor of a robot are looked for: beside its own file."""
    return source.with_name(f"{source.stem}.robot.yaml")


def _numbers(
    section: YamlValue, common: ServoNumbers, given: Mapping[str, YamlValue]
) -> ServoNumbers:
    try:
        changes = {name: item.number() for name, item in given.items()}
        return replace(common, **changes)
    except ParameterError as error:
        raise section.error(str(error)) from None
