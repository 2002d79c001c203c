# SPDX-License-Identifier: Apache-2.0
"""Plays an MCAP file as ``ros2 bag play`` does: bytes as they are, at their times.

``python play_bag.py FILE``: waits until the viewer and a test listen, plays once, says
so, and stays: what is transient local can be had by those who come later. The last
of joint_states and odom are repeated for viewers that are opened late.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

import rclpy
import yaml
from mcap.reader import make_reader
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

REPEATED = ("/joint_states", "/odom")
LISTENERS = {"/joint_states": 2, "/odom": 2, "/tf": 1}
"""So many there are before it plays: a viewer and a test."""
DEPTH = 1000
"""Messages kept for slow listeners, instead of what the file says, as rosbag2 does."""
SETTLING = 1.0
"""Listeners may be known here before they know it themselves [s]."""


def profile(text: str) -> QoSProfile:
    """Quality of service as rosbag2 stores it, by the numbers of the policies."""
    (stored,) = yaml.safe_load(text)
    return QoSProfile(
        depth=DEPTH,
        reliability=ReliabilityPolicy(stored["reliability"]),
        durability=DurabilityPolicy(stored["durability"]),
    )


def main(path: str) -> None:
    """Play a file."""
    rclpy.init()
    node = rclpy.create_node("bag_player")
    publishers: dict[str, Any] = {}
    with open(path, "rb") as stream:
        reader = make_reader(stream)
        summary = reader.get_summary()
        assert summary is not None
        for channel in summary.channels.values():
            package, _, name = summary.schemas[channel.schema_id].name.split("/")
            kind = getattr(importlib.import_module(f"{package}.msg"), name)
            quality = profile(channel.metadata["offered_qos_profiles"])
            publisher = node.create_publisher(kind, channel.topic, quality)
            publishers[channel.topic] = publisher
        while any(
            publishers[topic].get_subscription_count() < count
            for topic, count in LISTENERS.items()
        ):
            time.sleep(0.05)
        time.sleep(SETTLING)
        last: dict[str, bytes] = {}
        begun, first = time.monotonic(), None
        for _, channel, message in reader.iter_messages():
            first = message.log_time if first is None else first
            wait = begun + (message.log_time - first) * 1e-9 - time.monotonic()
            time.sleep(max(0.0, wait))
            publishers[channel.topic].publish(message.data)
            last[channel.topic] = message.data
    print("played", flush=True)
    while True:
        time.sleep(0.2)
        for topic in REPEATED:
            publishers[topic].publish(last[topic])


if __name__ == "__main__":
    main(sys.argv[1])
