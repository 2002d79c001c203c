# SPDX-License-Identifier: Apache-2.0
"""The node viewer: where it may not command, it has nothing to command with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


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
    services = {"/pause", "/reset", "/push", "/stop"}
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
