# SPDX-License-Identifier: Apache-2.0
r"""Runs a graph in lock-step twice and compares what was recorded.

Each node is a process of its own. The simulation makes its steps by the service
``step``, as fast as they go; all topics of the graph but ``/diagnostics``, which is
about the wall clock, are recorded as MCAP bags. Messages of each topic are compared by
their hash, then the files.

    python benchmarks/lockstep_bags.py servos --steps 200 --folder bags
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import rclpy
from bag_recorder import BagRecorder, bag_content
from humans_msgs.srv import Reset
from rclpy.executors import SingleThreadedExecutor
from simulation_interfaces.msg import Result
from simulation_interfaces.srv import GetEntitiesStates, StepSimulation

from humans_sim.applications.graphs import Graph, read_graph

WALL = {"/diagnostics"}
"""Topics that are about the wall clock."""
PATIENCE = 480.0
"""Wall time for anything [s]."""
CHUNK, WARM_UP = 20, 3
"""Steps after which the recorder is waited for; and those before the recording."""
QUIET = 1.0
"""Wall time without a message after which none is under way [s]."""


class RecordedGraph:
    """Nodes of a graph in processes, and a recorder.

    Args:
        graph: what runs.
        parameters: ``node:name:=value``; they go over those of the graph.
        left_out: topics that are not recorded.
    """

    def __init__(
        self, graph: Graph, parameters: Sequence[str], left_out: set[str]
    ) -> None:
        """Start everything."""
        kinds = [kind for kind in graph.nodes if kind not in graph.pages]
        fixed = ["start_paused:=true", "real_time_factor:=0.0", "command_timeout:=0.0"]
        given = [f"dynamics:{text}" for text in fixed] + list(parameters)
        words = [word for text in given for word in ("-p", text)]
        command = [sys.executable, "-m", "humans_sim.nodes"]
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self._node = rclpy.create_node("bag_recorder", context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        topics = {k: v for k, v in graph.topics.items() if k not in left_out}
        self._recorder = BagRecorder(self._node, topics, set(graph.latched))
        options = ["--ros-args", "--params-file", str(graph.parameters), *words]
        self._processes = [
            subprocess.Popen(
                [*command, kind, *options],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for kind in kinds
        ]

    def record(self, steps: int, path: Path) -> Path:
        """Make steps from time zero and write the bag of them."""
        # Before, so that everybody has found everybody, and time can go back.
        self._make_steps(WARM_UP)
        self._wait(lambda: not self._recorder.silent(), "topics", self._silent)
        self._be_quiet()
        self._recorder.forget()
        if not self._call(Reset, "reset", Reset.Request()).success:
            raise RuntimeError("the simulation was not reset")
        self._wait(lambda: self._recorder.newest("joint_states") == 0, "time zero")
        for first in range(0, steps, CHUNK):
            self._make_steps(min(CHUNK, steps - first))
        self._be_quiet()
        return self._recorder.write(path)

    def _silent(self) -> str:
        return f" ({', '.join(self._recorder.silent())})"

    def _make_steps(self, count: int) -> None:
        request = StepSimulation.Request(steps=count)
        result = self._call(StepSimulation, "step_simulation", request).result
        if result.result != Result.RESULT_OK:
            raise RuntimeError(result.error_message)
        request = GetEntitiesStates.Request()
        answer = self._call(GetEntitiesStates, "get_entities_states", request)
        stamp = answer.states[0].header.stamp
        end = stamp.sec * 10**9 + stamp.nanosec
        self._wait(lambda: self._recorder.newest("joint_states") >= end, "a state")

    def _be_quiet(self) -> None:
        self._wait(
            lambda: time.monotonic() > self._recorder.heard_at + QUIET, "silence"
        )

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        client = self._node.create_client(kind, name)
        self._wait(client.service_is_ready, f"the service {name}")
        future = client.call_async(request)
        self._wait(future.done, f"an answer of {name}")
        self._node.destroy_client(client)
        return future.result()

    def _wait(
        self, done: Callable[[], bool], what: str, more: Callable[[], str] = str
    ) -> None:
        end = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > end:
                raise RuntimeError(f"waited {PATIENCE:g} s for {what}{more()}")
            if any(process.poll() for process in self._processes):
                raise RuntimeError("a node has ended")
            self._executor.spin_once(timeout_sec=0.05)

    def close(self) -> None:
        """End everything."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)


def record(
    graph: str,
    steps: int,
    path: Path,
    parameters: Sequence[str] = (),
    left_out: Sequence[str] = (),
) -> Path:
    """Record one run of a graph."""
    run = RecordedGraph(read_graph(graph), parameters, WALL | set(left_out))
    try:
        return run.record(steps, path)
    finally:
        run.close()


def compare(one: Path, two: Path) -> bool:
    """Print what two bags have of each topic; whether all is equal."""
    first, second = bag_content(one), bag_content(two)
    equal = True
    for topic in sorted({*first, *second}):
        a, b = first.get(topic), second.get(topic)
        equal &= a == b
        counts = "-" if a is None else str(a.count)
        if a is None or b is None or a.count != b.count:
            counts += f" and {'-' if b is None else b.count}"
        digest = "" if a is None else a.digest[:16]
        verdict = "equal" if a == b else "DIFFERENT"
        print(f"{topic:28} {counts:>12}  {digest}  {verdict}")
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, two)]
    print(f"files: {' '.join(sorted({text[:16] for text in hashes}))}")
    return equal and hashes[0] == hashes[1]


def main() -> None:
    """Record twice and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", nargs="?", default="servos", help="in lock-step")
    parser.add_argument("--steps", type=int, default=200, help="sampling periods")
    parser.add_argument("--folder", type=Path, help="for the bags")
    parser.add_argument("-p", dest="parameters", action="append", default=[])
    parser.add_argument("--without", action="append", default=[], help="a topic")
    given = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    folder = given.folder or Path(tempfile.mkdtemp(prefix="bags-"))
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number in (1, 2):
        path = folder / f"{given.graph}-{number}.mcap"
        record(given.graph, given.steps, path, given.parameters, given.without)
        print(f"recorded {path}", flush=True)
        paths.append(path)
    equal = compare(*paths)
    print("the bags are equal" if equal else "THE BAGS DIFFER")
    sys.exit(0 if equal else 1)


if __name__ == "__main__":
    main()
