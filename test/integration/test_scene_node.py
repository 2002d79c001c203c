# SPDX-License-Identifier: Apache-2.0
"""The node ``dynamics`` with a scene: free bodies over real topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from node_processes import ObservedGraph, is_done, make_steps

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

PARAMETERS = Path(__file__).parents[2] / "config" / "params" / "push-box.yaml"
START = 0.235
"""Where the box stands at first [m]."""


@pytest.fixture(scope="module")
def compiled(ros_environment: dict[str, str]) -> None:
    """A run of the same scene by the library.

    It comes before any node: kernels are compiled here, with no one waiting.
    """
    hs.simulate("push-box", t_end=0.1)


@pytest.fixture
def graph(ros_environment: dict[str, str], compiled: None) -> Iterator[ObservedGraph]:
    """The simulation alone, on the wall clock, as fast as it can, paused."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    graph = ObservedGraph("scene_listener", PARAMETERS, ros_environment)
    graph.start("dynamics", "sync:=free", "real_time_factor:=0.0", "start_paused:=true")
    yield graph
    graph.close()


def test_bodies_are_published_and_pushed(graph: ObservedGraph) -> None:
    """The box is a marker and a frame; a push moves it, a reset puts it back."""
    from humans_msgs.srv import Push, Reset
    from tf2_msgs.msg import TFMessage
    from visualization_msgs.msg import Marker, MarkerArray

    boxes: list[Any] = []
    frames: set[str] = set()

    def see(message: Any) -> None:
        boxes.extend(m for m in message.markers if m.ns == "box")

    def note(message: Any) -> None:
        frames.update(t.child_frame_id for t in message.transforms)

    graph.node.create_subscription(MarkerArray, "scene", see, 10)
    graph.node.create_subscription(TFMessage, "/tf", note, 100)
    graph.wait(lambda: bool(boxes), "the box")
    assert boxes[0].type == Marker.CUBE
    assert boxes[0].scale.x == pytest.approx(0.2)
    assert boxes[0].header.frame_id == "world"
    assert boxes[-1].pose.position.x == pytest.approx(START, abs=1e-6)
    assert is_done(make_steps(graph.call, 1))
    base = "ground_truth/base_link"  # base_link is the observer's, which is not here
    graph.wait(lambda: {"box", base} <= frames, "frames of box and base")
    request = Push.Request(link_name="box")
    request.impulse.x = 0.15
    answer = graph.call(Push, "push", request)
    assert answer.success, answer.message
    assert is_done(make_steps(graph.call, 10))
    graph.wait(lambda: boxes[-1].pose.position.x > START + 0.02, "the box to move")
    request = Push.Request(link_name="tail")
    assert "tail" in graph.call(Push, "push", request).message
    assert graph.call(Reset, "reset", Reset.Request()).success
    graph.wait(
        lambda: abs(boxes[-1].pose.position.x - START) < 1e-6, "the box back again"
    )


def test_a_scene_is_refused_in_one_line(ros_environment: dict[str, str]) -> None:
    """Bodies with the event-driven method end the node with a reason."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    graph = ObservedGraph("scene_refused", PARAMETERS, ros_environment)
    try:
        process = graph.start("dynamics", "method:=event_driven")
        output, _ = process.communicate(timeout=120)
        assert process.returncode != 0
        assert "free bodies need method time_stepping" in output
        assert "Traceback" not in output
    finally:
        graph.close()
