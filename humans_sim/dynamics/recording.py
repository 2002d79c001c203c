# SPDX-License-Identifier: Apache-2.0
"""The recording of a simulation: signals, events, progress, samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from humans_sim.contact.problem.impact import Impact
from humans_sim.contact.problem.law import OPEN, SLIDE, STICK
from humans_sim.core.errors import ParameterError, RunFileError, printable
from humans_sim.core.npz_file import (
    COMPRESSED,
    LARGEST_ARCHIVE,
    Member,
    RowSpool,
    read_npz,
    write_members,
)
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.controller import ControlFunction, Controller
from humans_sim.dynamics.sensor import Sensor, SensorClock
from humans_sim.dynamics.stepper import Stepper
from humans_sim.results import records as kinds
from humans_sim.results.event_states import EventState
from humans_sim.results.records import (
    LIMIT,
    ContactTable,
    Event,
    RunSystem,
    Sample,
    Signal,
)
from humans_sim.results.run import (
    ARRAYS,
    TABLE_COLUMNS,
    Run,
    columns_of,
    event_states_of,
    header_of,
)

LONG_RUN = 200
"""Samples from which on a progress bar is shown on a terminal."""


@contextmanager
def progress_bar(
    shown: bool | Callable[[int, int], None] | None, steps: int
) -> Iterator[Callable[[], None]]:
    """A progress bar where it is shown (None: on terminals); gives what moves it."""
    if callable(shown):
        watch, done = shown, count(1)
        yield lambda: watch(next(done), steps)
        return
    from rich.console import Console

    console = Console(stderr=True)
    if shown is None:
        shown = steps >= LONG_RUN and console.is_terminal
    if not shown:
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("simulating", total=steps)
        yield lambda: bar.advance(task)


def mode_events(
    t: float, table: ContactTable, old: np.ndarray, new: np.ndarray
) -> list[Event]:
    """An event for each contact whose mode changed."""
    return [
        _mode_event(t, table, int(i), int(old[i]), int(new[i]))
        for i in np.flatnonzero(old != new)
    ]


def mode_change_events(changes: np.ndarray, table: ContactTable) -> list[Event]:
    """An event for each row of changes: time [s], contact, mode before and after."""
    return [
        _mode_event(t, table, int(i), int(old), int(new))
        for t, i, old, new in changes.tolist()
    ]


def _mode_event(
    t: float, table: ContactTable, contact: int, old: int, new: int
) -> Event:
    if table.kinds[contact] == LIMIT:
        kind = kinds.LIMIT_LEFT if new == OPEN else kinds.LIMIT_REACHED
    elif new == OPEN:
        kind = kinds.CONTACT_OPENED
    elif old == OPEN:
        kind = kinds.CONTACT_CLOSED
    else:
        kind = kinds.STICK if new == STICK else kinds.SLIP
    text = {OPEN: "open", STICK: "sticks", SLIDE: "slides"}[new]
    return Event(t, kind, table.names[contact], {"text": text})


def impact_event(
    t: float,
    names: Sequence[str],
    mass: np.ndarray,
    before: np.ndarray,
    impact: Impact,
    reason: str = "",
) -> Event:
    """The event of an impact, with its energy balance, and its reason if unusual."""
    after = impact.velocity
    pushed = [n for n, p in zip(names, impact.impulses, strict=True) if p[0] > 0]
    detail: dict[str, float | str] = {
        "energy_before [J]": float(0.5 * before @ mass @ before),
        "energy_after [J]": float(0.5 * after @ mass @ after),
        "work_of_impulses [J]": impact.work,
    }
    if reason:
        detail["reason"] = reason
    if impact.restitution_factor < 1.0:
        detail["restitution_factor"] = impact.restitution_factor
    for name, impulse in zip(names, impact.impulses, strict=True):
        if impulse[0] > 0:
            detail[f"normal_impulse {name} [N s]"] = float(impulse[0])
    return Event(t, kinds.IMPACT, ",".join(pushed), detail)


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
        newest: how many samples are kept, the newest; None for all.
        expected: how many samples there will be, where that is known.
    """

    def __init__(
        self, path: Path | str, newest: int | None = None, expected: int = 0
    ) -> None:
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
        """Take a sample."""
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
        """Write the file; the arrays of a long run are then read from it."""
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
        """Events since the first sample that is kept."""
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


NEXT_CALL = Signal("control/next_call", "s")
"""When the controller is called next: the manual's t_1 (section 6.1.3)."""


class RecordedSignals:
    """The signals of one simulation, in the order of its samples."""

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
