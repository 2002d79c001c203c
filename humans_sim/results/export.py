# SPDX-License-Identifier: Apache-2.0
"""A run in the files of others: tables (CSV) and ROS 2 messages (MCAP)."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import cycle, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from humans_sim.core.arrays import row_blocks
from humans_sim.core.files import atomic_stream
from humans_sim.results.event_states import samples_at_events
from humans_sim.results.record import link_of
from humans_sim.results.records import LIMIT, LINK, POINT
from humans_sim.results.ros_files import (
    Message,
    MessageMaker,
    RosTopics,
    Stamp,
    base_transform,
    event_message,
    head,
    joint_state,
    odometry_message,
    write_topics,
    xyz,
)

if TYPE_CHECKING:
    from humans_sim.results.run import Run

CONTACT_FRAME = "contact"
"""Frame of contact forces: each point's own, z along the normal."""
_BASE = ("base_x", "base_y", "base_z", "base_qx", "base_qy", "base_qz", "base_qw")
_NAN = {"x": math.nan, "y": math.nan, "z": math.nan}


def has_free_base(run: Run) -> bool:
    """Whether the run is one of a biped: base pose first, then joint angles."""
    return run.position_names[: len(_BASE)] == _BASE


def write_csv(run: Run, path: Path) -> Path:
    """Write every sample as one line of a table, and the events to a second file.

    Columns are the time, the configuration, the velocity (``v``) and the generalised
    force of the actuation (``tau``) by name, the states of the actuation (``z0``...),
    then mode (0 open, 1 sticking, 2 sliding), gap and force of each contact, the
    energies and the signals of sensors. Numbers are written so that reading them gives
    the same bits. The events lie beside the table in ``<stem>.events.csv``, with their
    details as JSON; where the run holds the states before and after them, these lie in
    ``<stem>.event_states.csv``, with the columns of the table.

    Args:
        run: what to write.
        path: the table.

    Returns:
        The path of the table.
    """
    with (
        atomic_stream(path.with_name(f"{path.stem}.events.csv")) as events,
        atomic_stream(path) as samples,
    ):
        _write_table(events, ("time [s]", "kind", "subject", "detail"), _events(run))
        _write_table(samples, _header(run), _samples(run))
    # Two lines an event; none where a table of an earlier run is to be replaced.
    at_events, states = samples_at_events(run), f"{path.stem}.event_states.csv"
    if at_events is None and not path.with_name(states).exists():
        return path
    time, *names = _header(run)
    # the columns of the table of samples, whose contacts are those that it writes
    written = _written_contacts(run)
    rows = () if at_events is None else _samples(at_events, written)
    sides = cycle(("before", "after"))
    lines = ([t, side, *rest] for (t, *rest), side in zip(rows, sides, strict=False))
    with atomic_stream(path.with_name(states)) as stream:
        _write_table(stream, [time, "side", *names], lines)
    return path


def _write_table(
    stream: BinaryIO, header: Sequence[str], rows: Iterator[list[Any]]
) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(header)
    table.writerows(rows)
    text.detach()  # flushes, and leaves the stream open


def _header(run: Run) -> list[str]:
    names = ["t [s]", *run.position_names]
    names += [f"v {name}" for name in run.velocity_names]
    names += [f"tau {name}" for name in run.velocity_names]
    names += [f"z{k}" for k in range(run.z.shape[1])]
    table = run.table
    for k in _written_contacts(run):
        name, unit = table.names[k], table.units[k]
        force = "N m" if table.kinds[k] == LIMIT else "N"
        names += [f"{name} mode", f"{name} gap [{unit}]"]
        names += [f"{name} {k} [{force}]" for k in ("normal", "tangent_1", "tangent_2")]
    names += ["kinetic [J]", "potential [J]"]
    words = run.info.get("signal_names", ()), run.info.get("signal_units", ())
    return names + [f"{name} [{unit}]" for name, unit in zip(*words, strict=False)]


def _written_contacts(run: Run) -> list[int]:
    """All contacts but pairs of links, hundreds of them, that never touched."""
    touched = np.zeros(len(run.table), dtype=bool)
    for rows in row_blocks(run.contacts):  # a long run lies on the disk
        touched |= (run.contacts[rows] != 0).any(axis=0)
    kinds = run.table.kinds
    return [k for k, kind in enumerate(kinds) if kind != LINK or touched[k]]


def _samples(run: Run, written: list[int] | None = None) -> Iterator[list[Any]]:
    written = _written_contacts(run) if written is None else written
    for k, t in enumerate(run.t.tolist()):
        row = [t]
        for array in (run.q, run.v, run.torques, run.z):
            row += array[k].tolist()
        for mode, gap, force in zip(
            run.contacts[k, written].tolist(),
            run.gaps[k, written].tolist(),
            run.forces[k, written].tolist(),
            strict=True,
        ):
            row += [int(mode), gap, *force]
        row += run.energy[k].tolist()
        yield [*row, *run.signals[k].tolist()] if run.signals.size else row


def _events(run: Run) -> Iterator[list[Any]]:
    for event in run.events:
        detail = json.dumps(dict(event.detail), ensure_ascii=False)
        yield [float(event.time), event.kind, event.subject, detail]


def write_mcap(run: Run, path: Path, scene: RosTopics | None = None) -> Path:
    """Write the run as ROS 2 messages, for rosbag2, Foxglove and PlotJuggler.

    ``/joint_states`` (sensor_msgs/msg/JointState)
        Angles, speeds and torques of the joints; for a system in general coordinates,
        all coordinates.
    ``/joints/<name>`` (std_msgs/msg/Float64)
        Angles of a biped's joints by their names [rad]: tools that plot an element of a
        list do not know its name.
    ``/odom`` (nav_msgs/msg/Odometry), ``/tf`` (tf2_msgs/msg/TFMessage)
        The base; bipeds only. With a scene, all links.
    ``/ground_contacts`` (humans_msgs/msg/ContactStates)
        The contact points, where there are any.
    ``/events`` (humans_msgs/msg/SimulationEvent)
        Each at its own time.
    ``/energy/kinetic``, ``/energy/potential``, ``/energy/total`` (std_msgs/msg/Float64)
        In J; a topic for each, so that every tool can plot them by name.
    ``/signals/<name>`` (std_msgs/msg/Float64)
        Of sensors, observer and actuation, each by its name; letters that names of
        topics may not have are underscores. Units are in the metadata.
    ``/states/<name>`` (std_msgs/msg/Float64)
        The states z of the actuation.

    A run does not keep where its contact points are and which way their surfaces face:
    that follows from its model and scene. The ``/ground_contacts`` of a biped's scene
    topics have it all, in the frame ``world``. Without them position, normal and
    velocity are NaN, link_name and soles are empty, and the force is given in the
    point's own frame (``contact``): z along the normal, x and y along the tangents. On
    a level floor these are the axes of the world. Joint limits are no ground contacts
    and are left out.

    Args:
        run: what to write.
        path: the file; rosbag2 knows it by the ending ``.mcap``.
        scene: more topics, to see the run by, of
            :func:`~humans_sim.view.run_topics.run_topics`.

    Returns:
        The path.

    Raises:
        ParameterError: a time is negative or too large for a ROS 2 stamp.
    """
    scene = RosTopics() if scene is None else scene
    events = [(event.time, partial(event_message, event)) for event in run.events]
    topics = RosTopics(
        scene.latched,
        {**_topics(run), **scene.sampled},
        {"/events": ("humans_msgs/SimulationEvent", events)},
    )
    about = {**run.info, "scene_left_out": scene.note} if scene.note else run.info
    return write_topics(path, run.t.tolist(), topics, about)


def _topics(run: Run) -> dict[str, tuple[str, MessageMaker]]:
    """Type and maker of the messages that every sample has, by topic."""
    topics: dict[str, tuple[str, MessageMaker]] = {
        "/joint_states": ("sensor_msgs/JointState", _joint_states(run))
    }
    if has_free_base(run):
        topics["/odom"] = (
            "nav_msgs/Odometry",
            lambda k, stamp: odometry_message(stamp, run.q[k], run.v[k]),
        )
        topics["/tf"] = (
            "tf2_msgs/TFMessage",
            lambda k, stamp: base_transform(run.q[k], stamp),
        )
        topics |= joint_topics(_joint_names(run), run.q[:, 7:])
    if POINT in run.table.kinds:
        topics["/ground_contacts"] = "humans_msgs/ContactStates", _contacts(run)
    kinetic, potential = run.energy.T
    for name, energy in (
        ("kinetic", kinetic),
        ("potential", potential),
        ("total", kinetic + potential),
    ):
        topics[f"/energy/{name}"] = "std_msgs/Float64", _number(energy)
    for word, names, values in (
        ("signals", run.info.get("signal_names", ()), run.signals),
        ("states", run.info.get("z_names", ()), run.z),
    ):
        for k, name in enumerate(names[: values.shape[1]]):
            topic = f"/{word}/{_topic_words(name)}"
            topics[topic] = "std_msgs/Float64", _number(values[:, k])
    return topics


def joint_topics(
    names: Sequence[str], angles: np.ndarray
) -> dict[str, tuple[str, MessageMaker]]:
    """A topic for each joint, so that its angle is plotted by its name.

    Args:
        names: of the joints.
        angles: (n, as many or more) [rad].
    """
    return {
        f"/joints/{_topic_words(name)}": ("std_msgs/Float64", _number(angles[:, k]))
        for k, name in enumerate(names)
    }


def _topic_words(name: str) -> str:
    """A name by the letters of topics, no part of which begins with a digit."""
    parts = [re.sub(r"[^A-Za-z0-9_]", "_", part) for part in name.split("/")]
    return "/".join(
        f"_{part}" if part[:1].isdigit() else part for part in parts if part
    )


def _joint_names(run: Run) -> tuple[str, ...]:
    """Joints of a biped; free bodies beside it have other names of their speeds."""
    pairs = zip(run.position_names[7:], run.velocity_names[6:], strict=False)
    return tuple(name for name, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _joint_states(run: Run) -> MessageMaker:
    q, v, torques = run.q, run.v, run.torques
    names = run.position_names
    if has_free_base(run):
        names = _joint_names(run)
        q, joints = q[:, 7 : 7 + len(names)], slice(6, 6 + len(names))
        v, torques = v[:, joints], torques[:, joints]
    elif len(names) != len(run.velocity_names):
        v = torques = np.zeros((len(run.t), 0))  # they have no place in the message

    return lambda k, stamp: joint_state(stamp, names, q[k], v[k], torques[k])


def _contacts(run: Run) -> MessageMaker:
    points = [k for k, kind in enumerate(run.table.kinds) if kind == POINT]
    plain = "ground" if has_free_base(run) else ""
    # Contacts are called ``point/surface``, or ``point`` where there is one only.
    solid = [bool(link_of(run.table.names[p], run.info)) for p in points]
    parts = (run.table.names[p].rpartition("/") for p in points)
    labels = [(n, s) if n else (s, plain) for n, _, s in parts]
    # A body has many points in the air: they are listed while they touch.
    listed = ~np.array(solid, dtype=bool)

    def message(k: int, stamp: Stamp) -> Message:
        shown = np.flatnonzero(listed | (run.contacts[k, points] != 0))
        states = [
            {
                "name": name,
                "surface": surface,
                "mode": int(run.contacts[k, p]),
                "gap": float(run.gaps[k, p]),
                "position": _NAN,
                "normal": _NAN,
                "velocity": _NAN,
                "force": xyz(run.forces[k, p, [1, 2, 0]]),
            }
            for p, (name, surface) in ((points[row], labels[row]) for row in shown)
        ]
        return {"header": head(stamp, CONTACT_FRAME), "points": states, "soles": []}

    return message


def _number(values: np.ndarray) -> MessageMaker:
    return lambda k, stamp: {"data": float(values[k])}
