# SPDX-License-Identifier: Apache-2.0
"""A deformable ground as the file of a scenario describes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from humans_sim.contact import Ground
from humans_sim.core.yaml_file import YamlValue, located_errors

_NUMBERS = ("spacing", "firmness", "patch", "thickness")
_OTHERS = ("shape", "origin", "contact", "name")
_LAW = (
    "mass",
    "period",
    "ground_stiffness",
    "ground_viscosity",
    "stiffness",
    "viscosity",
)


def with_deformable(ground: Ground, value: YamlValue) -> Ground:
    """A scene whose floor gives way: the name of a preset, or fields with numbers.

    Args:
        ground: friction and law of contact.
        value: section of the file.
    """
    from humans_sim.soft.ground.deformable_ground import (
        PRESETS,
        DeformableGround,
        PointContact,
    )
    from humans_sim.soft.screens.design import ScreenLaw

    if not value.is_mapping():
        chosen = DeformableGround(value.choice(tuple(PRESETS)))
    else:
        given = value.fields(("law",), (*_NUMBERS, *_OTHERS))
        numbers: dict[str, Any] = {
            word: given[word].positive() for word in _NUMBERS if word in given
        }
        if "shape" in given:
            sides = [item.whole() for item in given["shape"]]
            if len(sides) != 2:
                raise given["shape"].error("two numbers of pins are wanted")
            numbers["shape"] = tuple(sides)
        if "origin" in given:
            numbers["origin"] = tuple(float(x) for x in given["origin"].vector(3))
        if "contact" in given:
            own = given["contact"].fields((), ("stiffness", "viscosity"))
            with located_errors(given["contact"]):
                numbers["contact"] = PointContact(
                    **{k: x.number() for k, x in own.items()}
                )
        law: ScreenLaw | str
        if given["law"].is_mapping():
            own = given["law"].fields((), _LAW)
            with located_errors(given["law"]):
                law = ScreenLaw(**{word: x.number() for word, x in own.items()})
        else:
            law = given["law"].choice(tuple(PRESETS))
        if "name" in given:
            numbers["name"] = given["name"].text()
        with located_errors(value):
            chosen = DeformableGround(law, **numbers)
    scene = chosen.scene(ground.friction)
    return replace(ground, solids=scene.solids, surface=chosen)
