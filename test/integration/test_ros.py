# SPDX-License-Identifier: Apache-2.0
"""The graph over real topics between real processes."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import PATIENCE

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

HERE = Path(__file__).parent
NODES = ("joint_demo", "state_publisher", "viewer")
TF_HASH = "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"


def test_humans_msgs_between_processes(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """A ContactStates message arrives as it was sent, from another process."""
    try:
        from humans_msgs.msg import ContactPoint, ContactStates
    except ImportError:
        pytest.skip(f"humans_msgs is not built: {ros_hint()}")
    received: list[ContactStates] = []
    node.create_subscription(ContactStates, "ground_contacts", received.append, 10)
    start(str(HERE / "publish_contacts.py"))
    wait_for(lambda: bool(received), "a ContactStates message")
    message = received[0]
    assert message.header.frame_id == "odom"
    assert message.header.stamp.sec > 0
    assert [point.name for point in message.points] == ["point_0", "point_1"]
    assert [point.mode for point in message.points] == [
        ContactPoint.STICKING,
        ContactPoint.OPEN,
    ]
    assert message.points[1].gap == 0.25
    assert message.soles[0].name == "l_sole"


def test_demo_graph_flows(start: Callable[..., Any]) -> None:
    """``humans-sim up demo --headless --check`` ends well and counts messages."""
    process = start(
        *("-m", "humans_sim", "up", "demo", "--headless", "--check"),
        *("--seconds", "8"),
    )
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert "All topics flowed." in output


def test_graph_with_another_model(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any], bip: hs.Model
) -> None:
    """``up demo --model`` and ``--ros`` go over the parameter file."""
    from sensor_msgs.msg import JointState

    received: list[JointState] = []
    node.create_subscription(JointState, "bip_states", received.append, 10)
    process = start(
        *("-m", "humans_sim", "up", "demo", "--headless", "--model", "bip"),
        *("--ros", "r joint_states:=bip_states"),
    )
    wait_for(lambda: bool(received), "joint states of Bip")
    assert tuple(received[0].name) == bip.joint_names
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output


@pytest.mark.parametrize("kind", NODES)
def test_parameters_remapping_and_sim_time(
    kind: str,
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """A parameters file, a remapping, a new name and use_sim_time are honoured."""
    from rcl_interfaces.srv import GetParameters

    file = tmp_path / "params.yaml"
    values = {"model": "bip", "use_sim_time": "true", "rate": "20.0"}
    lines = "".join(f"    {name}: {value}\n" for name, value in values.items())
    file.write_text(f"/**:\n  ros__parameters:\n{lines}")
    process = start(
        *("-m", "humans_sim.nodes", kind, "--ros-args", "--params-file", str(file)),
        *("-r", "joint_states:=other_states", "-r", f"__node:=other_{kind}"),
    )
    client = node.create_client(GetParameters, f"/other_{kind}/get_parameters")
    wait_for(client.service_is_ready, f"the parameters of other_{kind}")
    request = GetParameters.Request(names=["model", "use_sim_time"])
    asked: list[tuple[float, Any]] = []

    def answered() -> bool:
        # A service that is seen may not see who asks yet: its first answer is lost.
        if not asked or time.monotonic() > asked[-1][0] + 5.0:
            asked.append((time.monotonic(), client.call_async(request)))
        return any(future.done() for _, future in asked)

    wait_for(answered, "an answer")
    model, sim_time = next(f for _, f in asked if f.done()).result().values
    assert model.string_value == "bip"
    assert sim_time.bool_value is True

    def topics() -> set[str]:
        # Services may be known before the node itself is.
        if f"other_{kind}" not in node.get_node_names():
            return set()
        ask = (
            node.get_publisher_names_and_types_by_node
            if kind == "joint_demo"
            else node.get_subscriber_names_and_types_by_node
        )
        return {name for name, _ in ask(f"other_{kind}", "/")}

    wait_for(lambda: "/other_states" in topics(), "the remapped topic")
    assert "/joint_states" not in topics()
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "Traceback" not in output


def test_joint_demo_follows_the_clock(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """With use_sim_time the stamps are those of /clock."""
    from rosgraph_msgs.msg import Clock
    from sensor_msgs.msg import JointState

    stamps: list[int] = []
    node.create_subscription(
        JointState, "joint_states", lambda m: stamps.append(m.header.stamp.sec), 10
    )
    clock = node.create_publisher(Clock, "/clock", 10)
    start(
        "-m", "humans_sim.nodes", "joint_demo", "--ros-args", "-p", "use_sim_time:=true"
    )
    time_now = Clock()
    time_now.clock.sec = 1000

    def tick() -> bool:
        time_now.clock.nanosec += 20_000_000
        if time_now.clock.nanosec >= 1_000_000_000:
            time_now.clock.nanosec = 0
            time_now.clock.sec += 1
        clock.publish(time_now)
        return len(stamps) > 5

    wait_for(tick, "joint states on the simulated clock")
    assert all(1000 <= stamp <= time_now.clock.sec for stamp in stamps)


def test_state_publisher(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any], khr1: hs.Model
) -> None:
    """Links, description and footprint are published; bad messages change nothing."""
    from rclpy.qos import DurabilityPolicy, QoSProfile
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from tf2_msgs.msg import TFMessage

    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    texts: list[str] = []
    moving: dict[str, Any] = {}
    fixed: dict[str, Any] = {}

    def keep(latest: dict[str, Any]) -> Callable[[TFMessage], None]:
        return lambda m: latest.update({t.child_frame_id: t for t in m.transforms})

    node.create_subscription(
        String, "robot_description", lambda m: texts.append(m.data), latched
    )
    node.create_subscription(TFMessage, "/tf", keep(moving), 10)
    node.create_subscription(TFMessage, "/tf_static", keep(fixed), latched)
    publisher = node.create_publisher(JointState, "joint_states", 10)
    process = start("-m", "humans_sim.nodes", "state_publisher")
    wait_for(lambda: bool(texts) and "gaze" in fixed, "the description")
    assert texts[0] == khr1.urdf()
    (info,) = node.get_publishers_info_by_topic("/tf")
    assert str(info.topic_type_hash) == TF_HASH

    good = JointState(name=["head_yaw"], position=[0.5])

    def sent() -> bool:
        publisher.publish(good)
        return "head" in moving

    wait_for(sent, "transforms")
    assert moving["head"].header.frame_id == "base_link"
    assert moving["head"].transform.rotation.z == pytest.approx(np.sin(0.25))
    assert "base_footprint" in moving
    height = moving["base_footprint"].transform.translation.z
    assert height == pytest.approx(-khr1.neutral()[2], abs=1e-9)
    assert fixed["l_sole"].header.frame_id == "l_foot"

    for bad in (
        JointState(name=["head_yaw"], position=[float("nan")]),
        JointState(name=["tail"], position=[0.0]),
        JointState(name=["head_yaw"], position=[]),
    ):
        publisher.publish(bad)
    good.position = [-0.5]

    def turned() -> bool:
        publisher.publish(good)
        return moving["head"].transform.rotation.z < 0

    wait_for(turned, "the next good message")
    assert moving["head"].transform.rotation.z == pytest.approx(-np.sin(0.25))
    assert process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_is_stopped_while_it_loads(
    start: Callable[..., Any], number: signal.Signals
) -> None:
    """It ends at once and in silence."""
    process = start("-m", "humans_sim.nodes", "dynamics")
    status = Path(f"/proc/{process.pid}/status")

    def handles_signals() -> bool:
        caught = re.search(r"SigCgt:\s+(\w+)", status.read_text())
        assert caught is not None
        return bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)

    end = time.monotonic() + PATIENCE
    while not handles_signals():
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, output
    assert output == ""


def test_bad_parameter_is_one_line(start: Callable[..., Any]) -> None:
    """An unknown model ends the node with one clear line."""
    process = start(
        "-m", "humans_sim.nodes", "joint_demo", "--ros-args", "-p", "model:=robby"
    )
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "no model is called 'robby'" in output
    assert "Traceback" not in output
