# SPDX-License-Identifier: Apache-2.0
"""Topics in a file: in the order of time, each message with its stamp."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from humans_sim.results.records import Event
from humans_sim.results.ros_files import (
    RosTopics,
    event_message,
    joint_state,
    write_topics,
)

TIMES = [0.5, 1.0, 1.5]
EVENTS = [Event(1.0, "impact", "toe"), Event(0.25, "slip", "heel")]


def written(path: Path) -> list[tuple[str, int, int, Any]]:
    """Topic, time [ns], number and message of each, in the order of the file."""
    topics = RosTopics(
        {"/text": ("std_msgs/String", {"data": "once"})},
        {
            "/joint_states": (
                "sensor_msgs/JointState",
                lambda k, stamp: joint_state(stamp, ["knee"], [k], [2.0], (), "leg"),
            )
        },
        {
            "/events": (
                "humans_msgs/SimulationEvent",
                [(e.time, lambda stamp, e=e: event_message(e, stamp)) for e in EVENTS],
            )
        },
    )
    write_topics(path, TIMES, topics, {"title": "a run"})
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        return [
            (channel.topic, message.log_time, message.sequence, content)
            for _, channel, message, content in reader.iter_decoded_messages(
                log_time_order=False
            )
        ]


def test_messages_lie_in_the_order_of_time(tmp_path: Path) -> None:
    """What is sent once comes first; an event before the sample of the same time."""
    rows = written(tmp_path / "run.mcap")
    assert [(topic, time / 1e9, number) for topic, time, number, _ in rows] == [
        ("/text", 0.25, 0),
        ("/events", 0.25, 1),
        ("/joint_states", 0.5, 0),
        ("/events", 1.0, 0),
        ("/joint_states", 1.0, 1),
        ("/joint_states", 1.5, 2),
    ]


def test_messages_have_their_fields(tmp_path: Path) -> None:
    """Stamps are the times of the messages; lists that are not given are empty."""
    contents = [content for *_, content in written(tmp_path / "run.mcap")]
    slip, joints = contents[1], contents[-1]
    assert (slip.kind, slip.subject, slip.header.stamp.nanosec) == (
        "slip",
        "heel",
        250_000_000,
    )
    stamp = joints.header.stamp
    assert (stamp.sec, stamp.nanosec, joints.header.frame_id) == (1, 500_000_000, "leg")
    assert np.array_equal(joints.position, [2.0])
    assert (list(joints.name), list(joints.velocity)) == (["knee"], [2.0])
    assert not len(joints.effort)
