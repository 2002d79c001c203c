# SPDX-License-Identifier: Apache-2.0
"""A parent for sensors: when they measure, and what they hand on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.sensors.signal_errors import ErrorSource, SignalErrors
from humans_sim.models import Model
from humans_sim.results.signal import Signal


class Sensor(ABC):
    """Something that measures a simulated robot every period.

    A child measures in :meth:`measure` and names its signals in :meth:`signals`; it may
    keep what it measured last, which :meth:`start` forgets.

    Args:
        name: by which controllers and records know it.
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        seed: of its errors; runs with one seed have the same errors.

    Attributes:
        name: the same.
        period: the same.
        delay: the same.
        seed: the same.
    """

    def __init__(self, name: str, period: float, delay: float, seed: int) -> None:
        """Not attached yet."""
        if not (math.isfinite(period) and period > 0):
            raise ParameterError(f"the period of {name} must be above zero: {period}")
        if not (math.isfinite(delay) and delay >= 0):
            raise ParameterError(f"the delay of {name} must be 0 or more: {delay}")
        self.name, self.period, self.delay, self.seed = name, period, delay, seed
        self._rng = np.random.default_rng(seed)

    def _errors(self, errors: SignalErrors, axes: int) -> ErrorSource:
        """A source of errors, out of the sensor's own chance."""
        return ErrorSource(errors, axes, self.period, self._rng)

    @abstractmethod
    def attach(self, system: ModelSystem | SceneSystem) -> None:
        """Prepare for a model on its ground or among free bodies.

        Called before the first run. Configurations and velocities of the model come
        first in those of the system.

        Raises:
            ParameterError: the model has not what the sensor is fixed to.
        """

    def start(self) -> None:
        """A run begins: forget readings, draw errors anew by the seed."""
        self._rng = np.random.default_rng(self.seed)

    @abstractmethod
    def measure(self, t: float, state: ControlState) -> Any:
        """A reading at a time [s]: a named tuple whose first entry is the time."""

    @abstractmethod
    def signals(self) -> tuple[Signal, ...]:
        """What a reading holds beside its time, number by number in its order."""


def measured_model(system: ModelSystem | SceneSystem) -> Model:
    """The model that is measured.

    Raises:
        ParameterError: the scene has no robot.
    """
    model = system.model if isinstance(system, ModelSystem) else system.robot
    if model is None:
        raise ParameterError("a scene without a robot has nothing that sensors measure")
    return model


def values_of(reading: Any) -> np.ndarray:
    """The numbers of a reading beside its time, in the order of its signals."""
    return np.concatenate([np.ravel(part) for part in reading[1:]])


def axes(sensor: str, quantity: str, unit: str) -> tuple[Signal, ...]:
    """Signals of a vector."""
    return tuple(Signal(f"{sensor}/{quantity}_{axis}", unit) for axis in "xyz")
