# SPDX-License-Identifier: Apache-2.0
"""Where the ground must push so that a human stands: weight over the soles."""

import numpy as np

import humans_sim as hs

model = hs.load_model("human36", height=1.80, mass=75.0)
q = model.neutral()

# At rest, the generalised force of gravity on the base is the body's weight.
force = model.nl_effects(q, np.zeros(model.nv))
print(f"weight {force[2]:.1f} N = {model.mass:.1f} kg x 9.81 m/s2")

# The centre of mass lies over the soles, a little in front of the ankles.
com = model.com(q)
feet = model.contact(q)
print(f"centre of mass {com[0] * 1000:+.0f} mm from the ankles, {com[2]:.2f} m high")
print(f"soles from {feet[:, 0].min():.2f} m to {feet[:, 0].max():.2f} m")
