# SPDX-License-Identifier: Apache-2.0
"""The node ``kondo_bridge`` with emulated boards, over real topics and processes."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bridge_client import EXIT, BridgeClient, goal, wait_driven
from kondo_line import Line, line_manager
from node_processes import GoalClient

from humans_sim.core.doctor import ros_hint
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.protocol.link import PortError, SerialLink

pytestmark = pytest.mark.ros

ACTION = "control_msgs/action/FollowJointTrajectory"
ACTION_HASH = "RIHS01_738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6"
OPTIONS = {
    "autostart": "false",
    "command_timeout": "3.0",
    "free_timeout": "0.0",
    "pause_timeout": "20.0",  # a busy machine is no fault of the node
    "read_back_rate": "10.0",
    "allow_partial_joints_goal": "true",
}
OK, WARN, ERROR = b"\x00", b"\x01", b"\x02"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Name of the port."""
    return str(tmp_path_factory.mktemp("dev") / "ttyKondo")


@pytest.fixture(scope="module")
def line(ros_environment: dict[str, str], port: str) -> Iterator[Line]:
    """A pair of boards; not plugged in yet."""
    manager = line_manager()
    found = manager.Line(port)
    found.unplug()
    yield found
    manager.shutdown()


@pytest.fixture(scope="module")
def bridge(
    ros_environment: dict[str, str], port: str
) -> Iterator[subprocess.Popen[str]]:
    """The node, in a process of its own; it does not start by itself."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    pytest.importorskip("control_msgs", reason=ros_hint())
    options = OPTIONS | {"port": port}
    words = [word for item in options.items() for word in ("-p", ":=".join(item))]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "humans_sim.nodes",
            "kondo_bridge",
            "--ros-args",
            *words,
        ],
        env=ros_environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.kill()
    output, _ = process.communicate()
    print(output)


@pytest.fixture
def client(node: Any, wait_for: Callable[..., None], bridge: Any) -> BridgeClient:
    """The test's side."""
    return BridgeClient(node, wait_for)


@pytest.fixture
def active(client: BridgeClient, line: Line) -> BridgeClient:
    """The test's side of a bridge that is active, whatever was tested before."""
    if client.stage() == "unconfigured":
        line.replug()
        assert client.change("configure")
    if client.stage() == "inactive":
        assert client.change("activate")
    wait_driven(line, 17)
    client.wait_diagnostics("it is active", stage="active")
    return client


def test_life_cycle(client: BridgeClient, line: Line, port: str) -> None:
    """Without boards it says so and lives on; with them it energises, and stays."""
    assert client.stage() == "unconfigured"
    assert not client.change("configure")
    assert client.stage() == "unconfigured"
    client.wait(lambda: "no such port" in client.status.get("message", ""), "the words")
    assert client.status["level"] == ERROR
    assert client.source == "none"
    for service in ("home", "free", "stop"):
        answer = client.trigger(service)
        assert not answer.success
        assert "the port is not open" in answer.message

    line.replug()
    assert client.change("configure")
    with pytest.raises(PortError, match="another program has this port open"):
        SerialLink(port)
    assert client.change("cleanup")
    SerialLink(port).close()  # nobody has it
    assert client.stage() == "unconfigured"
    assert client.change("configure")
    assert client.stage() == "inactive"
    assert line.driven() == 0
    client.command(["head_yaw"], [0.5])
    client.count("refused_messages", 1)
    assert "the node is inactive" in client.status["last_refusal"]
    before = line.angles()
    assert client.change("activate")
    assert client.stage() == "active"
    wait_driven(line, 17)
    assert line.angles() == before
    client.wait_diagnostics("it holds", state="holding", level=OK, stage="active")
    client.wait(lambda: len(client.states) == 17, "joint states")
    client.wait(lambda: client.source == "read back", "where they come from")
    client.wait_diagnostics("the same", joint_states="read back")
    assert all(abs(angle) < 1e-9 for angle in client.states.values())


def test_commands_and_watchdog(active: BridgeClient, line: Line) -> None:
    """Good commands reach the servos, bad ones do not; silence holds."""
    client = active
    client.lead_head(line, 20.0)
    client.wait(
        lambda: client.states.get("head_yaw") == pytest.approx(math.radians(20.0)),
        "the head's angle",
    )
    client.wait_diagnostics("the watchdog", state="holding", level=WARN)
    assert "no command came for 3 s" in client.status["message"]
    assert float(client.status["delivered [%]"]) > 50.0
    assert float(client.status["latency_99 [ms]"]) > 0.0
    refused = int(client.status["refused_messages"])
    bad: list[tuple[list[str], list[float]]] = [
        (["head_yaw"], [math.nan]),
        (["head_yaw"], [-math.inf]),
        (["tail"], [0.0]),
        (["head_yaw", "l_knee"], [0.0]),
        (["head_yaw", "head_yaw"], [0.0, 0.1]),
        (["head_yaw", "l_knee"], [0.0, 3.0]),
        ([], []),
    ]
    for names, angles in bad:
        client.command(names, angles)
    client.count("refused_messages", refused + len(bad))
    assert client.status["level"] == WARN
    assert line.head() == 20.0
    assert client.status["state"] == "holding"


def test_trajectories(node: Any, active: BridgeClient, line: Line) -> None:
    """Goals are followed, replaced, cancelled, rejected and given up."""
    client = active
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTolerance
    from rclpy.action import ActionClient

    action = ActionClient(node, FollowJointTrajectory, "follow_joint_trajectory")
    client.wait(action.server_is_ready, "the action")
    result_code = FollowJointTrajectory.Result
    feedbacks: list[Any] = []

    def send(goal_message: Any) -> Any:
        future = action.send_goal_async(
            goal_message, feedback_callback=feedbacks.append
        )
        client.wait(future.done, "an answer to the goal")
        return future.result()

    def result(handle: Any) -> Any:
        future = handle.get_result_async()
        client.wait(future.done, "the result")
        return future.result()

    handle = send(goal(["head_yaw", "l_elbow"], [-10.0, 15.0], 0.6))
    assert handle.accepted
    done = result(handle)
    assert done.status == GoalStatus.STATUS_SUCCEEDED, done.result.error_string
    assert done.result.error_code == result_code.SUCCESSFUL
    client.wait(lambda: line.head() == -10.0, "the head")
    assert feedbacks[0].feedback.joint_names == ["head_yaw", "l_elbow"]
    feedback = feedbacks[-1].feedback
    assert feedback.error.positions[0] == pytest.approx(
        feedback.desired.positions[0] - feedback.actual.positions[0]
    )

    first = send(goal(["head_yaw"], [40.0], 5.0))
    second = send(goal(["head_yaw"], [0.0], 0.5))
    old = result(first)
    assert old.status == GoalStatus.STATUS_ABORTED
    assert old.result.error_code == result_code.INVALID_GOAL
    assert "another trajectory took its place" in old.result.error_string
    assert result(second).status == GoalStatus.STATUS_SUCCEEDED
    client.wait(lambda: line.head() == 0.0, "the head")

    handle = send(goal(["head_yaw"], [60.0], 4.0))
    client.wait(lambda: line.head() > 5.0, "the head to turn")
    client.command(["head_yaw"], [0.0])  # a trajectory is followed: refused
    cancelling = handle.cancel_goal_async()
    client.wait(cancelling.done, "the cancellation")
    assert result(handle).status == GoalStatus.STATUS_CANCELED
    client.wait_diagnostics("it stays", state="holding", doing="")
    assert 5.0 < line.head() < 60.0
    assert "the robot is busy: trajectory" in client.status["last_refusal"]

    there = line.head()
    for wrong in (
        goal(["tail"], [0.0], 1.0),
        goal(["head_yaw"], [-80.0], 0.05),
        goal(["head_yaw"], [95.0], 5.0),
        goal(["head_yaw"], [math.nan], 5.0),
    ):
        assert not send(wrong).accepted
    client.wait(lambda: "nan" in client.status["last_refusal"], "why")
    assert line.head() == there

    # Read back in whole degrees, it is never as near as that.
    lost = result(send(goal(["head_yaw"], [-60.0], 2.0, tolerance=1e-6)))
    assert lost.status == GoalStatus.STATUS_ABORTED
    assert lost.result.error_code == result_code.PATH_TOLERANCE_VIOLATED
    assert "head_yaw is" in lost.result.error_string
    goal_message = goal(["head_yaw"], [20.4], 1.0)
    goal_message.goal_tolerance = [JointTolerance(name="head_yaw", position=1e-3)]
    goal_message.goal_time_tolerance.nanosec = 200_000_000
    late = result(send(goal_message))
    assert late.status == GoalStatus.STATUS_ABORTED
    assert late.result.error_code == result_code.GOAL_TOLERANCE_VIOLATED
    action.destroy()

    topic = node.create_publisher(
        type(goal([], [], 1.0).trajectory), "joint_trajectory", 10
    )
    client.wait(lambda: topic.get_subscription_count() == 1, "the topic")
    topic.publish(goal(["head_yaw"], [12.0], 0.5).trajectory)
    client.wait(lambda: line.head() == 12.0, "the head by topic")


def test_action_is_that_of_control_msgs(bridge: Any) -> None:
    """Its type has the hash that it has in ROS 2 Jazzy's own control_msgs."""
    prefixes = [*os.environ.get("AMENT_PREFIX_PATH", "").split(":"), sys.prefix]
    file = Path("share/control_msgs/action/FollowJointTrajectory.json")
    found = next(path for p in prefixes if (path := Path(p) / file).is_file())
    hashes = json.loads(found.read_text())["type_hashes"]
    (own,) = (h for h in hashes if h["type_name"] == ACTION)
    assert own["hash_string"] == ACTION_HASH


def test_motions(node: Any, active: BridgeClient, line: Line) -> None:
    """Motions are played with feedback, replaced, cancelled, refused and given up."""
    client = active
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from humans_msgs.action import PlayMotion

    action = GoalClient(node, client.wait, PlayMotion, "play_motion")
    outcomes = PlayMotion.Result
    for wrong, said in (
        ({"file": "moonwalk"}, "no motion is called 'moonwalk'"),
        ({"file": "greeting", "rate": -1.0}, "rate must be"),
        ({"source": 1, "number": 3}, "the boards have no motion 3"),
        ({"source": 2}, "source must be"),
    ):
        status, result = action.send(**wrong).result()
        assert status == GoalStatus.STATUS_ABORTED
        assert result.outcome == outcomes.REFUSED and said in result.message
    first = action.send(file="greeting", rate=0.5)
    client.wait_diagnostics("it plays", doing="motion")
    # One that is in the boards' memory, in place of it.
    line.keep_motion(3, 30)
    second = action.send(source=1, number=3)
    status, result = first.result()
    assert (status, result.outcome) == (GoalStatus.STATUS_ABORTED, outcomes.ABORTED)
    assert "took its place" in result.message
    status, result = second.result()
    assert (status, result.outcome) == (GoalStatus.STATUS_SUCCEEDED, outcomes.DONE)
    client.wait(lambda: line.head() == 30.0, "the head")  # it trails its set points
    whole = seconds(second.feedbacks[-1].duration)
    assert seconds(result.duration) == pytest.approx(whole) and whole > 0.0
    played = [seconds(feedback.played) for feedback in second.feedbacks]
    assert played == sorted(played) and played[0] < played[-1] <= whole
    client.wait_diagnostics("it is over", doing="")

    # Cancelled, the robot holds where it was led.
    long = action.send(file="greeting", rate=0.1)
    client.wait(lambda: bool(long.feedbacks), "how far it is")
    long.cancel()
    status, result = long.result()
    assert (status, result.outcome) == (GoalStatus.STATUS_CANCELED, outcomes.CANCELLED)
    assert 0.0 < seconds(result.duration) < seconds(long.feedbacks[-1].duration)
    client.wait_diagnostics("it stays", state="holding", doing="")
    there = line.angles()
    client.wait_beat()
    assert line.angles() == there

    # A trajectory, the way home and a stop take its place.
    trajectories = GoalClient(
        node, client.wait, FollowJointTrajectory, "follow_joint_trajectory"
    )
    replaced = action.send(file="greeting", rate=0.1)
    turn = goal(["head_yaw"], [line.head() + 5.0], 0.5)
    turned = trajectories.send(trajectory=turn.trajectory)
    assert "trajectory" in replaced.result()[1].message
    assert turned.result()[0] == GoalStatus.STATUS_SUCCEEDED
    for service, word in (("home", "home"), ("stop", "stopped")):
        replaced = action.send(file="greeting", rate=0.1)
        assert client.trigger(service).success
        status, result = replaced.result()
        assert status == GoalStatus.STATUS_ABORTED and word in result.message
    status, result = action.send(file="greeting").result()
    assert result.outcome == outcomes.REFUSED and "stopped" in result.message
    assert client.trigger("energize").success
    client.lead_head(line, 30.0)


def seconds(duration: Any) -> float:
    """Of a message [s]."""
    return float(duration.sec + duration.nanosec * 1e-9)


def test_services(active: BridgeClient, line: Line) -> None:
    """Home is found, a stop stays, free is limp."""
    client = active
    client.lead_head(line, 30.0)
    assert client.trigger("home").success
    client.wait(lambda: abs(line.head()) < 25.0, "the way home")
    assert client.trigger("stop").success
    client.wait_diagnostics("it is stopped", state="stopped", level=ERROR)
    there = line.head()
    assert there > 0.0
    client.command(["head_yaw"], [1.0])
    answer = client.trigger("home")
    assert not answer.success
    assert "the robot is stopped" in answer.message
    assert line.head() == there
    answer = client.trigger("energize")
    assert answer.success and answer.message.startswith("energised: ")
    assert line.head() == there
    assert client.trigger("home").success
    client.wait(lambda: line.head() == 0.0, "home")
    assert client.trigger("free").success
    assert line.driven() == 0
    client.wait_diagnostics("it is limp", state="limp", level=OK)
    assert client.trigger("home").success  # energises
    wait_driven(line, 17)


def test_stamps(node: Any, active: BridgeClient, line: Line) -> None:
    """Old, replayed and future ones are refused, counted, and keep nothing alive."""
    client = active
    second = 1_000_000_000
    client.lead_head(line, 3.0)
    refused = int(client.status["refused_stamps"])

    def now() -> int:
        return int(node.get_clock().now().nanoseconds)

    first = now()
    client.command(["head_yaw"], [math.radians(3.0)], first)
    late = [first - 1, first - second, first - 10 * second, first + 3600 * second]
    for stamp in late:
        client.command(["head_yaw"], [0.5], stamp)
    client.count("refused_stamps", refused + len(late))
    assert "in the future" in client.status["last_refusal"]
    # A stream of the same old command does not keep the watchdog from holding.
    end = now() + 60 * second
    while client.status.get("state") != "holding":
        assert now() < end
        client.command(["head_yaw"], [0.5], first - second)
        client.wait_beat()
    assert "no command came for 3 s" in client.status["reason"]
    assert line.head() == 3.0


def test_links_that_would_touch(node: Any, active: BridgeClient, line: Line) -> None:
    """Neither a set point nor a trajectory is followed, and the reason is given."""
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient

    client, before = active, line.angles()
    assert client.status["self_collision"] == "on"
    refused = int(client.status["refused_messages"])
    client.command(["l_hip_roll", "r_hip_roll"], [-0.26, -0.26])
    client.count("refused_messages", refused + 1)
    assert "would touch" in client.status["last_refusal"]
    action = ActionClient(node, FollowJointTrajectory, "follow_joint_trajectory")
    client.wait(action.server_is_ready, "the action")
    asked = action.send_goal_async(goal(["l_hip_roll", "r_hip_roll"], [-15, -15], 5.0))
    client.wait(asked.done, "an answer to the goal")
    future = asked.result().get_result_async()
    client.wait(future.done, "the result")
    assert future.result().status == GoalStatus.STATUS_ABORTED
    assert "would touch" in future.result().result.error_string
    action.destroy()
    assert line.angles() == before


def test_unplugged_bent_and_back(node: Any, active: BridgeClient, line: Line) -> None:
    """A line that comes back moves nothing until the servos are energised."""
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient

    client = active
    action = ActionClient(node, FollowJointTrajectory, "follow_joint_trajectory")
    client.wait(action.server_is_ready, "the action")
    asked = action.send_goal_async(goal(["head_yaw"], [80.0], 60.0))
    client.wait(asked.done, "an answer to the goal")
    assert asked.result().accepted
    future = asked.result().get_result_async()
    client.wait_diagnostics("it is led", doing="trajectory")
    line.unplug()
    client.wait(future.done, "the end of the goal")
    assert "the robot is lost" in future.result().result.error_string
    action.destroy()
    client.wait_diagnostics("it is lost", state="lost", level=ERROR)
    assert not client.trigger("energize").success
    line.bend(35)
    line.replug()
    client.wait_diagnostics("it is back", state="stopped", level=ERROR)
    client.count("reconnections", 1)
    client.wait(lambda: client.robot_state.startswith("stopped: the line"), "the state")
    before = line.angles()
    for service in ("home", "stop"):
        answer = client.trigger(service)
        assert answer.success == (service == "stop")
    client.wait(lambda: client.status.get("energize", "") != "", "the preview")
    assert client.status["energize"].startswith("nothing moves")
    # Something commands on: that is where it will go.
    refused = int(client.status["refused_commands"])
    while int(client.status["refused_commands"]) < refused + 3:
        client.command(["l_knee"], [0.0])
        client.wait_beat()
    client.command(["l_knee"], [0.0])
    answer = client.trigger("preview_energize")
    assert answer.success and "l_knee moves by 35 degrees" in answer.message
    assert line.driven() == 0 and line.angles() == before
    answer = client.trigger("energize")
    assert answer.success, answer.message
    wait_driven(line, 17)
    client.lead_head(line, 5.0)
    assert client.robot_state.startswith("following")


def test_interrupt(
    active: BridgeClient, bridge: subprocess.Popen[str], line: Line, port: str
) -> None:
    """SIGINT stops and frees the servos, closes the port and ends well."""
    bridge.send_signal(signal.SIGINT)
    output, _ = bridge.communicate(timeout=EXIT)
    assert bridge.returncode == 0, output
    assert "Traceback" not in output
    assert line.driven() == 0
    SerialLink(port).close()  # nobody has it


def test_other_ends(node: Any, line: Line, port: str) -> None:
    """By parameters: held at the end, freed when deactivated; busy ports reported."""
    pytest.importorskip("control_msgs", reason=ros_hint())
    from rclpy.parameter import Parameter
    from sensor_msgs.msg import BatteryState

    line.replug()
    from humans_sim.nodes.kondo_bridge.node import KondoBridge

    def made(name: str, **values: Any) -> Any:
        options = {"port": port, "autostart": False} | values
        given = [Parameter(key, value=value) for key, value in options.items()]
        return KondoBridge(name, context=node.context, parameter_overrides=given)

    holds = made(
        "holds",
        on_shutdown="hold",
        on_deactivate="free",
        free_timeout=0.5,
        least_voltage=9.5,
    )
    holds.configure()
    busy = made("busy")
    with pytest.raises(PortError, match="another program has this port open"):
        busy.configure()
    busy.close()
    busy.destroy_node()
    holds.activate()
    wait_driven(line, 17)
    wait_driven(line, 0)  # nobody commands: held, then freed
    holds.activate()
    holds._on_battery(BatteryState(voltage=9.1))
    assert holds._robot.state.value == "stopped"
    assert "9.1 V, below 9.5" in holds._robot.health().reason
    holds.activate()
    holds.deactivate()
    assert line.driven() == 0
    holds.activate()
    wait_driven(line, 17)
    holds.close()
    assert line.driven() == 17
    holds.destroy_node()

    for values, said in (
        ({"robot": "hal9000"}, "hal9000"),
        ({"command_timeout": -1.0}, "command_timeout must be 0 or more"),
        ({"pause_timeout": 0.0}, "pause_timeout must be 0.1 or more"),
        ({"on_shutdown": "dance"}, "on_shutdown must be one of hold, free"),
        ({"on_fault": "dance"}, "on_fault must be one of keep, hold, free"),
        ({"oldest_command": -1.0}, "oldest_command must be 0 or more"),
        ({"publish_rate": 0.0}, "publish_rate must be 1 to 200"),
        ({"constraints.l_knee.goal": -0.1}, "constraints.l_knee.goal must be"),
    ):
        with pytest.raises(ParameterError, match=re.escape(said)):
            made("bad", **values)
