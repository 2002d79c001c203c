# SPDX-License-Identifier: Apache-2.0
"""The record of the node ``dynamics``: a disk that is full does not end the node."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from humans_sim.core.errors import FileWriteError, HumansError
from humans_sim.dynamics.simulation import Simulation
from humans_sim.nodes.common.run_recorder import RunRecorder
from humans_sim.results.events import Event
from humans_sim.results.sample import Sample


class Recording:
    """Records runs, if a file is named for them.

    Args:
        path: file that a run is written to; None: nothing is recorded.
        samples: how many of the newest are kept.
        logger: of the node.
    """

    def __init__(self, path: Path | None, samples: int, logger: Any) -> None:
        """Nothing is recorded yet."""
        self._recorder = None if path is None else RunRecorder(path, samples)
        self._logger = logger

    def begin(self, simulation: Simulation) -> None:
        """Write the run so far, and record another one."""
        if self._recorder is not None:
            self.write()
            self._recorder.begin(simulation)

    def keep(self, sample: Sample, events: Sequence[Event]) -> None:
        """Keep a sample."""
        if self._recorder is None:
            return
        try:
            self._recorder.keep(sample, events)
        except FileWriteError as error:
            self._recorder = None
            self._logger.error(f"runs are no longer recorded: {error}")

    def write(self) -> None:
        """Write what was recorded."""
        if self._recorder is None:
            return
        try:
            path = self._recorder.write()
        except (OSError, HumansError) as error:
            self._logger.error(f"the run was not written: {error}")
            return
        if path is not None:
            self._logger.info(f"the run is in {path}")
