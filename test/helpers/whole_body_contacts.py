# SPDX-License-Identifier: Apache-2.0
"""What a biped touches the ground with when it falls: balls around its tags."""

from __future__ import annotations

from typing import Any

from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.legs import load_tags

_CLEAR = 2.0
"""Tags that stand lower than this are parts of the feet, in radii."""


def whole_body_contacts(model: Model, radius: float) -> dict[str, Any]:
    """Arguments of a simulation in which the whole body touches its scene.

    Contact points stay points. Every other tag that is well above the ground in the
    zero position becomes a ball.

    Args:
        model: the model.
        radius: of the balls [m].
    """
    if not radius > 0:
        raise ParameterError(f"the radius of balls must be above 0 m, not {radius}")
    feet = {tag for sole in model.soles for tag in load_tags(sole)}
    feet.update(model.contact_names)
    heights = model.tags(model.standing(model.neutral()[7:]))[:-1, 2]
    balls = [
        name
        for name, height in zip(model.tag_names, heights, strict=True)
        if name not in feet and height > _CLEAR * radius
    ]
    return {
        "contacts": [*model.contact_names, *balls],
        "radii": dict.fromkeys(balls, radius),
    }
