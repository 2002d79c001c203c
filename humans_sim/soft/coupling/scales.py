# SPDX-License-Identifier: Apache-2.0
r"""Scales of signals and models: how much information they carry (thesis, chapter 2).

A signal has a band in time, a band in space and a range of values; its information is

.. math:: I = \frac{F_T^{max} F_X^{max}}{F_T^{min} F_X^{min}}
   \log_2 \frac{\Delta s_{max}}{\Delta s_{min}}

(2.5). Signals in bands of their own need less of several models than of one (2.7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from humans_sim.soft.errors import SoftError

_LIGHT = 299_792_458.0
"""Speed of light [m/s]."""


@dataclass(frozen=True)
class Scale:
    """The scale of some independent signals of one kind.

    Attributes:
        count: of the signals.
        time: lowest and highest frequency [Hz].
        space: lowest and highest frequency; both 1 for a signal of one point [1/m].
        values: least and largest difference.
    """

    count: int
    time: tuple[float, float]
    values: tuple[float, float]
    space: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        """Refuse bands that are none."""
        for low, high in (self.time, self.values, self.space):
            if not 0.0 < low <= high:
                raise SoftError(f"a band from {low:g} to {high:g} is none")
        if self.count < 1:
            raise SoftError(f"{self.count} signals: one or more are needed")

    @property
    def information(self) -> float:
        """Of all signals, (2.5) and (2.6) [bit]."""
        ratio = self.time[1] / self.time[0] * self.space[1] / self.space[0]
        return self.count * ratio * math.log2(self.values[1] / self.values[0])

    @property
    def bits(self) -> int:
        """Of a value, (2.3)."""
        return int(math.log2(self.values[1] / self.values[0])) + 1


def information_rate(signals: int, rate: float, bits: int) -> float:
    """What so many signals carry at a sampling rate [bit/s]."""
    return float(signals) * rate * bits


def recorded_bytes(signals: int, rate: float, bits: int, duration: float) -> float:
    """What a record of signals takes, by half a sample for each period (2.4) [byte]."""
    return information_rate(signals, rate, bits) * duration / 2.0 / 8.0


def light_pressure(irradiance: float, reflected: bool = True) -> float:
    """Of light on a surface across it, (5.6) and (5.7) [Pa].

    Args:
        irradiance: [W/m²].
        reflected: whether all of it is sent back; absorbed otherwise.
    """
    return (2.0 if reflected else 1.0) * irradiance / _LIGHT


def joint_scale(signals: Sequence[Scale]) -> Scale:
    """The smallest scale of one model that holds all signals."""
    if not signals:
        raise SoftError("no signals")

    def hull(bands: Sequence[tuple[float, float]]) -> tuple[float, float]:
        return min(low for low, _ in bands), max(high for _, high in bands)

    return Scale(
        sum(signal.count for signal in signals),
        hull([signal.time for signal in signals]),
        hull([signal.values for signal in signals]),
        hull([signal.space for signal in signals]),
    )


def gain_of_parting(signals: Sequence[Scale]) -> float:
    """How many times less several models produce than one of all bands (2.4.3.2)."""
    return joint_scale(signals).information / sum(s.information for s in signals)


@dataclass(frozen=True)
class Prototypes:
    """Signals as functions of a few, and what is left of them (section 2.4.2.1).

    Attributes:
        followed: the part of the signals that the prototypes give (samples, signals).
        deviations: the rest.
        energy: share of the signals' energy in the deviations.
    """

    followed: np.ndarray
    deviations: np.ndarray
    energy: float


def prototypes(signals: np.ndarray, count: int) -> Prototypes:
    """Part signals into so many prototypes and deviations, by singular values.

    Args:
        signals: (samples, signals).
        count: of the prototypes.
    """
    signals = np.asarray(signals, dtype=float)
    mean = signals.mean(axis=0)
    left, sizes, right = np.linalg.svd(signals - mean, full_matrices=False)
    followed = mean + (left[:, :count] * sizes[:count]) @ right[:count]
    total = float(np.sum(sizes**2))
    rest = float(np.sum(sizes[count:] ** 2))
    return Prototypes(followed, signals - followed, rest / total if total else 0.0)


def rigid_deviation(points: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """What points deviate by from the best rigid motion (Kabsch) (n, 3) [m].

    Args:
        points: before (n, 3) [m].
        moved: after (n, 3) [m].
    """
    a, b = points - points.mean(axis=0), moved - moved.mean(axis=0)
    left, _, right = np.linalg.svd(a.T @ b)
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return np.asarray(b - a @ (left @ turn @ right))
