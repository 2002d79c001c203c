# SPDX-License-Identifier: Apache-2.0
"""Scenes as files describe them: the ground, what stands on it, pushes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from humans_sim.applications.deformable_section import with_deformable
from humans_sim.applications.terrain_sections import (
    TERRAIN,
    with_terrain,
)
from humans_sim.contact import Box, Ground, HalfSpace
from humans_sim.contact.geometry.foot_spheres import (
    SOLE_POINTS,
    SPHERES,
    Feet,
    feet_of,
    sole_point_feet,
    sphere_feet,
)
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml
from humans_sim.dynamics.pushes import Push
from humans_sim.models import Model
from humans_sim.models.self_collision import read_self_collision

_GROUND = (
    "friction",
    "restitution",
    "law",
    "rolling",
    "torsional",
    "slope",
    "steps",
    "boxes",
    "chair",
    "empty",
    "floor",
    "deformable",
    *TERRAIN,
)


def read_ground(path: Path | str, friction: float = Ground.friction) -> Ground:
    """The scene of a file: its section ``ground``, or all of it where it has none.

    Args:
        path: a scenario, or a file with the fields of a ground.
        friction: where the file has none.

    Raises:
        ModelFileError: the file is malformed.
    """
    root = read_yaml(path)
    return ground_of(root.mapping().get("ground", root), friction)


def ground_of(value: YamlValue | None, friction: float = Ground.friction) -> Ground:
    """The scene that a file describes; a floor where it says nothing.

    Args:
        value: section of the file.
        friction: where the section has none.
    """
    if value is None:
        return Ground(friction=friction)
    given = value.fields((), _GROUND)
    words = ("friction", "restitution", "rolling", "torsional")
    numbers: dict[str, Any] = {
        word: given[word].number() for word in words if word in given
    }
    numbers.setdefault("friction", friction)
    law = given["law"].choice(("coulomb", "sticking")) if "law" in given else "coulomb"
    solids: tuple[HalfSpace, ...] = (HalfSpace(),)
    if "slope" in given:
        angle = math.radians(given["slope"].number())
        solids = (HalfSpace((-math.sin(angle), 0.0, math.cos(angle))),)
    if "empty" in given and given["empty"].choice(("true", "false")) == "true":
        solids = ()
    if "floor" in given and given["floor"].choice(("true", "false")) == "false":
        solids = ()
    with located_errors(value):
        ground = Ground(law=law, solids=solids, **numbers)
    if "deformable" in given:
        for word in ("slope", "empty", "floor"):
            if word in given:
                raise given[word].error("a deformable ground is level and has no floor")
        ground = with_deformable(ground, given["deformable"])
    if "steps" in given:
        steps = given["steps"].fields(("count", "rise", "depth", "start"))
        steps["count"].positive()
        with located_errors(given["steps"]):
            ground = ground.with_steps(
                steps["count"].whole(),
                steps["rise"].positive(),
                steps["depth"].positive(),
                steps["start"].number(),
            )
    if "chair" in given:
        chair = given["chair"].fields(("x",), ("seat_height", "friction"))
        with located_errors(given["chair"]):
            ground = ground.with_chair(**{k: x.number() for k, x in chair.items()})
    for k, item in enumerate(given["boxes"].items() if "boxes" in given else ()):
        box = item.fields(("size", "centre"), ("name", "friction"))
        name = box["name"].text() if "name" in box else f"box_{k}"
        size, centre = box["size"].vector(3), box["centre"].vector(3)
        own = box["friction"].number() if "friction" in box else None
        with located_errors(item):
            ground = ground.with_solids(
                Box(tuple(size), tuple(centre), name=name, friction=own)
            )
    return with_terrain(ground, given)


def geometry_of(value: YamlValue, model: Model, contacts: Sequence[str] | None) -> Feet:
    """How the feet touch: one word, or ``spheres`` or ``sole_points`` with numbers."""
    if not value.is_mapping():
        with located_errors(value):
            return feet_of(model, value.text(), contacts)
    chosen = value.fields((), (SPHERES, SOLE_POINTS))
    if len(chosen) != 1:
        raise value.error(f"{SPHERES} or {SOLE_POINTS} is wanted")
    if SOLE_POINTS in chosen:
        spacing = chosen[SOLE_POINTS].fields(("spacing",))["spacing"].number()
        with located_errors(chosen[SOLE_POINTS]):
            return sole_point_feet(model, spacing, contacts)
    balls = chosen[SPHERES]
    given = balls.fields((), ("heel_radius", "fore_radius"))
    with located_errors(balls):
        radii = {key: radius.number() for key, radius in given.items()}
        return sphere_feet(model, **radii, contacts=contacts)


def self_collision_of(value: YamlValue) -> bool | dict[str, Any]:
    """Whether links touch each other, or the keys that add to the model's own."""
    chosen = read_self_collision(value)
    return chosen.plain() if value.is_mapping() else chosen.enabled


def limits_of(value: YamlValue) -> bool | dict[str, tuple[float, float]]:
    """Whether joints have limits, or other limits for some: degrees to radians."""
    if value.is_mapping():
        return {name: pair.degrees() for name, pair in value.mapping().items()}
    return value.choice(("true", "false")) == "true"


def values_of(value: YamlValue) -> bool | dict[str, float]:
    """Whether a property of the joints acts, or other values for some, by name."""
    if value.is_mapping():
        return {name: number.number() for name, number in value.mapping().items()}
    return value.choice(("true", "false")) == "true"


def pushes_of(value: YamlValue | None) -> list[Push]:
    """The pushes that a file describes."""
    pushes = []
    for item in [] if value is None else value.items():
        given = item.fields(("time", "impulse"), ("link", "point", "duration"))
        x, y, z = given["impulse"].vector(3)
        at = given["point"].vector(3) if "point" in given else (0.0, 0.0, 0.0)
        with located_errors(item):
            push = Push(
                given["time"].number(),
                (float(x), float(y), float(z)),
                given["link"].text() if "link" in given else "",
                (float(at[0]), float(at[1]), float(at[2])),
                given["duration"].number() if "duration" in given else 0.0,
            )
        pushes.append(push)
    return pushes
