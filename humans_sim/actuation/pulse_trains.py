# SPDX-License-Identifier: Apache-2.0
"""Muscles that are commanded by trains of pulses instead of single ones."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from humans_sim.actuation.delayed_actuation import numbers
from humans_sim.actuation.fes_muscles import FesMuscles
from humans_sim.core.errors import ParameterError
from humans_sim.results.records import Event

SHORTEST_PERIOD = 1e-3
"""Least time between two pulses of a train [s], assumed: stimulators reach 10 ms."""


class PulseTrains:
    """Clocks that give a pulse each period, one for each muscle."""

    def __init__(self, count: int) -> None:
        self._charge, self._period = np.zeros(count), np.zeros(count)
        self._first, self._given = np.zeros(count), np.zeros(count)
        self._due = np.full(count, math.inf)

    def set(self, muscle: int, t: float, charge: float, period: float) -> None:
        """Change a muscle's train; a period of zero [s] is one pulse.

        A train that runs with this period keeps its clock: its next pulses have the new
        charge.
        """
        runs = math.isfinite(self._due[muscle]) and self._period[muscle] == period > 0.0
        self._charge[muscle], self._period[muscle] = charge, period
        if charge == 0.0:
            self._due[muscle] = math.inf
        elif not runs:
            self._first[muscle] = self._due[muscle] = t
            self._given[muscle] = 0

    def next_time(self) -> float:
        """When the next pulse is due [s]."""
        return float(self._due.min(initial=math.inf))

    def take(self, t: float) -> list[tuple[float, np.ndarray]]:
        """Pulses due up to t: (time [s], charge of each muscle [A s]), in order."""
        taken = []
        while (now := self.next_time()) <= t:
            gives = self._due == now
            taken.append((now, np.where(gives, self._charge, 0.0)))
            self._given[gives] += 1
            # Multiples of the period, not sums of it: no drift.
            later = self._first + self._given * self._period
            later[self._period == 0.0] = math.inf
            self._due = np.where(gives, later, self._due)
        return taken


class PulseTrainMuscles(FesMuscles):
    """Knee muscles whose stimulator repeats pulses by itself.

    A command is a train for each muscle (nmuscles, 2): the charge of its pulses [A s],
    zero to stop, and the time from one to the next [s], zero for a single pulse. Trains
    of which both are NaN continue as they were. The first pulse is given at once,
    unless a train with this period runs already: that keeps its clock. Every pulse acts
    after the delay, also where its train has ended meanwhile.

    Takes the arguments of :class:`~humans_sim.actuation.FesMuscles`.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._trains = PulseTrains(len(self.muscle_names))

    def check(self, command: Any) -> np.ndarray:
        """Trains as an array (nmuscles, 2), refused where one cannot be given."""
        trains = numbers(command)
        count = len(self.muscle_names)
        if trains.shape != (count, 2):
            raise ParameterError(
                f"{count} trains must be given, each a charge [A s] and a period [s], "
                f"not an array of shape {trains.shape}"
            )
        unchanged = np.isnan(trains).all(axis=1)
        super().check(np.where(unchanged, 0.0, trains[:, 0]))
        periods = np.where(unchanged, 0.0, trains[:, 1])
        for name, period in zip(self.muscle_names, periods, strict=True):
            if not (period == 0.0 or SHORTEST_PERIOD <= period < math.inf):
                raise ParameterError(
                    f"{name}: the period of its pulses must be 0 (one pulse), or "
                    f"{SHORTEST_PERIOD:g} s or more, not {period}"
                )
        return trains

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Relaxed muscles; no train runs."""
        self._trains = PulseTrains(len(self.muscle_names))
        return super().initialise(t, q, v)

    def command(self, t: float, command: Any) -> None:
        """Change trains from t on."""
        for i, (charge, period) in enumerate(self.check(command)):
            if not math.isnan(charge):
                self._trains.set(i, t, charge, period)

    def next_time(self, t: float) -> float:
        """When a pulse is given or acts, or a command signal has a kink [s]."""
        return min(super().next_time(t), self._trains.next_time())

    def handle(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray, fired: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Event]]:
        """Send the pulses on their way that are due; the rest as for single ones."""
        given = self._trains.take(t)
        if given:
            sent = [(time + self.delay, pulses) for time, pulses in given]
            # A train that was commanded late may come before what is on the way.
            self._queue = deque(sorted([*self._queue, *sent], key=lambda e: e[0]))
        return super().handle(t, q, v, z, fired)
