# SPDX-License-Identifier: Apache-2.0
"""The node viewer: what its page commands, and that it cannot where it may not."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import page_address
from node_processes import call_service
from raw_client import CAMERA, connected, messages_of, packed
from tab import Tab

from humans_sim.view.browser.heartbeat import HEARTBEAT, PERIOD

FALLING = ("floor:=false", "actuation:=torque", "method:=time_stepping")
"""A robot that falls for ever: its periods are short."""


@pytest.mark.parametrize("commands", [False, True])
def test_commands(
    commands: bool, node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """Publisher and clients are made where the page may command, and only there."""
    name = f"viewer_{commands}".lower()
    start(
        *("-m", "humans_sim.nodes", "viewer", "--ros-args", "-r", f"__node:={name}"),
        *("-p", "port:=0", "-p", f"commands:={str(commands).lower()}"),
    )

    def names(ask: Callable[..., Any]) -> set[str]:
        # Topics may be known before the node itself is.
        if name not in node.get_node_names():
            return set()
        return {topic for topic, _ in ask(name, "/")}

    def heard() -> set[str]:
        return names(node.get_subscriber_names_and_types_by_node)

    wait_for(lambda: {"/joint_states", "/walk_status"} <= heard(), "its topics")
    services = {"/set_simulation_state", "/reset", "/push", "/stop"}
    if commands:
        wait_for(
            lambda: "/cmd_vel" in names(node.get_publisher_names_and_types_by_node),
            "its publisher",
        )
        wait_for(
            lambda: services <= names(node.get_client_names_and_types_by_node),
            "its clients",
        )
    else:
        assert "/cmd_vel" not in names(node.get_publisher_names_and_types_by_node)
        assert not services & names(node.get_client_names_and_types_by_node)


@pytest.mark.browser
def test_pause_and_play_on_the_page(
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Buttons of the page in a browser pause a simulation in another process."""
    pytest.importorskip("simulation_interfaces")
    from simulation_interfaces.msg import SimulationState
    from simulation_interfaces.srv import GetSimulationState

    space = "-r", "__ns:=/watched"
    parameters = [word for given in FALLING for word in ("-p", given)]
    start("-m", "humans_sim.nodes", "dynamics", "--ros-args", *space, *parameters)
    viewer = start(
        *("-m", "humans_sim.nodes", "viewer", "--ros-args", *space, "-p", "port:=0"),
        *("-p", "odometry_topic:=ground_truth/odom", "-p", "rate:=4.0"),
    )

    def state() -> int:
        name, request = "/watched/get_simulation_state", GetSimulationState.Request()
        answer = call_service(node, wait_for, GetSimulationState, name, request)
        return int(answer.state.state)

    tab = Tab(page_address(viewer), tmp_path / "profile", (480, 360))
    try:
        wait_for(lambda: re.search(r"time\s+[\d.]+ s", tab.text()), "the time shown")
        assert state() == SimulationState.STATE_PLAYING
        tab.click("Pause")
        wait_for(lambda: state() == SimulationState.STATE_PAUSED, "the pause")
        wait_for(lambda: "paused" in tab.text(), "the pause on the page")
        tab.click("Play")
        wait_for(lambda: state() == SimulationState.STATE_PLAYING, "time to go on")
    finally:
        tab.close()


def test_a_silent_page_leads_no_more(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """A page that is heard leads on; once it is not, the robot is told to stand."""
    from geometry_msgs.msg import Twist
    from humans_msgs.msg import WalkStatus
    from std_srvs.srv import Trigger

    speeds: list[float] = []
    node.create_subscription(
        Twist, "/led/cmd_vel", lambda twist: speeds.append(twist.linear.x), 10
    )
    node.create_service(Trigger, "/led/stop", lambda _, answer: answer)
    statuses = node.create_publisher(WalkStatus, "/led/walk_status", 10)
    node.create_timer(0.2, lambda: statuses.publish(WalkStatus()))
    viewer = start(
        *("-m", "humans_sim.nodes", "viewer", "--ros-args", "-r", "__ns:=/led"),
        *("-p", "port:=0", "-p", "rate:=20.0"),
    )
    with connected(page_address(viewer)) as line:
        line.send(packed(**CAMERA))
        forward = "Forward [m/s]"
        names: dict[str, str] = {}
        visible: set[str] = set()

        def shown() -> bool:
            """Whether the controls of the walk are there."""
            try:
                messages = messages_of(line.recv(timeout=0.01))
            except TimeoutError:
                return False
            for message in messages:
                made, changed = message.get("props", {}), message.get("updates", {})
                if made.get("label") is not None:
                    names[made["label"]] = message["uuid"]
                if made.get("visible") or changed.get("visible"):
                    visible.add(message.get("uuid", ""))
            return forward in names and names.get("Arm") in visible

        wait_for(shown, "the controls of the walk")

        def use(label: str, value: Any) -> None:
            updates = {"value": value}
            line.send(packed("GuiUpdateMessage", uuid=names[label], updates=updates))

        def led() -> bool:
            use(forward, 0.05)
            return 0.05 in speeds

        def heard() -> bool:
            line.send(packed(HEARTBEAT))
            time.sleep(PERIOD / 2)
            return len(speeds) > 10

        use("Arm", True)
        wait_for(led, "a velocity")
        speeds.clear()
        wait_for(heard, "more of them")
        assert set(speeds) == {0.05}
        wait_for(lambda: 0.0 in speeds, "the end of silence")
        speeds.clear()
        end = time.monotonic() + 2.0
        wait_for(lambda: time.monotonic() > end, "others")
        assert not set(speeds) - {0.0} and len(speeds) <= 1
