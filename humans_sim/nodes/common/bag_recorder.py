# SPDX-License-Identifier: Apache-2.0
"""Records topics of a graph for a bag."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile

from humans_sim.nodes.common.bag_file import (
    BagMessage,
    stamp_of,
    stamp_place,
    write_bag,
)
from humans_sim.nodes.common.cdr import without_gaps
from humans_sim.nodes.common.message_types import message_class
from humans_sim.nodes.common.qos import latched


class BagRecorder:
    """Keeps the messages of topics, each once.

    A simulation in lock-step publishes its first state again and again until somebody
    answers it, so a message that is the same as one before of its time counts once.

    Args:
        node: that listens.
        topics: name and type of each.
        kept: those that are published once, for who comes late.

    Attributes:
        heard_at: when the last message came, by time.monotonic() [s].
    """

    def __init__(self, node: Node, topics: Mapping[str, str], kept: set[str]) -> None:
        """Listen."""
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

        Raises:
            FileWriteError: it cannot be written.
        """
        written: list[BagMessage] = []
        for topic, messages in self._messages.items():
            several = self._node.count_publishers(topic) > 1
            written += sorted(messages) if several else messages
        return write_bag(path, self._topics, written)
