# SPDX-License-Identifier: Apache-2.0
"""The unit meshes under ``urdf/meshes``.

A URDF scales them, so that one file draws every limb of every model.
``python tools/unit_meshes.py`` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import trimesh


def _hull_of_spheres(
    centres: list[tuple[float, float, float]], radii: list[float]
) -> trimesh.Trimesh:
    balls = []
    for centre, radius in zip(centres, radii, strict=True):
        ball = trimesh.creation.icosphere(subdivisions=2, radius=radius)
        balls.append(ball.vertices + np.asarray(centre))
    return trimesh.Trimesh(np.vstack(balls)).convex_hull


def _limb() -> trimesh.Trimesh:
    """Tapered limb: radius 1 near its start (z = -1/2), thinner at its end."""
    profile = [(0.0, -0.5), (0.62, -0.475), (0.9, -0.4), (1.0, -0.25), (0.94, 0.0)]
    profile += [(0.78, 0.25), (0.66, 0.4), (0.48, 0.475), (0.0, 0.5)]
    return trimesh.creation.revolve(np.array(profile), sections=32)


def _rounded_box() -> trimesh.Trimesh:
    radius = 0.12
    corner = 0.5 - radius
    corners = [
        (x, y, z)
        for x in (-corner, corner)
        for y in (-corner, corner)
        for z in (-corner, corner)
    ]
    return _hull_of_spheres(corners, [radius] * 8)


def _sole() -> trimesh.Trimesh:
    """Foot on the ground: flat below, rounded heel and toes, higher at the heel."""
    outline = [(-0.5, 0.0), (-0.46, 0.22), (-0.3, 0.3), (0.1, 0.42), (0.32, 0.45)]
    outline += [(0.46, 0.3), (0.5, 0.0)]
    points = []
    for x, y in outline:
        height = 1.0 if x < -0.1 else 1.0 - 0.75 * (x + 0.1) / 0.6
        for side in (-1.0, 1.0):
            points.append((x, -0.5, side * y))
            points.append((x, -0.5 + 0.35 * height, side * y))
            points.append((0.94 * x - 0.01, -0.5 + height, side * 0.6 * y))
    return trimesh.Trimesh(np.array(points)).convex_hull


_BUILDERS: dict[str, Callable[[], trimesh.Trimesh]] = {
    "ellipsoid": lambda: trimesh.creation.icosphere(subdivisions=3),
    "limb": _limb,
    "rounded_box": _rounded_box,
    "sole": _sole,
}


def write_meshes(folder: Path) -> list[Path]:
    """Write the unit meshes as binary STL; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind, build in _BUILDERS.items():
        path = folder / f"{kind}.stl"
        build().export(path)
        paths.append(path)
    return paths


if __name__ == "__main__":
    write_meshes(Path(__file__).resolve().parents[1] / "urdf" / "meshes")
