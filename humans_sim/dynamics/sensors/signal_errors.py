# SPDX-License-Identifier: Apache-2.0
r"""What a real sensor does to a signal: scale, bias, noise, range and rounding.

.. math:: y = \operatorname{round}(\operatorname{clip}((1 + s) x + b + n))

Noise n is white: its standard deviation at a period T is the density over
:math:`\sqrt T`. The bias b begins at a value drawn once and walks, by the walk's
density times :math:`\sqrt T` at each reading (the model of IEEE Std 952 that the data
sheets of inertial sensors use).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from humans_sim.core.errors import ParameterError


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
        """Refuse numbers without meaning."""
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
    """Draws the errors of the axes of one signal.

    Args:
        errors: what they are like.
        axes: how many there are.
        period: between two readings [s].
        rng: where chance comes from.
    """

    def __init__(
        self,
        errors: SignalErrors,
        axes: int,
        period: float,
        rng: np.random.Generator,
    ) -> None:
        """Draw what stays: bias and scale."""
        self._errors, self._period, self._rng = errors, period, rng
        self._bias = errors.bias * rng.standard_normal(axes)
        self._scale = 1.0 + errors.scale * rng.standard_normal(axes)
        self._noise = errors.noise / math.sqrt(period)
        self._walk = errors.bias_walk * math.sqrt(period)

    def reading(self, true: np.ndarray) -> np.ndarray:
        """What the sensor gives for a true value; the bias walks on."""
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
