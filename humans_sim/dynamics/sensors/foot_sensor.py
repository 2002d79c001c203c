# SPDX-License-Identifier: Apache-2.0
"""Force and torque sensors in the soles, and the centre of pressure they give.

Contact forces are those of the instant in the event-driven method, and means over the
last step with time stepping. A run that begins has none yet: the first reading is zero
there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import ControlState
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.sensors.sensor import Sensor, axes, measured_model
from humans_sim.dynamics.sensors.signal_errors import SignalErrors
from humans_sim.dynamics.soles import SoleLoad, Soles, centre_of_pressure
from humans_sim.results.signal import Signal


class FootReading(NamedTuple):
    """What a foot feels, in the frame of its sole.

    Attributes:
        t: when [s].
        force: of the ground on the foot (3,) [N].
        torque: about the origin of the sole's frame (3,) [N m].
        centre_of_pressure: in the plane of the sole, out of the measured force and
            torque (3,) [m]; NaN where the measured force does not press.
    """

    t: float
    force: np.ndarray
    torque: np.ndarray
    centre_of_pressure: np.ndarray


class FootSensor(Sensor):
    """A sensor of force and torque in one sole.

    Args:
        sole: name of the sole's frame.
        period: between two readings [s].
        delay: from a reading to when it is known [s].
        force: errors of the force [N].
        torque: errors of the torque [N m].
        threshold: normal force below which there is no centre of pressure [N].
        seed: of the errors.
        name: by which controllers and records know it; that of the sole unless given.

    Attributes:
        sole: the same.
    """

    def __init__(
        self,
        sole: str,
        period: float = 0.01,
        delay: float = 0.0,
        force: SignalErrors | None = None,
        torque: SignalErrors | None = None,
        threshold: float = 1e-9,
        seed: int = 0,
        name: str = "",
    ) -> None:
        """Not attached yet."""
        super().__init__(name or sole, period, delay, seed)
        self.sole, self._threshold = sole, threshold
        self._force, self._torque = force or SignalErrors(), torque or SignalErrors()

    def attach(self, system: ModelSystem | SceneSystem) -> None:
        """Find the sole."""
        model = measured_model(system)
        names = [sole.name for sole in model.soles]
        if self.sole not in names:
            known = ", ".join(names) or "none"
            raise ParameterError(
                f"{self.name}: {model.name} has no sole '{self.sole}' ({known})"
            )
        self._soles, self._index = Soles(system), names.index(self.sole)

    def start(self) -> None:
        """Draw errors anew."""
        super().start()
        self._force_errors = self._errors(self._force, 3)
        self._torque_errors = self._errors(self._torque, 3)

    def measure(self, t: float, state: ControlState) -> FootReading:
        """Force, torque and centre of pressure at a time [s]."""
        sample = state.sample
        load = self._soles.loads(sample, self._soles.points(sample))[self._index]
        return self.reading_of(t, load)

    def reading_of(self, t: float, load: SoleLoad) -> FootReading:
        """What the sensor reads under a load on its sole at a time [s]."""
        force = self._force_errors.reading(load.force)
        torque = self._torque_errors.reading(load.moment)
        pressed = centre_of_pressure(force, torque, self._threshold)
        return FootReading(t, force, torque, pressed)

    def signals(self) -> tuple[Signal, ...]:
        """Force, torque, centre of pressure."""
        return (
            *axes(self.name, "force", "N"),
            *axes(self.name, "torque", "N m"),
            *axes(self.name, "centre_of_pressure", "m"),
        )
