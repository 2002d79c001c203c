# SPDX-License-Identifier: Apache-2.0
"""Samples of a run on their way to its file, so that long runs need little memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from humans_sim.core.errors import ParameterError, RunFileError, printable
from humans_sim.core.npz_file import LARGEST_ARCHIVE, read_npz
from humans_sim.core.npz_writer import COMPRESSED, Member, RowSpool, write_members
from humans_sim.results.event_states import EventState
from humans_sim.results.events import Event
from humans_sim.results.run import (
    ARRAYS,
    TABLE_COLUMNS,
    Run,
    columns_of,
    event_states_of,
    header_of,
)
from humans_sim.results.run_system import RunSystem
from humans_sim.results.sample import Sample

_BLOCK = 512
"""Samples that are held in memory."""


_Timed = TypeVar("_Timed", Event, EventState)


def _time_of(happened: Event | EventState) -> float:
    return happened.time if isinstance(happened, Event) else happened.t


class RunStream:
    """Takes the samples of a run and writes them to one ``.npz`` file.

    Blocks of samples go to files without names in the folder of the run's file: a
    process that is killed leaves nothing. :meth:`finish` writes the file, whole or not
    at all; it is the one that :meth:`Run.save` writes of the same samples.

    Args:
        path: the file.
        newest: how many samples are kept, the newest; None for all.
        expected: how many samples there will be, where that is known.
    """

    def __init__(
        self, path: Path | str, newest: int | None = None, expected: int = 0
    ) -> None:
        """No samples yet."""
        self.path, self._newest, self._expected = Path(path), newest, expected
        self._block: list[Sample] = []
        self._spools: dict[str, RowSpool] = {}
        self._count = 0

    def __len__(self) -> int:
        """Samples that were taken, also where only the newest are kept."""
        return self._count

    @property
    def signal_count(self) -> int:
        """Signals of each sample; known once there is one."""
        if self._spools:
            return int(np.prod(self._spools["signals"].shape))
        return len(self._block[0].signals) if self._block else 0

    def append(self, sample: Sample) -> None:
        """Take a sample.

        Raises:
            FileWriteError: those before it cannot be written.
            ParameterError: the file will be larger than what is read again.
        """
        if not self._count:
            size = sum(np.asarray(value).nbytes for value in sample) * self._expected
            if size > LARGEST_ARCHIVE:
                raise ParameterError(
                    f"{printable(self.path)}: {self._expected} samples take "
                    f"{size / 2**30:.0f} GiB, {LARGEST_ARCHIVE / 2**30:g} are the "
                    "most: use a longer sampling period, or several runs"
                )
        self._block.append(sample)
        self._count += 1
        if len(self._block) >= _BLOCK:
            self._flush()

    def _flush(self) -> None:
        if not self._block:
            return
        columns, self._block = columns_of(self._block), []
        if not self._spools:
            self._spools = {
                name: RowSpool(self.path, rows.dtype, rows.shape[1:], self._newest)
                for name, rows in columns.items()
            }
        for name, rows in columns.items():
            self._spools[name].write(rows)

    def finish(
        self,
        system: RunSystem,
        events: Sequence[Event],
        info: Mapping[str, Any],
        event_states: Sequence[EventState] = (),
    ) -> Run:
        """Write the file.

        Args:
            system: what was simulated.
            events: what happened; where only the newest samples are kept, events before
                them are left out.
            info: of the run.
            event_states: states before and after events.

        Returns:
            The run. Where it is long, its arrays lie in the file, and are read from
            there where they are used.

        Raises:
            FileWriteError: it cannot be written.
        """
        self._flush()
        happened = self._since_start(events)
        states = self._since_start(event_states)
        held = sum(spool.nbytes for spool in self._spools.values())
        if held <= COMPRESSED:
            arrays = {name: spool.array() for name, spool in self._spools.items()}
            run = Run.of_arrays(system, arrays, happened, info, states)
            run.save(self.path)
            return run
        table = system.contacts
        fixed = {name: Member.of(getattr(table, name)) for name in TABLE_COLUMNS}
        rows = {name: spool.member() for name, spool in self._spools.items()}
        header = header_of(
            happened, table, system.position_names, system.velocity_names, info
        )
        nz = int(np.prod(self._spools["z"].shape))
        instants = event_states_of(system, nz, states).arrays()
        members = {name: Member.of(array) for name, array in instants.items()}
        write_members(self.path, header, {**rows, **fixed, **members})
        _, arrays = read_npz(self.path, RunFileError, "a run file", ARRAYS, lazy=True)
        return Run.of_arrays(system, arrays, happened, info, states)

    def _since_start(self, happened: Sequence[_Timed]) -> list[_Timed]:
        """What happened since the first sample that is kept."""
        if self._newest is None:
            return list(happened)
        start = float(self._spools["t"].first())
        return [one for one in happened if _time_of(one) >= start]

    def close(self) -> None:
        """Forget the samples."""
        self._block.clear()
        for spool in self._spools.values():
            spool.close()
        self._spools = {}
