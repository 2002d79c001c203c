"""The result of a simulation: arrays over time, events, files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.dynamics.events import FAILURE, Event
from humans_sim.dynamics.stepper import Sample
from humans_sim.dynamics.system import ContactTable, System
from humans_sim.errors import FileError
from humans_sim.npz_file import read_npz, write_npz

if TYPE_CHECKING:
    from humans_sim.dynamics.check import Check

FORMAT = 1
_ARRAYS = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
_COLUMNS = ("tangents", "friction", "restitution")


class RunFileError(FileError):
    """A run file is missing, damaged or of another kind."""


@dataclass(frozen=True)
class Run:
    """What was simulated; n samples, nc contacts.

    Attributes:
        t: times (n,) [s].
        q: configurations (n, nq).
        v: velocities (n, nv).
        z: states of the actuation (n, nz).
        torques: generalised forces of the actuation (n, nv) [N m, N].
        contacts: modes (n, nc): 0 open, 1 sticking, 2 sliding.
        forces: (n, nc, 3): normal and tangents [N, N m at a joint limit].
        gaps: (n, nc) [m, rad].
        energy: kinetic and potential (n, 2) [J].
        events: in the order of time.
        table: the contacts: names, kinds, friction, restitution.
        position_names: names of the entries of q.
        velocity_names: names of the entries of v.
        info: model, method and tolerances; whether the system was passive.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    z: np.ndarray
    torques: np.ndarray
    contacts: np.ndarray
    forces: np.ndarray
    gaps: np.ndarray
    energy: np.ndarray
    events: Sequence[Event]
    table: ContactTable
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    info: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_samples(
        cls,
        system: System,
        samples: Sequence[Sample],
        events: Sequence[Event],
        info: Mapping[str, Any],
    ) -> Run:
        """Put samples together."""
        columns = list(zip(*samples, strict=True))
        arrays = {
            name: np.array(column)
            for name, column in zip(_ARRAYS[:8], columns[:8], strict=True)
        }
        return cls(
            **arrays,
            energy=np.array([columns[8], columns[9]]).T,
            events=tuple(events),
            table=system.contacts,
            position_names=system.position_names,
            velocity_names=system.velocity_names,
            info=dict(info),
        )

    def __repr__(self) -> str:
        """Size and name."""
        name = self.info.get("system", "run")
        return f"<Run of {name}: {len(self.t)} samples, {len(self.events)} events>"

    def save(self, path: Path | str) -> Path:
        """Write the run to one ``.npz`` file, whole or not at all."""
        header = {
            "format": FORMAT,
            "events": [
                {**asdict(event), "detail": dict(event.detail)} for event in self.events
            ],
            "names": list(self.table.names),
            "kinds": list(self.table.kinds),
            "position_names": list(self.position_names),
            "velocity_names": list(self.velocity_names),
            "info": dict(self.info),
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        columns = {name: getattr(self.table, name) for name in _COLUMNS}
        return write_npz(Path(path), header, {**arrays, **columns})

    def check(self) -> Check:
        """Examine gaps, forces, friction, energy and impacts of every sample."""
        from humans_sim.dynamics.check import check_run

        return check_run(self)

    def plot(self, path: Path | str | None = None) -> Any:
        """Draw contacts, forces, energy and joint angles over time.

        Args:
            path: file to write the picture to (.png, .pdf, .svg), or None.

        Returns:
            The matplotlib figure.
        """
        from humans_sim.dynamics.plot import plot_run

        return plot_run(self, path)

    def to_csv(self, path: Path | str) -> Path:
        """Write all samples as a table with a header line; events go beside it."""
        from humans_sim.dynamics.export import write_csv

        return write_csv(self, Path(path))

    def to_mcap(self, path: Path | str) -> Path:
        """Write an MCAP file of ROS 2 messages, for Foxglove, PlotJuggler, rosbag2."""
        from humans_sim.dynamics.export import write_mcap

        return write_mcap(self, Path(path))


def load_run(path: Path | str) -> Run:
    """Read a run that :meth:`Run.save` wrote.

    Raises:
        RunFileError: the file is missing, damaged or no run.
    """
    path = Path(path)
    names = (*_ARRAYS, *_COLUMNS)
    header, arrays = read_npz(path, RunFileError, "a run file", names)
    try:
        return _put_together(header, arrays)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        reason = f"'{error.args[0]}' is missing" if type(error) is KeyError else error
        raise RunFileError(f"not a run file: {reason}", path) from None


def _put_together(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Run:
    if header["format"] != FORMAT:
        raise ValueError(
            f"written in format {str(header['format'])[:20]}, this software reads "
            f"{FORMAT}"
        )
    names, kinds, positions, velocities = (
        _words(header, key)
        for key in ("names", "kinds", "position_names", "velocity_names")
    )
    columns = {name: arrays.pop(name) for name in _COLUMNS}
    if not isinstance(header["events"], list):
        raise ValueError("its events are no list")
    events = tuple(_event(**event) for event in header["events"])
    _check_shapes(arrays, len(names), len(positions), len(velocities))
    _check_values(arrays, any(event.kind == FAILURE for event in events))
    if not np.isin(columns["tangents"], (0, 1, 2)).all():
        raise ValueError("a contact has 0, 1 or 2 tangents")
    info = header["info"]
    if not isinstance(info, dict):
        raise ValueError("its info is no mapping")
    return Run(
        **arrays,
        events=events,
        table=ContactTable.of(names, kinds, **columns),
        position_names=positions,
        velocity_names=velocities,
        info=info,
    )


def _words(header: Mapping[str, Any], key: str) -> tuple[str, ...]:
    words = header[key]
    if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        raise ValueError(f"{key} is no list of words")
    return tuple(words)


def _event(
    time: float, kind: str, subject: str, detail: dict[str, float | str]
) -> Event:
    if not isinstance(kind, str) or not isinstance(subject, str):
        raise ValueError("an event is damaged")
    for value in (detail := dict(detail)).values():
        if not isinstance(value, float | int | str):
            raise ValueError("the detail of an event is damaged")
    if not math.isfinite(time):
        raise ValueError(f"an event at the time {time}")
    return Event(float(time), kind, subject, detail)


def _check_shapes(
    arrays: Mapping[str, np.ndarray], contacts: int, nq: int, nv: int
) -> None:
    n = len(arrays["t"]) if arrays["t"].ndim else -1
    nz = arrays["z"].shape[-1] if arrays["z"].ndim else 0
    wanted: dict[str, tuple[int, ...]] = {
        "t": (n,),
        "q": (n, nq),
        "v": (n, nv),
        "z": (n, nz),
        "torques": (n, nv),
        "contacts": (n, contacts),
        "gaps": (n, contacts),
        "energy": (n, 2),
        "forces": (n, contacts, 3),
    }
    for name, shape in wanted.items():
        array = arrays[name]
        if array.shape != shape:
            raise ValueError(f"{name} has shape {array.shape}, not {shape}")
        if array.dtype.kind not in ("iu" if name == "contacts" else "f"):
            raise ValueError(f"{name} holds numbers of another kind")
    if n == 0:
        raise ValueError("it has no samples")


def _check_values(arrays: Mapping[str, np.ndarray], failed: bool) -> None:
    """Numbers are finite, time goes forwards, modes are those there are."""
    for name, array in arrays.items():
        # A simulation that fails at its start has neither torques nor forces.
        known = not failed or name not in ("torques", "forces")
        if not np.isfinite(array).all() if known else np.isinf(array).any():
            raise ValueError(f"{name} has a value that is no finite number")
    if (np.diff(arrays["t"]) < 0).any():
        raise ValueError("its times go backwards")
    if not np.isin(arrays["contacts"], (0, 1, 2)).all():
        raise ValueError("a contact is neither open nor sticking nor sliding")
