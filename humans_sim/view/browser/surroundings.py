# SPDX-License-Identifier: Apache-2.0
"""What stands around a model: boxes and terrain of its scene, as they are drawn."""

from __future__ import annotations

import numpy as np
import viser

from humans_sim.contact import Box, Ground, HalfSpace, TriangleMesh

BOX_COLOUR = (190, 160, 128)
"""Red, green, blue of boxes."""
TERRAIN_COLOUR = (168, 158, 140)
"""Red, green, blue of terrain."""
_COLUMNS = 400
"""Places along x at which the profile of a mesh is taken, beside its own vertices."""
_STEEP = 1e-9
"""How far before a riser its foot is drawn, in lengths of the profile."""
_LEG = 0.035
"""Thickness of a chair's leg [m]."""
_SEAT = "chair_seat"


def drawn_boxes(ground: Ground) -> list[Box]:
    """Boxes of the scene, and legs under the seat of a chair.

    The legs are there for the eye alone: nothing can touch them.
    """
    boxes = [solid for solid in ground.solids if isinstance(solid, Box)]
    seats = [box for box in boxes if box.name == _SEAT and box.rotation is None]
    return boxes + [leg for seat in seats for leg in _legs(seat, ground)]


def terrain_of(ground: Ground) -> list[TriangleMesh]:
    """Height fields and meshes of the scene."""
    return [solid for solid in ground.solids if isinstance(solid, TriangleMesh)]


def lay_terrain(scene: viser.SceneApi, ground: Ground, name: str) -> None:
    """Put the terrain of a scene on a page.

    Args:
        scene: of the page.
        ground: with its meshes.
        name: under which they lie there.
    """
    for k, mesh in enumerate(terrain_of(ground)):
        scene.add_mesh_simple(
            f"{name}/terrain_{k}",
            mesh.vertices.astype(np.float32),
            mesh.faces.astype(np.uint32),
            color=TERRAIN_COLOUR,
            flat_shading=True,
        )


def side_profile(mesh: TriangleMesh) -> np.ndarray:
    """Outline of a mesh seen along y: x and z, all around (n, 2) [m].

    For each x the highest and the lowest of it: a cave is filled.
    """
    corners = mesh.vertices[mesh.faces]
    begin, end = corners[:, [0, 1, 2]], corners[:, [1, 2, 0]]
    begin, end = begin.reshape(-1, 3), end.reshape(-1, 3)
    swap = begin[:, 0] > end[:, 0]
    begin[swap], end[swap] = end[swap], begin[swap]
    left, right = float(begin[:, 0].min()), float(end[:, 0].max())
    own = np.unique(mesh.vertices[:, 0])
    own = own if len(own) <= _COLUMNS else own[:0]
    beside = _STEEP * (right - left)
    grid = [np.linspace(left, right, _COLUMNS), own, own - beside, own + beside]
    x = np.unique(np.clip(np.concatenate(grid), left, right))
    first = np.searchsorted(x, begin[:, 0])
    count = np.searchsorted(x, end[:, 0], side="right") - first
    edge = np.repeat(np.arange(len(begin)), count)
    place = (
        first[edge] + np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
    )
    run = end[edge, 0] - begin[edge, 0]
    part = np.where(run > 0, (x[place] - begin[edge, 0]) / np.where(run > 0, run, 1), 0)
    high, low = np.full(len(x), -np.inf), np.full(len(x), np.inf)
    for share in (part, np.where(run > 0, part, 1.0)):
        z = begin[edge, 2] + share * (end[edge, 2] - begin[edge, 2])
        np.maximum.at(high, place, z)
        np.minimum.at(low, place, z)
    return np.column_stack([np.append(x, x[::-1]), np.append(high, low[::-1])])


def _legs(seat: Box, ground: Ground) -> list[Box]:
    """Four legs from a seat down to the floor, where there is a level one."""
    bottom = seat.centre[2] - seat.size[2] / 2
    floors = [
        solid.point[2]
        for solid in ground.solids
        if isinstance(solid, HalfSpace) and solid.normal[:2] == (0.0, 0.0)
    ]
    below = [floor for floor in floors if floor < bottom]
    if not below:
        return []
    height = bottom - max(below)
    reach = (np.array(seat.size[:2]) - _LEG) / 2
    return [
        Box(
            (_LEG, _LEG, height),
            (
                seat.centre[0] + float(i * reach[0]),
                seat.centre[1] + float(j * reach[1]),
                bottom - height / 2,
            ),
            name=f"chair_leg_{n}",
        )
        for n, (i, j) in enumerate([(-1, 1), (1, 1), (-1, -1), (1, -1)])
    ]
