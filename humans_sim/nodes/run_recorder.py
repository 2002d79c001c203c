"""Keeps a simulation's samples and writes them as run files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path

from humans_sim.dynamics.events import Event
from humans_sim.dynamics.simulation import Simulation
from humans_sim.dynamics.stepper import Sample

_EVENTS = 10
"""Events kept for each sample, on the average."""


class RunRecorder:
    """Keeps the newest samples and events of a run, and writes them at its end.

    The first run goes to the given path, the next ones to ``name-2``, ``name-3`` and so
    on beside it. Files are written whole or not at all.

    Args:
        path: where to write, ``.npz``.
        samples: how many are kept, the newest.
    """

    def __init__(self, path: Path, samples: int) -> None:
        """Nothing is kept yet."""
        self._path, self._runs = path, 0
        self._simulation: Simulation | None = None
        self._samples: deque[Sample] = deque(maxlen=samples)
        self._events: deque[Event] = deque(maxlen=_EVENTS * samples)

    def begin(self, simulation: Simulation) -> None:
        """What is kept from now on is of this simulation."""
        self._simulation = simulation

    def keep(self, sample: Sample, events: Iterable[Event]) -> None:
        """Keep a sample and what happened since the one before."""
        self._samples.append(sample)
        self._events.extend(events)

    def write(self) -> Path | None:
        """Write the run and forget it; its path, None where nothing moved.

        Raises:
            OSError: it cannot be written.
        """
        samples, events = list(self._samples), list(self._events)
        self._samples.clear()
        self._events.clear()
        if self._simulation is None or len(samples) < 2:
            return None
        self._runs += 1
        path = self._path
        if self._runs > 1:
            path = path.with_name(f"{path.stem}-{self._runs}{path.suffix}")
        events = [event for event in events if event.time >= samples[0].t]
        return self._simulation.result(samples, events).save(path)
