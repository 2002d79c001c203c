# SPDX-License-Identifier: Apache-2.0
"""Requests to a simulation that is busy, over a real node: all are answered soon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from node_processes import ObservedGraph, is_done, make_steps

import humans_sim as hs
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

PARAMETERS = Path(__file__).parents[2] / "config" / "params" / "simulate.yaml"
FALLING = ("floor:=false", "actuation:=torque", "method:=time_stepping")
"""A robot that falls for ever: its periods are short."""
PERIOD = 0.01
BUSY = 1500
"""Periods before the first request."""


@pytest.fixture
def start(
    ros_environment: dict[str, str], khr1: hs.Model
) -> Iterator[Callable[..., ObservedGraph]]:
    """Start a simulation with further parameters."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    graph = ObservedGraph("requests", PARAMETERS, ros_environment)

    def run(*parameters: str) -> ObservedGraph:
        graph.start("dynamics", *FALLING, *parameters)
        return graph

    yield run
    graph.close()


def seconds(stamp: Any) -> float:
    """A stamp [s]."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def simulation_time(call: Any) -> float:
    """Time of the states that a simulation tells [s]."""
    from simulation_interfaces.srv import GetEntitiesStates

    request = GetEntitiesStates.Request()
    states = call(GetEntitiesStates, "get_entities_states", request).states
    return seconds(states[0].header.stamp)


def test_a_busy_simulation_answers(start: Callable[..., ObservedGraph]) -> None:
    """Requests do not wait for as many periods as the simulation has made before."""
    from rosgraph_msgs.msg import Clock

    graph = start("real_time_factor:=0.0")
    times = [0.0]
    graph.node.create_subscription(
        Clock, "/clock", lambda message: times.append(seconds(message.clock)), 1
    )
    graph.wait(lambda: times[-1] > BUSY * PERIOD, "periods")
    waits = []
    for _ in range(5):  # this process may be slow, too
        before = times[-1]
        assert not is_done(make_steps(graph.call, 1))
        waits.append((times[-1] - before) / PERIOD)
    assert min(waits) < BUSY / 4


def test_every_step_is_answered(start: Callable[..., ObservedGraph]) -> None:
    """Some hundred requests of one to four steps, at the speed of the wall clock."""
    from simulation_interfaces.srv import StepSimulation

    graph = start("real_time_factor:=1.0", "start_paused:=true")
    client = graph.node.create_client(StepSimulation, "step_simulation")
    graph.wait(client.service_is_ready, "the service")
    made = 0
    for k in range(300):
        steps = 1 + k % 4
        future = client.call_async(StepSimulation.Request(steps=steps))
        graph.wait(future.done, f"answer {k}")
        made += steps
        assert is_done(future.result().result), future.result().result
    assert simulation_time(graph.call) == pytest.approx(made * PERIOD)
