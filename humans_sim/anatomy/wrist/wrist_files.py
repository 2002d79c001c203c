# SPDX-License-Identifier: Apache-2.0
"""Wrists from YAML files: roles of bones, their shapes or meshes, their ligaments.

A bone of a file has a ``mesh`` (a file beside it) or ``parts`` (shapes, for synthetic
ones). Attachments of ligaments are given at rest, near the bones' surfaces, and put
onto them.

*Shapes* are rounded parts that grow together, cut where bones meet. A part is a
function of space, about the distance to its surface and negative inside. A bone is the
smooth union of its parts less its grooves. Where two bones would meet, one cups the
other (it ends a gap before the other's surface, as the lunate does around the head of
the capitate), or both end half a gap before the surface halfway between them: joint
faces that fit each other, and bones that never overlap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.anatomy.balls.ball_model import ball_model, inscribe
from humans_sim.anatomy.detection.contacts import ROLES
from humans_sim.anatomy.errors import AnatomyError, BoneMeshError
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.volumes.mesh_repair import UNITS, read_bone
from humans_sim.anatomy.volumes.volume import voxelise
from humans_sim.anatomy.wrist.wrist import BONE_DENSITY, Bone, Wrist, mass_of_mesh, tie
from humans_sim.core.errors import ParameterError
from humans_sim.core.resources import named_file
from humans_sim.core.surface_nets import mesh_of_distance
from humans_sim.core.yaml_file import YamlValue, located_errors, read_yaml

if TYPE_CHECKING:
    import trimesh


class Part(Protocol):
    """A rounded body."""

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface, about, negative inside: of points (..., 3) [m]."""

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of a box around it (3,) each [m]."""


@dataclass(frozen=True)
class Cone:
    """Balls of changing radius along a line from start to end (3,) [m]."""

    start: np.ndarray
    end: np.ndarray
    radii: tuple[float, float]

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface."""
        along = self.end - self.start
        square = max(float(along @ along), 1e-30)
        share = np.clip((points - self.start) @ along / square, 0.0, 1.0)
        nearest = self.start + share[..., None] * along
        radius = self.radii[0] + share * (self.radii[1] - self.radii[0])
        return np.asarray(np.linalg.norm(points - nearest, axis=-1) - radius)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of both balls."""
        low = np.minimum(self.start - self.radii[0], self.end - self.radii[1])
        return low, np.maximum(self.start + self.radii[0], self.end + self.radii[1])


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid of a centre and semi-axes (3,) [m], its axes columns of a frame."""

    centre: np.ndarray
    semi_axes: np.ndarray
    frame: np.ndarray

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface, of first order."""
        local = (points - self.centre) @ self.frame
        level = np.linalg.norm(local / self.semi_axes, axis=-1)
        slope = np.linalg.norm(local / self.semi_axes**2, axis=-1)
        middle = slope < 1e-12
        value = level * (level - 1) / np.where(middle, 1.0, slope)
        return np.where(middle, -self.semi_axes.min(), value)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of its axes."""
        reach = np.linalg.norm(self.frame * self.semi_axes, axis=1)
        return self.centre - reach, self.centre + reach


@dataclass(frozen=True)
class RoundedBox:
    """A box of half its size about a centre (3,), edges rounded by a radius [m].

    Its axes are the columns of its frame (3, 3).
    """

    centre: np.ndarray
    half: np.ndarray
    rounding: float
    frame: np.ndarray

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface."""
        local = np.abs((points - self.centre) @ self.frame)
        over = local - (self.half - self.rounding)
        outside = np.linalg.norm(np.maximum(over, 0.0), axis=-1)
        inside = np.minimum(over.max(axis=-1), 0.0)
        return np.asarray(outside + inside - self.rounding)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of its corners."""
        reach = np.abs(self.frame) @ self.half
        return self.centre - reach, self.centre + reach


@dataclass(frozen=True)
class BoneShape:
    """A bone of parts that grow together over a blend [m], less its grooves.

    It ends around the bones that it cups, by name.
    """

    parts: tuple[Part, ...]
    grooves: tuple[Part, ...] = ()
    blend: float = 2e-3
    cups: tuple[str, ...] = ()

    def distance(self, points: np.ndarray) -> np.ndarray:
        """To its surface, before it is cut by others."""
        value = self.parts[0].distance(points)
        for part in self.parts[1:]:
            value = -smooth_max(-value, -part.distance(points), self.blend)
        for groove in self.grooves:
            value = smooth_max(value, -groove.distance(points), self.blend / 2)
        return value

    def bounds(self, margin: float) -> tuple[np.ndarray, np.ndarray]:
        """A box around it with a margin (3,) each [m]."""
        boxes = [part.bounds() for part in self.parts]
        low = np.min([box[0] for box in boxes], axis=0)
        high = np.max([box[1] for box in boxes], axis=0)
        return low - margin, high + margin


def smooth_max(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    """The larger of two, rounded where they differ by less than a width."""
    if width <= 0:
        return np.maximum(a, b)
    share = np.maximum(width - np.abs(a - b), 0.0) / width
    return np.maximum(a, b) + share**2 * width / 4


def frame_of(turn: Sequence[float] | np.ndarray) -> np.ndarray:
    """Axes of a part turned about x, y and z in turn [deg]."""
    return np.asarray(Rotation.from_euler("xyz", list(turn), degrees=True).as_matrix())


class CutShapes:
    """Bones cut by each other.

    Args:
        shapes: by name.
        gap: between joint faces [m].
        edge: rounding of the rims of joint faces [m].

    Raises:
        AnatomyError: a bone cups one that is not there, or two cup each other.
    """

    def __init__(
        self, shapes: Mapping[str, BoneShape], gap: float = 6e-4, edge: float = 1.5e-3
    ) -> None:
        self.shapes, self.gap, self.edge = dict(shapes), gap, edge
        for name, shape in self.shapes.items():
            for other in shape.cups:
                if other not in self.shapes or other == name:
                    raise AnatomyError(f"{name} cups '{other}', which is no other bone")
                if name in self.shapes[other].cups:
                    raise AnatomyError(f"{name} and {other} cup each other")
        self._boxes = {n: s.bounds(2 * edge + gap) for n, s in self.shapes.items()}

    def bounds(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A box around a bone (3,) each [m]."""
        return self._boxes[name]

    def distance(self, name: str, points: np.ndarray) -> np.ndarray:
        """To the surface of a bone, about, negative inside: of points (..., 3) [m]."""
        shape = self.shapes[name]
        own = shape.distance(points)
        value = own.copy()
        for other, neighbour in self.shapes.items():
            if other == name or name in neighbour.cups or not self._near(name, other):
                continue
            low, high = self._boxes[other]
            # Outside the bone, and far from the neighbour, nothing is cut.
            met = own < self.edge
            met &= np.all((points > low) & (points < high), axis=-1)
            theirs = neighbour.distance(points[met])
            if other in shape.cups:
                cut = self.gap - theirs
            else:
                cut = (own[met] - theirs + self.gap) / 2
            value[met] = smooth_max(value[met], cut, self.edge)
        return value

    def _near(self, name: str, other: str) -> bool:
        (low, high), (first, last) = self._boxes[name], self._boxes[other]
        return bool(np.all(low < last) and np.all(first < high))


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


def _read(path: Path, spacing: float) -> Wrist:
    root = read_yaml(path)
    may = ("unit", "gap", "centre", "density")
    fields = root.fields(("title", "bones", "ligaments"), may)
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


_read_once = lru_cache(maxsize=4)(_read)


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
            # Thin rims need finer cells.
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
        raise value.error("one of cone, ball, ellipsoid and box must be given")
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
        raise value.error("must be numbers above zero")
    return numbers


def _ligaments(
    value: YamlValue, bones: list[Bone], unit: float
) -> list[tuple[Ligament, int]]:
    ties = []
    for name, entry in value.mapping().items():
        fields = entry.fields(("bones", "points"), (*_LAW, "number"))
        names = tuple(bone.name for bone in bones)
        ends = [names.index(word.choice(names)) for word in fields["bones"]]
        if len(ends) != 2:
            raise fields["bones"].error(f"must be two bones, not {len(ends)}")
        spots = fields["points"].items()
        if len(spots) != 2:
            raise fields["points"].error(f"must be two points, not {len(spots)}")
        pairs = zip(spots, ends, strict=True)
        points = [_attached(spot, bones[end], unit) for spot, end in pairs]
        law = {k: fields[k].number() if k in fields else v for k, v in _LAW.items()}
        if not law["strain"] > -0.5:
            raise fields["strain"].error("must be a strain above -0.5")
        number = int(fields["number"].number()) if "number" in fields else 0
        between = (ends[0], ends[1]), (points[0], points[1])
        with located_errors(entry):
            numbers = law["strain"], law["greatest"], law["stiffness"], law["damping"]
            ligament = tie(name, bones, *between, numbers)
        ties.append((ligament, number))
    return ties


def _attached(spot: YamlValue, bone: Bone, unit: float) -> np.ndarray:
    """The vertex of a bone next to a point."""
    place = unit * spot.vector(3)
    vertices = np.asarray(bone.mesh.vertices)
    distances = np.linalg.norm(vertices - place, axis=1)
    nearest = int(distances.argmin())
    if distances[nearest] > _OFF:
        away = f"{1e3 * distances[nearest]:.1f} mm"
        raise spot.error(f"the point is {away} from the {bone.name}")
    return np.asarray(vertices[nearest])
