# SPDX-License-Identifier: Apache-2.0
"""Counts the messages of a graph's topics, to see whether they flow."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile

from humans_sim.nodes.common.message_types import message_class
from humans_sim.nodes.common.process_node import ProcessNode

_DEPTH = 50


@dataclass(frozen=True)
class Flow:
    """Messages seen on a topic.

    Attributes:
        topic: name of the topic.
        count: messages seen.
        rate: messages a second, from the first to the last.
    """

    topic: str
    count: int
    rate: float


@dataclass
class _Seen:
    """Messages of a topic so far: how many, and when the first and the last came."""

    count: int = 0
    first: float = 0.0
    last: float = 0.0

    def add(self, now: float) -> None:
        if not self.count:
            self.first = now
        self.count, self.last = self.count + 1, now

    @property
    def rate(self) -> float:
        """Messages a second, from the first to the last."""
        if self.count < 2:
            return 0.0
        return (self.count - 1) / max(self.last - self.first, 1e-9)


class FlowCheck(ProcessNode):
    """Subscribes to topics and counts."""

    def __init__(self, topics: Mapping[str, str], latched: set[str]) -> None:
        """Count messages of ``topics`` (name: type)."""
        super().__init__("flow_check")
        self._lock = threading.Lock()
        self._seen = {topic: _Seen() for topic in topics}
        for topic, kind in topics.items():
            qos = QoSProfile(depth=_DEPTH)
            if topic in latched:
                qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
            # Raw: what is only counted need not be unpacked.
            self.create_subscription(
                message_class(kind), topic, self._counter(topic), qos, raw=True
            )

    def _counter(self, topic: str) -> Any:
        def count(_: Any) -> None:
            with self._lock:
                self._seen[topic].add(time.monotonic())

        return count

    def flows(self) -> list[Flow]:
        """What was seen so far."""
        with self._lock:
            return [
                Flow(topic, seen.count, seen.rate) for topic, seen in self._seen.items()
            ]
