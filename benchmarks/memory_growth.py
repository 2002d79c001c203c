# SPDX-License-Identifier: Apache-2.0
"""Do long-running programs hold their memory?

    python benchmarks/memory_growth.py [page] [nodes] [--minutes 10]

``page``: ``humans-sim view khr1 --walk`` with its page open in a headless Chromium;
``nodes``: dynamics, walk and viewer of the graph ``walk`` as processes (needs rclpy).
Prints the resident memory of each at the start, at the end, and its growth a minute by
a straight line through the samples after the first fifth of the time, in which caches
and buffers fill. Of the page it also looks at what its script holds after a garbage
collection: a browser's resident memory follows its own plans.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from websockets.sync.client import connect

from humans_sim.applications.graphs import read_graph
from humans_sim.core.doctor import find_chromium

PERIOD = 2.0
"""Wall time between two samples [s]."""
NODES = ("dynamics", "walk", "viewer")
CHROMIUM = """--headless --no-sandbox --disable-quic --no-first-run --disable-sync
--disable-background-networking --disable-component-update --use-angle=swiftshader
--enable-unsafe-swiftshader --window-size=800,600 --remote-debugging-port=0""".split()


def memory(process: int) -> float:
    """Resident memory of a process and its children [MB]."""
    status = Path(f"/proc/{process}/status").read_text()
    own = re.search(r"VmRSS:\s+(\d+) kB", status)
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    total = int(own[1]) / 1024 if own else 0.0
    return total + sum(memory(int(child)) for child in children)


class Page:
    """The page of a Chromium, asked by the browser's own protocol.

    Args:
        profile: the browser's folder; it writes the protocol's port there.
    """

    def __init__(self, profile: Path) -> None:
        """Wait for the browser."""
        port = profile / "DevToolsActivePort"
        while not port.is_file() or not port.read_text().strip():
            time.sleep(0.1)
        address = f"http://127.0.0.1:{port.read_text().split()[0]}/json"
        while True:
            pages = [p for p in json.load(urlopen(address)) if p["type"] == "page"]
            if pages:
                break
            time.sleep(0.1)
        self._line = connect(pages[0]["webSocketDebuggerUrl"], max_size=None)

    def _call(self, method: str) -> dict[str, float]:
        self._line.send(json.dumps({"id": 1, "method": method}))
        while True:
            answer = json.loads(self._line.recv())
            if answer.get("id") == 1:
                return answer["result"]

    def heap(self) -> float:
        """What the page's script holds [MB]."""
        self._call("HeapProfiler.collectGarbage")
        return self._call("Runtime.getHeapUsage")["usedSize"] / 2**20

    def close(self) -> None:
        """Ask no more."""
        self._line.close()


@contextmanager
def started(
    command: Sequence[str], output: int | None = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    """A process that is stopped with its children at the end."""
    process = subprocess.Popen(
        command, stdout=output, stderr=subprocess.DEVNULL, text=True, process_group=0
    )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


Gauges = dict[str, Callable[[], float]]
"""What is measured, by name; each returns its memory [MB]."""


def start_page(stack: ExitStack) -> Gauges:
    """The library's walk and a browser that shows it."""
    command = [sys.executable, "-u", "-m", "humans_sim", "view", "khr1", "--walk"]
    view = stack.enter_context(started([*command, "--port", "0"], subprocess.PIPE))
    assert view.stdout is not None
    line = ""
    while (url := re.search(r"http://\S+", line)) is None:
        line = view.stdout.readline()
        if not line:
            raise SystemExit("the page did not open")
    gauges: Gauges = {"view --walk": partial(memory, view.pid)}
    browser = find_chromium()
    if browser is None:
        print("no Chromium here: the page is not looked at")
        return gauges
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    profile = f"--user-data-dir={folder}"
    chromium = stack.enter_context(started([browser, *CHROMIUM, profile, url[0]]))
    page = Page(Path(folder))
    stack.callback(page.close)
    return gauges | {"Chromium": partial(memory, chromium.pid), "script": page.heap}


def start_nodes(stack: ExitStack) -> Gauges:
    """Nodes of the walking graph."""
    parameters = ["--ros-args", "--params-file", str(read_graph("walk").parameters)]
    parameters += ["-p", "walk:cmd_vel:=[0.03, 0.0, 0.02]", "-p", "viewer:port:=0"]
    program = [sys.executable, "-m", "humans_sim.nodes"]
    return {
        name: partial(
            memory, stack.enter_context(started([*program, name, *parameters])).pid
        )
        for name in NODES
    }


def main() -> None:
    """Sample, and print what grew."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["page"], choices=["page", "nodes"])
    parser.add_argument("--minutes", type=float, default=10.0)
    given = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 101))
    with ExitStack() as stack:
        gauges: Gauges = {}
        if "page" in given.what:
            gauges |= start_page(stack)
        if "nodes" in given.what:
            gauges |= start_nodes(stack)
        times: list[float] = []
        rows: list[list[float]] = []
        begun = time.monotonic()
        while (now := time.monotonic() - begun) < 60.0 * given.minutes:
            times.append(now / 60.0)
            rows.append([gauge() for gauge in gauges.values()])
            time.sleep(PERIOD)
    seen = np.array(times) > given.minutes / 5
    minutes, table = np.array(times)[seen], np.array(rows)[seen]
    print(f"{'[MB]':12s} {'start':>8s} {'end':>8s} {'MB a minute':>12s}")
    for name, column in zip(gauges, table.T, strict=True):
        slope = np.polyfit(minutes, column, 1)[0]
        print(f"{name:12s} {column[0]:8.1f} {column[-1]:8.1f} {slope:12.3f}")


if __name__ == "__main__":
    main()
