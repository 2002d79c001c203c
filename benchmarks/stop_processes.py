# SPDX-License-Identifier: Apache-2.0
"""Do the processes of every graph end when they are stopped, whatever they do then?

    python benchmarks/stop_processes.py [--stops 300] [--graph walk ...] [--seed 0]

Needs rclpy. Starts the nodes of a graph as processes, lets them run for a random time
(while they import, compile, discover each other, walk), then sends SIGINT or SIGTERM to
all of them at once, as ``ros2 launch`` does, or to their process group, as Ctrl-C in a
terminal does. Each process must end within the limit, with exit code 0, without a
traceback, and leave nothing in shared memory. Prints a table by how long the processes
had run; the exit code is 1 where one of them did not end so.

A process that a signal finds before its interpreter has come to our first line ends by
the rule of the system or of the interpreter; such ends are counted as ``too early``.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from humans_sim.applications.graphs import Graph, graph_names, read_graph
from humans_sim.nodes.common.process_end import dead_segments

DELAYS = (1.0, 2.0, 5.0, 10.0, 20.0, 40.0)
"""How long processes run before they are stopped, up to half as long more [s]."""
HUNG = 20.0
"""A process that has not ended after so long is killed and counted as hung [s]."""
PROGRAM = """
import sys
from humans_sim.nodes.__main__ import main
print("begun", flush=True)
main()
"""


@dataclass
class Stops:
    """What became of processes.

    Attributes:
        codes: exit codes and how often; None: hung.
        times: from the signal to the end [s].
        tracebacks: how many printed one.
        early: how many were stopped before they had begun.
    """

    codes: Counter[int | None] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    tracebacks: int = 0
    early: int = 0


def start(graph: Graph, name: str, output: Path) -> subprocess.Popen[bytes]:
    """Start one node as a process of the graph's group."""
    parameters = ["--ros-args", "--params-file", str(graph.parameters)]
    if name == "kondo_bridge":
        parameters += ["-p", "use_fake_hardware:=true"]
    with output.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, name, *parameters],
            stdout=file,
            stderr=subprocess.STDOUT,
            process_group=0,
        )


def stop_graph(graph: Graph, delay: float, number: int, to_group: bool) -> Stops:
    """Start a graph, stop it after a while, and look how its processes end."""
    stops = Stops()
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder, name) for name in graph.nodes]
        started: list[subprocess.Popen[bytes]] = []
        try:
            for name, output in zip(graph.nodes, outputs, strict=True):
                started.append(start(graph, name, output))
            observe(graph, delay, number, to_group, started, outputs, stops)
        finally:
            for process in started:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
    return stops


def observe(
    graph: Graph,
    delay: float,
    number: int,
    to_group: bool,
    started: Sequence[subprocess.Popen[bytes]],
    outputs: Sequence[Path],
    stops: Stops,
) -> None:
    """Wait, send the signal, and note how the processes end."""
    time.sleep(delay)
    begun = [b"begun" in output.read_bytes() for output in outputs]
    early = [process.poll() for process in started]
    send = os.killpg if to_group else os.kill
    for process in started:
        if process.poll() is None:
            send(process.pid, number)
    since = time.monotonic()
    ends = wait_for(started, since)
    for name, output, here, process, before, end in zip(
        graph.nodes, outputs, begun, started, early, ends, strict=True
    ):
        text = output.read_text(errors="replace")
        if before is not None:
            stops.codes[before] += 1
            print(f"{graph.name}/{name} ended by itself, {before}:\n{text}")
            continue
        if not here:
            stops.early += 1
            continue
        stops.times.append(end - since)
        stops.codes[process.returncode if end < since + HUNG else None] += 1
        stops.tracebacks += "Traceback" in text
        if process.returncode or "Traceback" in text:
            print(
                f"{graph.name}/{name}, signal {number} after {delay:.1f} s, "
                f"code {process.returncode} in {end - since:.1f} s:\n{text}"
            )


def wait_for(started: Sequence[subprocess.Popen[bytes]], since: float) -> list[float]:
    """Wait until all have ended, kill those that do not; times of their ends."""
    ends = [since + HUNG] * len(started)
    left = set(range(len(started)))
    while left and time.monotonic() < since + HUNG:
        for k in [k for k in left if started[k].poll() is not None]:
            ends[k] = time.monotonic()
            left.discard(k)
        time.sleep(0.005)
    for k in left:
        os.killpg(started[k].pid, signal.SIGKILL)
        started[k].wait()
    return ends


def row(name: str, stops: Stops) -> str:
    """A line of the table."""
    count = sum(stops.codes.values())
    codes = ", ".join(
        f"{code} x {times}" for code, times in stops.codes.items() if code is not None
    )
    median = statistics.median(stops.times) if stops.times else float("nan")
    slowest = max(stops.times, default=float("nan"))
    return (
        f"{name:>12} {count:6d} {stops.codes[None]:5d} {stops.tracebacks:10d} "
        f"{stops.early:9d} {median:9.2f} {slowest:10.2f}  {codes}"
    )


def main() -> None:
    """Stop processes until there were enough of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--stops", type=int, default=300)
    parser.add_argument("--graph", action="append", choices=graph_names())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=max(DELAYS))
    given = parser.parse_args()
    chance = random.Random(given.seed)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 101))
    graphs = [read_graph(name) for name in given.graph or graph_names()]
    before = set(dead_segments(age=0.0))
    totals: dict[float, Stops] = {
        delay: Stops() for delay in DELAYS if delay <= given.longest
    }
    done = rounds = 0
    while done < given.stops:
        graph = graphs[rounds % len(graphs)]
        delay = chance.choice(list(totals))
        number = chance.choice((signal.SIGINT, signal.SIGTERM))
        stops = stop_graph(
            graph, delay * chance.uniform(1.0, 1.5), number, chance.random() < 0.5
        )
        total = totals[delay]
        total.codes += stops.codes
        total.times += stops.times
        total.tracebacks += stops.tracebacks
        total.early += stops.early
        done += len(graph.nodes) - stops.early
        rounds += 1
        print(f"{done} of {given.stops} stopped ({graph.name})", flush=True)
    print("ran for [s]   stops  hung tracebacks too early median[s] slowest[s]  codes")
    for delay, stops in totals.items():
        print(row(f"{delay:g}", stops))
    left = set(dead_segments(age=0.0)) - before
    print(f"left in shared memory: {len(left)} {' '.join(sorted(left)[:4])}")
    every = list(totals.values())
    clean = all(set(s.codes) <= {0} and not s.tracebacks for s in every)
    raise SystemExit(0 if clean and not left else 1)


if __name__ == "__main__":
    main()
