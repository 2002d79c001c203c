# SPDX-License-Identifier: Apache-2.0
"""Calls that a busy node sets anew in each of them, by both executors of rclpy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import DOMAIN, PATIENCE

pytestmark = pytest.mark.ros
BUSY = 300
"""Calls before something else asks for its turn."""


@pytest.fixture(params=["events", "classic"])
def spun(request: pytest.FixtureRequest, ros_environment: Any) -> Iterator[Any]:
    """A node, and what spins it until a condition holds."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from humans_sim.nodes.common.model_node import ProcessNode

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    if request.param == "events":
        events = pytest.importorskip("rclpy.experimental.events_executor")
        executor = events.EventsExecutor(context=context)
    else:
        executor = SingleThreadedExecutor(context=context)
    node = ProcessNode("busy", context=context)
    executor.add_node(node)

    def spin(condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end
            executor.spin_once(timeout_sec=0.05)

    yield node, spin
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown(context=context)


def make_alarm(node: Any, callback: Callable[[], None]) -> Any:
    """An alarm on the wall clock."""
    from humans_sim.nodes.common.model_node import Alarm

    return Alarm(node, callback)


def test_others_have_their_turn(spun: Any) -> None:
    """A node that was busy for long answers as soon as one that was not.

    Calls that pile up would let it wait for as many calls as there were before.
    """
    node, spin = spun
    calls: list[int] = []
    turns: list[int] = []

    def go() -> None:
        calls.append(len(calls))
        if len(calls) == BUSY:
            node.executor.create_task(lambda: turns.append(len(calls)))
        if len(calls) < 3 * BUSY:
            alarm.set(0.0)

    alarm = make_alarm(node, go)
    alarm.set(0.0)
    spin(lambda: len(calls) == 3 * BUSY)
    assert len(turns) == 1
    assert turns[0] - BUSY <= 3


def test_the_newest_time_counts(spun: Any) -> None:
    """A time set anew takes the place of the old, and none is called after a cancel."""
    node, spin = spun
    calls: list[float] = []
    alarm = make_alarm(node, lambda: calls.append(time.monotonic()))
    alarm.set(0.0)
    start = time.monotonic()
    alarm.set(0.2)
    spin(lambda: bool(calls))
    assert calls[0] - start > 0.19
    alarm.set(0.0)
    alarm.cancel()
    alarm.set(0.05)
    alarm.cancel()
    alarm.set(100.0)
    end = time.monotonic() + 0.2
    spin(lambda: time.monotonic() > end)
    assert len(calls) == 1


def test_what_a_call_raises_is_raised(spun: Any) -> None:
    """An error in a call ends the spinning with it, not the process."""
    node, spin = spun

    def go() -> None:
        raise ValueError("broken")

    make_alarm(node, go).set(0.0)
    with pytest.raises(ValueError, match="broken"):
        spin(lambda: False)
