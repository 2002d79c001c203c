# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 sinks into mud until it is carried: forces and depth as it goes down.

python examples/mud_stand.py footprints.png
"""

from __future__ import annotations

import sys

from humans_sim.applications.scenarios import read_scenario
from humans_sim.soft import footprints_of, ground_history

run = read_scenario("mud-stand").run()
history = ground_history(run)
for k in range(0, len(run.t), 15):
    load = run.forces[k, :, 0].sum()
    deepest = abs(history.at(run.t[k]).heights.min())
    print(f"{run.t[k]:5.2f} s  {load:6.2f} N  pins down by {1e3 * deepest:.2f} mm")
print("physically right:", bool(run.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    from matplotlib.image import imsave

    imsave(sys.argv[1], footprints_of(run).picture(colour=(120, 96, 72)))
