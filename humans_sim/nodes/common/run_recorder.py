# SPDX-License-Identifier: Apache-2.0
"""Keeps a simulation's samples on the disk and writes them as run files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path

from humans_sim.dynamics.recording import RunStream
from humans_sim.dynamics.simulation import Simulation
from humans_sim.results.records import Event, Sample

_EVENTS = 10
"""Events kept for each sample, on the average."""


class RunRecorder:
    """Keeps the newest samples and events of a run, and writes them at its end.

    The first run goes to the given path, the next ones to ``name-2``, ``name-3`` and so
    on beside it. Samples wait in files without names in the same folder; run files are
    written whole or not at all.

    Args:
        path: where to write, ``.npz``.
        samples: how many are kept, the newest.
    """

    def __init__(self, path: Path, samples: int) -> None:
        self._path, self._runs, self._newest = path, 0, samples
        self._simulation: Simulation | None = None
        self._samples = RunStream(path, samples)
        self._events: deque[Event] = deque(maxlen=_EVENTS * samples)

    def begin(self, simulation: Simulation) -> None:
        """Keep this simulation from now on."""
        self._simulation = simulation

    def keep(self, sample: Sample, events: Iterable[Event]) -> None:
        """Keep a sample and what happened since the one before.

        Raises:
            FileWriteError: the disk takes no more; nothing is kept of the run.
        """
        try:
            self._samples.append(sample)
        except BaseException:
            self.forget()
            raise
        self._events.extend(events)

    def write(self) -> Path | None:
        """Write the run and forget it; its path, None where nothing moved."""
        try:
            if self._simulation is None or len(self._samples) < 2:
                return None
            self._runs += 1
            if self._runs > 1:
                name = f"{self._path.stem}-{self._runs}{self._path.suffix}"
                self._samples.path = self._path.with_name(name)
            self._simulation.result(self._samples, list(self._events))
            return self._samples.path
        finally:
            self.forget()

    def forget(self) -> None:
        """Forget the samples and events of the present run."""
        self._samples.close()
        self._samples = RunStream(self._path, self._newest)
        self._events.clear()
