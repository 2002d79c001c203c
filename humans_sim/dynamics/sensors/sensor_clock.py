# SPDX-License-Identifier: Apache-2.0
"""When sensors measure: at exact times, which are events of the simulation."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.control_clock import ControlClock
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.sensors.sensor import Sensor, values_of
from humans_sim.dynamics.system import System

_EARLY = 1e-12
"""How much too early a reading may be known, by rounding [s]."""


class SensorClock(ControlClock):
    """Lets sensors measure at their times, before a controller is called.

    Args:
        sensors: what measures, attached to a system.
        control: when a controller is called, or None.

    """

    def __init__(
        self, sensors: Sequence[Sensor], control: ControlClock | None = None
    ) -> None:
        """Nothing is due yet."""
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
    """Attach sensors to a system.

    Raises:
        ParameterError: two have one name, or the system has not what they measure.
    """
    names = [sensor.name for sensor in sensors]
    if len(set(names)) != len(names):
        raise ParameterError(f"two sensors have one name: {', '.join(names)}")
    for sensor in sensors:
        if not isinstance(system, ModelSystem | SceneSystem):
            raise ParameterError(f"{system.name} is no biped model: sensors need one")
        sensor.attach(system)
    return tuple(sensors)
