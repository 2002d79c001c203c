# SPDX-License-Identifier: Apache-2.0
"""Triangles in colours drawn into a picture, the nearest in front.

What is seen of balls and meshes, without colours, is drawn by
:mod:`humans_sim.view.raster.raster_kernels`.
"""

from __future__ import annotations

import numpy as np

from humans_sim.core.kernels import kernel


@kernel
def draw_triangles(points, faces, colours, picture, depths):
    """Fill triangles into a picture, colours between their corners.

    Args:
        points: columns and rows of the picture and depths (n, 3).
        faces: triangles (m, 3).
        colours: of the corners of the faces (3 m, k).
        picture: colours (rows, columns, k); changed.
        depths: of what is drawn (rows, columns); nearer is smaller; changed.
    """
    rows, columns = depths.shape
    for k in range(len(faces)):
        i, j, last = faces[k, 0], faces[k, 1], faces[k, 2]
        ax, ay = points[i, 0], points[i, 1]
        bx, by = points[j, 0] - ax, points[j, 1] - ay
        cx, cy = points[last, 0] - ax, points[last, 1] - ay
        area = bx * cy - cx * by
        if area == 0.0:
            continue
        left = max(0, int(np.ceil(ax + min(0.0, bx, cx))))
        right = min(columns - 1, int(np.floor(ax + max(0.0, bx, cx))))
        top = max(0, int(np.ceil(ay + min(0.0, by, cy))))
        bottom = min(rows - 1, int(np.floor(ay + max(0.0, by, cy))))
        for row in range(top, bottom + 1):
            for column in range(left, right + 1):
                x, y = column - ax, row - ay
                u, v = (x * cy - cx * y) / area, (bx * y - x * by) / area
                w = 1.0 - u - v
                if u < 0.0 or v < 0.0 or w < 0.0:
                    continue
                depth = w * points[i, 2] + u * points[j, 2] + v * points[last, 2]
                if depth >= depths[row, column]:
                    continue
                depths[row, column] = depth
                for c in range(colours.shape[1]):
                    picture[row, column, c] = (
                        w * colours[3 * k, c]
                        + u * colours[3 * k + 1, c]
                        + v * colours[3 * k + 2, c]
                    )
