# SPDX-License-Identifier: Apache-2.0
"""How fast whole walks run, and what a tick of their controllers takes.

Each walk is one call from the scenario's file to the run; the second call in the
process is timed, so that compilation is not. Times are the processor's: on a machine
that is shared, the wall clock measures the others, too.
"""

from __future__ import annotations

import argparse
import platform
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.dynamics.controller import ControlClock

WALKS = ("khr1-walk", "human-walk", "bip-walk")


def ticks_of(clock: type[ControlClock], times: list[float]) -> None:
    """Let a clock note how long its controller takes [s]."""
    ask = clock._ask

    def timed(self: ControlClock, t: float, state: Any) -> Any:
        begun = time.thread_time()
        command = ask(self, t, state)
        times.append(time.thread_time() - begun)
        return command

    clock._ask = timed  # type: ignore[method-assign]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walks", nargs="*", default=WALKS, help="scenarios")
    chosen = parser.parse_args().walks
    console, ticks = Console(width=100), list[float]()
    console.print(f"On {platform.machine()}, Python {platform.python_version()}")
    ticks_of(ControlClock, ticks)
    table = Table("walk")
    for title in ("x real time", "tick, median [ms]", "99 % [ms]", "check"):
        table.add_column(title, justify="right")
    for walk in chosen:
        hs.simulate(walk)
        ticks.clear()
        begun = time.process_time()
        run = hs.simulate(walk)
        spent = time.process_time() - begun
        table.add_row(
            walk,
            f"{float(run.t[-1]) / spent:.2f}",
            f"{1e3 * np.median(ticks):.2f}",
            f"{1e3 * np.percentile(ticks, 99):.2f}",
            "ok" if run.check().ok else "not ok",
        )
    console.print(table)


if __name__ == "__main__":
    main()
