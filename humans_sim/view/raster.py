# SPDX-License-Identifier: Apache-2.0
"""Balls and triangles drawn with depth, compiled.

Perez (1994, 8) drew his ball models by rays in three minutes; here each ball is drawn
onto the pixels that it covers, nearest first to the eye kept.

Coordinates are those of the picture: to the right, up, towards the eye. A pixel shows
what a ray through its centre meets first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel

if TYPE_CHECKING:
    import trimesh


_EDGE = 1e-9
"""By which a ray may miss a triangle, so that none passes between neighbours."""


class Raster(NamedTuple):
    """Where pixels are, and where the light is.

    Attributes:
        left, top: of the picture [m].
        pixel: edge of one [m].
        light: direction towards it, of length one (3,).
    """

    left: float
    top: float
    pixel: float
    light: np.ndarray


class Buffers(NamedTuple):
    """Pixels of a picture.

    Attributes:
        depth: towards the eye, minus infinity where nothing is (h, w) [m].
        ids: of what is seen, -1 where nothing is (h, w).
        shade: cosine between its normal and the light, 0 on the other side (h, w).
    """

    depth: np.ndarray
    ids: np.ndarray
    shade: np.ndarray


@kernel
def splat_balls(centres, radii, ids, raster, buffers):
    """Draw balls.

    Args:
        centres: (n, 3) [m].
        radii: (n,) [m].
        ids: (n,).
        raster: where pixels are.
        buffers: changed.

    Returns:
        how many pixels were looked at.
    """
    height, width = buffers.depth.shape
    looked = 0
    for n in range(len(radii)):
        x, y, z = centres[n]
        radius = radii[n]
        first_column, last_column = _covered(
            (x - radius - raster.left) / raster.pixel,
            (x + radius - raster.left) / raster.pixel,
            width,
        )
        first_row, last_row = _covered(
            (raster.top - y - radius) / raster.pixel,
            (raster.top - y + radius) / raster.pixel,
            height,
        )
        for row in range(first_row, last_row):
            dy = raster.top - (row + 0.5) * raster.pixel - y
            for column in range(first_column, last_column):
                dx = raster.left + (column + 0.5) * raster.pixel - x
                looked += 1
                if z + radius <= buffers.depth[row, column]:
                    continue
                left = radius * radius - dx * dx - dy * dy
                if left < 0.0:
                    continue
                up = math.sqrt(left)
                if z + up > buffers.depth[row, column]:
                    buffers.depth[row, column] = z + up
                    buffers.ids[row, column] = ids[n]
                    light = raster.light
                    lit = (dx * light[0] + dy * light[1] + up * light[2]) / radius
                    buffers.shade[row, column] = max(lit, 0.0)
    return looked


@kernel
def fill_triangles(corners, normals, faces, number, raster, buffers):
    """Draw a mesh with smooth shading.

    Args:
        corners: its vertices (v, 3) [m].
        normals: of the vertices (v, 3).
        faces: numbers of vertices (f, 3).
        number: of the mesh.
        raster: where pixels are.
        buffers: changed.
    """
    height, width = buffers.depth.shape
    light = raster.light
    lit = np.empty(len(corners))
    for n in range(len(corners)):
        lit[n] = (
            normals[n, 0] * light[0]
            + normals[n, 1] * light[1]
            + normals[n, 2] * light[2]
        )
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        plane, area, rows, columns = _seen(corners, faces[f], raster, height, width)
        if area == 0.0:  # seen from its edge
            continue
        for row in range(rows[0], rows[1]):
            y = raster.top - (row + 0.5) * raster.pixel
            for column in range(columns[0], columns[1]):
                x = raster.left + (column + 0.5) * raster.pixel
                u, v, w = _shares(plane, area, x, y)
                if min(u, v, w) < -_EDGE:
                    continue
                z = u * corners[a, 2] + v * corners[b, 2] + w * corners[c, 2]
                if z > buffers.depth[row, column]:
                    buffers.depth[row, column] = z
                    buffers.ids[row, column] = number
                    shade = u * lit[a] + v * lit[b] + w * lit[c]
                    buffers.shade[row, column] = max(shade, 0.0)


@kernel
def draw_triangles(corners, faces, colours, raster, picture, depth):
    """Draw a mesh in colours, between those of its corners.

    Args:
        corners: its vertices (v, 3) [m].
        faces: numbers of vertices (f, 3).
        colours: of the corners of the faces (3 f, k).
        raster: where pixels are.
        picture: colours (h, w, k); changed.
        depth: of what is drawn, as of :class:`Buffers`; changed (h, w) [m].
    """
    height, width = depth.shape
    for f in range(len(faces)):
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        plane, area, rows, columns = _seen(corners, faces[f], raster, height, width)
        if area == 0.0:
            continue
        for row in range(rows[0], rows[1]):
            y = raster.top - (row + 0.5) * raster.pixel
            for column in range(columns[0], columns[1]):
                x = raster.left + (column + 0.5) * raster.pixel
                u, v, w = _shares(plane, area, x, y)
                if min(u, v, w) < -_EDGE:
                    continue
                z = u * corners[a, 2] + v * corners[b, 2] + w * corners[c, 2]
                if z > depth[row, column]:
                    depth[row, column] = z
                    for k in range(colours.shape[1]):
                        picture[row, column, k] = (
                            u * colours[3 * f, k]
                            + v * colours[3 * f + 1, k]
                            + w * colours[3 * f + 2, k]
                        )


@kernel
def _seen(corners, face, raster, height, width):
    """Corners of a triangle in the picture, twice its area, its rows and columns."""
    ax, ay = corners[face[0], 0], corners[face[0], 1]
    bx, by = corners[face[1], 0], corners[face[1], 1]
    cx, cy = corners[face[2], 0], corners[face[2], 1]
    columns = _covered(
        (min(ax, bx, cx) - raster.left) / raster.pixel,
        (max(ax, bx, cx) - raster.left) / raster.pixel,
        width,
    )
    rows = _covered(
        (raster.top - max(ay, by, cy)) / raster.pixel,
        (raster.top - min(ay, by, cy)) / raster.pixel,
        height,
    )
    area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
    return (ax, ay, bx, by, cx, cy), area, rows, columns


@kernel
def _shares(plane, area, x, y):
    """Shares of the corners at a place; one is below zero beside the triangle."""
    ax, ay, bx, by, cx, cy = plane
    u = ((bx - x) * (cy - y) - (cx - x) * (by - y)) / area
    v = ((cx - x) * (ay - y) - (ax - x) * (cy - y)) / area
    return u, v, 1.0 - u - v


@kernel
def paint(buffers, table, ambient, rim, picture):
    """Colours of what is seen, in the light.

    Args:
        buffers: what is seen.
        table: colours of the numbers, 0 to 255 (n, 3).
        ambient: how bright a face is that the light does not reach, 0 to 1.
        rim: step of depth from which a border is dark [m], and how bright it is (2,).
        picture: white; changed (h, w, 3).
    """
    height, width = buffers.depth.shape
    for row in range(height):
        for column in range(width):
            number = buffers.ids[row, column]
            if number < 0:
                continue
            light = ambient + (1.0 - ambient) * buffers.shade[row, column]
            below = buffers.depth[row, column] - rim[0]
            if (
                (row > 0 and buffers.depth[row - 1, column] < below)
                or (row + 1 < height and buffers.depth[row + 1, column] < below)
                or (column > 0 and buffers.depth[row, column - 1] < below)
                or (column + 1 < width and buffers.depth[row, column + 1] < below)
            ):
                light *= rim[1]
            for k in range(3):
                picture[row, column, k] = int(table[number, k] * light + 0.5)


@kernel
def _covered(low, high, count):
    """Pixels whose centres may lie between two places, as a range."""
    first = max(int(math.floor(low)), 0)
    last = min(int(math.ceil(high)) + 1, count)
    return first, max(last, first)


_LIGHT = np.array([-0.35, 0.5, 0.79]) / np.linalg.norm([-0.35, 0.5, 0.79])
_AMBIENT = 0.42
"""How bright a face is that the light does not reach."""
_RIM = 0.55
"""How dark the border of what lies before something else is."""
LARGEST = 8192
"""Pixels of a picture along an edge, at most."""


@dataclass(frozen=True)
class Camera:
    """An orthographic view.

    Attributes:
        axes: rows: to the right, up, towards the eye (3, 3).
        low, high: corners of what is seen, to the right and up (2,) [m].
        pixel: edge of a pixel [m].

    Raises:
        ParameterError: the axes are no frame, or the picture has no or too many pixels.
    """

    axes: np.ndarray
    low: np.ndarray
    high: np.ndarray
    pixel: float

    def __post_init__(self) -> None:
        """Refuse what shows nothing."""
        axes = finite_array(self.axes, (3, 3), "axes of a view", ParameterError)
        if np.abs(axes @ axes.T - np.eye(3)).max() > 1e-9 or np.linalg.det(axes) < 0:
            raise ParameterError("axes of a view are three orthogonal unit vectors")
        if not self.pixel > 0:
            raise ParameterError(f"a pixel must be above 0 m, not {self.pixel}")
        span = (np.asarray(self.high) - np.asarray(self.low)) / self.pixel
        if not (np.isfinite(span).all() and (span > 0).all() and span.max() <= LARGEST):
            raise ParameterError(f"a picture has 1 to {LARGEST} pixels along an edge")

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        width, height = np.ceil(
            (np.asarray(self.high) - np.asarray(self.low)) / self.pixel - 1e-9
        ).astype(int)
        return int(height), int(width)

    def raster(self) -> Raster:
        """Where its pixels are."""
        rows = self.shape[0]
        top = float(self.low[1]) + rows * self.pixel
        return Raster(float(self.low[0]), top, float(self.pixel), _LIGHT)


def camera_around(
    points: np.ndarray, axes: np.ndarray, pixels: int = 600, margin: float = 0.03
) -> Camera:
    """A view that holds points.

    Args:
        points: (n, 3) [m].
        axes: rows: to the right, up, towards the eye (3, 3).
        pixels: along the longer edge.
        margin: around them, over the longer edge.
    """
    flat = np.asarray(points) @ np.asarray(axes)[:2].T
    low, high = flat.min(axis=0), flat.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    low, high = low - margin * size, high + margin * size
    return Camera(np.asarray(axes), low, high, float((high - low).max()) / pixels)


class DepthImage:
    """A picture that things are drawn into; the nearest to the eye is kept.

    Args:
        camera: from where it is seen.

    Attributes:
        depth: towards the eye, minus infinity where nothing is (h, w) [m].
        ids: numbers of what is seen, -1 where nothing is (h, w).
        shade: cosine between its normal and the light (h, w).
        looked_at: pixels that balls were compared with.
    """

    def __init__(self, camera: Camera) -> None:
        """Nothing is seen yet."""
        self.camera, shape = camera, camera.shape
        self.depth = np.full(shape, -np.inf)
        self.ids = np.full(shape, -1, dtype=np.int64)
        self.shade = np.zeros(shape)
        self.looked_at = 0

    def add_balls(
        self, centres: np.ndarray, radii: np.ndarray, ids: np.ndarray | int
    ) -> None:
        """Draw balls with their numbers (n,), or one number for all."""
        places = np.asarray(centres, dtype=float).reshape(-1, 3) @ self.camera.axes.T
        sizes = np.broadcast_to(np.asarray(radii, dtype=float), len(places)).copy()
        if not (np.isfinite(places).all() and (sizes > 0).all()):
            raise ParameterError("balls have places and radii above zero")
        numbers = np.broadcast_to(np.asarray(ids, dtype=np.int64), len(places)).copy()
        raster = self.camera.raster()
        self.looked_at += splat_balls(places, sizes, numbers, raster, self._buffers)

    def add_mesh(
        self,
        mesh: trimesh.Trimesh,
        number: int,
        place: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Draw a closed mesh, turned by a rotation (3, 3) and shifted (3,) [m]."""
        turn, shift = (np.eye(3), np.zeros(3)) if place is None else place
        axes = self.camera.axes @ turn
        corners = np.asarray(mesh.vertices) @ axes.T + self.camera.axes @ shift
        normals = np.asarray(mesh.vertex_normals) @ axes.T
        faces = np.asarray(mesh.faces, dtype=np.int64)
        raster = self.camera.raster()
        fill_triangles(corners, normals, faces, number, raster, self._buffers)

    def add_rods(self, ends: np.ndarray, radius: float, ids: np.ndarray) -> None:
        """Draw straight rods (n, 2, 3) [m] with their numbers (n,)."""
        places, numbers = [np.empty((0, 3))], []
        for (one, other), number in zip(ends, ids, strict=True):
            count = 2 + int(np.linalg.norm(other - one) / (0.4 * radius))
            share = np.linspace(0.0, 1.0, count)[:, None]
            places.append(one + share * (other - one))
            numbers += [int(number)] * count
        self.add_balls(np.concatenate(places), np.array(radius), np.array(numbers))

    @property
    def _buffers(self) -> Buffers:
        return Buffers(self.depth, self.ids, self.shade)

    def coloured(
        self, colours: Sequence[Sequence[float]] | np.ndarray, rim: float = 1e-3
    ) -> np.ndarray:
        """The picture in colours (h, w, 3), 0 to 255, on white.

        Args:
            colours: of the numbers, 0 to 1 (n, 3).
            rim: step of depth from which a border is dark [m].

        Raises:
            ParameterError: a number has no colour.
        """
        table = 255.0 * np.clip(np.asarray(colours, dtype=float), 0.0, 1.0)
        if self.ids.max(initial=-1) >= len(table):
            raise ParameterError(f"{len(table)} colours are too few")
        picture = np.full((*self.depth.shape, 3), 255, dtype=np.uint8)
        paint(self._buffers, table, _AMBIENT, np.array([rim, _RIM]), picture)
        return picture


def ball_splat(
    centres: np.ndarray, radii: np.ndarray, ids: np.ndarray | int, camera: Camera
) -> DepthImage:
    """Balls seen from a side: depth, which ball, light.

    Args:
        centres: (n, 3) [m].
        radii: (n,) [m].
        ids: numbers of the balls (n,), or one for all.
        camera: from where.

    Raises:
        ParameterError: a ball has no place or no size.
    """
    image = DepthImage(camera)
    image.add_balls(centres, radii, ids)
    return image
