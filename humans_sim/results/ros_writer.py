# SPDX-License-Identifier: Apache-2.0
"""Files of ROS 2 messages with the quality of service that rosbag2 plays them with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcap_ros2.writer import Writer

from humans_sim.core.files import atomic_stream
from humans_sim.results.marker_encoding import marker_array_bytes
from humans_sim.results.ros_messages import nanoseconds, stamp_of
from humans_sim.results.ros_schemas import schema

Message = dict[str, Any]
MessageMaker = Callable[[int, Mapping[str, int]], Message]
"""Makes the message of sample k with its stamp."""
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
        note: why there are none; empty where there are.
    """

    latched: Mapping[str, tuple[str, Message]] = field(default_factory=dict)
    sampled: Mapping[str, tuple[str, MessageMaker]] = field(default_factory=dict)
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
    path: Path, times: Sequence[float], topics: RosTopics, about: Mapping[str, Any]
) -> Path:
    """Write a file of topics, whole or not at all.

    Args:
        path: the file; rosbag2 knows it by the ending ``.mcap``.
        times: of the samples [s].
        topics: what is written.
        about: metadata of the file.

    Raises:
        ParameterError: a time is negative or too large for a ROS 2 stamp.
        FileWriteError: it cannot be written.
    """
    stamps = [nanoseconds(time) for time in times]
    kinds = {
        t: kind for t, (kind, _) in (*topics.latched.items(), *topics.sampled.items())
    }
    with atomic_stream(path) as stream:
        writer = RosWriter(stream)
        texts = {name: json.dumps(value) for name, value in about.items()}
        writer.add_metadata("humans_sim", texts)
        known = {
            kind: writer.register_msgdef(kind.replace("/", "/msg/"), schema(kind))
            for kind in dict.fromkeys(kinds.values())
        }
        for topic, kind in kinds.items():
            writer.add_topic(topic, known[kind], topic in topics.latched)
        for topic, (kind, message) in topics.latched.items():
            writer.put(topic, known[kind], message, stamps[0], 0)
        for k, time in enumerate(stamps):
            for topic, (kind, make) in topics.sampled.items():
                writer.put(topic, known[kind], make(k, stamp_of(time)), time, k)
        writer.finish()
    return path
