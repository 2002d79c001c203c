# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes of their own, as a node of the test sees them."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def start_node(
    kind: str, parameters: Sequence[str], file: Path, environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Start a node.

    Args:
        kind: its name.
        parameters: ``name:=value``; they go before those of the file.
        file: of parameters.
        environment: of the process.
    """
    # By the node's name: it goes over the file, which names it too.
    words = [word for value in parameters for word in ("-p", f"{kind}:{value}")]
    return subprocess.Popen(
        [sys.executable, "-m", "humans_sim.nodes", kind, "--ros-args"]
        + ["--params-file", str(file), *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def call_service(
    node: Any, wait: Callable[..., None], kind: Any, name: str, request: Any
) -> Any:
    """Call a service of another node and wait for its answer.

    Args:
        node: of the test.
        wait: spins it until a condition holds.
        kind: type of the service.
        name: of the service.
        request: the request.
    """
    client = node.create_client(kind, name)
    wait(client.service_is_ready, f"the service {name}")
    future = client.call_async(request)
    wait(future.done, f"an answer of {name}")
    node.destroy_client(client)
    return future.result()


class SentGoal:
    """A goal that another node has accepted.

    Attributes:
        feedbacks: that came, the newest last.
    """

    def __init__(
        self, handle: Any, wait: Callable[..., None], feedbacks: list[Any]
    ) -> None:
        self._handle, self._wait, self.feedbacks = handle, wait, feedbacks

    def result(self) -> tuple[int, Any]:
        """Wait for its end; status and result."""
        future = self._handle.get_result_async()
        self._wait(future.done, "the result of a goal")
        return future.result().status, future.result().result

    def cancel(self) -> None:
        """Ask that it be cancelled, and wait until that is answered."""
        future = self._handle.cancel_goal_async()
        self._wait(future.done, "the cancellation of a goal")


class GoalClient:
    """Sends goals to an action of another node.

    Args:
        node: of the test.
        wait: spins it until a condition holds.
        kind: type of the action.
        name: of the action.
    """

    def __init__(
        self, node: Any, wait: Callable[..., None], kind: Any, name: str
    ) -> None:
        from rclpy.action import ActionClient

        self._wait, self._kind = wait, kind
        self._client = ActionClient(node, kind, name)
        wait(self._client.server_is_ready, f"the action {name}")

    def send(self, **fields: Any) -> SentGoal:
        """Send a goal of these fields, and wait until it is accepted."""
        feedbacks: list[Any] = []
        future = self._client.send_goal_async(
            self._kind.Goal(**fields),
            feedback_callback=lambda message: feedbacks.append(message.feedback),
        )
        self._wait(future.done, "an answer to a goal")
        assert future.result().accepted
        return SentGoal(future.result(), self._wait, feedbacks)


Call = Callable[[Any, str, Any], Any]
"""Calls a service of a type by its name with a request, and waits for the answer."""


def set_playing(call: Call, playing: bool) -> Any:
    """Let the time of a simulation run, or pause it; the result that it answers."""
    from simulation_interfaces.msg import SimulationState
    from simulation_interfaces.srv import SetSimulationState

    request = SetSimulationState.Request()
    request.state.state = (
        SimulationState.STATE_PLAYING if playing else SimulationState.STATE_PAUSED
    )
    return call(SetSimulationState, "set_simulation_state", request).result


def make_steps(call: Call, steps: int) -> Any:
    """Let a paused simulation make steps; the result that it answers."""
    from simulation_interfaces.srv import StepSimulation

    request = StepSimulation.Request(steps=steps)
    return call(StepSimulation, "step_simulation", request).result


def is_done(result: Any) -> bool:
    """Whether a simulation answered that what was asked is so."""
    from simulation_interfaces.msg import Result
    from simulation_interfaces.srv import SetSimulationState

    already = SetSimulationState.Response.ALREADY_IN_TARGET_STATE
    return result.result in (Result.RESULT_OK, already)


class ObservedGraph:
    """Nodes in processes, and a node of the test that listens to them.

    Args:
        name: of the test's node.
        file: of the parameters.
        environment: of the processes.

    Attributes:
        node: of the test.
        processes: by the names of their nodes.
    """

    def __init__(self, name: str, file: Path, environment: Mapping[str, str]) -> None:
        """Make the test's node; nothing else runs yet."""
        import rclpy
        from conftest import DOMAIN

        self._file, self._environment = file, environment
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=DOMAIN)
        self.node = rclpy.create_node(name, context=self._context)
        self._executor = rclpy.executors.SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)

    def start(self, kind: str, *parameters: str) -> subprocess.Popen[str]:
        """Start a node in a process of its own."""
        process = start_node(kind, parameters, self._file, self._environment)
        self.processes[kind] = process
        return process

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Spin until a condition holds."""
        from conftest import PATIENCE

        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited {PATIENCE} s for {what}"
            self._executor.spin_once(timeout_sec=0.05)

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """Call a service and wait for its answer."""
        return call_service(self.node, self.wait, kind, name, request)

    def close(self) -> None:
        """End everything."""
        import rclpy

        for process in self.processes.values():
            process.kill()
            process.communicate()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
