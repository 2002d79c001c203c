# SPDX-License-Identifier: Apache-2.0
"""Footprints of the KHR-1 in loose sand fade: their depth beside exp(-t / tau).

python examples/footprint_fade.py
"""

from __future__ import annotations

import numpy as np

import humans_sim as hs

run = hs.read_scenario("footprint-fade").run()
history = hs.ground_history(run)
law = hs.soft.ScreenLaw(**run.info["surface"]["law"])
tau = law.remanence(0.0)
print(f"tau {tau:.3f} s")

# The pin of the first stance that nothing touches any more: the deepest one behind the
# heels at the end.
rear = run.q[-1, 0] - 0.10
place = history.origin[0] + history.spacing * np.arange(history.heights.shape[1])
behind = np.where(place < rear, history.heights.min(axis=(0, 2)), 0.0)
row = int(np.argmin(behind))
column = int(np.argmin(history.heights[:, row].min(axis=0)))
depth = -history.heights[:, row, column]
left = int(np.argmax(depth)) + 3  # the foot is off it by then
for k in range(left, len(depth), 12):
    since = history.times[k] - history.times[left]
    exact = depth[left] * np.exp(-since / tau)
    print(f"{history.times[k]:5.2f} s  {1e3 * depth[k]:.2f} mm  {1e3 * exact:.2f} mm")
print("physically right:", bool(run.check()))
