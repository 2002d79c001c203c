# SPDX-License-Identifier: Apache-2.0
"""A slow periodic motion of some joints, for demonstrations and display tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from humans_sim.core.resources import resource
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models import Model

_DEFAULT_FRACTION = 0.25


@dataclass(frozen=True)
class Sway:
    r"""Joints that go to and fro, each inside its limits.

    :math:`q_j(t) = c_j + a_j \sin(2 \pi t / T + \phi_j)`, cut to the joint's limits.

    Attributes:
        model: the model moved.
        centres: c, in the order of ``model.joint_names`` [rad].
        amplitudes: a [rad].
        phases: phi [rad].
        period: T [s].
    """

    model: Model
    centres: np.ndarray
    amplitudes: np.ndarray
    phases: np.ndarray
    period: float

    @classmethod
    def from_file(cls, model: Model, path: Path) -> Sway:
        """Read a motion file (see ``config/motions``); other joints stay at zero.

        Raises:
            ModelFileError: the file is malformed or names an unknown joint.
        """
        fields = read_yaml(path).fields(("period", "joints"))
        columns = np.zeros((3, len(model.joint_names)))
        for name, value in fields["joints"].mapping().items():
            if name not in model.joint_names:
                raise value.error(f"{model.name} has no joint '{name}'")
            columns[:, model.joint_names.index(name)] = np.radians(value.vector(3))
        return cls(
            model, columns[0], columns[1], columns[2], fields["period"].positive()
        )

    @classmethod
    def of_model(cls, model: Model) -> Sway:
        """The sway that comes with the package, or one of all joints."""
        path = resource("config", "motions", f"{model.name}.yaml")
        return cls.from_file(model, path) if path.is_file() else cls.of_all(model)

    @classmethod
    def of_all(cls, model: Model, period: float = 4.0) -> Sway:
        """Every joint moves a little about zero, as its limits allow."""
        room = np.minimum(-model.lower_limits, model.upper_limits)
        amplitudes = _DEFAULT_FRACTION * np.clip(room, 0.0, 1.0)
        zeros = np.zeros_like(amplitudes)
        return cls(model, zeros, amplitudes, zeros, period)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Joint angles [rad] and speeds [rad/s] at a time [s]."""
        rate = 2 * np.pi / self.period
        angle = rate * t + self.phases
        angles = self.centres + self.amplitudes * np.sin(angle)
        joints = np.clip(angles, self.model.lower_limits, self.model.upper_limits)
        speeds = np.where(joints == angles, rate * self.amplitudes * np.cos(angle), 0.0)
        return joints, speeds
