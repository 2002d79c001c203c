"""Shapes of model files: their reading, and the unit meshes behind some of them.

The unit meshes lie under ``urdf/meshes``; a URDF scales them, so that one file draws
every limb of every model. ``python -m humans_sim.models.shapes`` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import trimesh

from humans_sim.models.description import Shape
from humans_sim.models.yaml_file import YamlValue
from humans_sim.resources import resource

PRIMITIVES = ("box", "cylinder", "sphere")
MESHES = ("ellipsoid", "limb", "rounded_box", "sole")

SLENDER = ("cylinder", "limb")
"""Shapes laid from one point to another."""


def mesh_path(kind: str) -> Path:
    """File of a unit mesh."""
    return resource("urdf", "meshes", f"{kind}.stl")


def read_shape(value: YamlValue, names: Mapping[str, float]) -> Shape:
    """Read one entry of a ``visuals`` list, on the axes of the file.

    Slender shapes (cylinder, limb) go ``from`` one point ``to`` another with a
    ``radius``, or two: along the body's forward axis and across. The others stand
    ``at`` a point with ``size`` (boxes, sole), ``radius`` (sphere) or ``radii``.
    """
    fields = value.fields(
        ("shape", "material"), ("at", "from", "to", "size", "radius", "radii", "solid")
    )
    kind = fields["shape"].choice((*PRIMITIVES, *MESHES))
    solid = True
    if "solid" in fields:
        solid = fields["solid"].choice(("true", "false")) == "true"

    def get(key: str) -> YamlValue:
        if key not in fields:
            raise value.error(f"a {kind} needs the key '{key}'")
        return fields[key]

    rotation = np.eye(3)
    if kind in SLENDER:
        start, end = get("from").vector(3, names), get("to").vector(3, names)
        length = float(np.linalg.norm(end - start))
        if length == 0.0:
            raise fields["to"].error("the two ends are the same point")
        rotation = _along((end - start) / length)
        origin = (start + end) / 2
        size = np.array([*_radii(get("radius"), names), length])
    else:
        origin = get("at").vector(3, names)
        if kind == "sphere":
            size = np.full(3, get("radius").positive(names))
        else:
            sizes = get("radii" if kind == "ellipsoid" else "size")
            size = sizes.vector(3, names)
            if (size <= 0).any():
                raise sizes.error("sizes above zero are wanted")
    return Shape(kind, size, origin, rotation, fields["material"].text(), solid)


def _radii(value: YamlValue, names: Mapping[str, float]) -> tuple[float, float]:
    try:
        items = value.items()
    except ValueError:
        radius = value.positive(names)
        return radius, radius
    if len(items) != 2:
        raise value.error("one radius or two are wanted")
    return items[0].positive(names), items[1].positive(names)


def _along(direction: np.ndarray) -> np.ndarray:
    """Rotation with z along ``direction`` and x as near the forward axis as can be."""
    forward = np.array([1.0, 0.0, 0.0])
    if abs(forward @ direction) > 0.9:
        forward = np.array([0.0, 1.0, 0.0])
    x = forward - (forward @ direction) * direction
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(direction, x), direction])


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
    for written in write_meshes(resource("urdf", "meshes")):
        print(written)
