"""The result of a simulation: arrays over time, events, files."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from humans_sim.dynamics.events import Event
from humans_sim.dynamics.stepper import Sample
from humans_sim.dynamics.system import ContactTable, System
from humans_sim.errors import HumansError
from humans_sim.files import atomic_stream

if TYPE_CHECKING:
    from humans_sim.dynamics.check import Check

FORMAT = 1
_ARRAYS = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
_COLUMNS = ("tangents", "friction", "restitution")


class RunFileError(HumansError, ValueError):
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
        path = Path(path)
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
        with atomic_stream(path) as stream:
            np.savez_compressed(
                stream, header=np.array(json.dumps(header)), **arrays, **columns
            )
        return path

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
    try:
        with np.load(path, allow_pickle=False) as stored:
            header = json.loads(str(stored["header"]))
            if header["format"] != FORMAT:
                raise RunFileError(
                    f"{path}: written in format {header['format']}, this software "
                    f"reads {FORMAT}"
                )
            arrays = {name: stored[name] for name in _ARRAYS}
            columns = {name: stored[name] for name in _COLUMNS}
        _check_shapes(arrays, len(header["names"]))
        events = tuple(Event(**event) for event in header["events"])
        table = ContactTable.of(
            tuple(header["names"]), tuple(header["kinds"]), **columns
        )
    except RunFileError:
        raise
    except FileNotFoundError:
        raise RunFileError(f"{path}: there is no such file") from None
    except (
        OSError,
        EOFError,
        KeyError,
        TypeError,
        ValueError,
        HumansError,
        zipfile.BadZipFile,
    ) as error:
        raise RunFileError(f"{path}: not a run file: {error}") from None
    return Run(
        **arrays,
        events=events,
        table=table,
        position_names=tuple(header["position_names"]),
        velocity_names=tuple(header["velocity_names"]),
        info=header["info"],
    )


def _check_shapes(arrays: Mapping[str, np.ndarray], contacts: int) -> None:
    n = len(arrays["t"])
    wanted: dict[str, tuple[int, ...]] = {
        "contacts": (n, contacts),
        "gaps": (n, contacts),
        "energy": (n, 2),
        "forces": (n, contacts, 3),
    }
    for name, array in arrays.items():
        if len(array) != n or array.shape != wanted.get(name, array.shape):
            raise ValueError(f"{name} has shape {array.shape}, {n} samples are stored")
