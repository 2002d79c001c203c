# SPDX-License-Identifier: Apache-2.0
"""Scenes as files describe them: ground, terrain, obstacles, pushes, start.

Terrain is stairs, ramps, rubble, height fields and meshes; the ground may be
deformable.

Names of files are looked up from the folder of the file that has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact import Box, HalfSpace
from humans_sim.contact.geometry.foot_spheres import (
    SOLE_POINTS,
    SPHERES,
    Feet,
    feet_of,
    sole_point_feet,
    sphere_feet,
)
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml
from humans_sim.dynamics.pushes import Push
from humans_sim.models import Model
from humans_sim.models.description import read_self_collision

TERRAIN = ("stairs", "ramp", "rubble", "height_fields", "meshes")
"""Keys of a ground's section that stand for terrain."""
_FIELD = ("heights", "file", "image", "spacing", "size", "height")
_SURFACE = ("origin", "name", "friction")


def with_terrain(ground: Ground, given: dict[str, YamlValue]) -> Ground:
    """A scene with the terrain of a section in it: its fields of :data:`TERRAIN`."""
    if "stairs" in given:
        keys = ("count", "rise", "depth", "start")
        stairs = given["stairs"].fields(keys, ("width",))
        with located_errors(given["stairs"]):
            numbers: dict[str, Any] = {k: x.number() for k, x in stairs.items()}
            numbers["count"] = stairs["count"].whole()
            ground = ground.with_stairs(**numbers)
    if "ramp" in given:
        ramp = given["ramp"].fields(("angle", "length", "start"), ("platform", "width"))
        with located_errors(given["ramp"]):
            numbers = {k: x.number() for k, x in ramp.items()}
            numbers["angle"] = math.radians(numbers["angle"])
            ground = ground.with_ramp(**numbers)
    if "rubble" in given:
        rubble = given["rubble"].fields(
            ("seed", "height", "size"), ("spacing", "start")
        )
        with located_errors(given["rubble"]):
            numbers = {k: x.number() for k, x in rubble.items() if k != "size"}
            numbers["seed"] = rubble["seed"].whole()
            x, y = rubble["size"].vector(2)
            ground = ground.with_rubble(**numbers, size=(float(x), float(y)))
    for key, read in (("height_fields", _height_field), ("meshes", _mesh)):
        for k, item in enumerate(given[key].items() if key in given else ()):
            with located_errors(item):
                ground = ground.with_solids(read(item, k))
    return ground


def _height_field(value: YamlValue, k: int) -> HeightField:
    given = value.fields((), (*_FIELD, *_SURFACE))
    sources = [key for key in ("heights", "file", "image") if key in given]
    if len(sources) != 1:
        raise value.error("one of heights, file and image must be given")
    rest = _rest(given, f"terrain_{k}")
    if sources == ["image"]:
        image = value.fields(("image", "size", "height"), _SURFACE)
        x, y = image["size"].vector(2)
        path, height = _path(image["image"]), image["height"].number()
        return HeightField.from_image(path, (float(x), float(y)), height, **rest)
    if "spacing" not in given:
        raise value.error("the key 'spacing' is missing")
    spacing = given["spacing"].number()
    if sources == ["file"]:
        return HeightField.from_file(_path(given["file"]), spacing, **rest)
    rows = [[item.number() for item in row] for row in given["heights"]]
    if len({len(row) for row in rows}) > 1:
        raise given["heights"].error("rows must have the same length")
    return HeightField(rows, spacing, **rest)


def _mesh(value: YamlValue, k: int) -> TriangleMesh:
    given = value.fields((), ("file", "scale", "vertices", "faces", *_SURFACE))
    rest = _rest(given, f"mesh_{k}")
    if "file" in given:
        scale = given["scale"].positive() if "scale" in given else 1.0
        return TriangleMesh.from_file(_path(given["file"]), scale, **rest)
    inline = value.fields(("vertices", "faces"), _SURFACE)
    origin = np.array(rest.pop("origin", (0.0, 0.0, 0.0)))
    vertices = np.array([row.vector(3) for row in inline["vertices"]]).reshape(-1, 3)
    faces = np.array([row.vector(3) for row in inline["faces"]]).reshape(-1, 3)
    return TriangleMesh(vertices + origin, faces, **rest)


def _rest(given: dict[str, YamlValue], name: str) -> dict[str, Any]:
    rest: dict[str, Any] = {"name": given["name"].text() if "name" in given else name}
    if "friction" in given:
        rest["friction"] = given["friction"].number()
    if "origin" in given:
        rest["origin"] = tuple(given["origin"].vector(3).tolist())
    return rest


def _path(value: YamlValue) -> Path:
    return value.folder / value.text()


_NUMBERS = ("spacing", "firmness", "patch", "thickness")
_OTHERS = ("shape", "origin", "contact", "name")


def with_deformable(ground: Ground, value: YamlValue) -> Ground:
    """A scene whose floor gives way: the name of a preset, or fields with numbers."""
    from humans_sim.soft.ground.deformable_ground import (
        PRESETS,
        DeformableGround,
        PointContact,
    )
    from humans_sim.soft.ground.screen_design import ScreenLaw

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
                raise given["shape"].error("must be two numbers of pins")
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
            names = tuple(field.name for field in fields(ScreenLaw))
            own = given["law"].fields((), names)
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
    """The scene of a file: its section ``ground``, or all of it where it has none."""
    root = read_yaml(path)
    return ground_of(root.mapping().get("ground", root), friction)


def ground_of(value: YamlValue | None, friction: float = Ground.friction) -> Ground:
    """The scene that a section describes; a floor where it says nothing."""
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
    if "empty" in given and truth_of(given["empty"]):
        solids = ()
    if "floor" in given and not truth_of(given["floor"]):
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
        raise value.error(f"{SPHERES} or {SOLE_POINTS} must be given")
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
    return truth_of(value)


def values_of(value: YamlValue) -> bool | dict[str, float]:
    """Whether a property of the joints acts, or other values for some, by name."""
    if value.is_mapping():
        return {name: number.number() for name, number in value.mapping().items()}
    return truth_of(value)


def truth_of(value: YamlValue) -> bool:
    """``true`` or ``false``."""
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


_KEYS = ("height", "tilt", "joints", "joint_speeds", "base_velocity", "q", "v")


def start_keys(fields: Mapping[str, YamlValue]) -> dict[str, YamlValue]:
    """The section ``start`` of a scenario."""
    return fields["start"].fields((), _KEYS) if "start" in fields else {}


def model_start(
    fields: Mapping[str, YamlValue], model: Any, system: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Configuration and velocity of a biped at the start.

    Joints that it has not are left aside where the scenario is of another model.
    """
    start = start_keys(fields)
    joints = np.zeros(len(model.joint_names))
    v = np.zeros(model.nv)
    names = list(model.joint_names)
    for key, target, scale in (
        ("joints", joints, math.pi / 180),
        ("joint_speeds", v[6:], 1.0),
    ):
        if key not in start:
            continue
        for name, value in start[key].mapping().items():
            if name in names:
                target[names.index(name)] = scale * value.number()
            elif model.name == fields["model"].text():
                raise value.error(f"{model.name} has no joint '{name}'")
    q = model.standing(joints)
    if "tilt" in start:
        angles = np.radians(start["tilt"].vector(3))
        turn = pin.Quaternion(pin.rpy.rpyToMatrix(*angles))
        q[3:7] = turn.coeffs()
        if model.contact_names:
            q[2] -= model.contact(q)[:, 2].min()
    if "contact_geometry" in fields:
        names = [n for n in system.contact_points if n in model.tag_names]
        balls = [model.tag_names.index(name) for name in names]
        if balls:
            q[2] -= (model.tags(q)[balls, 2] - system.radii[: len(balls)]).min()
    if "height" in start:
        q[2] += start["height"].number()
    if "base_velocity" in start:
        v[:6] = start["base_velocity"].vector(6)
    return q, v
