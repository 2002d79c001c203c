# SPDX-License-Identifier: Apache-2.0
"""What stands around a model: the boxes of its scene, as they are drawn."""

from __future__ import annotations

import numpy as np

from humans_sim.contact import Box, Ground, HalfSpace

BOX_COLOUR = (190, 160, 128)
"""Red, green, blue of boxes."""
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
