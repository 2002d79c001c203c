# SPDX-License-Identifier: Apache-2.0
"""Files of ROS 2 messages (MCAP), written without ROS 2.

A file of messages carries their definitions, so that it can be read where the message
packages are not installed; it is written, too, where they are not. They stand in
``config/messages/ros2.msg``, without comments, each below a line that names it. The
definitions of humans_msgs are those of ``msgs/msg``; a test compares them.

*Messages* are plain fields by name, from plain values: files encode them, and nodes
fill ROS 2's classes with them.

*MarkerArray as bytes*, with lists of points taken as they are. The encoder of mcap_ros2
goes through every number by itself, which takes seconds for the triangles of a robot.
This one knows one message only; a test reads it with ROS 2.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from mcap_ros2.writer import Writer

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream
from humans_sim.core.resources import resource
from humans_sim.models.description import BASE_LINK
from humans_sim.results.records import Event

WORLD = "world"
"""The frame that does not move."""
_LAST_SECOND = 2**31 - 1
"""The latest time a ROS 2 stamp can hold [s]."""


def nanoseconds(time: float) -> int:
    """A time [s] as a whole number of nanoseconds.

    Raises:
        ParameterError: a ROS 2 stamp cannot hold it.
    """
    if not 0 <= time < _LAST_SECOND:
        raise ParameterError(
            f"a time of {time} s cannot be written to MCAP: ROS 2 stamps go from 0 to "
            f"{_LAST_SECOND} s; let the run start at 0 s"
        )
    return round(time * 1e9)


Message = dict[str, Any]
"""Fields by name, those inside other messages likewise."""
Stamp = Any
"""Fields of a stamp, or in nodes the message itself."""


def stamp_of(time: int) -> Message:
    """Stamp (or duration) of a time [ns]."""
    seconds, rest = divmod(time, 10**9)
    return {"sec": seconds, "nanosec": rest}


def head(stamp: Stamp, frame: str = "") -> Message:
    """A std_msgs/Header."""
    return {"stamp": stamp, "frame_id": frame}


def joint_state(
    stamp: Stamp,
    names: Sequence[str],
    position: Any = (),
    velocity: Any = (),
    effort: Any = (),
    frame: str = "",
) -> Message:
    """A sensor_msgs/JointState: angles [rad], speeds [rad/s] and torques [N m]."""
    return {
        "header": head(stamp, frame),
        "name": list(names),
        "position": np.asarray(position, dtype=float).tolist(),
        "velocity": np.asarray(velocity, dtype=float).tolist(),
        "effort": np.asarray(effort, dtype=float).tolist(),
    }


def event_message(event: Event, stamp: Stamp) -> Message:
    """A humans_msgs/SimulationEvent."""
    numbers = event.numbers
    return {
        "header": head(stamp),
        "time": float(event.time),
        "kind": event.kind,
        "subject": event.subject,
        "detail": event.words,
        "value_names": list(numbers),
        "values": list(numbers.values()),
    }


def xyz(vector: np.ndarray) -> dict[str, float]:
    """A point or a vector."""
    x, y, z = vector.tolist()
    return {"x": x, "y": y, "z": z}


def quaternion(vector: np.ndarray) -> dict[str, float]:
    """An orientation, w last."""
    return {**xyz(vector[:3]), "w": float(vector[3])}


def link_transform(stamp: Stamp, parent: str, child: str, pose: np.ndarray) -> Message:
    """A geometry_msgs/TransformStamped of a place and a quaternion (7,)."""
    return {
        "header": head(stamp, parent),
        "child_frame_id": child,
        "transform": {"translation": xyz(pose[:3]), "rotation": quaternion(pose[3:7])},
    }


def base_transform(q: np.ndarray, stamp: Stamp) -> Message:
    """A tf2_msgs/TFMessage of the base of a biped with the configuration ``q``."""
    return {"transforms": [link_transform(stamp, WORLD, BASE_LINK, q)]}


def odometry_message(
    stamp: Stamp,
    q: np.ndarray,
    v: np.ndarray,
    frame: str = WORLD,
    base: str = BASE_LINK,
) -> Message:
    """A nav_msgs/Odometry of the base of a biped; its twist is in the base's frame."""
    pose = {"position": xyz(q[:3]), "orientation": quaternion(q[3:7])}
    twist = {"linear": xyz(v[:3]), "angular": xyz(v[3:6])}
    return {
        "header": head(stamp, frame),
        "child_frame_id": base,
        "pose": {"pose": pose, "covariance": [0.0] * 36},
        "twist": {"twist": twist, "covariance": [0.0] * 36},
    }


class MarkerType(IntEnum):
    """Types of a visualization_msgs/Marker."""

    ARROW = 0
    CUBE = 1
    SPHERE = 2
    LINE_STRIP = 4
    LINE_LIST = 5
    SPHERE_LIST = 7
    TEXT = 9
    TRIANGLES = 11


DELETE, DELETE_ALL = 2, 3
"""Actions of a marker that is not drawn."""
AT_REST = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
"""Pose of a marker at the origin of its frame."""


def rgb(colour: Sequence[int]) -> tuple[float, ...]:
    """Parts of a colour, from bytes."""
    return tuple(part / 255.0 for part in colour)


def marker_message(
    space: str,
    number: int,
    kind: MarkerType,
    colour: Sequence[float],
    scale: Any,
    pose: np.ndarray = AT_REST,
    frame: str = WORLD,
) -> Message:
    """A visualization_msgs/Marker that stays until it is changed.

    Args:
        space: namespace.
        number: in the namespace.
        kind: type.
        colour: red, green, blue, and the opacity where it is not full; 0 to 1.
        scale: (3,) [m].
        pose: place and quaternion (7,).
        frame: of the pose.
    """
    return {
        "header": head(stamp_of(0), frame),
        "ns": space,
        "id": number,
        "type": kind,
        "action": 0,
        "pose": pose,
        "scale": scale,
        "color": (*colour, 1.0)[:4],
    }


def point_list(marker: Message, points: np.ndarray) -> Message:
    """A marker with points (n, 3); RViz complains about lists without any."""
    return marker | ({"points": points} if len(points) else {"action": DELETE})


def stamped(markers: Sequence[Message], stamp: Stamp) -> list[Message]:
    """Markers of one time, in their frames."""
    return [
        marker | {"header": head(stamp, marker["header"]["frame_id"])}
        for marker in markers
    ]


def contact_states(
    header: Message, soles: Any, points: Any, loads: Iterable[Any]
) -> Message:
    """A humans_msgs/ContactStates: places, normals and forces in the world."""
    return {
        "header": header,
        "points": [
            {
                "name": soles.names[row],
                "link_name": soles.links[row],
                "surface": soles.surfaces[row],
                "mode": int(points.mode[k]),
                "gap": float(points.gap[k]),
                "position": xyz(points.position[k]),
                "normal": xyz(points.normal[k]),
                "velocity": xyz(points.velocity[k]),
                "force": xyz(points.force[k]),
            }
            for k, row in enumerate(points.rows)
        ],
        "soles": [
            {
                "name": load.name,
                "mode": load.mode,
                "closed_points": load.closed,
                "wrench": {"force": xyz(load.force), "torque": xyz(load.moment)},
                "center_of_pressure": xyz(np.asarray(load.centre_of_pressure)),
            }
            for load in loads
        ],
    }


_HEAD = f"{'=' * 80}\nMSG: "
"""Above each definition inside another one, by rosbag2."""


@cache
def definitions() -> dict[str, str]:
    """By package and name, without the ``msg`` between them."""
    text = resource("config", "messages", "ros2.msg").read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split(_HEAD)[1:])
    return {name: fields.strip() for name, _, fields in parts}


@cache
def schema(name: str) -> str:
    """Definition of a message, followed by those of all messages inside it.

    Args:
        name: package and message, e.g. ``sensor_msgs/JointState``.

    Returns:
        The text in the form that rosbag2 stores (``ros2msg``).
    """
    needed = [name]
    for known in needed:  # grows on the way
        needed += [inner for inner in _inside(known) if inner not in needed]
    first, *others = needed
    parts = [definitions()[first]]
    parts += [f"{_HEAD}{other}\n{definitions()[other]}" for other in others]
    return "\n".join(parts) + "\n"


def _inside(name: str) -> list[str]:
    """Messages that a definition names, each once."""
    package = name.partition("/")[0]
    types = []
    for line in definitions()[name].split("\n"):
        kind = line.partition(" ")[0].partition("[")[0]
        full = kind if "/" in kind else f"{package}/{kind}"
        if full in definitions() and full not in types:
            types.append(full)
    return types


_MARKER_HEAD = b"\0\1\0\0"
"""Of a message in plain CDR, little-endian."""


class _Cdr:
    """Writes numbers at multiples of their sizes, counted from the message's begin."""

    def __init__(self) -> None:
        self.content = bytearray()

    def put(self, kind: str, *values: float) -> None:
        """Numbers of one kind, a letter of ``struct``."""
        size = struct.calcsize(kind)
        self.content += b"\0" * (-len(self.content) % size)
        self.content += struct.pack(f"<{len(values)}{kind}", *values)

    def text(self, text: str) -> None:
        """Text with its length and a zero at the end."""
        data = text.encode("utf-8") + b"\0"
        self.put("I", len(data))
        self.content += data

    def header(self, header: Mapping[str, Any]) -> None:
        """A std_msgs/Header."""
        self.put("i", header["stamp"]["sec"])
        self.put("I", header["stamp"]["nanosec"])
        self.text(header["frame_id"])

    def points(self, points: np.ndarray) -> None:
        """A list of geometry_msgs/Point."""
        self.put("I", len(points))
        if len(points):
            self.content += b"\0" * (-len(self.content) % 8)
            self.content += np.ascontiguousarray(points, "<f8").tobytes()


def marker_array_bytes(markers: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of a message.

    Args:
        markers: with ``header``, ``ns``, ``id``, ``type``, ``action``, ``pose`` (7,),
            ``scale`` (3,), ``color`` (4,); and where they have any ``points`` (n, 3),
            ``colors`` of these (n, 4), ``text`` and ``frame_locked``.
    """
    cdr = _Cdr()
    cdr.put("I", len(markers))
    for marker in markers:
        cdr.header(marker["header"])
        cdr.text(marker["ns"])
        cdr.put("i", marker["id"], marker["type"], marker["action"])
        cdr.put("d", *marker["pose"], *marker["scale"])
        cdr.put("f", *marker["color"])
        cdr.put("i", 0)  # lifetime: as long as it is not changed
        cdr.put("I", 0)
        cdr.put("B", bool(marker.get("frame_locked", False)))
        cdr.points(np.asarray(marker.get("points", np.zeros((0, 3)))))
        colours = np.asarray(marker.get("colors", np.zeros((0, 4))))
        cdr.put("I", len(colours))
        cdr.content += np.ascontiguousarray(colours, "<f4").tobytes()
        cdr.text("")  # texture_resource
        cdr.header(head(stamp_of(0)))  # texture
        cdr.text("")
        cdr.put("I", 0)
        cdr.put("I", 0)  # uv_coordinates
        cdr.text(marker.get("text", ""))
        cdr.text("")  # mesh_resource
        cdr.text("")  # mesh_file
        cdr.put("I", 0)
        cdr.put("B", 0)  # mesh_use_embedded_materials
    return _MARKER_HEAD + bytes(cdr.content)


MessageMaker = Callable[[int, Stamp], Message]
"""Makes the message of sample k with its stamp."""
SingleMessages = Sequence[tuple[float, Callable[[Stamp], Message]]]
"""Times [s], and makers of their messages with their stamps."""
_QOS = """- history: 1
  depth: {depth}
  reliability: 1
  durability: {durability}
  deadline: {forever}
  lifespan: {forever}
  liveliness: 1
  liveliness_lease_duration: {forever}
  avoid_ros_namespace_conventions: false
"""
"""Policies by their numbers, which every rosbag2 reads: keep last, reliable."""
_MARKERS = "visualization_msgs/msg/MarkerArray"
_FOREVER = "{sec: 9223372036, nsec: 854775807}"
_TRANSIENT_LOCAL, _VOLATILE = 1, 2


@dataclass(frozen=True)
class RosTopics:
    """Topics of a file beside those that every run has.

    Attributes:
        latched: type and message of topics that are sent once, for all who come later.
        sampled: type and maker of the messages that every sample has.
        single: type and messages of topics with times of their own [s].
        note: why there are none; empty where there are.
    """

    latched: Mapping[str, tuple[str, Message]] = field(default_factory=dict)
    sampled: Mapping[str, tuple[str, MessageMaker]] = field(default_factory=dict)
    single: Mapping[str, tuple[str, SingleMessages]] = field(default_factory=dict)
    note: str = ""


class RosWriter(Writer):
    """Writes messages; topics are made known before their first message."""

    def add_topic(self, topic: str, kind: Any, latched: bool = False) -> None:
        """Make a topic with its quality of service.

        Args:
            topic: its name.
            kind: of its messages, by ``register_msgdef``.
            latched: whether who comes later gets the last message (transient local).
        """
        profile = _QOS.format(
            depth=1 if latched else 10,
            durability=_TRANSIENT_LOCAL if latched else _VOLATILE,
            forever=_FOREVER,
        )
        self._channel_ids[topic] = self._writer.register_channel(
            topic, "cdr", kind.id, {"offered_qos_profiles": profile}
        )

    def put(self, topic: str, kind: Any, message: Message, time: int, n: int) -> None:
        """Write the n-th message of a topic.

        Args:
            topic: made known by :meth:`add_topic`.
            kind: of its messages, by ``register_msgdef``.
            message: its fields; of markers as ``marker_array_bytes`` takes them.
            time: [ns].
            n: number of the message.
        """
        if kind.name == _MARKERS:
            data = marker_array_bytes(message["markers"])
            self._writer.add_message(self._channel_ids[topic], time, data, time, n)
        else:
            self.write_message(topic, kind, message, time, time, n)


def write_topics(
    path: Path,
    times: Sequence[float],
    topics: RosTopics,
    about: Mapping[str, Any],
    latched_first: bool = False,
) -> Path:
    """Write a file of topics, whole or not at all.

    Messages are stamped with their times, rounded to 1 ns, and lie in the order of
    time, those with times of their own before the sample of the same time.

    Args:
        path: the file; rosbag2 knows it by the ending ``.mcap``.
        times: of the samples [s].
        topics: what is written.
        about: metadata of the file.
        latched_first: whether topics that are sent once are listed before the others.

    Raises:
        ParameterError: a time is negative or too large for a ROS 2 stamp.
        FileWriteError: it cannot be written.
    """
    due = [
        (nanoseconds(time), topic, kind, k, make)
        for topic, (kind, messages) in topics.single.items()
        for k, (time, make) in enumerate(messages)
    ]
    stamps = [nanoseconds(time) for time in times]
    kinds = {**topics.single, **topics.sampled, **topics.latched}
    if latched_first:
        kinds = {**topics.latched, **kinds}
    with atomic_stream(path) as stream:
        writer = RosWriter(stream)
        texts = {name: json.dumps(value) for name, value in about.items()}
        writer.add_metadata("humans_sim", texts)
        known = {
            kind: writer.register_msgdef(kind.replace("/", "/msg/"), schema(kind))
            for kind in dict.fromkeys(kind for kind, _ in kinds.values())
        }
        for topic, (kind, _) in kinds.items():
            writer.add_topic(topic, known[kind], topic in topics.latched)
        first = min([*stamps, *(row[0] for row in due)])
        for topic, (kind, message) in topics.latched.items():
            writer.put(topic, known[kind], message, first, 0)
        order = [(time, 0, k) for k, (time, *_) in enumerate(due)]
        order += [(time, 1, k) for k, time in enumerate(stamps)]
        for time, is_sample, k in sorted(order):
            stamp = stamp_of(time)
            if is_sample:
                for topic, (kind, make) in topics.sampled.items():
                    writer.put(topic, known[kind], make(k, stamp), time, k)
            else:
                _, topic, kind, number, make_single = due[k]
                writer.put(topic, known[kind], make_single(stamp), time, number)
        writer.finish()
    return path
