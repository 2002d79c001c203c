# SPDX-License-Identifier: Apache-2.0
"""What a run keeps beside its state: signals of sensors, controller and actuation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import ControlFunction, Controller
from humans_sim.dynamics.sensors.sensor import Sensor
from humans_sim.dynamics.sensors.sensor_clock import SensorClock
from humans_sim.dynamics.stepper import Stepper
from humans_sim.results.run_stream import RunStream
from humans_sim.results.sample import Sample
from humans_sim.results.signal import Signal

NEXT_CALL = Signal("control/next_call", "s")
"""When the controller is called next: the manual's t_1 (section 6.1.3)."""


class RecordedSignals:
    """The signals of one simulation, in the order of its samples.

    Args:
        sensors: what measures.
        controller: what commands, or None.
        actuation: what is commanded.
    """

    def __init__(
        self,
        sensors: Sequence[Sensor],
        controller: ControlFunction | None,
        actuation: Actuation,
    ) -> None:
        """Note whose signals there are; actuations know theirs when they start."""
        self._sensors, self._controller = tuple(sensors), controller
        self._actuation = actuation

    def signals(self) -> tuple[Signal, ...]:
        """Names and units: sensors, controller, actuation."""
        own = [signal for sensor in self._sensors for signal in sensor.signals()]
        if isinstance(self._controller, Controller):
            own += self._controller.signals()
        driven = self._actuation.signals()
        if driven:
            own += [NEXT_CALL, *driven]
        return tuple(own)

    def sample(self, stepper: Stepper) -> Sample:
        """A sample of a stepper with all signals at its time."""
        sample, clock, parts = stepper.sample(), stepper.control, []
        if isinstance(clock, SensorClock):
            parts.append(clock.values(stepper.t))
        if isinstance(self._controller, Controller):
            parts.append(self._controller.signal_values())
        driven = self._actuation.signal_values(sample.t, sample.q, sample.v, sample.z)
        if driven.size:
            due = math.inf if clock is None else clock.next_control_call
            parts.append(np.array([due if math.isfinite(due) else math.nan]))
            parts.append(driven)
        return sample._replace(signals=np.concatenate(parts)) if parts else sample

    def info(self, samples: Sequence[Sample] | RunStream) -> dict[str, Any]:
        """Names and units as plain data; nothing where samples have no signals."""
        if isinstance(samples, RunStream):
            count = samples.signal_count
        else:
            count = len(samples[0].signals) if samples else 0
        if not count:
            return {}
        signals = self.signals()
        return {
            "signal_names": [signal.name for signal in signals],
            "signal_units": [signal.unit for signal in signals],
        }
