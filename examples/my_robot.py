# SPDX-License-Identifier: Apache-2.0
"""A model becomes a URDF with its YAML, and comes back the same."""

import tempfile
from pathlib import Path

import numpy as np

import humans_sim as hs

khr1 = hs.load_model("khr1", lengths={"thigh": 0.068, "shank": 0.068})
with tempfile.TemporaryDirectory() as folder:
    path = khr1.save(Path(folder) / "my_khr1.urdf")
    print("written:", ", ".join(sorted(p.name for p in path.parent.iterdir())))
    again = hs.load_model(path)

q = khr1.random_configuration(np.random.default_rng(0))
error = np.abs(again.inertia(q) - khr1.inertia(q)).max()
print(f"inertia matrices differ by {error:.1e} kg m2")
