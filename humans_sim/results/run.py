# SPDX-License-Identifier: Apache-2.0
"""The result of a simulation: arrays over time, events, files.

*Bodies*: free ones by their own coordinates, others by joints. Those of a mechanism
name their joint (``joint``), and the run keeps the joints under ``joints``: name, kind,
parent and placement, in the order of the coordinates.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from humans_sim.core.arrays import row_blocks
from humans_sim.core.errors import MALFORMED_CONTENT, ParameterError, RunFileError
from humans_sim.core.lazy_names import registered
from humans_sim.core.npz_file import LARGEST_HEADER, read_npz, write_npz
from humans_sim.results.event_states import (
    FILE_ARRAYS,
    NO_EVENT_STATES,
    EventState,
    EventStates,
    stored_event_states,
)
from humans_sim.results.records import (
    EVENTS_LEFT_OUT,
    FAILURE,
    ContactTable,
    Event,
    RunSystem,
    Sample,
)

if TYPE_CHECKING:
    from humans_sim.results.check import Check


FORMAT = 1
_STATE = ("t", "q", "v", "z", "torques", "contacts", "forces", "gaps", "energy")
ARRAYS = (*_STATE, "signals")
TABLE_COLUMNS = ("tangents", "friction", "restitution")
_TOLERANCES = ("gap_tolerance", "energy_tolerance")


@dataclass(frozen=True)
class Run:
    """A simulated run; n samples, nc contacts.

    Attributes:
        t: times (n,) [s].
        q: configurations (n, nq).
        v: velocities (n, nv).
        z: states of the actuation (n, nz).
        torques: generalised forces of the actuation (n, nv) [N m, N], at the state of
            the sample and under the command given at its time, whatever the method.
        contacts: modes (n, nc): 0 open, 1 sticking, 2 sliding.
        forces: (n, nc, 3): normal and tangents [N, N m at a joint limit]; with time
            stepping the means over the step that ended at the sample.
        gaps: (n, nc) [m, rad].
        energy: kinetic and potential (n, 2) [J].
        events: in the order of time.
        table: the contacts: names, kinds, friction, restitution.
        position_names: names of the entries of q.
        velocity_names: names of the entries of v.
        info: model, method and tolerances; whether the system was passive.
        signals: of sensors, observer and actuation (n, nsignals), their names and
            units in ``info``; each reading of a sensor is held until the next one is
            known, NaN before. What acts on the actuation is that of the sample's time.
        event_states: right before and after events of contacts
            (:class:`~humans_sim.results.event_states.EventStates`); empty with time
            stepping, which locates nothing in time.
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
    signals: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    event_states: EventStates = NO_EVENT_STATES

    @classmethod
    def of_samples(
        cls,
        system: RunSystem,
        samples: Sequence[Sample],
        events: Sequence[Event],
        info: Mapping[str, Any],
        event_states: Sequence[EventState] = (),
    ) -> Run:
        """Put samples together."""
        columns = columns_of(samples)
        return cls.of_arrays(system, columns, events, info, event_states)

    @classmethod
    def of_arrays(
        cls,
        system: RunSystem,
        arrays: Mapping[str, np.ndarray],
        events: Sequence[Event],
        info: Mapping[str, Any],
        event_states: Sequence[EventState] = (),
    ) -> Run:
        """Put the columns of samples together."""
        return cls(
            **arrays,
            events=tuple(events),
            table=system.contacts,
            position_names=system.position_names,
            velocity_names=system.velocity_names,
            info=dict(info),
            event_states=event_states_of(system, arrays["z"].shape[1], event_states),
        )

    def __repr__(self) -> str:
        """Size and name."""
        name = self.info.get("system", "run")
        return f"<Run of {name}: {len(self.t)} samples, {len(self.events)} events>"

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    def __getitem__(self, samples: slice) -> Run:
        """The run of some samples, forwards: ``run[10:20]``.

        Its events are those since the sample before its first one, and up to its last
        one, so that every event of a run is in exactly one of its consecutive parts.

        Raises:
            ParameterError: it is no slice, goes backwards or holds no sample.
        """
        if not isinstance(samples, slice):
            raise ParameterError(f"a run is sliced: run[10:20], not run[{samples!r}]")
        rows = range(len(self))[samples]
        if not len(rows) or rows.step < 0:
            raise ParameterError(
                f"run[{samples.start}:{samples.stop}:{samples.step}] holds no samples "
                f"in the order of time; there are {len(self)}"
            )
        after = -math.inf if rows[0] == 0 else self.t[rows[0] - 1]
        until = math.inf if rows[-1] == len(self) - 1 else self.t[rows[-1]]
        return replace(
            self,
            **{name: getattr(self, name)[samples] for name in ARRAYS},
            events=tuple(e for e in self.events if after < e.time <= until),
            event_states=self.event_states.between(after, until),
        )

    def joint(self, name: str) -> np.ndarray:
        """The angle of a joint over time (n,) [rad], or another coordinate by name.

        Raises:
            ParameterError: there is no such joint; the message lists those there are.
        """
        if name not in self.position_names:
            raise ParameterError(
                f"the run has no joint '{name}', only {', '.join(self.position_names)}"
            )
        return self.q[:, self.position_names.index(name)]

    def signal(self, name: str) -> np.ndarray:
        """A signal over time (n,), e.g. ``imu/specific_force_z``.

        Of a sensor, the observer or the actuation.

        Raises:
            ParameterError: it was not recorded; the message lists those that were.
        """
        names = self.info.get("signal_names", ())
        if name not in names:
            known = ", ".join(names) or "none"
            raise ParameterError(f"the run has no signal '{name}', only {known}")
        return self.signals[:, names.index(name)]

    def summary(self) -> str:
        """The summary as text: result, walk, events and physical checks."""
        text: str = registered("run_text")(self)
        return text

    def save(self, path: Path | str) -> Path:
        """Write the run to one ``.npz`` file, whole or not at all."""
        header = header_of(
            self.events, self.table, self.position_names, self.velocity_names, self.info
        )
        arrays = {name: getattr(self, name) for name in ARRAYS}
        columns = {name: getattr(self.table, name) for name in TABLE_COLUMNS}
        states = self.event_states.arrays()
        return write_npz(Path(path), header, {**arrays, **columns, **states})

    def check(self) -> Check:
        """Examine gaps, forces, friction, energy and impacts of every sample."""
        from humans_sim.results.check import check_run

        return check_run(self)

    def plot(self, path: Path | str | None = None) -> Any:
        """Draw contacts, forces, energy and joint angles over time.

        Args:
            path: file to write the picture to (.png, .pdf, .svg), or None.

        Returns:
            The matplotlib figure.
        """
        return registered("plot_run")(self, path)

    def to_csv(self, path: Path | str) -> Path:
        """Write all samples as a table with a header line; events go beside it."""
        from humans_sim.results.export import write_csv

        return write_csv(self, Path(path))

    def to_mcap(self, path: Path | str) -> Path:
        """Write an MCAP file of ROS 2 messages, for Foxglove, PlotJuggler, rosbag2.

        A biped is in it to be seen: description, links, shapes, centre of mass, support
        and contact forces (:mod:`humans_sim.view.run_topics`).
        """
        from humans_sim.results.export import write_mcap

        return write_mcap(self, Path(path), registered("run_topics")(self))


def event_states_of(
    system: RunSystem, nz: int, states: Sequence[EventState]
) -> EventStates:
    """States before and after events as arrays."""
    sizes = len(system.position_names), len(system.velocity_names), nz
    return EventStates.of(states, sizes, len(system.contacts))


def columns_of(samples: Sequence[Sample]) -> dict[str, np.ndarray]:
    """The arrays of a run, of samples in the order of time."""
    columns = list(zip(*samples, strict=True))
    arrays = {
        name: np.array(column)
        for name, column in zip(ARRAYS[:8], columns[:8], strict=True)
    }
    energy = np.array([columns[8], columns[9]]).T
    return {**arrays, "energy": energy, "signals": np.array(columns[10])}


def header_of(
    events: Sequence[Event],
    table: ContactTable,
    position_names: Sequence[str],
    velocity_names: Sequence[str],
    info: Mapping[str, Any],
) -> dict[str, Any]:
    """The header of a run file, beside its arrays.

    Where there are more events than a file can hold (some 130 000), the first ones are
    kept; the last then is an ``events_left_out`` that says how many are not.
    """
    room = LARGEST_HEADER // 4 - (1 << 20)  # four bytes a character; the rest is small
    records: list[dict[str, Any]] = []
    for k, event in enumerate(events):
        record = {**vars(event), "detail": dict(event.detail)}
        room -= len(json.dumps(record)) + 2
        if room < 0:
            text = f"{len(events) - k} events are not stored"
            last = Event(event.time, EVENTS_LEFT_OUT, "", {"text": text})
            records.append(vars(last))
            break
        records.append(record)
    return {
        "format": FORMAT,
        "events": records,
        "names": list(table.names),
        "kinds": list(table.kinds),
        "position_names": list(position_names),
        "velocity_names": list(velocity_names),
        "info": dict(info),
    }


def load_run(path: Path | str, lazy: bool = False) -> Run:
    """Read a run that :meth:`Run.save` or a simulation wrote.

    Args:
        path: the file.
        lazy: leave the arrays of a long run (above 64 MiB, which is stored without
            compression) on the disk: all are checked once, and read again where they
            are used, so that ``run.q[1000:2000]`` takes the memory of a thousand
            samples. Nobody may write into the file meanwhile; writers of this package
            never do, they exchange it for another.

    Raises:
        RunFileError: the file is missing, damaged or no run.
    """
    path = Path(path)
    names, later = (*_STATE, *TABLE_COLUMNS), ("signals", *FILE_ARRAYS)
    header, arrays = read_npz(path, RunFileError, "a run file", names, later, lazy)
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
    columns = {name: arrays.pop(name) for name in TABLE_COLUMNS}
    stored = {name: arrays.pop(name) for name in FILE_ARRAYS if name in arrays}
    if not isinstance(header["events"], list):
        raise ValueError("its events are no list")
    events = tuple(_event(**event) for event in header["events"])
    if "signals" not in arrays or not arrays["signals"].size:
        arrays["signals"] = np.zeros((len(np.atleast_1d(arrays["t"])), 0))
    _check_shapes(arrays, len(names), len(positions), len(velocities))
    _check_values(arrays, any(event.kind == FAILURE for event in events))
    if not np.isin(columns["tangents"], (0, 1, 2)).all():
        raise ValueError("a contact has 0, 1 or 2 tangents")
    info = header["info"]
    if not isinstance(info, dict):
        raise ValueError("its info is no mapping")
    for key in ("z_names", "signal_names", "signal_units"):
        _words({key: [], **info}, key)
    radii = info.get("radii", {})
    if not isinstance(radii, dict):
        raise ValueError("its radii are no mapping")
    lengths = {name: info.get(name, 0.0) for name in _TOLERANCES}
    for name, value in {**radii, **lengths}.items():
        if not isinstance(value, float | int) or not 0.0 <= value < math.inf:
            raise ValueError(f"its {name} is no number of zero or more")
    sizes = len(positions), len(velocities), arrays["z"].shape[1]
    return Run(
        **arrays,
        events=events,
        table=ContactTable.of(names, kinds, **columns),
        position_names=positions,
        velocity_names=velocities,
        info=info,
        event_states=stored_event_states(stored, sizes, len(names)),
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
    for name, value in (detail := dict(detail)).items():
        if not isinstance(value, float | int | str):
            raise ValueError("the detail of an event is damaged")
        if name.endswith("]") and isinstance(value, str):  # a quantity with its unit
            raise ValueError(f"{name} of an event is no number")
    if not math.isfinite(time):
        raise ValueError(f"an event at the time {time}")
    return Event(float(time), kind, subject, detail)


def _check_shapes(
    arrays: Mapping[str, np.ndarray], contacts: int, nq: int, nv: int
) -> None:
    n = len(arrays["t"]) if arrays["t"].ndim else -1
    nz = arrays["z"].shape[-1] if arrays["z"].ndim else 0
    signals = arrays["signals"].shape[-1] if arrays["signals"].ndim else 0
    shapes: dict[str, tuple[int, ...]] = {
        "t": (n,),
        "q": (n, nq),
        "v": (n, nv),
        "z": (n, nz),
        "torques": (n, nv),
        "contacts": (n, contacts),
        "gaps": (n, contacts),
        "energy": (n, 2),
        "forces": (n, contacts, 3),
        "signals": (n, signals),
    }
    for name, shape in shapes.items():
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
        # A sensor may have no reading yet, and a foot in the air no pressure.
        known = name != "signals" and (not failed or name not in ("torques", "forces"))
        for rows in row_blocks(array):
            part = array[rows]
            if not np.isfinite(part).all() if known else np.isinf(part).any():
                raise ValueError(f"{name} has a value that is no finite number")
    if (np.diff(arrays["t"]) < 0).any():
        raise ValueError("its times go backwards")
    modes = arrays["contacts"]
    if not all(np.isin(modes[rows], (0, 1, 2)).all() for rows in row_blocks(modes)):
        raise ValueError("a contact is neither open nor sticking nor sliding")


_KINDS = {
    f"JointModel{name}": getattr(pin, f"JointModel{name}")
    for name in ("RX", "RY", "RZ", "PX", "PY", "PZ", "Spherical", "FreeFlyer")
}
"""Joints that a record may have."""


def joint_records(tree: pin.Model) -> list[dict[str, Any]] | None:
    """Joints of a tree as plain data; None where one is of a kind without a record."""
    records = []
    for k in range(1, tree.njoints):
        kind = tree.joints[k].shortname()
        if kind not in _KINDS:
            return None
        place = pin.SE3ToXYZQUAT(tree.jointPlacements[k]).tolist()
        parent = int(tree.parents[k])
        records.append(
            {"name": tree.names[k], "kind": kind, "parent": parent, "at": place}
        )
    return records


def body_poses(run: Run) -> np.ndarray:
    """Places and quaternions (x, y, z, w) of the bodies of a run (samples, n, 7).

    Raises:
        RunFileError: what is recorded of them is damaged.
    """
    try:
        bodies = list(run.info["bodies"])
        if "joints" in run.info:
            tree = _tree(list(run.info["joints"]), run.q.shape[1])
            joints = [list(tree.names).index(str(body["joint"])) for body in bodies]
            data, poses = tree.createData(), np.empty((len(run.q), len(bodies), 7))
            for k, q in enumerate(run.q):
                pin.forwardKinematics(tree, data, np.ascontiguousarray(q))
                for row, joint in enumerate(joints):
                    poses[k, row] = pin.SE3ToXYZQUAT(data.oMi[joint])
            return poses
        further = sum(int(robot["coordinates"]) for robot in run.info.get("robots", ()))
        end = run.q.shape[1] - further
        first = end - 7 * len(bodies)
        if first < 0 or further < 0:
            raise ValueError(f"there are no coordinates for {len(bodies)} bodies")
        return np.asarray(run.q[:, first:end].reshape(len(run.q), len(bodies), 7))
    except MALFORMED_CONTENT as error:
        raise RunFileError(
            f"the run's record of its bodies is damaged: {error}"
        ) from error


def _tree(records: list[Mapping[str, Any]], nq: int) -> pin.Model:
    """The joints again, without masses."""
    if len(records) > nq:
        raise ValueError(f"{len(records)} joints for {nq} coordinates")
    tree = pin.Model()
    for record in records:
        parent, place = int(record["parent"]), np.array(record["at"], dtype=float)
        if not 0 <= parent < tree.njoints:
            raise ValueError(f"no joint {parent} to be the parent of another")
        if place.shape != (7,) or not np.isfinite(place).all() or not place[3:].any():
            raise ValueError("a joint has no placement")
        place[3:] /= np.linalg.norm(place[3:])
        make = _KINDS[str(record["kind"])]
        tree.addJoint(parent, make(), pin.XYZQUATToSE3(place), str(record["name"]))
    if tree.nq != nq:
        raise ValueError(f"its joints have {tree.nq} coordinates, the run has {nq}")
    return tree
