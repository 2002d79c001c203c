# SPDX-License-Identifier: Apache-2.0
"""Messages that a node does not take are counted, and reported once."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from rclpy.clock import Clock

from humans_sim.nodes.common.diagnostics import Diagnostics


class Listener:
    """A node that keeps its warnings; its messages go nowhere."""

    def __init__(self) -> None:
        """No warning yet."""
        self.warnings: list[str] = []

    def get_logger(self) -> Listener:
        """It logs itself."""
        return self

    def get_fully_qualified_name(self) -> str:
        """Its name, in a namespace."""
        return "/robot1/listener"

    def create_publisher(self, *_: Any) -> Listener:
        """It publishes itself."""
        return self

    def get_clock(self) -> Clock:
        """That of the system."""
        return Clock()

    def publish(self, message: Any) -> None:
        """Nobody listens."""

    def warning(self, text: str, **options: Any) -> None:
        """Keep a warning."""
        self.warnings.append(text)


def test_refusals_are_counted_and_reported_once() -> None:
    """The last reason is kept; a warning comes once for what is new."""
    node: Any = Listener()
    part = Diagnostics(node, "part", "khr1")
    assert part.refused() == ""
    assert part.refusals() == {"refused_messages": "0", "last_refusal": ""}
    for reason in ("no joint is named", "too long"):
        part.refuse("joint_states", ValueError(reason))
    assert node.warnings[0] == "joint_states refused: no joint is named"
    assert part.refused() == "messages were refused: joint_states: too long"
    part.publish("running", "", part.refused(), part.refusals())
    assert part.refused() == ""
    assert part.refusals()["refused_messages"] == "2"
    part.refuse("odom", ValueError("nan"))
    assert part.refused() == "messages were refused: odom: nan"
