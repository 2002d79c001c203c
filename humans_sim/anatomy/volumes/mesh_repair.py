# SPDX-License-Identifier: Apache-2.0
"""Repair of users' meshes: closed surfaces of one bone, and a report of the changes.

Scans come open, inside out, in millimetres and with crumbs around the bone. What can be
put right without guessing at the bone's shape is put right and reported; the rest is
refused.

A bone may also be the collision mesh of a link of a URDF.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from humans_sim.anatomy.errors import BoneMeshError
from humans_sim.contact.geometry.terrain import read_mesh_file
from humans_sim.core.bounded_text import element_error, parse_xml
from humans_sim.core.errors import ModelFileError
from humans_sim.core.files import read_bytes
from humans_sim.models.files.urdf_elements import check_numbers, numbers

if TYPE_CHECKING:
    import trimesh


UNITS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6}
"""Lengths of units [m]."""
LEAST, MOST = 2e-3, 0.7
"""Extents of human bones, from an ear's ossicle to a long thigh bone [m]."""
_CRUMB = 0.05
"""Share of the largest part's volume below which a part is no bone of its own."""
_CAPS = 0.05
"""Share of the surface that may be missing."""

Components = Literal["largest", "all"]


@dataclass(frozen=True)
class PreparedMesh:
    """A mesh, closed, turned outwards, in metres, and how it became one.

    Repairs are one line each; empty: it was sound.
    """

    mesh: trimesh.Trimesh
    repairs: tuple[str, ...]


def read_bone(
    path: Path | str, unit: str | None = None, components: Components | None = None
) -> PreparedMesh:
    """Read a bone from ``.stl``, ``.obj`` or ``.ply``; see :func:`prepare_mesh`."""
    import trimesh

    mesh = read_mesh_file(path, 1.0, lambda v, f: trimesh.Trimesh(v, f, process=False))
    try:
        return prepare_mesh(mesh, unit, components)
    except BoneMeshError as error:
        raise BoneMeshError(f"{Path(path).name}: {error}") from error


def prepare_mesh(
    mesh: trimesh.Trimesh, unit: str | None = None, components: Components | None = None
) -> PreparedMesh:
    """Make a mesh the closed surface of one bone.

    Args:
        mesh: of anybody; it is not changed.
        unit: of its coordinates (``m``, ``cm``, ``mm``, ``um``); None: metres where a
            bone can have its size, else millimetres.
        components: of several closed parts, keep the ``largest`` or ``all``; None: the
            largest where the others are crumbs, else an error.

    Raises:
        BoneMeshError: it has no faces or no finite vertices, no bone has its size, it
            has large holes, several large parts, or no volume.
    """
    vertices = np.asarray(mesh.vertices, dtype=float)
    faces = np.asarray(mesh.faces, dtype=np.int64)
    if len(faces) == 0 or len(vertices) == 0:
        raise BoneMeshError("the mesh is empty: it has no faces")
    if not np.isfinite(vertices).all():
        bad = int(np.flatnonzero(~np.isfinite(vertices).all(axis=1))[0])
        raise BoneMeshError(f"vertex {bad} of the mesh is not finite")
    repairs: list[str] = []
    vertices = vertices * _scale(float(np.ptp(vertices, axis=0).max()), unit, repairs)
    vertices, faces = _welded(vertices, faces, repairs)
    faces = _one_bone(vertices, faces, components, repairs)
    vertices, faces = _closed(vertices, faces, repairs)
    return PreparedMesh(_outwards(vertices, faces, repairs), tuple(repairs))


def _scale(extent: float, unit: str | None, repairs: list[str]) -> float:
    """Length of the unit [m]."""
    if unit is not None:
        if unit not in UNITS:
            known = ", ".join(UNITS)
            raise BoneMeshError(f"the unit '{unit}' is not known (there are: {known})")
        if not LEAST <= extent * UNITS[unit] <= MOST:
            raise BoneMeshError(
                f"no bone is {extent * UNITS[unit]:.3g} m long: is '{unit}' its unit?"
            )
        return UNITS[unit]
    if LEAST <= extent <= MOST:
        return 1.0
    if LEAST <= extent * UNITS["mm"] <= MOST:
        repairs.append(f"{extent:.4g} units long: read as millimetres")
        return UNITS["mm"]
    raise BoneMeshError(
        f"{extent:.3g} units long: no bone is that long in metres or millimetres; "
        "give the unit"
    )


def _welded(
    vertices: np.ndarray, faces: np.ndarray, repairs: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """One vertex a place, no face without area, none twice."""
    size = np.ptp(vertices, axis=0).max()
    rounded = np.round(vertices / (1e-8 * size)).astype(np.int64)
    _, first, names = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    vertices, faces = vertices[first], names.reshape(-1)[faces]
    a, b, c = faces.T
    flat = (a == b) | (b == c) | (c == a)
    if flat.any():
        repairs.append(f"removed {np.count_nonzero(flat)} faces without area")
        faces = faces[~flat]
    if len(faces) == 0:
        raise BoneMeshError("the mesh is empty: no face has an area")
    _, kept = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    if len(kept) < len(faces):
        repairs.append(f"removed {len(faces) - len(kept)} faces that were there twice")
        faces = faces[np.sort(kept)]
    return vertices, faces


def _one_bone(
    vertices: np.ndarray,
    faces: np.ndarray,
    components: Components | None,
    repairs: list[str],
) -> np.ndarray:
    """The faces of the part that is the bone."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate([faces[:, :2], faces[:, 1:]])
    size = (len(vertices), len(vertices))
    graph = coo_matrix((np.ones(len(ends), dtype=np.int8), ends.T), shape=size)
    label = connected_components(graph, directed=False)[1][faces[:, 0]]
    names, part = np.unique(label, return_inverse=True)
    if len(names) == 1 or components == "all":
        return faces
    volumes = np.abs(np.bincount(part, _cones(vertices, faces)))
    order = np.argsort(volumes)[::-1]
    others = volumes[order[1:]]
    if components is None and others[0] > _CRUMB * volumes[order[0]]:
        large = np.count_nonzero(volumes > _CRUMB * volumes[order[0]])
        raise BoneMeshError(
            f"the mesh has {large} large parts; give components='largest' for the "
            "largest or components='all' for one bone of all"
        )
    repairs.append(
        f"kept the largest of {len(names)} parts; the others had "
        f"{others.sum() / volumes.sum():.2%} of the volume"
    )
    return faces[part == order[0]]


def _closed(
    vertices: np.ndarray, faces: np.ndarray, repairs: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Holes capped by fans about their centres."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    ends = np.sort(edges, axis=1)
    _, names, counts = np.unique(ends, axis=0, return_inverse=True, return_counts=True)
    shared = counts[names.reshape(-1)]
    if (shared > 2).any():
        raise BoneMeshError(
            f"{np.count_nonzero(counts > 2)} edges have more than two faces: this is "
            "no surface of a solid"
        )
    border = edges[shared == 1]
    if len(border) == 0:
        return vertices, faces
    loops = _loops(border)
    caps: list[np.ndarray] = []
    middles: list[np.ndarray] = []
    area = 0.0
    for loop in loops:
        middle = vertices[loop].mean(axis=0)
        a, b = vertices[loop] - middle, vertices[np.roll(loop, -1)] - middle
        area += float(np.linalg.norm(np.cross(a, b), axis=1).sum()) / 2
        centre = np.full(len(loop), len(vertices) + len(middles))
        caps.append(np.column_stack([np.roll(loop, -1), loop, centre]))
        middles.append(middle)
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    whole = float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()) / 2
    if area > _CAPS * (whole + area):
        raise BoneMeshError(
            f"the mesh is open: {len(loops)} holes are {area / (whole + area):.0%} of "
            "its surface; close it where it was made"
        )
    repairs.append(
        f"closed {len(loops)} holes ({len(border)} edges, "
        f"{area / (whole + area):.2%} of the surface)"
    )
    return np.vstack([vertices, *middles]), np.vstack([faces, *caps])


def _loops(border: np.ndarray) -> list[np.ndarray]:
    """Closed paths of the edges of holes."""
    following: dict[int, int] = {}
    for start, end in border.tolist():
        if start in following:
            raise BoneMeshError(
                f"holes of the mesh meet at vertex {start}, or its faces are turned "
                "different ways: close it where it was made"
            )
        following[start] = end
    loops = []
    while following:
        start, now = following.popitem()
        loop = [start]
        while now != start:
            loop.append(now)
            if now not in following:
                raise BoneMeshError("the border of the mesh is no closed path")
            now = following.pop(now)
        loops.append(np.array(loop))
    return loops


def _outwards(
    vertices: np.ndarray, faces: np.ndarray, repairs: list[str]
) -> trimesh.Trimesh:
    import trimesh

    used, names = np.unique(faces, return_inverse=True)
    faces = names.reshape(faces.shape)
    mesh = trimesh.Trimesh(vertices[used], faces, process=False)
    if not mesh.is_winding_consistent:
        trimesh.repair.fix_winding(mesh)
        repairs.append("turned faces that were turned different ways")
    if not (mesh.is_watertight and mesh.is_winding_consistent):
        raise BoneMeshError("the mesh is no closed surface with two sides")
    volume = float(_cones(mesh.vertices, mesh.faces).sum())
    if abs(volume) < 1e-9 * float(mesh.area) ** 1.5:
        raise BoneMeshError("the mesh has no volume: it is flat")
    if volume < 0:
        mesh.invert()
        repairs.append("turned inside out")
    return mesh


def _cones(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Signed volumes of the cones from the middle to the faces [m^3]."""
    corners = vertices[faces] - vertices.mean(axis=0)
    a, b, c = np.moveaxis(corners, 1, 0)
    return np.einsum("ni,ni->n", a, np.cross(b, c)) / 6


_LARGEST = 1 << 24
"""A description above this size is refused [bytes]."""
_PACKAGE, _FILE = "package://", "file://"


def collision_mesh(urdf: Path | str, link: str) -> tuple[Path, np.ndarray]:
    """File of the collision mesh of a link, and its scale along the axes (3,).

    Paths begin at the URDF's folder; of ``package://name/path`` at the nearest folder
    above it that has the path. The mesh is taken as it is, in its own frame.

    ModelFileError: it is no URDF, or has no such link with one mesh.
    """
    urdf = Path(urdf)
    text = read_bytes(urdf, ModelFileError, _LARGEST).decode("utf-8", "replace")
    root = parse_xml(text, urdf)
    links = [one for one in root.iter("link") if one.get("name") == link]
    if len(links) != 1:
        raise ModelFileError(f"no link or several are called '{link[:80]}'", urdf)
    meshes = links[0].findall("collision/geometry/mesh")
    if len(meshes) != 1:
        raise ModelFileError(
            f"the link '{link[:80]}' has {len(meshes)} collision meshes, not one", urdf
        )
    check_numbers(meshes[0], "scale", 3, f"link {link[:80]}")
    scale = np.array(numbers(meshes[0], "scale", 1.0, 1.0, 1.0))
    if not (scale > 0).all():
        fault = "the scale of a bone is above zero"
        raise element_error(meshes[0], fault, None, "scale")
    name = meshes[0].get("filename", "")
    if not name.startswith(_PACKAGE):
        name = name.removeprefix(_FILE)
        if not name:
            raise ModelFileError("a mesh has no file name", urdf)
        return urdf.parent / name, scale
    inner = name.removeprefix(_PACKAGE).partition("/")[2].lstrip("/")
    if ".." in Path(inner).parts:
        raise ModelFileError(f"'{name[:120]}' leads out of its package", urdf)
    for folder in urdf.resolve().parents:
        if inner and (folder / inner).is_file():
            return folder / inner, scale
    raise ModelFileError(f"'{name[:120]}' is not found above it", urdf)


def read_link_bone(urdf: Path | str, link: str) -> PreparedMesh:
    """The collision mesh of a link of a URDF, as a bone."""
    import trimesh

    path, scale = collision_mesh(urdf, link)

    def scaled(vertices: np.ndarray, faces: np.ndarray) -> trimesh.Trimesh:
        return trimesh.Trimesh(vertices * scale, faces, process=False)

    return prepare_mesh(read_mesh_file(path, 1.0, scaled), "m")
