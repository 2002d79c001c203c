# SPDX-License-Identifier: Apache-2.0
"""Wrists from YAML files: roles of bones, their shapes or meshes, their ligaments.

A bone of a file has a ``mesh`` (a file beside it) or ``parts`` (shapes of
:mod:`~humans_sim.anatomy.wrist.bone_shapes`, for synthetic ones). Attachments of
ligaments are given at rest, near the bones' surfaces, and put onto them.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.balls.inscribed import inscribe
from humans_sim.anatomy.balls.medial_axis import ball_model
from humans_sim.anatomy.detection.contacts import ROLES
from humans_sim.anatomy.errors import AnatomyError, BoneMeshError
from humans_sim.anatomy.mechanics.bone_mass import BONE_DENSITY, mass_of_mesh
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.volumes.mesh_repair import UNITS, read_bone
from humans_sim.anatomy.volumes.mesh_volume import voxelise
from humans_sim.anatomy.wrist.bone_shapes import (
    BoneShape,
    Cone,
    CutShapes,
    Ellipsoid,
    Part,
    RoundedBox,
    frame_of,
)
from humans_sim.anatomy.wrist.wrist import Bone, Wrist, tie
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import named_file
from humans_sim.core.surface_nets import mesh_of_distance
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml

if TYPE_CHECKING:
    import trimesh

_CELLS = (8e-4, 1e-3)
"""Edges of the cells on which synthetic bones are meshed [m]."""
_FINER = (1.0, 0.8, 0.64, 0.5)
"""Shares of it that are tried where cells were too coarse."""
_OFF = 4e-3
"""Distance from its bone up to which an attachment is put onto it [m]."""
_LAW = {"strain": 0.0, "greatest": 1.6, "stiffness": 3e4, "damping": 5.0}
"""What ligaments have unless their file says otherwise [1, 1, N/m, N s/m]."""


def load_wrist(source: str | Path = "wrist", spacing: float = 8e-4) -> Wrist:
    """A wrist of the package, or of a file of one's own.

    Args:
        source: ``wrist``, the synthetic one, or a YAML file.
        spacing: edge of the voxels of the ball models [m]; synthetic bones are meshed
            on cells of that size, within 0.8 to 1 mm.

    Raises:
        ParameterError: the package has no such wrist.
        ModelFileError: something in the file is wrong; it names the line and the key.
    """
    path = named_file("anatomy", str(source), "wrist")
    if Path(source).suffix == ".yaml":  # one's own may change
        return _read(path, float(spacing))
    return _read_once(path, float(spacing))


@lru_cache(maxsize=4)
def _read_once(path: Path, spacing: float) -> Wrist:
    return _read(path, spacing)


def _read(path: Path, spacing: float) -> Wrist:
    root = read_yaml(path)
    fields = root.fields(
        ("title", "bones", "ligaments"), ("unit", "gap", "centre", "density")
    )
    unit = UNITS[fields["unit"].choice(tuple(UNITS))] if "unit" in fields else 1.0
    density = fields["density"].positive() if "density" in fields else BONE_DENSITY
    bones, synthetic = _bones(fields, unit, density, spacing)
    ties = _ligaments(fields["ligaments"], bones, unit)
    centre = np.zeros(3)
    if "centre" in fields:
        centre = unit * fields["centre"].vector(3)
    with located_errors(root):
        return Wrist(
            fields["title"].text(),
            tuple(bones),
            Ligaments([ligament for ligament, _ in ties]),
            tuple(number for _, number in ties),
            centre,
            synthetic,
        )


def _bones(
    fields: dict[str, YamlValue], unit: float, density: float, spacing: float
) -> tuple[list[Bone], bool]:
    entries = fields["bones"].mapping()
    keys = ("mesh", "unit", "parts", "grooves", "blend", "cups")
    read = {name: entry.fields(("role",), keys) for name, entry in entries.items()}
    shapes = {
        name: _shape(entry, unit) for name, entry in read.items() if "parts" in entry
    }
    with located_errors(fields["bones"]):
        gap = unit * fields["gap"].positive() if "gap" in fields else 5e-4
        cuts = CutShapes(shapes, gap) if shapes else None
    bones = []
    for name, entry in read.items():
        role = entry["role"].choice(ROLES)
        with located_errors(entries[name]):
            mesh, repairs = _mesh(name, entry, cuts, spacing)
            model = inscribe(ball_model(voxelise(mesh, spacing)), mesh)
            mass = mass_of_mesh(mesh, density)
        bones.append(Bone(name, role, mesh, model, mass, repairs))
    return bones, bool(shapes)


def _mesh(
    name: str, entry: dict[str, YamlValue], cuts: CutShapes | None, cell: float
) -> tuple[trimesh.Trimesh, tuple[str, ...]]:
    if "mesh" in entry and "parts" not in entry:
        file = entry["mesh"].folder / entry["mesh"].text()
        own = entry["unit"].choice(tuple(UNITS)) if "unit" in entry else None
        prepared = read_bone(file, own)
        return prepared.mesh, prepared.repairs
    if cuts is None or "mesh" in entry or "parts" not in entry:
        raise AnatomyError(f"{name} needs a mesh, or parts")
    mesh, box = None, np.stack(cuts.bounds(name))
    for share in _FINER:
        size = share * float(np.clip(cell, *_CELLS))
        try:
            mesh = mesh_of_distance(lambda p: cuts.distance(name, p), box, size)
            break
        except ParameterError as error:
            # Thin rims want finer cells.
            if share == _FINER[-1]:
                raise BoneMeshError(str(error)) from None
    assert mesh is not None
    if mesh.body_count > 1:
        raise AnatomyError(f"the parts of {name} do not hold together")
    return mesh, ()


def _shape(entry: dict[str, YamlValue], unit: float) -> BoneShape:
    parts = tuple(_part(part, unit) for part in entry["parts"])
    if not parts:
        raise entry["parts"].error("a bone needs a part")
    grooves = entry["grooves"].items() if "grooves" in entry else []
    cups = entry["cups"].items() if "cups" in entry else []
    return BoneShape(
        parts,
        tuple(_part(groove, unit) for groove in grooves),
        unit * entry["blend"].positive() if "blend" in entry else 2e-3,
        tuple(name.text() for name in cups),
    )


def _part(value: YamlValue, unit: float) -> Part:
    """A cone, a ball, an ellipsoid or a box."""
    values = value.mapping()
    kinds = [k for k in ("cone", "ball", "ellipsoid", "box") if k in values]
    if len(kinds) != 1:
        raise value.error("one of cone, ball, ellipsoid and box is wanted")
    if kinds[0] == "cone":
        fields = value.fields(("cone", "from", "to"))
        start, end = unit * fields["from"].vector(3), unit * fields["to"].vector(3)
        first, last = unit * _positive(fields["cone"], 2)
        return Cone(start, end, (float(first), float(last)))
    if kinds[0] == "ball":
        fields = value.fields(("ball", "at"))
        place, radius = unit * fields["at"].vector(3), unit * fields["ball"].positive()
        return Cone(place, place, (radius, radius))
    rounded = ("round",) if kinds[0] == "box" else ()
    fields = value.fields((kinds[0], "at", *rounded), ("turn",))
    size = unit * _positive(fields[kinds[0]], 3)
    frame = frame_of(fields["turn"].vector(3) if "turn" in fields else (0, 0, 0))
    place = unit * fields["at"].vector(3)
    if kinds[0] == "ellipsoid":
        return Ellipsoid(place, size, frame)
    rounding = unit * fields["round"].positive()
    if rounding > size.min():
        raise fields["round"].error("the rounding is larger than half the box")
    return RoundedBox(place, size, rounding, frame)


def _positive(value: YamlValue, count: int) -> np.ndarray:
    numbers = value.vector(count)
    if not (numbers > 0).all():
        raise value.error("numbers above zero are wanted")
    return numbers


def _ligaments(
    value: YamlValue, bones: list[Bone], unit: float
) -> list[tuple[Ligament, int]]:
    ties = []
    for name, entry in value.mapping().items():
        fields = entry.fields(("bones", "points"), (*_LAW, "number"))
        ends = [_bone_number(word, bones) for word in fields["bones"]]
        if len(ends) != 2:
            raise fields["bones"].error(f"two bones are wanted, not {len(ends)}")
        spots = fields["points"].items()
        if len(spots) != 2:
            raise fields["points"].error(f"two points are wanted, not {len(spots)}")
        points = [
            _attached(spot, bones[end], unit)
            for spot, end in zip(spots, ends, strict=True)
        ]
        law = {k: fields[k].number() if k in fields else v for k, v in _LAW.items()}
        if not law["strain"] > -0.5:
            raise fields["strain"].error("a strain above -0.5 is wanted")
        number = int(fields["number"].number()) if "number" in fields else 0
        with located_errors(entry):
            ligament = tie(
                name,
                bones,
                (ends[0], ends[1]),
                (points[0], points[1]),
                (law["strain"], law["greatest"], law["stiffness"], law["damping"]),
            )
        ties.append((ligament, number))
    return ties


def _bone_number(word: YamlValue, bones: list[Bone]) -> int:
    names = [bone.name for bone in bones]
    return names.index(word.choice(tuple(names)))


def _attached(spot: YamlValue, bone: Bone, unit: float) -> np.ndarray:
    """The vertex of a bone next to a point."""
    place = unit * spot.vector(3)
    vertices = np.asarray(bone.mesh.vertices)
    distances = np.linalg.norm(vertices - place, axis=1)
    nearest = int(distances.argmin())
    if distances[nearest] > _OFF:
        raise spot.error(
            f"the point is {1e3 * distances[nearest]:.1f} mm from the {bone.name}"
        )
    return np.asarray(vertices[nearest])
