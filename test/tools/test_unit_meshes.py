# SPDX-License-Identifier: Apache-2.0
"""The unit meshes are closed, convex where they should be, and up to date."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from unit_meshes import write_meshes

from humans_sim.core.resources import resource
from humans_sim.models.description import MESHES


def test_meshes(tmp_path: Path) -> None:
    """Each is watertight, of unit size, and the file in urdf/meshes is what is made."""
    paths = write_meshes(tmp_path)
    assert {path.stem for path in paths} == set(MESHES)
    for path in paths:
        mesh = trimesh.load(path)
        assert mesh.is_watertight and mesh.volume > 0
        kept = trimesh.load(resource("urdf", "meshes", path.name))
        np.testing.assert_allclose(kept.bounds, mesh.bounds, atol=1e-6)
        size = {"ellipsoid": [2, 2, 2], "limb": [2, 2, 1]}.get(path.stem, [1, 1, 1])
        expected = [1, 1, 0.9] if path.stem == "sole" else size
        np.testing.assert_allclose(mesh.extents, expected, rtol=0.03)
