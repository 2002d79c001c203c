# SPDX-License-Identifier: Apache-2.0
"""The KHR-1 walks and pushes a box: robot and box in one contact problem.

    python examples/push_box.py push_box.html

writes a page that shows it.
"""

from __future__ import annotations

import sys

import humans_sim as hs

run = hs.read_scenario("push-box").with_changes(end=5.0).run()
box = run.q[:, -7:-4]
print(f"the box was pushed by {100 * (box[-1, 0] - box[0, 0]):.1f} cm")
print("physically right:", bool(run.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    hs.animate(run, sys.argv[1])
