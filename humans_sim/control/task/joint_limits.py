# SPDX-License-Identifier: Apache-2.0
r"""Limits of joints for whole-body control: torque, and acceleration by where they are.

A joint at the distance h from an end of its range may approach it so that
:math:`\ddot h + 2 \lambda \dot h + \lambda^2 h \ge 0`: one that keeps this from a state
with :math:`\dot h \ge -\lambda h` never reaches the end faster than an exponential of
the time :math:`1 / \lambda`, so never goes through it. Speeds likewise:
:math:`\dot h + \mu h \ge 0` with h the speed that is left, and a :math:`\mu` of one
over a period of control: light joints may use most of their speed at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

APPROACH = 20.0
"""Rate at which a joint approaches the end of its range [1/s]; assumed."""


_QUICK = 100.0
"""Rate at which a joint approaches its largest speed [1/s]; a period of 10 ms."""


@dataclass(frozen=True)
class JointLimits:
    """What the joints of a model may do; infinite where nothing is known.

    Attributes:
        names: of the joints.
        lower: least angles (njoints,) [rad].
        upper: largest angles (njoints,) [rad].
        speed: largest speeds (njoints,) [rad/s].
        torque: largest torques (njoints,) [N m].
        approach: rate at which a joint approaches an end [1/s].
    """

    names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    torque: np.ndarray
    approach: float = APPROACH

    def __post_init__(self) -> None:
        """Refuse numbers without meaning.

        Raises:
            ParameterError: lengths differ, a range is empty, or a limit is negative.
        """
        count = len(self.names)
        for label in ("lower", "upper", "speed", "torque"):
            if np.shape(getattr(self, label)) != (count,):
                raise ParameterError(f"{label} has one number for each of {count}")
        if not (self.lower <= self.upper).all():
            raise ParameterError("a lower limit is above its upper one")
        if not ((self.speed > 0).all() and (self.torque > 0).all()):
            raise ParameterError("speeds and torques must be above zero")
        if not self.approach > 0:
            raise ParameterError(f"approach must be above zero, not {self.approach}")

    @classmethod
    def of_model(
        cls, model: Model, torque: Mapping[str, float] | None = None
    ) -> JointLimits:
        """Those of the model's file; a speed or torque of zero is none.

        Args:
            model: the model.
            torque: largest torques of some joints, instead of the file's [N m].
        """
        efforts = _known(model.effort_limits)
        for name, value in (torque or {}).items():
            if name not in model.joint_names:
                raise ParameterError(f"{model.name} has no joint '{name}'")
            efforts[model.joint_names.index(name)] = value
        return cls(
            tuple(model.joint_names),
            np.array(model.lower_limits),
            np.array(model.upper_limits),
            _known(model.velocity_limits),
            efforts,
        )

    def accelerations(
        self, angles: np.ndarray, speeds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Least and largest accelerations at a state (njoints,) [rad/s^2].

        Where the bounds of a state far beyond its limits cross, both are their middle.
        """
        rate = self.approach
        with np.errstate(invalid="ignore"):
            high = rate**2 * (self.upper - angles) - 2.0 * rate * speeds
            low = rate**2 * (self.lower - angles) - 2.0 * rate * speeds
        high = np.minimum(high, _QUICK * (self.speed - speeds))
        low = np.maximum(low, _QUICK * (-self.speed - speeds))
        crossed = low > high
        middle = 0.5 * (low[crossed] + high[crossed])
        low[crossed] = high[crossed] = middle
        return low, high


def _known(limits: np.ndarray) -> np.ndarray:
    """Limits, infinite where the file has none."""
    values = np.array(limits, dtype=float)
    values[~(values > 0)] = np.inf
    return values
