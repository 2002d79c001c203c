# SPDX-License-Identifier: Apache-2.0
"""Nodes that are being made say so, and offer no service that would not answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from humans_sim.core.doctor import ros_hint

pytestmark = pytest.mark.ros


@pytest.fixture(autouse=True)
def ros() -> Iterator[None]:
    """rclpy, for the nodes of this process."""
    rclpy = pytest.importorskip("rclpy", reason=ros_hint())
    rclpy.init(domain_id=1 + os.getpid() % 101)
    yield
    rclpy.try_shutdown()


def wait(condition: Callable[[], bool]) -> None:
    """Until it holds."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_node_answers_once_it_spins() -> None:
    """Its parameters are offered no sooner, and then answered at once."""
    import rclpy
    from rcl_interfaces.srv import ListParameters

    from humans_sim.nodes.common.model_node import ProcessNode
    from humans_sim.nodes.common.process import Spinning

    made, other = ProcessNode("made"), rclpy.create_node("o")
    client = other.create_client(ListParameters, "/made/list_parameters")
    assert not client.wait_for_service(1.0)
    stop = threading.Event()
    spinning = Spinning([made], stop)
    assert client.wait_for_service(30.0)
    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(other)
    future = client.call_async(ListParameters.Request())
    executor.spin_until_future_complete(future, 30.0)
    assert "use_sim_time" in future.result().result.names
    stop.set()
    spinning.finish()
    assert spinning.leave()


def test_compiling_is_reported() -> None:
    """On diagnostics, by the node's full name, while the kernel is compiled."""
    import numba
    import rclpy
    from diagnostic_msgs.msg import DiagnosticArray

    from humans_sim.core.kernel_compilation import report_compilation
    from humans_sim.nodes.common.model_node import ProcessNode
    from humans_sim.nodes.common.process import CompilationLog

    heard: list[Any] = []
    other = rclpy.create_node("o")
    other.create_subscription(DiagnosticArray, "/diagnostics", heard.append, 10)
    made = ProcessNode("made", namespace="robot1")
    made.report_start("reading files")
    wait(lambda: made.count_subscribers("/diagnostics") == 1)
    with report_compilation(CompilationLog()):
        numba.njit(lambda x: x + 1)(1)
    executor = rclpy.executors.SingleThreadedExecutor()
    executor.add_node(other)
    end = time.monotonic() + 30.0
    while not any("compiling" in m.status[0].message for m in heard):
        assert time.monotonic() < end
        executor.spin_once(timeout_sec=0.1)
    assert {m.status[0].name for m in heard} == {"robot1/made: start"}
