# SPDX-License-Identifier: Apache-2.0
"""Time of the inverse of Bip's task function on random reachable targets.

Targets are the task values of postures anywhere inside the joint limits. A call is
timed whole, from Python; each target is solved three times and its best time counts,
which leaves out the moments in which the machine did something else. Answers are
checked with the task function itself. Exits with 1 if an answer is missing, wrong or
outside the limits, or if the median or the 99th percentile is not below 1 ms.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table

import humans_sim as hs
from humans_sim.control.bip.task import BipTask, InverseSolution, InverseTaskFunction

TARGETS, TRIES, SEED = 1000, 3, 1
RESIDUAL, LIMIT = 1e-10, 1e-3
"""What an answer must keep [m], and its time [s]."""


def timed(
    inverse: InverseTaskFunction, target: np.ndarray, start: np.ndarray | None
) -> tuple[InverseSolution, float]:
    """An answer and its best time [s]."""
    best = np.inf
    for _ in range(TRIES):
        begun = time.perf_counter()
        solution = inverse.solve(target, start)
        best = min(best, time.perf_counter() - begun)
    return solution, best


def main() -> int:
    """Print a table; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", type=int, default=TARGETS, help="of each kind")
    count = parser.parse_args().targets
    model = hs.load_model("bip")
    task = BipTask(model)
    inverse = InverseTaskFunction(task)
    rng = np.random.default_rng(SEED)
    order = model.humans.coordinate_names[:15]
    joints = [model.joint_names.index(name) for name in order]
    low, high = model.lower_limits[joints], model.upper_limits[joints]
    inverse.solve(task.value(np.zeros(21)))  # compiled before it is timed

    def posture(straight: bool = False) -> np.ndarray:
        q = np.r_[rng.uniform(low, high), rng.uniform(-1, 1, 6)]
        if straight:
            q[[2, 6]] *= 1e-3
        return q

    kinds = {
        "no start": lambda: (posture(), None),
        "random start": lambda: (posture(), posture()),
        "legs almost straight": lambda: (posture(straight=True), None),
    }
    title = f"{count} targets, {platform.machine()}, {platform.python_version()}"
    table = Table("targets", title=title, title_justify="left")
    for column in ("median", "99 %", "worst [us]", "residual [m]", "steps", "failures"):
        table.add_column(column, justify="right")
    missed = False
    for name, make in kinds.items():
        times, steps, worst, failures = [], [], 0.0, 0
        for _ in range(count):
            q, start = make()
            target = task.value(q)
            solution, seconds = timed(inverse, target, start)
            residual = float(np.abs(task.value(solution.q_h) - target).max())
            worst = max(worst, residual)
            failures += not (residual < RESIDUAL and solution.within_limits)
            times.append(seconds)
            steps.append(solution.iterations)
        median, most = np.median(times), np.percentile(times, 99)
        missed |= bool(failures or median > LIMIT or most > LIMIT)
        figures = (f"{1e6 * x:.0f}" for x in (median, most, max(times)))
        middle = f"{np.median(steps):.0f}"
        table.add_row(name, *figures, f"{worst:.1e}", middle, str(failures))
    Console().print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
