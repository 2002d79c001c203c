# SPDX-License-Identifier: Apache-2.0
"""Real rclpy nodes in real processes, on a domain of this test run's own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kernels import compile_kernels

from humans_sim.core.doctor import ros_hint

# Domains 1 to 101 are free on every system; one for each worker process.
DOMAIN = 1 + os.getpid() % 101
PATIENCE = float(os.environ.get("HUMANS_SIM_TEST_PATIENCE", "480"))


@pytest.fixture(scope="session")
def ros_environment() -> dict[str, str]:
    """Environment of this run's nodes: own domain, loopback, checked fields."""
    try:
        import rclpy  # noqa: F401
        import tf2_msgs.msg  # noqa: F401
    except ImportError as error:
        pytest.skip(f"'{error.name}' is not installed: {ros_hint()}")
    os.environ["ROS_DOMAIN_ID"] = str(DOMAIN)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"
    compile_kernels()
    return dict(os.environ)


@pytest.fixture
def node(ros_environment: dict[str, str]) -> Iterator[Any]:
    """A node of the test itself."""
    import rclpy

    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    made = rclpy.create_node("test_node", context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(made)
    made.test_executor = executor
    yield made
    executor.shutdown()
    made.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def wait_for(node: Any) -> Callable[..., None]:
    """Spin the test's node until a condition holds."""

    def wait(condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
            node.test_executor.spin_once(timeout_sec=0.05)

    return wait


@pytest.fixture
def start(ros_environment: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Start Python processes; those that still run at the end are killed."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=ros_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        output, _ = process.communicate()
        if output:  # shown by pytest where the test failed
            print(f"--- {' '.join(map(str, process.args))}\n{output}")
