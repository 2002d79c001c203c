# SPDX-License-Identifier: Apache-2.0
"""How far a scenario by samples, as its ROS graph runs it, is from the library's run.

``python benchmarks/graph_agreement.py [SECONDS]`` prints the largest difference of any
joint angle and of the base's position, for each graph and sampling period.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from humans_sim.applications.scenarios import read_scenario

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "helpers"))

from sampled_scenario import run_sampled

PERIODS = {
    "fes-swing-up": (0.01, 0.005, 0.0025),
    "chair-sit-to-stand": (0.005,),
    "fes-sit-to-stand": (0.005,),
}


def main() -> None:
    """Print one line for each run."""
    given = float(sys.argv[1]) if len(sys.argv) > 1 else np.inf
    for name, periods in PERIODS.items():
        scenario = read_scenario(name)
        end = min(given, scenario.end)
        for period in periods:
            simulation, q, v = scenario.prepare()
            run = simulation.run(q, v, t_end=end, sampling_period=period)
            by_samples = run_sampled(scenario, period, end)
            apart = np.abs(by_samples.q - run.q)
            print(
                f"{name}: {end:g} s, period {1e3 * period:g} ms, joints "
                f"{apart[:, 7:].max():.2g} rad, base {apart[:, :3].max():.2g} m, at "
                f"the end {apart[-1, 7:].max():.2g} rad",
                flush=True,
            )


if __name__ == "__main__":
    main()
