"""Counts the messages of a graph's topics, to tell whether they flow."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

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


def message_class(name: str) -> Any:
    """The class of ``package/msg/Name``."""
    package, kind, word = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), word)


class FlowCheck(Node):
    """Subscribes to topics and counts."""

    def __init__(self, topics: Mapping[str, str], latched: set[str]) -> None:
        """Count messages of ``topics`` (name: type)."""
        super().__init__("flow_check")
        self._lock = threading.Lock()
        self._times: dict[str, list[float]] = {topic: [] for topic in topics}
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
                self._times[topic].append(time.monotonic())

        return count

    def close(self) -> None:
        """Nothing to free beside the topics."""

    def flows(self) -> list[Flow]:
        """What was seen so far."""
        with self._lock:
            return [
                Flow(topic, len(times), _rate(times))
                for topic, times in self._times.items()
            ]


def _rate(times: list[float]) -> float:
    if len(times) < 2:
        return 0.0
    return (len(times) - 1) / max(times[-1] - times[0], 1e-9)
