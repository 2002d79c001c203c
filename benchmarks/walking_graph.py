# SPDX-License-Identifier: Apache-2.0
"""How fast the walking graph runs: composed, as three processes, and without ROS 2.

    python benchmarks/walking_graph.py [STEPS]

Simulated time over wall time of a walk of the KHR-1, as fast as it goes: the nodes
dynamics, walk and observer in one process, then the same nodes as processes of their
own, and the library with the same settings. Start-up and compilation are left out.
Without rclpy, the library alone.

Then latencies, in a walk of its own: a further node hears commands and states. From a
command to the state that it leads to (dynamics), from a state to the command that
answers it (walk): wall time, median and 99 % of all periods.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import yaml

import humans_sim as hs
from humans_sim.applications.graphs import read_graph
from humans_sim.applications.walk_control import walking_robot
from humans_sim.control.walking import Velocity, Walker
from humans_sim.control.walking.walk import ScheduledCommand

GRAPH = read_graph("walk")
VELOCITY = Velocity(0.05, 0.0, 0.0)
NODES = ("dynamics", "walk", "observer")
FAST = ["-p", "dynamics:real_time_factor:=0.0"]
TIMEOUT = 600.0
ROUNDS = 3


def library(steps: int) -> float:
    """Real-time factor of the library, by the parameters of the graph."""
    parameters = yaml.safe_load(GRAPH.parameters.read_text())
    given = parameters["/**/dynamics"]["ros__parameters"]
    model = hs.load_model("khr1")
    walker = Walker(model, period=given["sampling_period"])
    simulation, _ = walking_robot(
        walker,
        [ScheduledCommand(0.0, VELOCITY)],
        servo=given["servo"],
        method=given["method"],
    )
    start, period = walker.start(), given["sampling_period"]
    simulation.run(start, t_end=2 * period, sampling_period=period)
    end = steps * walker.settings.step_duration
    begun = time.monotonic()
    simulation.run(start, t_end=end, sampling_period=period)
    return end / (time.monotonic() - begun)


@dataclass
class Latencies:
    """Wall times between messages [s]."""

    to_state: list[float] = field(default_factory=list)
    to_command: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        """Median and 99 % of both [ms]."""
        words = []
        for name, values in (
            ("command to state", self.to_state),
            ("state to command", self.to_command),
        ):
            median, most = 1e3 * np.percentile(values, (50, 99))
            words.append(f"{name} {median:.2f} ms, 99 % {most:.2f} ms")
        return "; ".join(words)


def probe(latencies: Latencies, period: float) -> Any:
    """A node that hears commands and states, and keeps how long each took."""
    from sensor_msgs.msg import JointState

    from humans_sim.nodes.common.conversions import nanoseconds_of
    from humans_sim.nodes.common.model_node import ProcessNode

    node, step = ProcessNode("latency_probe"), round(period * 1e9)
    commanded: dict[int, float] = {}
    stated: dict[int, float] = {}

    def on_command(message: Any) -> None:
        now, stamp = time.perf_counter(), nanoseconds_of(message.header.stamp)
        commanded[stamp] = now
        if stamp in stated:
            latencies.to_command.append(now - stated.pop(stamp))

    def on_state(message: Any) -> None:
        now, stamp = time.perf_counter(), nanoseconds_of(message.header.stamp)
        stated[stamp] = now
        if stamp - step in commanded:
            latencies.to_state.append(now - commanded.pop(stamp - step))

    node.create_subscription(JointState, "joint_commands", on_command, 100)
    node.create_subscription(JointState, "joint_states", on_state, 100)
    return node


Run = Callable[[Sequence[Callable[[Callable[[], None]], Any]]], None]
"""Runs the graph with further nodes until one of them ends it."""


def composed(further: Sequence[Callable[[Callable[[], None]], Any]]) -> None:
    """Run the graph in this process."""
    from humans_sim.nodes.common.compose import run_graph

    graph = GRAPH.only(*NODES)
    run_graph(graph, FAST, pages=False, seconds=TIMEOUT, further=further)


def processes(further: Sequence[Callable[[Callable[[], None]], Any]]) -> None:
    """Run three processes."""
    from humans_sim.nodes.common.process import NodeProcess, StopEvent

    stop = StopEvent()
    with started(), NodeProcess([], stop) as process:
        process.run([lambda make=make: make(stop.set) for make in further], TIMEOUT)


@contextmanager
def started() -> Iterator[None]:
    """The nodes as processes of their own."""
    arguments = ["--ros-args", "--params-file", str(GRAPH.parameters), *FAST]
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "humans_sim.nodes", name, *arguments],
            stdout=subprocess.DEVNULL,
        )
        for name in NODES
    ]
    try:
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(30)


def walk(run: Run, steps: int, latencies: Latencies | None = None) -> float:
    """Real-time factor of a walk; latencies slow it, where they are kept."""
    from humans_sim.nodes.common.conversions import nanoseconds_of
    from humans_sim.nodes.walk.trial import WalkCaller

    callers: list[WalkCaller] = []

    def call(end: Callable[[], None]) -> WalkCaller:
        callers.append(WalkCaller(steps, VELOCITY, end))
        return callers[0]

    further: list[Callable[[Callable[[], None]], Any]] = [call]
    if latencies is not None:
        parameters = yaml.safe_load(GRAPH.parameters.read_text())
        period = parameters["/**/dynamics"]["ros__parameters"]["sampling_period"]
        further.append(lambda end: probe(latencies, period))
    run(further)
    result = callers[0].result
    if result is None or result.outcome != result.DONE:
        reason = callers[0].problem if result is None else result.message
        raise SystemExit(f"the graph did not walk: {reason}")
    return float(nanoseconds_of(result.duration) / 1e9 / callers[0].wall_time)


def main() -> None:
    """Measure in turns."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 101))
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    emulated = any(name.startswith("BOX64") for name in os.environ)
    machine = f"{platform.machine()}, {'emulated' if emulated else 'native'}"
    print(f"KHR-1, {steps} steps at {VELOCITY.vx} m/s; simulated time over wall time")
    print(f"{machine}, {os.cpu_count()} cores, Python {platform.python_version()}")
    graphs: dict[str, Run] = {}
    if find_spec("rclpy") is not None:
        graphs = {"composed": composed, "three processes": processes}
    measures: dict[str, Callable[[int], float]] = {"library": library}
    for name, run in graphs.items():
        measures[name] = lambda steps, run=run: walk(run, steps)
    factors: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(ROUNDS):  # in turns: the machine's load is the same for all
        for name, measure in measures.items():
            factors[name].append(measure(steps))
    for name, values in factors.items():
        each = ", ".join(f"{factor:.2f}" for factor in values)
        print(f"{name:16s} {statistics.median(values):5.2f}  ({each})", flush=True)
    for name, run in graphs.items():
        latencies = Latencies()
        walk(run, steps, latencies)
        print(f"{name:16s} {latencies}", flush=True)


if __name__ == "__main__":
    main()
