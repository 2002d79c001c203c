# SPDX-License-Identifier: Apache-2.0
"""Two runs of a graph in lock-step, recorded: the same bags, byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STEPS = 25
TOPICS = {
    "/clock": "rosgraph_msgs/msg/Clock",
    "/tf": "tf2_msgs/msg/TFMessage",
    "/joint_states": "sensor_msgs/msg/JointState",
    "/status": "humans_msgs/msg/WalkStatus",
    "/text": "std_msgs/msg/String",
}


@pytest.fixture
def recorder(ros_environment: dict[str, str], monkeypatch: Any) -> Any:
    """The module that writes bags."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return __import__("bag_recorder")


@pytest.fixture
def bags(ros_environment: dict[str, str], khr1: hs.Model, monkeypatch: Any) -> Any:
    """The script that records, as a module."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "lockstep_bags", raising=False)
    return __import__("lockstep_bags")


def test_the_same_bag_twice(bags: Any, tmp_path: Path) -> None:
    """Simulation, servos and frames in three processes."""
    paths = [tmp_path / f"{name}.mcap" for name in ("one", "two")]
    for path in paths:
        bags.record("servos", STEPS, path)
    content = [bags.bag_content(path) for path in paths]
    assert content[0] == content[1]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    counts = {topic: found.count for topic, found in content[0].items()}
    moving = set(counts) - {"/tf_static", "/robot_description"}
    assert {"/joint_states", "/joint_torques", "/tf", "/clock"} <= moving
    assert all(counts[topic] == STEPS + 1 for topic in moving - {"/tf"})
    assert counts["/tf"] == 2 * (STEPS + 1)  # base and links, by two nodes


def test_gaps_are_zeros(recorder: Any) -> None:
    """Whatever stood between the fields: the same bytes, and the same message."""
    from geometry_msgs.msg import Point
    from rclpy.serialization import deserialize_message, serialize_message
    from visualization_msgs.msg import Marker, MarkerArray

    without_gaps = recorder.without_gaps
    kind = "visualization_msgs/msg/MarkerArray"
    marker = Marker(ns="a", text="of odd length", points=[Point(x=1.0), Point(y=2.0)])
    marker.header.frame_id, marker.scale.z = "world", 0.25
    message = MarkerArray(markers=[marker, Marker(id=7)])
    data = serialize_message(message)
    clean = without_gaps(data, kind)
    assert deserialize_message(clean, MarkerArray) == message
    gaps = []
    for place in range(4, len(data)):
        other = bytearray(data)
        other[place] ^= 0x55
        try:
            same = without_gaps(bytes(other), kind) == clean
        except hs.errors.ConfigurationError:  # it was a length
            same = False
        if same:
            gaps.append(place)
            assert deserialize_message(bytes(other), MarkerArray) == message
    assert len(gaps) > 4
    with pytest.raises(hs.errors.ConfigurationError, match="cut short"):
        without_gaps(data[:-1], kind)


def test_bags_are_read_by_others(recorder: Any, tmp_path: Path) -> None:
    """Another reader decodes messages by the definitions in the file."""
    from geometry_msgs.msg import TransformStamped
    from humans_msgs.msg import WalkStatus
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory
    from rclpy.serialization import serialize_message
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from tf2_msgs.msg import TFMessage

    bag_content, write_bag = recorder.bag_content, recorder.write_bag
    clock, transform, state = Clock(), TransformStamped(), JointState(name=["knee"])
    clock.clock.sec, transform.header.stamp.nanosec = 3, 7
    transform.transform.rotation.w = 0.5
    state.header.stamp.sec, state.position = 1, [np.pi]
    status = WalkStatus(steps=4, message="well")
    status.header.stamp.sec = 2
    sent = {
        "/clock": (clock, 3_000_000_000),
        "/tf": (TFMessage(transforms=[transform]), 7),
        "/joint_states": (state, 1_000_000_000),
        "/status": (status, 2_000_000_000),
        "/text": (String(data="words"), None),
    }
    messages = []
    for topic, (message, stamp) in sent.items():
        data = serialize_message(message)
        place = recorder.stamp_place(TOPICS[topic])
        assert recorder.stamp_of(data, place) == stamp
        messages.append(recorder.BagMessage(topic, stamp or 0, data))
    path = write_bag(tmp_path / "all.mcap", TOPICS, messages)
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        read = {c.topic: m for _, c, _, m in reader.iter_decoded_messages()}
    assert read["/clock"].clock.sec == 3
    assert read["/tf"].transforms[0].transform.rotation.w == 0.5
    assert read["/joint_states"].position == [np.pi]
    assert (read["/status"].steps, read["/status"].message) == (4, "well")
    assert read["/text"].data == "words"

    # A bit more or less, and the hash of its topic is another; the others stay.
    whole, (first, *rest) = bag_content(path), messages
    other = first._replace(data=first.data[:-1] + bytes([first.data[-1] ^ 1]))
    changed = bag_content(write_bag(tmp_path / "other.mcap", TOPICS, [other, *rest]))
    assert {t for t in whole if whole[t] != changed[t]} == {first.topic}
    later = first._replace(time=first.time + 1)
    moved = bag_content(write_bag(tmp_path / "moved.mcap", TOPICS, [later, *rest]))
    assert {t for t in whole if whole[t] != moved[t]} == {first.topic}
