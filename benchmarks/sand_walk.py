# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 on sand beside its floor: cost of transport, sinkage, processor time.

    python benchmarks/sand_walk.py [--end 5]

Work is summed up from samples 1 ms apart; processor time is that of a run with samples
20 ms apart, kernels compiled before: the least of three, taken in turns, as a ratio to
the floor's in the same run.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace

from humans_sim.analysis.footfalls import sinkage_lines
from humans_sim.analysis.gait import WalkSummary
from humans_sim.applications.scenarios import read_scenario


def main() -> None:
    """Run both walks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--end", type=float, default=5.0, help="time simulated [s]")
    end = parser.parse_args().end
    scenarios = {
        name: read_scenario(name).with_changes(end=end)
        for name in ("khr1-walk", "sand-walk")
    }
    least = dict.fromkeys(scenarios, math.inf)
    for scenario in scenarios.values():
        scenario.with_changes(end=0.06).run(progress=False)
    for _ in range(3):
        for name, scenario in scenarios.items():
            start = time.process_time()
            scenario.run(progress=False)
            least[name] = min(least[name], (time.process_time() - start) / end)
    for name, scenario in scenarios.items():
        run = replace(scenario, sampling_period=1e-3).run(progress=False)
        walk = WalkSummary.of_run(run)
        print(f"{name}: {len(walk.steps)} steps, {walk.distance:.3f} m in {end:g} s")
        print(f"  cost of transport {walk.cost_of_transport:.2f}, fell: {walk.fallen}")
        print(f"  processor time for a second: {least[name]:.2f} s")
        print(f"  of the floor's: {least[name] / least['khr1-walk']:.2f}")
        print(f"  real-time factor on one core: {1.0 / least[name]:.2f}")
        for line in sinkage_lines(run):
            print(f"  {line}")


if __name__ == "__main__":
    main()
