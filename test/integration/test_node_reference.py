# SPDX-License-Identifier: Apache-2.0
"""What the reference says of nodes, against nodes that run."""

from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]
ROOT = Path(__file__).resolve().parents[2]
NODES = ["actuation", "dynamics", "joint_demo", "kondo_bridge", "kondo_walk"]
NODES += ["marker_player", "motion_player", "observer", "state_publisher", "walk"]
COMMON = ("use_sim_time", "qos_overrides", "start_type_description_service")


@pytest.fixture(scope="module")
def declared() -> dict[str, Any]:
    """What is found in the code of each node."""
    script = run_path(str(ROOT / "docs" / "_ext" / "node_declarations.py"))
    found: dict[str, Any] = script["nodes_of"](ROOT / "humans_sim" / "nodes")
    return found


def matches(name: str, form: str) -> bool:
    """Whether a name is the one described, or has its form."""
    pattern = re.sub(r"\\?<[^>]*>", r"[\\w./-]+", re.escape(form.lstrip("/")))
    return re.fullmatch(pattern, name.lstrip("/")) is not None


def quality(profile: Any) -> str:
    """A quality of service in the words of the reference."""
    qos = pytest.importorskip("rclpy.qos")
    if profile.durability == qos.DurabilityPolicy.TRANSIENT_LOCAL:
        return "latched"
    assert profile.reliability == qos.ReliabilityPolicy.RELIABLE
    return f"reliable, {profile.depth}"


@pytest.mark.parametrize("kind", NODES)
def test_node(kind: str, declared: dict[str, Any]) -> None:
    """Parameters, topics and qualities of service are those of the reference."""
    rclpy = pytest.importorskip("rclpy", reason=ros_hint())
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from humans_sim.nodes.common.model_node import node_class

    found = declared[kind]
    context = rclpy.Context()
    context.init()
    node = node_class(kind)(kind, context=context)
    try:
        names = [n for n in node._parameters if n.split(".")[0] not in COMMON]
        assert names
        for name in names:
            rows = [row for row in found.parameters if matches(name, row[0])]
            assert rows and rows[0][2], f"{name} is not described"
            assert node.describe_parameter(name).description, name
        ends = [("Publishes", p.topic_name, p.qos_profile) for p in node.publishers]
        ends += [("Takes", s.topic_name, s.qos_profile) for s in node.subscriptions]
        for way, topic, profile in ends:
            if topic in ("/rosout", "/parameter_events"):
                continue
            rows = [t for t, _ in found.interfaces[way] if matches(topic, t)]
            qualities = {found.qos[way, row] for row in rows}
            assert quality(profile) in qualities, f"{way} {topic}: {qualities}"
    finally:
        node.destroy_node()
        context.try_shutdown()
