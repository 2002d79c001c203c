# SPDX-License-Identifier: Apache-2.0
"""What a run keeps of its model and scene, so that its file alone can be shown again.

Plain data under the keys ``model``, ``solids`` and ``radii`` of :attr:`Run.info`; for
feet on balls ``sphere_tags``, for a body that touches as a whole ``features``. Runs
without them (older files) are taken to be of the model that has the system's name, on a
floor.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from humans_sim.contact.geometry.body_features import BodyFeatures
from humans_sim.contact.geometry.foot_spheres import with_sphere_tags
from humans_sim.contact.geometry.ground import Ground, Solid
from humans_sim.contact.geometry.solids import Box, HalfSpace
from humans_sim.contact.geometry.terrain import (
    FurtherContact,
    HeightField,
    TriangleMesh,
)
from humans_sim.core.errors import MALFORMED_CONTENT, RunFileError, UnknownModelError
from humans_sim.models import Model, load_model
from humans_sim.models.files.named_models import NAMES, is_packaged

_HALF_SPACE, _BOX = "half_space", "box"
_HEIGHTS, _MESH = "height_field", "mesh"


def model_and_ground(model: Model | None, ground: Ground) -> dict[str, Any]:
    """Model, where there is one, and solids as plain data."""
    solids = [
        _solid_record(solid)
        for solid in ground.solids
        if not isinstance(solid, FurtherContact)
    ]
    return {
        **({} if model is None else {"model": _model_record(model)}),
        "solids": solids,
        **{
            word: length
            for word, length in (
                ("rolling", ground.rolling),
                ("torsional", ground.torsional),
            )
            if length
        },
    }


def recorded_model(info: Mapping[str, Any]) -> Model:
    """The model of a run, loaded again.

    Args:
        info: of the run.

    Raises:
        RunFileError: what is recorded is damaged.
        UnknownModelError: the model is no longer there.
    """
    try:
        record = dict(info["model"] if "model" in info else {"name": info["system"]})
        # Files of others may change while the process runs, those of the package not.
        load = _load_once if record.get("name") in NAMES else _load
        model = load(json.dumps(record, sort_keys=True))
        balls = info.get("sphere_tags")
        return model if balls is None else with_sphere_tags(model, balls)
    except UnknownModelError:
        raise
    except MALFORMED_CONTENT as error:
        raise RunFileError(f"the run's record of its model is damaged: {error}") from (
            error
        )


def _load(text: str) -> Model:
    record = json.loads(text)
    tags = record.pop("tags", None)
    if tags is not None:
        tags = {name: np.array(place, float) for name, place in tags.items()}
    return load_model(str(record.pop("name")), tags=tags, **record, xacro=False)


_load_once = lru_cache(maxsize=8)(_load)


def recorded_features(info: Mapping[str, Any]) -> BodyFeatures | None:
    """What of the body touched beside its tags; None where nothing did.

    Args:
        info: of the run.

    Raises:
        RunFileError: what is recorded is damaged.
    """
    if "features" not in info:
        return None
    try:
        return BodyFeatures.of_record(info["features"])
    except MALFORMED_CONTENT as error:
        raise RunFileError(
            f"the run's record of what touches is damaged: {error}"
        ) from error


def recorded_ground(info: Mapping[str, Any]) -> Ground:
    """The solids of a run's scene; friction and restitution are in the run's table.

    Args:
        info: of the run.

    Raises:
        RunFileError: what is recorded is damaged.
    """
    if "solids" not in info:
        return Ground()
    try:
        return Ground(
            solids=[_solid(dict(record)) for record in info["solids"]],
            rolling=float(info.get("rolling", 0.0)),
            torsional=float(info.get("torsional", 0.0)),
        )
    except MALFORMED_CONTENT as error:
        raise RunFileError(f"the run's record of its scene is damaged: {error}") from (
            error
        )


def _model_record(model: Model) -> dict[str, Any]:
    parts = model.parts
    name = parts.name if is_packaged(parts) else str(parts.source.resolve())
    if not parts.from_table:
        return {"name": name}
    record: dict[str, Any] = {"name": name, "rotors": model.rotors is not None}
    for key, word in (("h", "height"), ("m", "mass")):
        if key in parts.parameters:
            record[word] = float(parts.parameters[key])
    if parts.given_lengths:
        record["lengths"] = {k: float(v) for k, v in parts.given_lengths.items()}
    if parts.given_tags:
        record["tags"] = {k: v.tolist() for k, v in parts.given_tags.items()}
    return record


def _solid_record(solid: HalfSpace | Box | TriangleMesh) -> dict[str, Any]:
    record: dict[str, Any] = {"name": solid.name, "friction": solid.friction}
    if isinstance(solid, HalfSpace):
        return {
            "kind": _HALF_SPACE,
            "normal": [float(x) for x in solid.normal],
            "point": [float(x) for x in solid.point],
            **record,
        }
    if isinstance(solid, HeightField):
        return {
            "kind": _HEIGHTS,
            "heights": solid.heights.tolist(),
            "spacing": list(solid.spacing),
            "origin": list(solid.origin),
            "bottom": solid.bottom,
            **record,
        }
    if isinstance(solid, TriangleMesh):
        vertices, faces = solid.vertices.tolist(), solid.faces.tolist()
        return {"kind": _MESH, "vertices": vertices, "faces": faces, **record}
    turn = solid.rotation
    return {
        "kind": _BOX,
        "size": [float(x) for x in solid.size],
        "centre": [float(x) for x in solid.centre],
        "rotation": None if turn is None else np.asarray(turn, float).tolist(),
        **record,
    }


def _solid(record: dict[str, Any]) -> Solid:
    kind = record.pop("kind")
    if kind == _HALF_SPACE:
        return HalfSpace(
            normal=tuple(record.pop("normal")),
            point=tuple(record.pop("point")),
            **record,
        )
    if kind == _HEIGHTS:
        heights, spacing = record.pop("heights"), tuple(record.pop("spacing"))
        return HeightField(heights, spacing, tuple(record.pop("origin")), **record)
    if kind == _MESH:
        return TriangleMesh(record.pop("vertices"), record.pop("faces"), **record)
    if kind != _BOX:
        raise ValueError(f"there is no solid of the kind '{kind}'")
    turn = record.pop("rotation")
    return Box(
        size=tuple(record.pop("size")),
        centre=tuple(record.pop("centre")),
        rotation=None if turn is None else np.array(turn, float),
        **record,
    )
