# SPDX-License-Identifier: Apache-2.0
"""Boxes on each other, and a ball that rolls into them; built in Python.

    python examples/box_stack.py box_stack.html

writes a page that shows it.
"""

from __future__ import annotations

import sys

import numpy as np

import humans_sim as hs

boxes = [
    hs.SceneBody.box(f"box{k}", 2.0 - 0.5 * k, (0.3 - 0.06 * k, 0.3, 0.1))
    for k in range(3)
]
ball = hs.SceneBody.ball("ball", 3.0, 0.15)
scene = hs.SceneSystem([*boxes, ball], hs.Ground(friction=0.5))
q = scene.configuration(
    {
        **{f"box{k}": (0.0, 0.0, 0.05 + 0.1 * k) for k in range(3)},
        "ball": (-1.0, 0.0, 0.15),
    }
)
v = np.zeros(scene.nv)
v[-6:] = [1.5, 0.0, 0.0, 0.0, 10.0, 0.0]  # rolls: 1.5 m/s over 0.15 m
run = hs.Simulation(scene, method="time_stepping", time_step=0.002).run(q, v, t_end=1.5)
for k in range(3):
    print(f"box{k} was moved by {1e3 * run.q[-1, 7 * k]:.1f} mm")
print("physically right:", bool(run.check()))
if __name__ == "__main__" and len(sys.argv) > 1:
    hs.animate(run, sys.argv[1])
