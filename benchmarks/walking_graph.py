"""How fast the walking graph runs: composed, and as three processes in lock-step.

    python benchmarks/walking_graph.py [STEPS]

Needs rclpy. Simulated time over wall time of a walk of the KHR-1, as fast as it goes:
the graph ``walk`` in one process without its page, then the nodes dynamics, walk and
observer as processes of their own. Start-up and compilation are left out.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from humans_sim.control.walking import Velocity
from humans_sim.graphs import read_graph
from humans_sim.nodes.conversions import nanoseconds_of
from humans_sim.nodes.process import NodeProcess, StopEvent
from humans_sim.nodes.walk_trial import WalkCaller, walk_trial

GRAPH = read_graph("walk")
VELOCITY = Velocity(0.05, 0.0, 0.0)
NODES = ("dynamics", "walk", "observer")
FAST = ["-p", "dynamics:real_time_factor:=0.0"]
TIMEOUT = 600.0


def composed(steps: int) -> float:
    """Real-time factor of the graph in this process."""
    walk = walk_trial(
        GRAPH,
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
    """Measure both, three times each."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"KHR-1, {steps} steps at {VELOCITY.vx} m/s; simulated time over wall time")
    for name, measure in (("composed", composed), ("three processes", processes)):
        found = [measure(steps) for _ in range(3)]
        told = ", ".join(f"{factor:.2f}" for factor in found)
        print(f"{name:16s} {statistics.median(found):5.2f}  ({told})")


if __name__ == "__main__":
    main()
