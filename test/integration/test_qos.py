# SPDX-License-Identifier: Apache-2.0
"""Quality of service of topics, as other nodes see it, and its overrides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.ros

OVERRIDES = """
/**/joint_demo:
  ros__parameters:
    qos_overrides:
      /joint_states:
        publisher: {reliability: best_effort, depth: 3}
/**/state_publisher:
  ros__parameters:
    qos_overrides:
      /joint_states:
        subscription: {reliability: best_effort}
      /tf_static:
        publisher: {durability: volatile}
"""


def endpoints(node: Any, wait: Callable[..., None], topic: str, kind: str) -> list[Any]:
    """Profiles of what publishes on a topic, or subscribes to it."""
    look = getattr(node, f"get_{kind}_info_by_topic")
    wait(lambda: look(topic), f"{kind} of {topic}")
    return [found.qos_profile for found in look(topic)]


def words(profile: Any) -> tuple[str, str]:
    """Reliability and durability."""
    return profile.reliability.name, profile.durability.name


def run(start: Callable[..., Any], kind: str, *parameters: str) -> Any:
    """Start a node."""
    return start("-m", "humans_sim.nodes", kind, "--ros-args", *parameters)


def profiles(
    node: Any, wait: Callable[..., None], topics: Sequence[tuple[str, str]]
) -> dict[str, tuple[str, str]]:
    """Reliability and durability of topics."""
    return {
        topic: words(endpoints(node, wait, topic, kind)[0]) for topic, kind in topics
    }


def test_topics_are_as_the_documentation_says(
    node: Any, wait_for: Callable[..., None], start: Callable[..., Any]
) -> None:
    """Reliable and volatile; what is published once is transient local."""
    run(start, "joint_demo")
    run(start, "state_publisher")
    seen = profiles(
        node,
        wait_for,
        [
            ("/joint_states", "publishers"),
            ("/joint_states", "subscriptions"),
            ("/odom", "publishers"),
            ("/tf", "publishers"),
            ("/tf_static", "publishers"),
            ("/robot_description", "publishers"),
        ],
    )
    kept = {topic for topic, (_, durable) in seen.items() if durable != "VOLATILE"}
    assert {reliable for reliable, _ in seen.values()} == {"RELIABLE"}
    assert kept == {"/tf_static", "/robot_description"}


def test_overrides_take_effect(
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Those that a file names, and no others; messages flow all the same."""
    from tf2_msgs.msg import TFMessage

    file = tmp_path / "qos.yaml"
    file.write_text(OVERRIDES)
    run(start, "joint_demo", "--params-file", str(file))
    run(start, "state_publisher", "--params-file", str(file))
    effort, volatile = ("BEST_EFFORT", "VOLATILE"), ("RELIABLE", "VOLATILE")
    for kind in ("publishers", "subscriptions"):
        found = endpoints(node, wait_for, "/joint_states", kind)
        assert [words(profile) for profile in found] == [effort]
    assert words(endpoints(node, wait_for, "/odom", "publishers")[0]) == volatile
    assert words(endpoints(node, wait_for, "/tf_static", "publishers")[0]) == volatile
    # The same profile in the code: an override of one topic is none of another.
    description = endpoints(node, wait_for, "/robot_description", "publishers")[0]
    assert words(description) == ("RELIABLE", "TRANSIENT_LOCAL")
    links: set[str] = set()

    def hear(message: Any) -> None:
        links.update(transform.child_frame_id for transform in message.transforms)

    node.create_subscription(TFMessage, "/tf", hear, 100)
    wait_for(lambda: "l_foot" in links, "transforms")


@pytest.mark.parametrize("value", ["perhaps", "7"])
def test_overrides_that_cannot_be(start: Callable[..., Any], value: str) -> None:
    """One line, and exit code 1."""
    policy = "qos_overrides./joint_states.publisher.reliability"
    process = run(start, "joint_demo", "-p", f"{policy}:={value}")
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    assert "joint_demo: quality of service of joint_states" in output
    assert "Traceback" not in output
