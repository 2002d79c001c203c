# SPDX-License-Identifier: Apache-2.0
"""Bags: topics of a graph recorded into MCAP files.

A bag of a simulation in lock-step is the same each time: messages carry the simulated
time of their stamps, not that of the wall, and are written in the order of time and
topic. Players of rosbag2 and Foxglove read it; definitions are in the file.

*Bytes* (CDR) have zeros between fields. Numbers are aligned to their size, and the
middleware leaves what was in its memory in the gaps. Two messages that say the same so
differ in bytes until the gaps are zeros.
"""

from __future__ import annotations

import hashlib
import re
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from mcap.reader import make_reader
from mcap.writer import Writer
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile

from humans_sim.core.errors import ConfigurationError
from humans_sim.core.files import atomic_stream
from humans_sim.nodes.common.conversions import full_name, message_class
from humans_sim.nodes.common.model_node import latched


def message_fields(name: str) -> dict[str, str]:
    """Fields of ``package/msg/Name`` with their types, as IDL has them."""
    return dict(message_class(name).get_fields_and_field_types())


_SEPARATOR = "=" * 80
_WORDS = {"double": "float64", "float": "float32", "boolean": "bool", "octet": "byte"}
"""Types of IDL that have another name in messages."""
_STAMPED, _TIME = "std_msgs/Header", "builtin_interfaces/Time"
_SECOND = 1_000_000_000


class BagMessage(NamedTuple):
    """A message of a bag.

    Attributes:
        time: of its stamp [ns].
        data: as it was sent (CDR), with zeros between its fields.
    """

    topic: str
    time: int
    data: bytes


@dataclass(frozen=True)
class TopicContent:
    """The content of one topic of a bag.

    Attributes:
        digest: SHA-256 of all of them, in their order.
    """

    count: int
    digest: str


def stamp_place(kind: str) -> int | None:
    """Where the stamp of a message begins, past the head of its CDR; None: nowhere."""
    fields = list(message_fields(kind).values())
    if fields[0] in (_STAMPED, _TIME):
        return 0
    inner = re.fullmatch(r"sequence<(.+)>", fields[0])
    if inner is None or "/" not in inner[1]:
        return None
    first = next(iter(message_fields(full_name(inner[1])).values()))
    return 4 if first == _STAMPED else None  # after the length of the list


def stamp_of(data: bytes, place: int | None) -> int | None:
    """Time of a message's stamp [ns]; None: it has none."""
    if place is None or len(data) < place + 12:
        return None
    seconds, rest = struct.unpack_from("<iI", data, 4 + place)
    return int(seconds) * _SECOND + int(rest)


def message_definition(kind: str) -> str:
    """Definition of a message type with all that it consists of, for MCAP."""
    own, parts = _definition(kind)
    known, text = {kind}, own
    while parts:
        part = parts.pop(0)
        if part in known:
            continue
        known.add(part)
        inner, further = _definition(part)
        parts += further
        text += f"{_SEPARATOR}\nMSG: {part.replace('/msg/', '/')}\n{inner}"
    return text


def _definition(kind: str) -> tuple[str, list[str]]:
    """Lines of a type, and the types that they name."""
    lines, parts = "", []
    for name, text in message_fields(kind).items():
        word, suffix = _element(text)
        if "/" in word:
            parts.append(full_name(word))
        lines += f"{_WORDS.get(word, word)}{suffix} {name}\n"
    return lines, parts


def _element(text: str) -> tuple[str, str]:
    """Type of an element and what makes a list of it, as messages write it."""
    if fixed := re.fullmatch(r"(.+)\[(\d+)\]", text):
        return fixed[1], f"[{fixed[2]}]"
    if bounded := re.fullmatch(r"sequence<(.+), (\d+)>", text):
        return bounded[1], f"[<={bounded[2]}]"
    if free := re.fullmatch(r"sequence<(.+)>", text):
        return free[1], "[]"
    if short := re.fullmatch(r"(w?string)<(\d+)>", text):
        return f"{short[1]}<={short[2]}", ""
    return text, ""


def write_bag(
    path: Path, topics: Mapping[str, str], messages: Iterable[BagMessage]
) -> Path:
    """Write a bag, whole or not at all; messages of a topic in the order they came."""
    order = {topic: k for k, topic in enumerate(sorted(topics))}
    with atomic_stream(path) as stream:
        writer = Writer(stream)
        writer.start(profile="ros2", library="humans_sim")
        channels = {}
        for topic in order:
            kind = topics[topic]
            text = message_definition(kind).encode()
            schema = writer.register_schema(kind, "ros2msg", text)
            channels[topic] = writer.register_channel(topic, "cdr", schema)
        ordered = sorted(messages, key=lambda m: (m.time, order[m.topic]))
        for number, message in enumerate(ordered):
            writer.add_message(
                channels[message.topic],
                message.time,
                message.data,
                message.time,
                number,
            )
        writer.finish()
    return path


def bag_content(path: Path) -> dict[str, TopicContent]:
    """How many messages a bag has of each topic, and their hash."""
    digests: dict[str, Any] = {}
    counts: dict[str, int] = {}
    with path.open("rb") as stream:
        reader = make_reader(stream)
        for _, channel, message in reader.iter_messages(log_time_order=False):
            digest = digests.setdefault(channel.topic, hashlib.sha256())
            digest.update(struct.pack("<qI", message.log_time, len(message.data)))
            digest.update(message.data)
            counts[channel.topic] = counts.get(channel.topic, 0) + 1
    return {
        topic: TopicContent(counts[topic], digest.hexdigest())
        for topic, digest in sorted(digests.items())
    }


_HEAD = 4
"""Bytes before the first field, from which alignment is counted."""
_SIZES = {
    "boolean": 1,
    "octet": 1,
    "byte": 1,
    "char": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "float": 4,
    "int64": 8,
    "uint64": 8,
    "double": 8,
}


class _Copy:
    """Copies fields one by one; gaps stay zero."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, _HEAD
        self.out = bytearray(len(data))
        self.out[:_HEAD] = data[:_HEAD]

    def _take(self, alignment: int, size: int) -> int:
        """Copy so many bytes; where they begin."""
        first = self._place + -(self._place - _HEAD) % alignment
        self._place = first + size
        if self._place > len(self._data):
            raise ConfigurationError("a message is cut short")
        self.out[first : self._place] = self._data[first : self._place]
        return first

    def _count(self) -> int:
        return int(struct.unpack_from("<I", self._data, self._take(4, 4))[0])

    def message(self, kind: str) -> None:
        """Copy a message."""
        for field in _types(kind):
            self._field(field)

    def _field(self, field: str) -> None:
        if fixed := re.fullmatch(r"(.+)\[(\d+)\]", field):
            self._elements(fixed[1], int(fixed[2]))
        elif several := re.fullmatch(r"sequence<(.+?)(, \d+)?>", field):
            self._elements(several[1], self._count())
        else:
            self._elements(field, 1)

    def _elements(self, kind: str, count: int) -> None:
        size = _SIZES.get(kind, 0)
        if size and count:
            self._take(size, size * count)
        elif not size:
            for _ in range(count):
                if kind.startswith("string"):
                    length = self._count()
                    self._take(1, length)
                else:
                    self.message(full_name(kind))


@cache
def _types(kind: str) -> tuple[str, ...]:
    return tuple(message_fields(kind).values())


def without_gaps(data: bytes, kind: str) -> bytes:
    """A message (little-endian CDR) with zeros between its fields."""
    copy = _Copy(data)
    copy.message(kind)
    return bytes(copy.out)


class BagRecorder:
    """Keeps the messages of topics, each once.

    A simulation in lock-step publishes its first state again and again until somebody
    answers it, so a message that is the same as one before of its time counts once.

    Args:
        kept: those that are published once, for who comes late.

    Attributes:
        heard_at: when the last message came, by time.monotonic() [s].
    """

    def __init__(self, node: Node, topics: Mapping[str, str], kept: set[str]) -> None:
        self._node = node
        self._topics = {node.resolve_topic_name(k): kind for k, kind in topics.items()}
        self._kept = {node.resolve_topic_name(topic) for topic in kept}
        self._messages: dict[str, list[BagMessage]] = {t: [] for t in self._topics}
        self._seen: set[BagMessage] = set()
        self._newest: dict[str, int] = {}
        self.heard_at = time.monotonic()
        for topic, kind in self._topics.items():
            # Nothing may be lost.
            qos = QoSProfile(history=HistoryPolicy.KEEP_ALL)
            node.create_subscription(
                message_class(kind),
                topic,
                self._listener(topic, kind),
                latched() if topic in self._kept else qos,
                raw=True,
            )

    def _listener(self, topic: str, kind: str) -> Callable[[Any], None]:
        place = stamp_place(kind)

        def keep(data: bytes) -> None:
            self.heard_at = time.monotonic()
            stamp = 0 if topic in self._kept else stamp_of(data, place)
            self._newest[topic] = self._newest.get(topic, 0) if stamp is None else stamp
            clean = without_gaps(data, kind)
            message = BagMessage(topic, self._newest[topic], clean)
            if message not in self._seen:
                self._seen.add(message)
                self._messages[topic].append(message)

        return keep

    def newest(self, topic: str) -> int:
        """Time of the newest message of a topic [ns]; -1: none has come."""
        return self._newest.get(self._node.resolve_topic_name(topic), -1)

    def silent(self) -> list[str]:
        """Topics of which nothing has come."""
        return sorted(set(self._topics) - set(self._newest))

    def forget(self) -> None:
        """Begin anew; what was published once stays."""
        for topic in set(self._topics) - self._kept:
            self._messages[topic].clear()
            self._newest.pop(topic, None)
        self._seen = {m for topic in self._kept for m in self._messages[topic]}

    def write(self, path: Path) -> Path:
        """Write the bag.

        Messages of one time on a topic with several publishers have no order of their
        own: they come in that of their bytes.
        """
        written: list[BagMessage] = []
        for topic, messages in self._messages.items():
            several = self._node.count_publishers(topic) > 1
            written += sorted(messages) if several else messages
        return write_bag(path, self._topics, written)
