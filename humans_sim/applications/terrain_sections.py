# SPDX-License-Identifier: Apache-2.0
"""Terrain as files describe it: stairs, ramps, rubble, height fields, meshes.

Names of files are looked up from the folder of the file that has them.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.contact import Ground, HeightField, TriangleMesh
from humans_sim.core.yaml_file import YamlValue, located_errors

TERRAIN = ("stairs", "ramp", "rubble", "height_fields", "meshes")
"""Keys of a ground's section that stand for terrain."""
_FIELD = ("heights", "file", "image", "spacing", "size", "height")
_SURFACE = ("origin", "name", "friction")


def with_terrain(ground: Ground, given: dict[str, YamlValue]) -> Ground:
    """A scene with the terrain of a section in it.

    Args:
        ground: the scene.
        given: fields of the section; others than those of :data:`TERRAIN` are left.

    Raises:
        ModelFileError: a value cannot be used, or a file not be read.
    """
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
        raise value.error("one of heights, file and image is wanted")
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
        raise given["heights"].error("rows of the same length are wanted")
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
