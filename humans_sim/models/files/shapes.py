# SPDX-License-Identifier: Apache-2.0
"""Shapes of model files: boxes, limbs and other solids drawn on the bodies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import Shape

PRIMITIVES = ("box", "cylinder", "sphere")
MESHES = ("ellipsoid", "limb", "rounded_box", "sole")
"""Unit meshes under ``urdf/meshes``, drawn by ``tools/unit_meshes.py``."""

SLENDER = ("cylinder", "limb")
"""Shapes laid from one point to another."""


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
