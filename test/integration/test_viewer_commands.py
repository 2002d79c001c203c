# SPDX-License-Identifier: Apache-2.0
"""The node viewer: what its page commands, and that it cannot where it may not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser import page_address
from node_processes import call_service
from tab import Tab

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
