# SPDX-License-Identifier: Apache-2.0
"""Parameters of the node ``dynamics`` for a ground that gives way: ``soft_ground.*``.

Nothing here knows ROS: ``given`` is what declares parameters of a node, the nodes'
``Parameters``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from humans_sim.contact import Ground
from humans_sim.core.errors import ParameterError
from humans_sim.soft.ground.deformable_ground import PRESETS, DeformableGround
from humans_sim.soft.screens.design import ScreenLaw

OWN = "own"
"""A law by numbers, those of the thesis' table 8.1."""
_LAW = {
    "mass": "of a pin [kg]",
    "period": "of its samples [s]",
    "ground_stiffness": "k_s, of a pin to the ground [N/m]",
    "ground_viscosity": "z_s, of a pin to the ground [N s/m]",
    "stiffness": "k_v, between neighbouring pins [N/m]",
    "viscosity": "z_v, between neighbouring pins [N s/m]",
}


def declare_soft_ground(given: Any, ground: Ground) -> Ground:
    """A scene whose floor gives way, where the parameters say so.

    Args:
        given: what declares parameters.
        ground: the scene without it; of a scenario it may have one already.

    Raises:
        ParameterError: numbers that cannot be, or two grounds.
    """
    text = "a floor that gives way: a preset, or 'own' by numbers; empty: none"
    law = given.choice("soft_ground.law", "", text, ("", OWN, *PRESETS))
    usual = ScreenLaw(ground_viscosity=10.0)
    numbers = {
        word: given.number(f"soft_ground.{word}", getattr(usual, word), meaning)
        for word, meaning in _LAW.items()
    }
    shape = given.numbers("soft_ground.shape", "numbers of pins along x and y", 2)
    spacing = given.number("soft_ground.spacing", 0.01, "of pins [m]", 1e-4)
    origin = given.numbers("soft_ground.origin", "place of the first pin [m]", 3)
    firmness = given.number("soft_ground.firmness", 1.0, "times heavier pins", 1e-6)
    patch = given.number(
        "soft_ground.patch", 0.0, "half the width a point presses on [m]; 0: spacing", 0
    )
    thickness = given.number("soft_ground.thickness", 0.1, "of the ground [m]", 1e-4)
    if not law:
        return ground
    if ground.surface is not None:
        raise ParameterError("soft_ground.law goes without a scene that has its own")
    size = (int(shape[0]), int(shape[1])) if shape else (200, 100)
    if not origin:
        origin = tuple(-0.5 * spacing * (n - 1) for n in size) + (0.0,)
    soft = DeformableGround(
        ScreenLaw(**numbers) if law == OWN else law,
        size,
        spacing,
        (origin[0], origin[1], origin[2]),
        firmness=firmness,
        patch=patch or None,
        thickness=thickness,
    )
    return replace(ground, solids=soft.scene(ground.friction).solids, surface=soft)
