# SPDX-License-Identifier: Apache-2.0
"""Terrain: triangle meshes, height fields as such meshes, and their files.

*Files* are pictures, arrays and tables of heights, and meshes. Nothing is set aside by
what a file says of itself: sizes are compared with the limits before anything is read.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from humans_sim.contact.geometry.mesh import (
    BAND,
    COUNT,
    LARGEST_COORDINATE,
    MESH,
    MESH_TRIANGLES,
    NODES,
    NORMALS,
    RANK,
    REACH,
    MeshTable,
    mesh_table,
)
from humans_sim.core.arrays import finite_array, real_array
from humans_sim.core.budget import HEIGHTS, Budget
from humans_sim.core.errors import FileError, ParameterError
from humans_sim.core.files import read_bytes, read_text, reader_errors
from humans_sim.core.npz_file import read_npy_header

MESHES = (".stl", ".obj", ".ply")
"""Formats of meshes, by the endings of their names."""
LARGEST_MESH = 1 << 27
LARGEST_IMAGE = LARGEST_ARRAY = 1 << 26
"""Largest files [bytes]."""
_PICTURES = ("PNG", "TIFF", "BMP", "PPM", "JPEG")
_LEVELS = {"L": 255.0, "I;16": 65535.0, "I;16B": 65535.0, "I": 65535.0}
"""White, by the mode of a picture."""

Mesh = TypeVar("Mesh")


def read_image(path: Path | str, budget: Budget) -> np.ndarray:
    """Grey levels of a picture, 0 to 1 (nx, ny): right is x, up is y."""
    from PIL import Image

    data = read_bytes(path, FileError, LARGEST_IMAGE)
    at_file = partial(FileError, path=path)
    with reader_errors("a picture", path):
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=_PICTURES) as picture:
                width, height = picture.size
                budget.check("the picture", width, height, error=at_file)
                grey = picture if picture.mode in _LEVELS else picture.convert("L")
                levels = np.asarray(grey, dtype=float) / _LEVELS[grey.mode]
    if levels.ndim != 2 or min(levels.shape) < 2:
        raise FileError("the picture is smaller than 2 x 2 pixels", path)
    if levels.max() > 1.0:
        raise FileError("the picture has more than 16 bits a pixel", path)
    return np.ascontiguousarray(levels[::-1].T)


def _read_array(path: Path | str, most: int) -> np.ndarray:
    data = read_bytes(path, FileError, LARGEST_ARRAY)
    stream = io.BytesIO(data)
    with reader_errors("an array of heights", path):
        header = read_npy_header(stream, 2, most)
        numbers = np.frombuffer(data, header.kind, header.size, stream.tell())
    return numbers.reshape(header.shape, order=header.order).astype(float)


def _read_table(path: Path | str, budget: Budget) -> np.ndarray:
    rows: list[list[float]] = []
    count = 0
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            rows.append([float(word) for word in line.split(",")])
        except ValueError:
            raise FileError(
                f"must be numbers, not '{line[:40]}'", path, number
            ) from None
        count += len(rows[-1])
        budget.check("a table", count, error=partial(FileError, path=path, line=number))
        if len(rows[-1]) != len(rows[0]):
            raise FileError(
                f"{len(rows[-1])} numbers, not {len(rows[0])} as before", path, number
            )
    if not rows:
        raise FileError("the file is empty", path)
    return np.array(rows)


def read_mesh_file(
    path: Path | str, scale: float, make: Callable[[np.ndarray, np.ndarray], Mesh]
) -> Mesh:
    """A mesh of a file, made of its vertices (n, 3) [m] and faces (m, 3)."""
    import trimesh

    suffix = Path(path).suffix.lower()
    if suffix not in MESHES:
        raise FileError(f"meshes are read from {', '.join(MESHES)}", path)
    if not (math.isfinite(scale) and scale > 0):
        raise ParameterError(f"scale must be above zero, not {scale}")
    data = read_bytes(path, FileError, LARGEST_MESH)
    if suffix == ".obj":  # trimesh passes over lines that begin with blanks
        data = re.sub(rb"(?m)^[ \t]+", b"", data)
    with reader_errors("a mesh", path):
        # From memory: what else a file names, such as materials, is not opened.
        mesh: Any = trimesh.load(
            io.BytesIO(data), file_type=suffix[1:], force="mesh", process=False
        )
        vertices, faces = np.asarray(mesh.vertices, float), np.asarray(mesh.faces)
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise FileError(f"vertices have three coordinates, not {vertices.shape}", path)
    try:
        return make(scale * vertices, faces)
    except ParameterError as error:
        raise FileError(str(error), path) from error


RANKS = 3
"""Contacts that one point may have with a mesh at the same time."""
_BAND = 1.0
"""How far beyond the nearest point further contacts are looked for, in edges."""
_THICKNESS = 0.1
"""What lies under the lowest height of a field, in lengths of its longer side."""


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """A solid bounded by triangles, or everything behind an open surface of them.

    Equal vertices are one. The faces wind counter-clockwise seen from outside. Beyond
    the border of an open surface there is nothing to touch but the border itself.

    Attributes:
        vertices: (n, 3) [m].
        faces: three vertices each (m, 3).
        name: what messages and events call it.
        friction: Coulomb's coefficient of this solid, whatever the law of its scene;
            None for that of the scene.

    Raises:
        ParameterError: the mesh is empty, too large, degenerate, not a surface with two
            sides, or turned inside out.
    """

    vertices: np.ndarray
    faces: np.ndarray
    name: str = "mesh"
    friction: float | None = None
    _table: MeshTable = field(init=False, repr=False)

    def __post_init__(self) -> None:
        table = mesh_table(self.vertices, self.faces, self.name)
        for key, value in (
            ("_table", table),
            ("vertices", table.vertices),
            ("faces", table.faces),
        ):
            object.__setattr__(self, key, value)

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        scale: float = 1.0,
        origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
        name: str = "mesh",
        friction: float | None = None,
    ) -> TriangleMesh:
        """Read a mesh from ``.stl``, ``.obj`` or ``.ply``.

        Args:
            path: the file.
            scale: of its coordinates, e.g. 0.001 for millimetres.
            origin: where its origin lies in the world [m].
            name: what messages and events call it.
            friction: Coulomb's coefficient, or None.

        Raises:
            FileError: the file cannot be read, or its mesh is not sound.
        """
        shift = finite_array(origin, (3,), f"origin of {name}")
        return read_mesh_file(
            path, scale, lambda v, f: cls(v + shift, f, name, friction)
        )

    @property
    def closed(self) -> bool:
        """Whether the mesh has no border."""
        return self._table.closed

    @property
    def data(self) -> np.ndarray:
        """The mesh as numbers for the compiled distance."""
        return self._table.data

    def row(self, rank: int = 0) -> np.ndarray:
        """The row for the compiled distance (16,), of the contact ``rank``, 0 to 2."""
        row = np.zeros(16)
        row[0], row[RANK], row[REACH] = MESH, rank, 0.0
        row[BAND] = _BAND * self._table.edge
        row[NODES], row[MESH_TRIANGLES] = 0, self._table.triangles
        row[NORMALS], row[COUNT] = self._table.normals, len(self.faces)
        return row

    def thickness(self) -> float:
        """Shortest side of the box around it; infinite for an open surface [m]."""
        if not self.closed:
            return float("inf")
        return float(np.ptp(self.vertices, axis=0).min())


class HeightField(TriangleMesh):
    """Heights on a grid, with a flat bottom and sides: a closed solid.

    The height ``heights[i, j]`` lies over ``x = origin_x + i spacing`` and
    ``y = origin_y + j spacing``. Each cell is two triangles, split along the diagonal
    from (i, j) to (i + 1, j + 1): the surface is the mesh that is drawn, flat parts are
    planes, and distances to it are exact. A bilinear cell is neither.

    Args:
        heights: over ``origin`` (nx, ny), 2 or more along each side [m].
        spacing: of the grid [m]; one number, or those along x and y.
        origin: place of ``heights[0, 0]`` at height zero [m].
        name: what messages and events call it.
        friction: Coulomb's coefficient of this solid, whatever the law of its scene;
            None for that of the scene.
        bottom: height of the flat bottom over ``origin`` [m]; a tenth of the longer
            side below the lowest height unless given.

    Raises:
        ParameterError: heights or spacing cannot be used.
    """

    heights: np.ndarray
    spacing: tuple[float, float]
    origin: tuple[float, float, float]
    bottom: float

    def __init__(
        self,
        heights: object,
        spacing: float | tuple[float, float],
        origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
        name: str = "terrain",
        friction: float | None = None,
        bottom: float | None = None,
    ) -> None:
        grid = real_array(heights, f"heights of {name}")
        if grid.ndim != 2 or min(grid.shape) < 2:
            raise ParameterError(
                f"heights of {name}: 2 x 2 numbers or more, not {grid.shape}"
            )
        HEIGHTS.check(name, *grid.shape)
        if not np.isfinite(grid).all() or np.abs(grid).max() > LARGEST_COORDINATE:
            raise ParameterError(
                f"heights of {name}: finite numbers up to {LARGEST_COORDINATE:g} m"
            )
        steps = real_array(spacing, f"spacing of {name}")
        steps = np.array(
            np.broadcast_to(steps, (2,)) if steps.size in (1, 2) else steps
        )
        if steps.shape != (2,) or not (np.isfinite(steps) & (steps > 0)).all():
            raise ParameterError(f"spacing of {name}: one or two numbers above zero")
        shift = finite_array(origin, (3,), f"origin of {name}")
        sides = (np.array(grid.shape) - 1) * steps
        lowest = float(grid.min())
        base = lowest - _THICKNESS * float(sides.max()) if bottom is None else bottom
        if not base < lowest:
            raise ParameterError(f"bottom of {name}: below the lowest height {lowest}")
        grid = grid.copy()
        grid.setflags(write=False)
        vertices, faces = _solid_of(grid, steps, base)
        TriangleMesh.__init__(self, vertices + shift, faces, name, friction)
        for key, value in (
            ("heights", grid),
            ("spacing", (float(steps[0]), float(steps[1]))),
            ("origin", tuple(shift.tolist())),
            ("bottom", float(base)),
        ):
            object.__setattr__(self, key, value)

    @classmethod
    def from_image(
        cls,
        path: Path | str,
        size: tuple[float, float],
        height: float,
        origin: tuple[float, float, float] | None = None,
        name: str = "terrain",
        friction: float | None = None,
    ) -> HeightField:
        """Heights from the grey levels of a picture: black 0, white ``height``.

        Its right side lies along x, its upper side along y.

        Args:
            path: a picture of 8 or 16 bits a pixel (png, tif, bmp, pgm, jpg).
            size: of the field along x and y [m].
            height: of white over black [m].
            origin: of its lower left corner [m]; such that the field lies around the
                world's origin unless given.
            name: what messages and events call it.
            friction: Coulomb's coefficient, or None.

        Raises:
            FileError: the picture cannot be read or is too large.
            ParameterError: the numbers cannot be used.
        """
        sides = finite_array(size, (2,), f"size of {name}")
        if (sides <= 0).any() or not (np.isfinite(height) and height > 0):
            raise ParameterError(f"size and height of {name} must be above zero")
        grid = height * read_image(path, HEIGHTS)
        steps = sides / (np.array(grid.shape) - 1)
        if origin is None:
            origin = (-float(sides[0]) / 2, -float(sides[1]) / 2, 0.0)
        return cls(grid, (float(steps[0]), float(steps[1])), origin, name, friction)

    @classmethod
    def from_file(  # type: ignore[override]
        cls,
        path: Path | str,
        spacing: float | tuple[float, float],
        origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
        name: str = "terrain",
        friction: float | None = None,
    ) -> HeightField:
        """Heights from an array (``.npy``) or a table (``.csv``).

        Each row of either is one x.

        Raises:
            FileError: the file cannot be read, is too large or holds no numbers.
            ParameterError: the numbers cannot be used.
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".npy":
            grid = _read_array(path, HEIGHTS.most)
        elif suffix == ".csv":
            grid = _read_table(path, HEIGHTS)
        else:
            raise FileError(f"heights are read from .npy or .csv, not '{suffix}'", path)
        return cls(grid, spacing, origin, name, friction)


@dataclass(frozen=True, eq=False)
class FurtherContact:
    """A further contact of the points that touch a mesh in a valley.

    A scene adds those of each mesh by itself.

    Attributes:
        mesh: what is touched.
        rank: 1 for the second contact, 2 for the third.
    """

    mesh: TriangleMesh
    rank: int

    @property
    def name(self) -> str:
        """Its name in messages and events."""
        return f"{self.mesh.name}:{self.rank}"

    @property
    def friction(self) -> float | None:
        """That of the mesh."""
        return self.mesh.friction

    def row(self) -> np.ndarray:
        """As of the mesh, with the rank."""
        return self.mesh.row(self.rank)


def _solid_of(
    heights: np.ndarray, spacing: np.ndarray, bottom: float
) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces: the surface, sides down to the bottom, a fan below."""
    nx, ny = heights.shape
    x, y = np.meshgrid(
        *(np.arange(n) * s for n, s in zip((nx, ny), spacing, strict=True)),
        indexing="ij",
    )
    top = np.stack([x, y, heights], axis=-1).reshape(-1, 3)
    number = np.arange(nx * ny).reshape(nx, ny)
    a, b = number[:-1, :-1], number[1:, :-1]
    c, d = number[1:, 1:], number[:-1, 1:]
    cells = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=2)
    # once around, counter-clockwise seen from above
    rim = np.concatenate(
        [number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]]
    )
    below = top[rim].copy()
    below[:, 2] = bottom
    middle = np.array([[x[-1, 0] / 2, y[0, -1] / 2, bottom]])
    low = nx * ny + np.arange(len(rim))
    following, next_low = np.roll(rim, -1), np.roll(low, -1)
    centre = np.full(len(rim), nx * ny + len(rim))
    sides = [
        np.stack([rim, low, next_low], -1),
        np.stack([rim, next_low, following], -1),
        np.stack([centre, next_low, low], -1),
    ]
    faces = np.concatenate([cells.reshape(-1, 3), *sides])
    return np.concatenate([top, below, middle]), faces
