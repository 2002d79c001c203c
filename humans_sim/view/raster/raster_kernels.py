# SPDX-License-Identifier: Apache-2.0
"""Compiled drawing of balls and triangles, seen along one direction.

Coordinates are those of the picture: to the right, up, towards the eye. A pixel shows
what a ray through its centre meets first.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

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
    """What the pixels show.

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
