# SPDX-License-Identifier: Apache-2.0
"""The node ``dynamics`` on a ground that gives way, over real topics."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_processes import ObservedGraph, is_done, make_steps

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros

PARAMETERS = Path(__file__).parents[2] / "config" / "params" / "simulate.yaml"
NUMBERS = {
    "law": "own",
    "ground_stiffness": "5.0",
    "ground_viscosity": "10.0",
    "shape": "[50.0, 40.0]",
    "origin": "[-0.25, -0.2, 0.0]",
    "firmness": "4.0",
    "patch": "0.02",
    "publish_period": "0.05",
}


@pytest.fixture
def graph(ros_environment: dict[str, str]) -> Iterator[ObservedGraph]:
    """The simulation alone, on the wall clock, as fast as it can, paused."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    hs.simulate("mud-stand", t_end=0.05)  # kernels, with no one waiting
    graph = ObservedGraph("ground_listener", PARAMETERS, ros_environment)
    graph.start(
        "dynamics",
        "model:=khr1",
        "actuation:=servo",
        "method:=time_stepping",
        "sync:=free",
        "real_time_factor:=0.0",
        "start_paused:=true",
        *(f"soft_ground.{word}:={value}" for word, value in NUMBERS.items()),
    )
    yield graph
    graph.close()


def test_footprints_are_published(graph: ObservedGraph) -> None:
    """Heights as floats, a map and a picture of them; a reset makes it level."""
    from humans_msgs.srv import Reset
    from nav_msgs.msg import OccupancyGrid
    from sensor_msgs.msg import Image

    from humans_sim.nodes.common.scene_messages import footprints_in

    seen: dict[str, Any] = {}
    for kind, name in (
        (Image, "heights"),
        (Image, "picture"),
        (OccupancyGrid, "depth"),
    ):
        graph.node.create_subscription(
            kind, f"ground/{name}", lambda m, n=name: seen.update({n: m}), 10
        )
    graph.wait(lambda: len(seen) == 3, "the ground")
    level = footprints_in(seen["heights"], seen["depth"])
    assert level.heights.shape == (50, 40) and not level.heights.any()
    assert np.allclose(level.origin, (-0.25, -0.2, 0.0))
    reply = make_steps(graph.call, 30)
    assert is_done(reply), reply
    graph.wait(lambda: max(seen["depth"].data) > 3, "footprints")
    prints = footprints_in(seen["heights"], seen["depth"])
    assert -0.02 < prints.heights.min() < -3e-4
    # Pressed are pins under the outer corners of the feet, left and right.
    deep = prints.heights.min(axis=0)
    y = prints.origin[1] + prints.spacing * np.arange(40)
    assert deep[np.abs(np.abs(y) - 0.078) < 0.006].max() < -1e-4
    assert np.abs(deep[np.abs(y) > 0.12]).max() == 0.0
    picture = seen["picture"]
    assert picture.encoding == "rgb8" and picture.width == 3 * 50 - 2
    assert len(picture.data) == 3 * picture.width * picture.height
    assert len(set(bytes(picture.data))) > 10
    assert graph.call(Reset, "reset", Reset.Request()).success
    graph.wait(lambda: max(seen["depth"].data) == 0, "level ground")


def test_bad_grounds_are_refused(ros_environment: dict[str, str]) -> None:
    """A law that is unstable ends the node, and it says which mode and bound."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    graph = ObservedGraph("ground_listener", PARAMETERS, ros_environment)
    try:
        process = graph.start(
            "dynamics", "model:=khr1", "soft_ground.law:=own", "soft_ground.mass:=1e-4"
        )
        output, _ = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "lowest mode: unstable" in output, output
    finally:
        graph.close()
