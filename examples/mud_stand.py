# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 sinks into mud until it is carried: forces and depth as it goes down.

python examples/mud_stand.py footprints.png
"""

from __future__ import annotations

import sys

import humans_sim as hs

run = hs.read_scenario("mud-stand").run()
history = hs.ground_history(run)
for k in range(0, len(run.t), 15):
    load = run.forces[k, :, 0].sum()
    deepest = abs(history.at(run.t[k]).heights.min())
    print(f"{run.t[k]:5.2f} s  {load:6.2f} N  pins down by {1e3 * deepest:.2f} mm")
print("physically right:", bool(run.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    from matplotlib.image import imsave

    imsave(sys.argv[1], hs.footprints_of(run).picture(colour=(120, 96, 72)))
