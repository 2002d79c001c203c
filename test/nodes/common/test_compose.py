# SPDX-License-Identifier: Apache-2.0
"""Parameters of one node, in whatever namespace its graph is."""

from __future__ import annotations

import pytest
import yaml

pytest.importorskip("rclpy")

from humans_sim.nodes.common.compose import node_parameters  # noqa: E402


def test_parameters_of_nodes_become_a_file() -> None:
    """Others, among them such of all nodes, stay arguments."""
    others, text = node_parameters(
        [
            *("-p", "model:=bip", "-p", "walk:cmd_vel:=[0.05, 0.0, 0.0]"),
            *("-r", "walk:tf:=/elsewhere", "-p", "dynamics:servo.gain:=7.5"),
            *("--param", "walk:stamped:=true"),
        ]
    )
    assert others == ["-p", "model:=bip", "-r", "walk:tf:=/elsewhere"]
    walk = {"cmd_vel": [0.05, 0.0, 0.0], "stamped": True}
    assert yaml.safe_load(text) == {
        "/**/walk": {"ros__parameters": walk},
        "/**/dynamics": {"ros__parameters": {"servo.gain": 7.5}},
    }
    assert node_parameters([]) == ([], "")
