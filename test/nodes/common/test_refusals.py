# SPDX-License-Identifier: Apache-2.0
"""Messages that a node does not take are counted, and reported once."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from humans_sim.nodes.common.diagnostics import Refusals


class Listener:
    """A node that only keeps its warnings."""

    def __init__(self) -> None:
        """No warning yet."""
        self.warnings: list[str] = []

    def get_logger(self) -> Listener:
        """It logs itself."""
        return self

    def warning(self, text: str, **options: Any) -> None:
        """Keep a warning."""
        self.warnings.append(text)


def test_refusals_are_counted_and_reported_once() -> None:
    """The last reason is kept; a warning comes once for what is new."""
    node: Any = Listener()
    refusals = Refusals(node)
    assert refusals.warning() == ""
    assert refusals.values() == {"refused_messages": "0", "last_refusal": ""}
    for reason in ("no joint is named", "too long"):
        refusals.add("joint_states", ValueError(reason))
    assert node.warnings[0] == "joint_states refused: no joint is named"
    assert refusals.warning() == "messages were refused: joint_states: too long"
    assert refusals.warning() == ""
    assert refusals.values()["refused_messages"] == "2"
    refusals.add("odom", ValueError("nan"))
    assert refusals.warning() == "messages were refused: odom: nan"
