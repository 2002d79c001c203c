# SPDX-License-Identifier: Apache-2.0
"""What stands around a robot as shapes: floors, boxes, terrain, footprints."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.contact import Ground, HalfSpace
from humans_sim.soft.ground.footprints import GroundHistory
from humans_sim.view.browser.ground_layer import (
    SAND_COLOUR,
    chosen_pins,
    grid_cells,
    touched_pins,
)
from humans_sim.view.browser.surroundings import (
    BOX_COLOUR,
    TERRAIN_COLOUR,
    drawn_boxes,
    terrain_of,
)
from humans_sim.view.scene_files.moving_scene import (
    Colour,
    SceneNode,
    Shape,
    flat_shape,
    placed_shape,
    shape_of,
    still_node,
)

_TILES: tuple[Colour, Colour] = ((226, 229, 232), (203, 207, 212))
"""Colours of the tiles of a floor, in turns."""
_MOST_TILES = 40
"""Along a side of a floor."""
_MARGIN = 0.75
"""Floor around what moves, in heights of it."""


def ground_nodes(
    ground: Ground, bounds: np.ndarray, history: GroundHistory | None = None
) -> list[SceneNode]:
    """Nodes of a scene around something that moves.

    Args:
        ground: the scene.
        bounds: lowest and highest corner of what moves (2, 3) [m].
        history: of a ground that gives way: it is drawn as it is at the end, in place
            of floors.
    """
    nodes = []
    for k, solid in enumerate(ground.solids):
        if isinstance(solid, HalfSpace) and history is None:
            nodes.append(still_node(f"floor_{k}", _floor(solid, bounds)))
    for k, box in enumerate(drawn_boxes(ground)):
        turn = np.eye(3) if box.rotation is None else np.asarray(box.rotation)
        shape = shape_of(trimesh.creation.box(box.size), BOX_COLOUR)
        placed = placed_shape(shape, np.asarray(box.centre), turn)
        nodes.append(still_node(f"box_{k}_{box.name}", [placed]))
    for k, mesh in enumerate(terrain_of(ground)):
        shape = flat_shape(mesh.vertices, mesh.faces, TERRAIN_COLOUR)
        nodes.append(still_node(f"terrain_{k}", [shape]))
    if history is not None:
        nodes.append(still_node("ground_at_the_end", [_footprints(history)]))
    return nodes


def _floor(floor: HalfSpace, bounds: np.ndarray) -> list[Shape]:
    """Tiles of a floor below what moves, in two colours."""
    up = np.array([0.0, 0.0, 1.0])
    turn = pin.Quaternion.FromTwoVectors(up, np.array(floor.normal, float)).matrix()
    point = np.array(floor.point, float)
    corners = (trimesh.bounds.corners(bounds) - point) @ turn
    margin = _MARGIN * float(bounds[1, 2] - bounds[0, 2])
    first, last = corners.min(axis=0) - margin, corners.max(axis=0) + margin
    tile = _tile(float((last - first)[:2].max()))
    shapes = []
    grid = [
        np.arange(int(np.floor(first[k] / tile)), int(np.ceil(last[k] / tile)))
        for k in (0, 1)
    ]
    squares = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, 2)
    for odd, colour in enumerate(_TILES):
        own = squares[squares.sum(axis=1) % 2 == odd]
        if len(own):
            shapes.append(placed_shape(_squares(own, tile, colour), point, turn))
    return shapes


def _tile(width: float) -> float:
    """A round side of a tile, so that there are not too many of them [m]."""
    steps = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 100.0)
    return next((step for step in steps if width / step <= _MOST_TILES), width / 10)


def _squares(places: np.ndarray, tile: float, colour: Colour) -> Shape:
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)])
    flat = tile * (places[:, None] + corners).reshape(-1, 2)
    vertices = np.column_stack([flat, np.zeros(len(flat))])
    first = 4 * np.arange(len(places))[:, None, None]
    faces = (first + np.array([(0, 1, 2), (0, 2, 3)])).reshape(-1, 3)
    normals = np.tile([0.0, 0.0, 1.0], (len(vertices), 1))
    return Shape(vertices, normals, faces, colour)


def _footprints(history: GroundHistory) -> Shape:
    """The heights of a ground at the end, around what was touched."""
    field = history.at(float(history.times[-1]))
    pins = chosen_pins(field.heights.shape, touched_pins(history.heights))
    x, y = (field.origin[k] + field.spacing * pins[k] for k in (0, 1))
    heights = field.origin[2] + field.heights[np.ix_(*pins)]
    vertices = np.stack([*np.meshgrid(x, y, indexing="ij"), heights], axis=-1)
    faces = grid_cells(*heights.shape).astype(int)
    return flat_shape(vertices.reshape(-1, 3), faces, SAND_COLOUR)
