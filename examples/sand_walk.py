# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 walks over sand: how deep each foot sinks, and a picture of its prints.

python examples/sand_walk.py footprints.png
"""

from __future__ import annotations

import sys

import humans_sim as hs

run = hs.read_scenario("sand-walk").with_changes(end=3.0).run()
for stance in hs.sinkages(run):
    print(f"{stance.start:5.2f} s  {stance.sole}  {1e3 * stance.depth:.1f} mm")
prints = hs.footprints_of(run)
print(f"deepest pin {1e3 * prints.heights.min():.1f} mm")
print("physically right:", bool(run.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    from matplotlib.image import imsave

    imsave(sys.argv[1], prints.picture())
