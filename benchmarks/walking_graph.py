# SPDX-License-Identifier: Apache-2.0
"""How fast the walking graph runs: composed, as three processes, and without ROS 2.

    python benchmarks/walking_graph.py [STEPS]

Simulated time over wall time of a walk of the KHR-1, as fast as it goes: the nodes
dynamics, walk and observer in one process, then the same nodes as processes of their
own, and the library with the same settings. Start-up and compilation are left out.
Without rclpy, the library alone.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec

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


def composed(steps: int) -> float:
    """Real-time factor of the graph in this process."""
    from humans_sim.nodes.walk.trial import walk_trial

    walk = walk_trial(
        replace(GRAPH, nodes=NODES),
        FAST,
        pages=False,
        steps=steps,
        velocity=VELOCITY,
        timeout=TIMEOUT,
        check=False,
    )
    if not walk.done:
        raise SystemExit(f"the composed graph did not walk: {walk.message}")
    return walk.real_time_factor


def processes(steps: int) -> float:
    """Real-time factor of three processes."""
    from humans_sim.nodes.common.conversions import nanoseconds_of
    from humans_sim.nodes.common.process import NodeProcess, StopEvent
    from humans_sim.nodes.walk.trial import WalkCaller

    arguments = ["--ros-args", "--params-file", str(GRAPH.parameters), *FAST]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "humans_sim.nodes", name, *arguments],
            stdout=subprocess.DEVNULL,
        )
        for name in NODES
    ]
    stop, callers = StopEvent(), list[WalkCaller]()

    def make() -> WalkCaller:
        callers.append(WalkCaller(steps, VELOCITY, stop.set))
        return callers[0]

    try:
        with NodeProcess([], stop) as process:
            process.run([make], TIMEOUT)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(30)
    result = callers[0].result
    if result is None or result.outcome != result.DONE:
        reason = callers[0].problem if result is None else result.message
        raise SystemExit(f"the processes did not walk: {reason}")
    return nanoseconds_of(result.duration) / 1e9 / callers[0].wall_time


def main() -> None:
    """Measure in turns."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 101))
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    emulated = any(name.startswith("BOX64") for name in os.environ)
    machine = f"{platform.machine()}, {'emulated' if emulated else 'native'}"
    print(f"KHR-1, {steps} steps at {VELOCITY.vx} m/s; simulated time over wall time")
    print(f"{machine}, {os.cpu_count()} cores, Python {platform.python_version()}")
    measures = {"library": library}
    if find_spec("rclpy") is not None:
        measures |= {"composed": composed, "three processes": processes}
    factors: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(ROUNDS):  # in turns: the machine's load is the same for all
        for name, measure in measures.items():
            factors[name].append(measure(steps))
    for name, values in factors.items():
        each = ", ".join(f"{factor:.2f}" for factor in values)
        print(f"{name:16s} {statistics.median(values):5.2f}  ({each})", flush=True)


if __name__ == "__main__":
    main()
