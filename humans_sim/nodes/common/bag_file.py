# SPDX-License-Identifier: Apache-2.0
"""Bags: messages of topics as they went over the line, in an MCAP file.

A bag of a simulation in lock-step is the same each time: messages carry the simulated
time of their stamps, not that of the wall, and are written in the order of time and
topic. Players of rosbag2 and Foxglove read it; definitions are in the file.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mcap.reader import make_reader
from mcap.writer import Writer

from humans_sim.core.files import atomic_stream
from humans_sim.nodes.common.message_types import full_name, message_fields

_SEPARATOR = "=" * 80
_WORDS = {"double": "float64", "float": "float32", "boolean": "bool", "octet": "byte"}
"""Types of IDL that have another name in messages."""
_STAMPED, _TIME = "std_msgs/Header", "builtin_interfaces/Time"
_SECOND = 1_000_000_000


class BagMessage(NamedTuple):
    """A message of a bag.

    Attributes:
        topic: it came on.
        time: of its stamp [ns].
        data: as it was sent (CDR), with zeros between its fields.
    """

    topic: str
    time: int
    data: bytes


@dataclass(frozen=True)
class TopicContent:
    """What a bag has of one topic.

    Attributes:
        count: messages.
        digest: SHA-256 of all of them, in their order.
    """

    count: int
    digest: str


def stamp_place(kind: str) -> int | None:
    """Where the stamp of a message begins, past the head of its CDR; None: nowhere.

    Args:
        kind: type of the message, ``package/msg/Name``.
    """
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
    """Definition of a message type with all that it consists of, for MCAP.

    Args:
        kind: ``package/msg/Name``.
    """
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
    """Write a bag, whole or not at all.

    Args:
        path: ``.mcap``.
        topics: name and type of each.
        messages: those of a topic in the order that they came.

    Raises:
        FileWriteError: it cannot be written.
    """
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
