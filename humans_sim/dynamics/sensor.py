# SPDX-License-Identifier: Apache-2.0
r"""Common parts of sensors: times of measuring, errors of signals.

Errors are scale, bias, noise, range and rounding:

.. math:: y = \operatorname{round}(\operatorname{clip}((1 + s) x + b + n))

Noise n is white: its standard deviation at a period T is the density over
:math:`\sqrt T`. The bias b begins at a value drawn once and walks, by the walk's
density times :math:`\sqrt T` at each reading (the model of IEEE Std 952 that the data
sheets of inertial sensors use).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import ControlClock, ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scene_bodies import RobotPart
from humans_sim.dynamics.system import System
from humans_sim.models import Model
from humans_sim.results.records import Signal


@dataclass(frozen=True)
class SignalErrors:
    """Errors of one kind of signal, alike and independent for each of its axes.

    Units are those of the signal: u = m/s^2, rad/s, N, N m or rad.

    Attributes:
        noise: density of white noise [u/sqrt(Hz)].
        bias: standard deviation of the bias at the start [u].
        bias_walk: density of the bias's random walk [u/s/sqrt(Hz)].
        scale: standard deviation of the error of scale, relative.
        resolution: step that readings are rounded to; 0: none [u].
        range: largest reading [u].
    """

    noise: float = 0.0
    bias: float = 0.0
    bias_walk: float = 0.0
    scale: float = 0.0
    resolution: float = 0.0
    range: float = math.inf

    def __post_init__(self) -> None:
        if not self.range > 0:
            raise ParameterError(
                f"range of a sensor must be above zero, not {self.range}"
            )
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.name != "range" and not 0 <= value < math.inf:
                raise ParameterError(
                    f"{entry.name} of a sensor must be 0 or more, not {value}"
                )

    def variance(self, period: float) -> float:
        """Variance of a reading about the true value plus its walking bias [u^2]."""
        return self.noise**2 / period + self.bias**2 + self.resolution**2 / 12


class ErrorSource:
    """Draws the errors of the axes of one signal, every period [s]."""

    def __init__(
        self, errors: SignalErrors, axes: int, period: float, rng: np.random.Generator
    ) -> None:
        self._errors, self._period, self._rng = errors, period, rng
        self._bias = errors.bias * rng.standard_normal(axes)
        self._scale = 1.0 + errors.scale * rng.standard_normal(axes)
        self._noise = errors.noise / math.sqrt(period)
        self._walk = errors.bias_walk * math.sqrt(period)

    def reading(self, true: np.ndarray) -> np.ndarray:
        """The reading of a true value; the bias walks on."""
        errors, axes = self._errors, len(true)
        value = self._scale * true + self._bias
        if self._noise:
            value = value + self._noise * self._rng.standard_normal(axes)
        if self._walk:
            self._bias = self._bias + self._walk * self._rng.standard_normal(axes)
        if math.isfinite(errors.range):
            value = np.clip(value, -errors.range, errors.range)
        if errors.resolution:
            value = errors.resolution * np.round(value / errors.resolution)
        return value


class Sensor(ABC):
    """Something that measures a simulated robot every period.

    A child measures in :meth:`measure` and names its signals in :meth:`signals`; it may
    keep what it measured last, which :meth:`start` forgets.

    Args:
        name: by which controllers and records know it.
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        seed: of its errors; runs with one seed have the same errors.
    """

    def __init__(self, name: str, period: float, delay: float, seed: int) -> None:
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
    def attach(self, system: ModelSystem) -> None:
        """Prepare for a model on its ground or among free bodies.

        Called before the first run. Configurations and velocities of the model come
        first in those of the system.
        """

    def start(self) -> None:
        """A run begins: forget readings, draw errors anew by the seed."""
        self._rng = np.random.default_rng(self.seed)

    @abstractmethod
    def measure(self, t: float, state: ControlState) -> Any:
        """A reading at a time [s]: a named tuple whose first entry is the time."""

    @abstractmethod
    def signals(self) -> tuple[Signal, ...]:
        """Signals of a reading beside its time, number by number in its order."""


def measured_model(system: ModelSystem, part: RobotPart | None = None) -> Model:
    """The model that is measured, the first robot's unless a part is given.

    A scene without a robot is refused.
    """
    model = system.robot if part is None else part.robot.model
    if model is None:
        raise ParameterError("a scene without a robot has nothing that sensors measure")
    return model


def values_of(reading: Any) -> np.ndarray:
    """The numbers of a reading beside its time, in the order of its signals."""
    return np.concatenate([np.ravel(part) for part in reading[1:]])


def axes(sensor: str, quantity: str, unit: str) -> tuple[Signal, ...]:
    """Signals of a vector."""
    return tuple(Signal(f"{sensor}/{quantity}_{axis}", unit) for axis in "xyz")


_EARLY = 1e-12
"""How much too early a reading may be known, by rounding [s]."""


class SensorClock(ControlClock):
    """Lets sensors measure at their times, before a controller is called."""

    def __init__(
        self, sensors: Sequence[Sensor], control: ControlClock | None = None
    ) -> None:
        self._sensors, self._control = tuple(sensors), control
        names = [sensor.name for sensor in sensors]
        self._counts = [0] * len(names)
        self._start_time = math.inf
        self._waiting: list[deque[Any]] = [deque() for _ in names]
        self._known: dict[str, Any] = dict.fromkeys(names)
        self._sizes = [len(sensor.signals()) for sensor in self._sensors]

    @property
    def next_call(self) -> float:  # type: ignore[override]
        """When a sensor measures or the controller is called next [s]."""
        due = min(self._due(k) for k in range(len(self._sensors)))
        return due if self._control is None else min(due, self._control.next_call)

    @property
    def next_control_call(self) -> float:
        """When the controller is called next; infinite without one [s]."""
        return math.inf if self._control is None else self._control.next_call

    def _due(self, k: int) -> float:
        # Multiples of the period, not sums of it: no drift.
        return self._start_time + self._counts[k] * self._sensors[k].period

    def start(self, t: float) -> None:
        """Measure first at t."""
        self._start_time, self._counts = t, [0] * len(self._sensors)
        for sensor, waiting in zip(self._sensors, self._waiting, strict=True):
            sensor.start()
            waiting.clear()
        self._known = dict.fromkeys(self._known)
        if self._control is not None:
            self._control.start(t)

    def tick(
        self, t: float, state: ControlState, send: Callable[[float, Any], None]
    ) -> None:
        """Measure where it is time, then call the controller where it is time."""
        for k, sensor in enumerate(self._sensors):
            if self._due(k) <= t:
                self._waiting[k].append(sensor.measure(t, state))
                while self._due(k) <= t:
                    self._counts[k] += 1
        self.show(t, state)
        if self._control is not None:
            self._control.tick(t, state, send)

    def measure_start(self, t: float, state: ControlState) -> None:
        """Measure once more at the start, now that its contacts are decided."""
        for sensor, waiting in zip(self._sensors, self._waiting, strict=True):
            sensor.start()
            waiting.clear()
            waiting.append(sensor.measure(t, state))
        self._known = dict.fromkeys(self._known)

    def readings(self, t: float) -> Mapping[str, Any]:
        """The newest reading of each sensor that is known at t; None before one is."""
        for sensor, waiting in zip(self._sensors, self._waiting, strict=True):
            while waiting and waiting[0].t + sensor.delay <= t + _EARLY:
                self._known[sensor.name] = waiting.popleft()
        return dict(self._known)

    def show(self, t: float, state: ControlState) -> None:
        """Let a state hold the readings that are known."""
        state.sensors = self.readings(t)

    def values(self, t: float) -> np.ndarray:
        """The signals at t: what is known, held; NaN where nothing is known yet."""
        known = self.readings(t).values()
        return np.concatenate(
            [
                np.full(size, np.nan) if reading is None else values_of(reading)
                for size, reading in zip(self._sizes, known, strict=True)
            ]
        )


def check_sensors(sensors: Sequence[Sensor], system: System) -> tuple[Sensor, ...]:
    """Attach sensors to a system; two may not have one name."""
    names = [sensor.name for sensor in sensors]
    if len(set(names)) != len(names):
        raise ParameterError(f"two sensors have one name: {', '.join(names)}")
    for sensor in sensors:
        if not isinstance(system, ModelSystem):
            raise ParameterError(f"{system.name} is no biped model: sensors need one")
        sensor.attach(system)
    return tuple(sensors)
