# SPDX-License-Identifier: Apache-2.0
"""The record of model and scene in a run, so that its file alone can be shown.

Plain data under the keys ``model``, ``solids`` and ``radii`` of :attr:`Run.info`; for
feet on balls ``sphere_tags``, for a body that touches as a whole ``features``. Runs
without them (older files) are taken to be of the model that has the system's name, on a
floor.

Also coordinates with their units; quaternions as angles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

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

if TYPE_CHECKING:
    from humans_sim.results.run import Run


_SOLIDS: dict[str, tuple[type[Solid], tuple[str, ...]]] = {
    "half_space": (HalfSpace, ("normal", "point")),
    "height_field": (HeightField, ("heights", "spacing", "origin", "bottom")),
    "mesh": (TriangleMesh, ("vertices", "faces")),
    "box": (Box, ("size", "centre", "rotation")),
}
"""Class and shape of each kind of solid; a height field is a mesh, too."""
_VECTORS = ("normal", "point", "spacing", "origin", "size", "centre")


def model_and_ground(model: Model | None, ground: Ground) -> dict[str, Any]:
    """Model, where there is one, and solids as plain data."""
    record: dict[str, Any] = {}
    if model is not None:
        parts = model.parts
        name = parts.name if is_packaged(parts) else str(parts.source.absolute())
        own: dict[str, Any] = {"name": name}
        record["model"] = own
        if parts.from_table:
            own["rotors"] = model.rotors is not None
            for key, word in (("h", "height"), ("m", "mass")):
                if key in parts.parameters:
                    own[word] = float(parts.parameters[key])
            if lengths := parts.given_lengths:
                own["lengths"] = {k: float(v) for k, v in lengths.items()}
            if parts.given_tags:
                own["tags"] = {k: v.tolist() for k, v in parts.given_tags.items()}
    record["solids"] = [
        _solid_record(solid)
        for solid in ground.solids
        if not isinstance(solid, FurtherContact)
    ]
    friction = {"rolling": ground.rolling, "torsional": ground.torsional}
    return record | {name: value for name, value in friction.items() if value}


@contextmanager
def sound_record(what: str) -> Iterator[None]:
    """What a damaged record raises is a :class:`RunFileError` that names it."""
    try:
        yield
    except UnknownModelError:
        raise
    except MALFORMED_CONTENT as error:
        message = f"the run's record of {what} is damaged: {error}"
        raise RunFileError(message) from error


def recorded_model(info: Mapping[str, Any]) -> Model:
    """The model of a run, loaded again.

    Raises:
        RunFileError: what is recorded is damaged.
        UnknownModelError: the model is no longer there.
    """
    with sound_record("its model"):
        record = dict(info["model"] if "model" in info else {"name": info["system"]})
        # Files of others may change while the process runs, those of the package not.
        load = _load_once if record.get("name") in NAMES else _load
        model = load(json.dumps(record, sort_keys=True))
        balls = info.get("sphere_tags")
        return model if balls is None else with_sphere_tags(model, balls)


def _load(text: str) -> Model:
    record = json.loads(text)
    tags = record.pop("tags", None)
    if tags is not None:
        tags = {name: np.array(place, float) for name, place in tags.items()}
    return load_model(str(record.pop("name")), tags=tags, **record, xacro=False)


_load_once = lru_cache(maxsize=8)(_load)


def recorded_features(info: Mapping[str, Any]) -> BodyFeatures | None:
    """Features of the body that touched beside its tags; None: there were none.

    Raises:
        RunFileError: what is recorded is damaged.
    """
    if "features" not in info:
        return None
    with sound_record("what touches"):
        return BodyFeatures.of_record(info["features"])


def recorded_ground(info: Mapping[str, Any]) -> Ground:
    """The solids of a run's scene; friction and restitution are in the run's table.

    Raises:
        RunFileError: what is recorded is damaged.
    """
    if "solids" not in info:
        return Ground()
    with sound_record("its scene"):
        return Ground(
            solids=[_solid(dict(record)) for record in info["solids"]],
            rolling=float(info.get("rolling", 0.0)),
            torsional=float(info.get("torsional", 0.0)),
        )


def _solid_record(solid: Solid) -> dict[str, Any]:
    kind = next(kind for kind, (cls, _) in _SOLIDS.items() if isinstance(solid, cls))
    record: dict[str, Any] = {"kind": kind}
    for name in _SOLIDS[kind][1]:
        value = getattr(solid, name)
        if value is not None:
            value = np.asarray(value, int if name == "faces" else float).tolist()
        record[name] = value
    return record | {"name": solid.name, "friction": solid.friction}


def _solid(record: dict[str, Any]) -> Solid:
    kind = record.pop("kind")
    if kind not in _SOLIDS:
        raise ValueError(f"there is no solid of the kind '{kind}'")
    make, names = _SOLIDS[kind]
    for name in names:
        if name in _VECTORS:
            record[name] = tuple(record[name])
        elif name == "rotation" and record[name] is not None:
            record[name] = np.array(record[name], float)
    return make(**record)


METRE, RADIAN, QUATERNION, UNKNOWN = "m", "rad", "1", ""
"""Units of coordinates; a part of a quaternion has none."""
_FREE = (METRE,) * 3 + (QUATERNION,) * 4
_PLACES, _TURNS = ("x", "y", "z"), ("roll", "pitch", "yaw")
_PATTERNS = (
    (re.compile(r".+_q[xyzw]"), QUATERNION),
    (re.compile(r"(.*_)?(x|y|z|height|downhill)|bead_\d+"), METRE),
    (re.compile(r"(.*_)?(angle|roll|pitch|yaw)"), RADIAN),
)
"""Units of coordinates by their names."""
_JOINT_UNITS = {"R": (RADIAN,), "P": (METRE,), "S": (QUATERNION,) * 4, "F": _FREE}
"""Units of a joint's coordinates by the letter after ``JointModel``."""


class Coordinates(NamedTuple):
    """Coordinates as they are shown.

    Attributes:
        names: of the columns.
        units: of the columns, each metre, radian or not known.
        values: (n, k).
        turns: whether a column is an angle of a quaternion, without whole turns.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: np.ndarray
    turns: tuple[bool, ...]


def coordinate_units(run: Run) -> tuple[str, ...]:
    """Units of the entries of q: as the run records them, else by their names."""
    nq, info = run.q.shape[1], run.info
    by_name = tuple(
        next((unit for pattern, unit in _PATTERNS if pattern.fullmatch(name)), UNKNOWN)
        for name in run.position_names
    )
    if by_name[: len(_FREE)] == _FREE:  # a biped, whose joints turn
        joints = set(run.velocity_names)
        by_name = tuple(
            RADIAN if name in joints else unit
            for name, unit in zip(run.position_names, by_name, strict=True)
        )
    own_joints, bodies, units = (
        value if isinstance(value := info.get(key), list) else []
        for key in ("joints", "bodies", "position_units")
    )
    recorded = tuple(str(unit) for unit in units)
    if own_joints:
        kinds = (j.get("kind", "") if isinstance(j, dict) else "" for j in own_joints)
        letters = (str(kind).removeprefix("JointModel")[:1] for kind in kinds)
        own = (_JOINT_UNITS.get(letter, ()) for letter in letters)
        recorded = tuple(unit for units in own for unit in units)
    elif bodies:
        first = max(nq - len(_FREE) * len(bodies), 0)
        recorded = by_name[:first] + _FREE * len(bodies)
    return recorded if len(recorded) == nq else by_name


def shown_coordinates(run: Run, first: int = 0) -> Coordinates:
    """Coordinates from one on, quaternions as angles."""
    units, k = coordinate_units(run), first
    names: list[str] = []
    shown: list[str] = []
    columns: list[np.ndarray] = []
    turns: list[bool] = []
    while k < len(units):
        stem = run.position_names[k].rpartition("_")[0] or run.position_names[k]
        places = 3 if units[k : k + 7] == _FREE else 0
        names += [f"{stem}_{axis}" for axis in _PLACES[:places]]
        shown += [METRE] * places
        columns += list(run.q[:, k : k + places].T)
        k += places
        if units[k : k + 4] == (QUATERNION,) * 4:
            names += [f"{stem}_{turn}" for turn in _TURNS]
            shown += [RADIAN] * 3
            columns += list(_turns(run.q[:, k : k + 4]).T)
            turns += [False] * places + [True] * 3
            k += 4
        else:
            names.append(run.position_names[k])
            shown.append(units[k])
            columns.append(run.q[:, k])
            turns.append(False)
            k += 1
    values = np.stack(columns, axis=1) if columns else np.zeros((len(run.t), 0))
    return Coordinates(tuple(names), tuple(shown), values, tuple(turns))


def _turns(quaternions: np.ndarray) -> np.ndarray:
    """Roll, pitch and yaw without steps of a whole turn (n, 3) [rad]."""
    lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
    turns = Rotation.from_quat(np.where(lengths > 0, quaternions, [0.0, 0.0, 0.0, 1.0]))
    with np.errstate(all="ignore"):
        angles = turns.as_euler("ZYX")[:, ::-1]
    return np.asarray(np.unwrap(angles, axis=0))


def link_of(contact: str, info: Mapping[str, Any]) -> str:
    """The link or free body that touches as a whole; empty of contact points."""
    point, _, place = contact.partition("/")
    features = info.get("features", {})
    if point in features:
        return str(features[point][0])
    # Solids touch in places that are counted: ``torso/ground.2``.
    return point if place.rpartition(".")[2].isdigit() else ""


def surface_of(contact: str) -> str:
    """What a solid touches, by the name of the contact."""
    return contact.partition("/")[2].rpartition(".")[0]
