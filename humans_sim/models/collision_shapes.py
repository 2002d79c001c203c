# SPDX-License-Identifier: Apache-2.0
"""The solids of a model's links, as its URDF gives them.

``<collision>`` elements count; of a link without any, its ``<visual>`` elements. Every
shape is convex, and the set of points within ``radius`` of the convex hull of its
``vertices``: a ball has one vertex, a capsule two, a box eight and no radius. The
height of its highest point along a direction d therefore is ``(vertices @ d).max() +
radius``. Meshes give way to their convex hulls, or to those of their pieces.

*Meshes* that the URDF names. A mesh can name other files: buffers of glTF, materials
and pictures. All of them are read here, through :class:`SideFiles`, and never by a
library from its name: regular files in the mesh's own package or folder, within one
limit of bytes.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import warnings
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import unquote

import numpy as np
import pinocchio as pin

from humans_sim.core.bounded_text import element_error, parse_xml
from humans_sim.core.errors import ModelFileError, ModelFileWarning
from humans_sim.core.expressions import shortened
from humans_sim.core.files import fault_reason, read_bytes
from humans_sim.core.kept_arrays import kept_array
from humans_sim.core.resources import (
    folders_above,
    packages_around,
    share_directory,
)
from humans_sim.models.files.urdf_elements import (
    is_tiny,
    listed,
    number,
    numbers,
    shape_of,
)
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index

if TYPE_CHECKING:
    import trimesh


MESHES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
"""Formats of meshes, by the endings of their names."""
LARGEST_MESH = 1 << 27
"""Largest mesh with all files that it names [bytes]."""
_MOST_FILES = 10_000
"""Files of a folder among which a name in other letters is looked for."""
_MOST_ABOVE = 3
"""Folders from the URDF's up below which a mesh may lie without its package."""
_OWN_PACKAGE, _PACKAGE, _FILE = "humans_sim", "package://", "file://"


@dataclass(frozen=True)
class MeshFile:
    """A mesh on the disk.

    Attributes:
        path: of the file, without links.
        root: folder in which the files lie that it may name.
    """

    path: Path
    root: Path


class MissingMeshError(ModelFileError):
    """A mesh that a model names is not there, or of a format that is not read."""


def find_mesh(name: str, model: Model) -> MeshFile:
    """The file of a mesh, by the name that the URDF gives it.

    ``package://name/path`` lies below the package's folder: beside the URDF, above it
    or beside a folder above, or in one of the folders of ``AMENT_PREFIX_PATH`` and
    ``ROS_PACKAGE_PATH``; where the package is in none of them, it may be any folder
    beside one above, or its path lie below one above. Other names begin at the URDF's
    folder, else at the working directory. A name in other letters (``.STL`` for
    ``.stl``) is taken where there is one alone. Links in packages of the environment
    are followed (``colcon build --symlink-install`` makes them), others not out of
    their folder.
    """
    if Path(name).suffix.lower() not in MESHES:
        raise MissingMeshError(
            f"meshes are read from {', '.join(MESHES)}, not '{shortened(name)}'",
            model.name,
        )
    for root, inner, installed in _places(name, model):
        lying = _as_it_lies(root / inner)
        if lying is None:
            continue
        path, folder = (Path(os.path.realpath(p)) for p in (lying, root))
        if path.is_relative_to(folder):
            return MeshFile(path, folder)
        if installed:
            return MeshFile(path, path.parent)
        raise ModelFileError(
            f"the mesh '{shortened(name)}' is a link out of {folder}: put a copy there",
            model.name,
        )
    raise MissingMeshError(
        f"the mesh '{shortened(name)}' is not there: put it beside the URDF, or its "
        "package on ROS_PACKAGE_PATH",
        model.name,
    )


def _as_it_lies(path: Path) -> Path | None:
    """The path as the disk has it, in capitals or not; None where it is not there."""
    if os.path.lexists(path):
        return path
    name, alike = path.name.lower(), []
    try:
        with os.scandir(path.parent) as entries:
            for entry in islice(entries, _MOST_FILES):
                if entry.name.lower() == name:
                    alike.append(path.parent / entry.name)
    except (OSError, ValueError):  # no folder, or a name that cannot be
        return None
    return alike[0] if len(alike) == 1 else None


def _places(name: str, model: Model) -> Iterator[tuple[Path, str, bool]]:
    """Folders that a mesh stays in, its name there, and whether they are installed."""
    folder = model.parts.source.resolve().parent
    if not name.startswith(_PACKAGE):
        path = name.removeprefix(_FILE)
        for start in (folder, Path.cwd()):
            whole = Path(os.path.normpath(start / path))
            if os.path.isabs(path):
                whole = Path(os.path.realpath(whole))
            inside = start == folder and whole.is_relative_to(folder)
            root = folder if inside else whole.parent
            yield root, str(whole.relative_to(root)), False
        return
    package, slash, rest = name.removeprefix(_PACKAGE).partition("/")
    if not slash:  # the name of a file alone
        package, rest = "", package
    inner = os.path.normpath(rest.lstrip("/"))
    if package in (".", "..") or inner.split(os.sep)[0] == "..":
        raise ModelFileError(
            f"the mesh '{shortened(name)}' leads out of its package", model.name
        )
    if package == _OWN_PACKAGE:
        yield Path(share_directory()), inner, True
        return
    yield folder / package, inner, False
    if package:
        for root in packages_around(package, folder):
            yield root, inner, False
    for variable, below in (("AMENT_PREFIX_PATH", "share"), ("ROS_PACKAGE_PATH", ".")):
        for prefix in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(prefix) / below / package, inner, True
    for root in folders_above(folder, _MOST_ABOVE):
        yield root / package, inner, False
        yield root, inner, False


class SideFiles:
    """Files that a mesh names; what trimesh calls a resolver. ``limit``: [bytes]."""

    def __init__(self, mesh: MeshFile, limit: int) -> None:
        self._mesh, self._limit = mesh, limit
        self._contents: dict[str, bytes] = {}
        self.fault: ModelFileError | None = None

    def get(self, key: str) -> bytes:
        """Content of a file, by the name that the mesh gives it."""
        if key not in self._contents:
            try:
                self._contents[key] = self._read(key)
            except ModelFileError as error:
                self.fault = self.fault or error
                raise
        return self._contents[key]

    __getitem__ = get

    def __contains__(self, key: str) -> bool:
        return key in self._contents

    def _read(self, key: str) -> bytes:
        # Names in glTF are addresses: a blank is %20.
        for name in (key, unquote(key)):
            path = Path(os.path.realpath(self._mesh.path.parent / name))
            if not path.is_relative_to(self._mesh.root):
                raise ModelFileError(
                    f"it names the file '{shortened(key)}' outside {self._mesh.root}",
                    self._mesh.path,
                )
            if os.path.lexists(path):
                break
        left = self._limit - sum(map(len, self._contents.values()))
        return read_bytes(path, ModelFileError, left)

    def keys(self) -> tuple[str, ...]:
        """Names of the files that were read."""
        return tuple(self._contents)

    def namespaced(self, namespace: str) -> SideFiles:
        """The same: names begin at the mesh's folder."""
        return self

    def write(self, name: str, data: bytes) -> NoReturn:
        """Nothing is written."""
        raise NotImplementedError("files of meshes are only read")


def read_mesh(mesh: MeshFile, scale: np.ndarray) -> trimesh.Trimesh:
    """The triangles of a mesh file, scaled along its axes [m]; no materials."""
    data = read_bytes(mesh.path, ModelFileError, LARGEST_MESH)
    ending = mesh.path.suffix.lower()
    if ending == ".dae" and zipfile.is_zipfile(io.BytesIO(data)):
        raise ModelFileError("not a mesh: it is an archive: unpack it", mesh.path)
    import trimesh  # slow to load

    side: Any = SideFiles(mesh, LARGEST_MESH - len(data))
    try:
        made: Any = trimesh.load(
            io.BytesIO(data),
            file_type=ending[1:],
            resolver=side,
            force="mesh",
            skip_materials=True,
        )
        made.apply_scale(np.asarray(scale).ravel())
    except Exception as error:  # trimesh and its readers raise what they like
        if side.fault is not None:
            raise side.fault from error
        raise ModelFileError(f"not a mesh: {error}", mesh.path) from error
    if not len(made.faces) or not np.isfinite(made.vertices).all():
        raise ModelFileError("not a mesh: it has no faces", mesh.path)
    if not 0 <= made.faces.min() <= made.faces.max() < len(made.vertices):
        raise ModelFileError("not a mesh: a face names no vertex", mesh.path)
    return made


_PIECES, _HOLLOW = 8, 0.5
"""Closed pieces of a mesh at most that are solids of their own, where they fill less
than such a share of the hull around all."""


def convex_parts(mesh: MeshFile, scale: np.ndarray) -> tuple[list[np.ndarray], float]:
    """Convex solids in the place of a mesh file, scaled along its axes.

    Its convex hull; of a few closed pieces far from each other the hull of each.

    Returns:
        vertices of each (n, 3) [m]; the share of these solids that the mesh fills, not
        a number where it is open.
    """
    try:
        state = mesh.path.stat()
    except OSError as error:
        reason = f"cannot read the file: {fault_reason(error)}"
        raise ModelFileError(reason, mesh.path) from error
    rows = _unit_parts(mesh, state.st_mtime_ns, state.st_size)
    filled, part, vertices = rows[0, 0], rows[1:, 3], rows[1:, :3]
    each = [vertices[part == k] for k in range(int(part[-1]) + 1)]
    return [v * np.asarray(scale, dtype=float) for v in each], float(filled)


@lru_cache(maxsize=256)
def _unit_parts(mesh: MeshFile, changed: int, size: int) -> np.ndarray:
    """The parts of a file in a given state: those of a scaled one are these, scaled.

    One file draws every limb of a model, so it is read once. A row for each vertex,
    with the number of its part, after one that begins with the share that is filled.
    """

    def parts() -> np.ndarray:
        made = read_mesh(mesh, np.ones(3))
        try:
            hulls, filled = _parts_of(made)
        except Exception as error:  # qhull, by several kinds of errors
            raise ModelFileError("its convex hull has no volume", mesh.path) from error
        rows = [np.c_[hulls[k], np.full(len(hulls[k]), k)] for k in range(len(hulls))]
        return np.vstack([[filled, 0.0, 0.0, -1.0], *rows])

    if mesh.path.suffix.lower() == ".stl":  # others may name further files
        data = read_bytes(mesh.path, ModelFileError, LARGEST_MESH)
        content = hashlib.sha256(data).hexdigest()
        rows = kept_array(__name__, (content,), parts)
    else:
        rows = parts()
    rows.setflags(write=False)
    return rows


def _parts_of(mesh: trimesh.Trimesh) -> tuple[list[np.ndarray], float]:
    """Vertices of the convex parts of a mesh, and the share of them that it fills."""
    hull = mesh.convex_hull
    joined = mesh.copy()
    joined.merge_vertices()
    if not joined.is_watertight:
        return [np.array(hull.vertices, dtype=float)], math.nan
    filled = abs(joined.volume) / hull.volume
    pieces = joined.split(only_watertight=True) if filled < _HOLLOW else []
    if 1 < len(pieces) <= _PIECES:
        hulls = [piece.convex_hull for piece in pieces]
        volume = sum(piece.volume for piece in hulls)
        if volume < _HOLLOW * hull.volume:
            return [np.array(piece.vertices, dtype=float) for piece in hulls], abs(
                joined.volume
            ) / volume
    return [np.array(hull.vertices, dtype=float)], filled


BOX, SPHERE, CYLINDER, CAPSULE, HULL = "box", "sphere", "cylinder", "capsule", "hull"
KINDS = (BOX, SPHERE, CYLINDER, CAPSULE, HULL)
COLLISION, VISUAL = "collision", "visual"
_ROUND = 32
"""Vertices on each rim of a cylinder: they leave out 0.5 % of its radius."""


@dataclass(frozen=True, eq=False)
class CollisionShape:
    """A convex solid that is fixed on a link.

    Attributes:
        joint: index of pinocchio's joint that carries the link.
        pose: of the shape in the joint's frame.
        kind: ``box``, ``sphere``, ``cylinder``, ``capsule`` or ``hull``.
        size: of a box its edges; of a ball its radius; of a cylinder or a capsule
            radius and length along z, a capsule's without its caps; of a hull the
            edges of the box that holds it [m].
        vertices: in the joint's frame (n, 3) [m].
        radius: what is within it of the vertices' hull belongs to the shape [m].
        filled: share of it that is there, of a mesh; not a number where it is open.
        centre: of the smallest box along the joint's axes that holds the shape [m].
        reach: no point of the shape is farther from ``centre`` [m].
    """

    link: str
    joint: int
    pose: pin.SE3
    kind: str
    size: tuple[float, ...]
    vertices: np.ndarray
    radius: float
    filled: float = 1.0
    centre: np.ndarray = field(init=False)
    reach: float = field(init=False)

    def __post_init__(self) -> None:
        centre = (self.vertices.min(axis=0) + self.vertices.max(axis=0)) / 2.0
        reach = float(np.linalg.norm(self.vertices - centre, axis=1).max())
        self.vertices.setflags(write=False)
        centre.setflags(write=False)
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "reach", reach + self.radius)

    def support(self, directions: np.ndarray) -> np.ndarray:
        """How far the shape goes along unit vectors (n, 3), in the joint's frame."""
        heights: np.ndarray = (directions @ self.vertices.T).max(axis=1)
        return heights + self.radius


@lru_cache(maxsize=16)
def collision_shapes(model: Model) -> tuple[CollisionShape, ...]:
    """Collision shapes of a model's links, in the order of its URDF.

    Meshes that are not there are left out, with a :class:`ModelFileWarning`; of a foot
    that has no other shape they are a :class:`ModelFileError`.
    """
    return _shapes(model, COLLISION)[0]


def hollow_links(model: Model) -> dict[str, float]:
    """Links with meshes that fill less than half of the solids that touch for them."""
    shares: dict[str, float] = {}
    for shape in collision_shapes(model):
        if shape.filled < _HOLLOW:
            shares[shape.link] = min(shape.filled, shares.get(shape.link, 1.0))
    return shares


@lru_cache(maxsize=16)
def visual_shapes(model: Model) -> tuple[CollisionShape, ...]:
    """Drawn shapes of a model's links that are there, each part by its convex hull."""
    return _shapes(model, VISUAL)[0]


@lru_cache(maxsize=16)
def missing_meshes(model: Model) -> dict[str, str]:
    """Links that should touch with meshes that are not there: their first ones."""
    return _shapes(model, COLLISION)[1]


def shape_elements(
    model: Model, kind: str
) -> Iterator[tuple[str, int, pin.SE3, ET.Element, ET.Element]]:
    """Shapes in a model's URDF, those without extent left out.

    Yields:
        Name of the link, pinocchio's joint that carries it, pose of the shape in the
        joint's frame, the shape's element, and the one of its kind that it stands in.
    """
    for link in parse_xml(model.urdf(), model.parts.source).findall("link"):
        name = link.get("name", "")
        if not model.pin.existFrame(name, pin.FrameType.BODY):
            continue  # what hangs on the world, above the floating base
        frame = model.pin.frames[frame_index(model.pin, name)]
        for element in link.findall(kind) or link.findall(VISUAL):
            shape = shape_of(element.find("geometry"))
            if shape is None or is_tiny(shape):
                continue
            pose = frame.placement * _origin(element.find("origin"))
            yield name, int(frame.parentJoint), pose, shape, element


@lru_cache(maxsize=16)
def _shapes(
    model: Model, kind: str
) -> tuple[tuple[CollisionShape, ...], dict[str, str]]:
    """Shapes of a model, and names of missing meshes by link."""
    shapes, missing = [], dict[str, str]()
    feet, faults = _feet(model), dict[int, ModelFileError]()
    for name, joint, pose, element, around in shape_elements(model, kind):
        try:
            word, solids, radius, filled = _solid(model, name, element)
        except MissingMeshError as error:
            if around.tag == COLLISION and joint in feet:
                fault = element_error(around, str(error), f"link {name}")
                faults.setdefault(joint, fault)
            missing.setdefault(name, element.get("filename", ""))
            continue
        for size, local in solids:
            vertices = local @ pose.rotation.T + pose.translation
            shape = (name, joint, pose, word, size, vertices, radius, filled)
            shapes.append(CollisionShape(*shape))
    for joint, fault in faults.items():
        if all(shape.joint != joint for shape in shapes):
            raise fault
    if missing and kind == COLLISION:
        first = shortened(next(iter(missing.values())))
        warnings.warn(
            f"{model.name}: meshes are missing, with which these links would touch: "
            f"{listed([*missing])}; the first one is '{first}'",
            ModelFileWarning,
            stacklevel=3,
        )
    return tuple(shapes), missing


def put_on_its_shapes(model: Model) -> Model:
    """The model with its lowest shape on the floor in the zero position.

    For models whose files do not say with which points they stand. As it is where no
    shape can be read.
    """
    try:
        shapes = collision_shapes(model)
    except ModelFileError:  # said where the shapes are needed
        return model
    if not shapes:
        return model
    data = model.data()
    pin.forwardKinematics(model.pin, data, pin.neutral(model.pin))
    lowest = min(
        float(data.oMi[s.joint].translation[2])
        - float(s.support(-data.oMi[s.joint].rotation[2:])[0])
        for s in shapes
    )
    layout = replace(model.parts.humans, base_height=-lowest)
    return Model(replace(model.parts, humans=layout))


def _feet(model: Model) -> set[int]:
    """Joints that carry soles, or tags that touch the ground."""
    contacts = {tag.link for tag in model.parts.tags if tag.name in model.contact_names}
    names = [*(sole.name for sole in model.soles), *contacts]
    return {int(model.pin.frames[frame_index(model.pin, n)].parentJoint) for n in names}


def _solid(
    model: Model, link: str, element: ET.Element
) -> tuple[str, list[tuple[tuple[float, ...], np.ndarray]], float, float]:
    """The solids of a geometry.

    Returns:
        kind; size, and vertices in the shape's own frame, of each; radius; the share of
        them that is there.
    """
    if element.tag == "mesh":
        scale = np.array(numbers(element, "scale", 1.0, 1.0, 1.0))
        mesh = find_mesh(element.get("filename", ""), model)
        parts, filled = convex_parts(mesh, scale)
        solids = [(tuple(np.ptp(v, axis=0).tolist()), v) for v in parts]
        return HULL, solids, 0.0, filled
    kind, size, vertices, radius = _primitive(model, link, element)
    return kind, [(size, vertices)], radius, 1.0


def _primitive(
    model: Model, link: str, element: ET.Element
) -> tuple[str, tuple[float, ...], np.ndarray, float]:
    """Kind, size, vertices in the shape's own frame, and radius."""
    if element.tag == BOX:
        edges = np.array(numbers(element, "size"))
        signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T
        return BOX, tuple(edges.tolist()), signs * edges, 0.0
    if element.tag == SPHERE:
        radius = number(element, "radius")
        return SPHERE, (radius,), np.zeros((1, 3)), radius
    if element.tag in (CYLINDER, CAPSULE):
        radius, length = number(element, "radius"), number(element, "length")
        ends = np.array([[0.0, 0.0, -length / 2.0], [0.0, 0.0, length / 2.0]])
        if element.tag == CAPSULE:
            return CAPSULE, (radius, length), ends, radius
        angle = 2.0 * np.pi * np.arange(_ROUND) / _ROUND
        rim = radius * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
        return CYLINDER, (radius, length), np.vstack([rim + end for end in ends]), 0.0
    raise ModelFileError(
        f"'{element.tag}' is no geometry: use box, sphere, cylinder, capsule or mesh",
        model.parts.source,
        key=f"link {link}",
    )


def _origin(element: ET.Element | None) -> pin.SE3:
    if element is None:
        return pin.SE3.Identity()
    xyz = np.array(numbers(element, "xyz", 0.0, 0.0, 0.0))
    rpy = np.array(numbers(element, "rpy", 0.0, 0.0, 0.0))
    return pin.SE3(pin.rpy.rpyToMatrix(rpy), xyz)
