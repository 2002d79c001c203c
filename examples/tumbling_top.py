# SPDX-License-Identifier: Apache-2.0
"""A body that spins about its middle axis turns over; four integrators beside another.

python examples/tumbling_top.py
"""

from __future__ import annotations

import numpy as np

import humans_sim as hs

bodies = hs.RigidBodies([hs.bodies.of_box(0.5, (0.1, 0.3, 0.02))])
state = bodies.state(np.zeros((1, 3)), spins=np.array([[6.0, 0.01, 0.01]]))
start = bodies.kinetic_energy(state)[0]
truth = hs.bodies.move(bodies, state, 5.0, tolerance=1e-11)
flips = np.einsum("ki,ki->k", truth.R[:, 0, :, 0], truth.R[:1, 0, :, 0])
print(f"to a tolerance: {truth.steps} steps, first axis from 1 to {flips[-1]:.3f}")
for method in ("explicit_euler", "semi_implicit_euler", "rk4", "lie"):
    motion = hs.bodies.move(bodies, state, 5.0, method=method, step=1 / 240)
    energy = bodies.kinetic_energy(motion.state(-1))[0]
    angle = np.arccos(
        np.clip((np.trace(truth.R[-1, 0].T @ motion.R[-1, 0]) - 1) / 2, -1, 1)
    )
    print(
        f"{method:20s} energy {100 * (energy / start - 1):+9.2e} %, "
        f"{np.degrees(angle):7.2f} degrees off after 5 s"
    )
