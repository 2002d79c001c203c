# SPDX-License-Identifier: Apache-2.0
"""Nodes are killed while their graph runs, and come back.

The others continue, say who is missing, and work with the node that came back; at the
end all processes are stopped at once and end by themselves.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kondo_line import line_manager
from node_processes import call_service

from humans_sim.applications.graphs import read_graph
from humans_sim.core.doctor import ros_hint

pytestmark = [pytest.mark.ros, pytest.mark.study]

EXIT = 60.0
"""Wall time in which processes must have ended, on any machine [s]."""
WARN = b"\x01"


class Processes:
    """The nodes of a graph as processes, and what is heard of them.

    Attributes:
        counts: messages by topic.
        stamp: of the last message of a topic [s].
        levels: of diagnostics, by their names.
        messages: messages of diagnostics, by their names.
    """

    def __init__(
        self, name: str, node: Any, wait: Callable[..., None], env: dict[str, str]
    ) -> None:
        """Nothing runs yet."""
        self._graph, self._node, self._env = read_graph(name), node, env
        self._spin = wait
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._given: dict[str, tuple[str, ...]] = {}
        self.counts: dict[str, int] = {}
        self.stamp: dict[str, float] = {}
        self.levels: dict[str, bytes] = {}
        self.messages: dict[str, str] = {}
        from diagnostic_msgs.msg import DiagnosticArray

        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 100)

    def _diagnosed(self, message: Any) -> None:
        for status in message.status:
            self.levels[status.name] = status.level
            self.messages[status.name] = status.message

    def listen(self, kind: Any, topic: str) -> None:
        """Count the messages of a topic."""
        self.counts[topic] = 0

        def count(message: Any) -> None:
            self.counts[topic] += 1
            stamp = message.header.stamp
            self.stamp[topic] = stamp.sec + 1e-9 * stamp.nanosec

        self._node.create_subscription(kind, topic, count, 100)

    def start(self, kind: str, *parameters: str) -> None:
        """Start a node; without parameters, those it had before."""
        self._given[kind] = parameters or self._given.get(kind, ())
        words = [w for value in self._given[kind] for w in ("-p", f"{kind}:{value}")]
        self._running[kind] = subprocess.Popen(
            [sys.executable, "-m", "humans_sim.nodes", kind, "--ros-args"]
            + ["--params-file", str(self._graph.parameters), *words],
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill(self, kind: str) -> None:
        """End a node without a word of warning."""
        process = self._running.pop(kind)
        process.kill()
        process.communicate()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Spin until a condition holds; meanwhile no node may end."""

        def holds() -> bool:
            for kind, process in self._running.items():
                assert process.poll() is None, (kind, process.communicate()[0])
            return condition()

        self._spin(holds, what)

    def flows(self, *topics: str) -> None:
        """Wait for new messages of topics."""
        for topic in topics:
            count = self.counts[topic] + 3
            self.wait(lambda t=topic, n=count: self.counts[t] >= n, topic)

    def ask(self, name: str) -> Any:
        """Call a service that wants no more than its name."""
        from std_srvs.srv import Trigger

        return call_service(self._node, self.wait, Trigger, name, Trigger.Request())

    def warned(self, name: str, words: str) -> None:
        """Wait for a warning in the diagnostics."""
        self.wait(
            lambda: self.levels.get(name) == WARN and words in self.messages[name],
            f"{name} to say '{words}'",
        )

    def stop(self) -> None:
        """Stop all at once; each ends by itself and in silence."""
        for process in self._running.values():
            process.send_signal(signal.SIGINT)
        for kind, process in self._running.items():
            output, _ = process.communicate(timeout=EXIT)
            assert process.returncode == 0, (kind, output)
            assert "Traceback" not in output, (kind, output)
        self._running.clear()

    def close(self) -> None:
        """Kill what is left by a test that failed."""
        for kind in list(self._running):
            self._running[kind].kill()
            print(f"--- {kind}\n{self._running.pop(kind).communicate()[0]}")


@pytest.fixture
def processes(
    ros_environment: dict[str, str], node: Any, wait_for: Callable[..., None]
) -> Iterator[Callable[[str], Processes]]:
    """Makes the processes of a graph."""
    pytest.importorskip("humans_msgs", reason=ros_hint())
    made: list[Processes] = []

    def make(name: str) -> Processes:
        made.append(Processes(name, node, wait_for, ros_environment))
        return made[-1]

    yield make
    for graph in made:
        graph.close()


def test_walk(processes: Callable[[str], Processes]) -> None:
    """A killed simulation is missed, begins anew and is walked in; so are the rest."""
    from humans_msgs.msg import WalkStatus
    from nav_msgs.msg import Odometry

    graph = processes("walk")
    graph.listen(WalkStatus, "walk_status")
    graph.listen(Odometry, "odom")
    graph.start("dynamics", "real_time_factor:=0.0")
    for kind in ("walk", "observer", "state_publisher"):
        graph.start(kind)
    graph.start("viewer", "port:=0")
    graph.flows("walk_status", "odom")
    for kind in ("observer", "state_publisher", "viewer"):
        graph.kill(kind)
    graph.flows("walk_status")
    for kind in ("observer", "state_publisher", "viewer"):
        graph.start(kind)
    graph.flows("odom")
    graph.wait(lambda: graph.stamp["walk_status"] > 0.5, "some time of the walk")
    graph.kill("dynamics")
    graph.warned("walk: walk", "nobody publishes joint_states")
    graph.warned("observer: base", "nobody publishes joint_states")
    before = graph.stamp["walk_status"]
    graph.start("dynamics")
    graph.wait(lambda: graph.stamp["walk_status"] < before, "the walk to begin anew")
    graph.flows("walk_status", "odom")
    graph.stop()


def test_kondo_walk(
    processes: Callable[[str], Processes], tmp_path: Path, ros_environment: Any
) -> None:
    """Servos stay where they are without their driver; the walk is started again."""
    from humans_msgs.msg import WalkStatus
    from sensor_msgs.msg import JointState

    manager = line_manager()
    try:
        port = str(tmp_path / "ttyKondo")
        line = manager.Line(port)
        graph = processes("kondo_walk")
        graph.listen(JointState, "joint_states")
        graph.listen(JointState, "joint_commands")
        graph.listen(WalkStatus, "walk_status")
        graph.start("kondo_bridge", f"port:={port}", "free_timeout:=0.0")
        graph.start("kondo_walk")
        graph.flows("joint_states", "walk_status", "joint_commands")
        graph.kill("kondo_bridge")
        graph.wait(
            lambda: "nothing comes on" in graph.messages.get("kondo_walk: walk", ""),
            "the walk to end",
        )
        held, driven = line.angles(), line.driven()
        assert driven > 0
        time.sleep(1.0)
        assert line.angles() == held and line.driven() == driven
        graph.start("kondo_bridge")
        graph.flows("joint_states", "walk_status")
        commands = graph.counts["joint_commands"]
        graph.flows("joint_states", "walk_status")
        assert graph.counts["joint_commands"] == commands
        answer = graph.ask("start_walk")
        assert answer.success and "a joint moves by" in answer.message
        graph.flows("joint_commands")
        graph.kill("kondo_walk")
        graph.wait(
            lambda: "holding" in graph.messages.get("kondo_bridge: robot", ""),
            "the bridge to hold",
        )
        graph.start("kondo_walk")
        graph.flows("walk_status")
        graph.stop()
        assert line.driven() == 0
    finally:
        manager.shutdown()


def test_reconstruct(processes: Callable[[str], Processes]) -> None:
    """Markers are missed, and explained again when both ends have come back."""
    from sensor_msgs.msg import JointState

    graph = processes("reconstruct")
    graph.listen(JointState, "joint_states")
    for kind in ("marker_player", "reconstruction", "state_publisher"):
        graph.start(kind)
    graph.flows("joint_states")
    graph.kill("marker_player")
    graph.warned("reconstruction: reconstruction", "nobody publishes markers")
    graph.start("marker_player")
    graph.flows("joint_states")
    graph.kill("reconstruction")
    graph.start("reconstruction")
    graph.flows("joint_states")
    graph.stop()
