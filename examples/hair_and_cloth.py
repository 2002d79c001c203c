# SPDX-License-Identifier: Apache-2.0
"""A cape and hair on a walking human: driven by its motion, and felt by it.

python examples/hair_and_cloth.py walk.html

One way, the body is simulated first and the coat after it; both ways, the body feels
its cape. The difference between both, where the cape hangs, is beside what the
admittances predict.
"""

from __future__ import annotations

import sys

import numpy as np

import humans_sim as hs

END, SETTLED, PERIOD = 1.2, 0.5, 0.02  # s

scenario = hs.read_scenario("hair-and-cloth").with_changes(end=END)
alone = scenario.run()
for influence in alone.info["coat"]["influences"]:
    print(influence["report"])
together = scenario.with_changes(coupling="two_way").run()
human = hs.load_model("human36")
walking = alone.t >= SETTLED  # the coat hangs still, the walk begins
back = [
    np.array([human.frame_pose(q, "torso").translation for q in run.q[walking]])
    for run in (alone, together)
]
rates = [np.diff(places, axis=0) / PERIOD for places in back]
error = np.linalg.norm(rates[1] - rates[0]) / np.linalg.norm(rates[0])
print(f"velocity of the torso, one way against both ways: {100 * error:.2g} %")
print("physically right:", bool(alone.check()), bool(together.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    print("written:", hs.animate(alone, sys.argv[1]))
