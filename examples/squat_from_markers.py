# SPDX-License-Identifier: Apache-2.0
"""Markers of a squat become a motion again: synthetic ones, hidden here and there."""

import numpy as np

import humans_sim as hs

person = hs.load_model("human36", height=1.80, mass=75.0)


def squat(t: float) -> np.ndarray:
    """Down and up again, feet on the floor."""
    depth = 0.6 * (1 - np.cos(2 * np.pi * t / 2.0)) / 2
    joints = np.zeros(person.nv - 6)
    for side in "rl":
        for name, angle in (("hip_pitch", 1.0), ("knee", -2.0), ("ankle_pitch", 1.0)):
            joints[person.joint_names.index(f"{side}_{name}")] = depth * angle
    return person.standing(joints)


trial = hs.synthetic_trial(
    person, "plug-in-gait", squat, duration=2.0, noise=0.003, dropout=0.1
)
for mode in ("static", "smooth"):
    motion = hs.reconstruct(person, trial, "plug-in-gait", mode=mode)
    truth = np.array([squat(t) for t in motion.t])
    knee = 7 + person.joint_names.index("r_knee")
    error = np.degrees(motion.q - truth)[:, knee]
    print(
        f"{mode}: {1e3 * motion.rms:.1f} mm rms, "
        f"knee within {abs(error).max():.1f} degrees, "
        f"{1e3 * np.median(motion.solve_times):.2f} ms a frame"
    )
forces = hs.inverse_dynamics(motion)
load = forces.ground[:, 2] / (person.mass * 9.81)
print(f"the floor carries {load.min():.2f} to {load.max():.2f} weights")
