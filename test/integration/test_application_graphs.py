# SPDX-License-Identifier: Apache-2.0
"""Applications as graphs of nodes are the library's runs, to the sampling of topics."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sampled_scenario import run_sampled

import humans_sim as hs
from humans_sim.applications.graphs import Graph, read_graph
from humans_sim.applications.scenarios import read_scenario
from humans_sim.core.doctor import ros_hint
from humans_sim.dynamics.system import TIME_STEPPING

pytestmark = [pytest.mark.ros, pytest.mark.study]

PERIOD = 0.005
"""Between two states of every graph below [s]."""
EXIT = 60.0
"""Wall time for a clean end, on a slow machine [s]."""


class Application(NamedTuple):
    """A graph, its scenario, and how near they are.

    Attributes:
        graph: name of the graph.
        scenario: name of the scenario.
        end: of the comparison [s].
        joints: largest difference of a joint angle from the scenario's run [rad].
        base: largest difference of the base's position from it [m].
        method: of the graph, in place of the scenario's.
    """

    graph: str
    scenario: str
    end: float
    joints: float
    base: float
    method: str | None = None


APPLICATIONS = [
    Application("fes-swing", "fes-swing-up", 0.3, 6e-3, 1e-12),
    Application("chair", "chair-sit-to-stand", 0.2, 1e-9, 1e-9),
    Application("fes-stand", "fes-sit-to-stand", 0.4, 1e-5, 1e-6),
    # Before the scenario's first push, which the graph has not.
    Application("bip-stand", "bip-stand", 0.15, 2e-3, 3e-4, TIME_STEPPING),
    Application("bip-one-step", "bip-one-step", 0.2, 2e-3, 3e-4, TIME_STEPPING),
]


def seconds(stamp: Any) -> float:
    """Time of a stamp [s]."""
    return stamp.sec + 1e-9 * stamp.nanosec


def listen(node: Any, graph: Graph) -> set[str]:
    """Topics of a graph of which nothing has come yet; each goes when it speaks."""
    from rclpy.qos import DurabilityPolicy, QoSProfile

    from humans_sim.nodes.common.conversions import message_class

    silent = set(graph.topics)
    for topic, kind in graph.topics.items():
        qos = QoSProfile(depth=10)
        if topic in graph.latched:
            qos.durability = DurabilityPolicy.TRANSIENT_LOCAL
        node.create_subscription(
            message_class(kind), topic, lambda _, t=topic: silent.discard(t), qos
        )
    return silent


@pytest.mark.parametrize("given", APPLICATIONS, ids=lambda given: given.graph)
def test_graph_is_the_librarys_run(
    given: Application,
    ros_environment: dict[str, str],
    node: Any,
    wait_for: Callable[..., None],
    start: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Each topic flows; joints and base are where the library has them."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    from rosgraph_msgs.msg import Clock

    # The library first: kernels are compiled here, with no one waiting.
    scenario = read_scenario(given.scenario).with_changes(method=given.method)
    simulation, q, v = scenario.prepare()
    library = simulation.run(q, v, t_end=given.end, sampling_period=PERIOD)
    by_samples = (
        None if simulation.sensors else run_sampled(scenario, PERIOD, given.end)
    )
    graph, now = read_graph(given.graph), [0.0]
    node.create_subscription(
        Clock, "/clock", lambda m: now.append(seconds(m.clock)), 100
    )
    silent = listen(node, graph)
    process = start(
        *("-m", "humans_sim", "up", given.graph, "--headless"),
        *("--ros", "p dynamics:real_time_factor:=0.0"),
        *("--ros", f"p dynamics:record:={tmp_path / 'run.npz'}"),
    )
    wait_for(
        lambda: now[-1] > given.end or process.poll() is not None, "the graph to run"
    )
    wait_for(lambda: not silent or process.poll() is not None, f"topics {silent}")
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=EXIT)
    assert process.returncode == 0, output
    assert "refused" not in output
    run, count = hs.load_run(tmp_path / "run.npz"), len(library.t)
    np.testing.assert_allclose(run.t[:count], library.t, rtol=0, atol=1e-12)
    apart = np.abs(run.q[:count] - library.q)
    print(f"{given.graph}: {apart[:, 7:].max():.2g} rad, {apart[:, :3].max():.2g} m")
    assert apart[:, 7:].max() < given.joints
    assert apart[:, :3].max() < given.base
    if by_samples is not None:  # messages add nothing to what samples do
        np.testing.assert_allclose(run.q[:count], by_samples.q, rtol=0, atol=1e-8)
        assert np.abs(library.q - library.q[0]).max() > 1e-3  # it moved
