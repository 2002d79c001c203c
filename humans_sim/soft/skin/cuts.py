# SPDX-License-Identifier: Apache-2.0
"""Meshes cut along lines where what they are made of changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_HALVINGS = 8
_ENDS = 0.04
"""A cut is at least so far from the ends of an edge, as a share of it."""

Labels = Callable[[np.ndarray], np.ndarray]
"""Of points (n, 3): what they are made of, as numbers (n,)."""


def cut_mesh(
    vertices: np.ndarray, faces: np.ndarray, labels: Labels
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A mesh whose triangles have one label each: vertices, faces, labels of the faces.

    Edges whose ends differ are cut where the label changes, once each, so that a closed
    mesh stays closed.

    Args:
        vertices: (n, 3) [m].
        faces: triangles (m, 3).
        labels: of points.
    """
    own = labels(vertices)
    ends = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    edges, of_face = np.unique(ends, axis=0, return_inverse=True)
    of_face = of_face.reshape(-1, 3)
    crossed = np.flatnonzero(own[edges[:, 0]] != own[edges[:, 1]])
    start, end = vertices[edges[crossed, 0]], vertices[edges[crossed, 1]]
    low, high = np.zeros(len(crossed)), np.ones(len(crossed))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        at = labels(start + middle[:, None] * (end - start))
        same = at == own[edges[crossed, 0]]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    share = np.clip((low + high) / 2, _ENDS, 1 - _ENDS)
    number = np.full(len(edges), -1)
    number[crossed] = len(vertices) + np.arange(len(crossed))
    added = start + share[:, None] * (end - start)
    vertices = np.vstack([vertices, added])
    own = np.concatenate([own, np.full(len(added), -1)])
    faces = _split(faces, number[of_face])
    inner = own[faces]
    label = inner.max(axis=1)
    none = label < 0
    if none.any():
        label[none] = labels(vertices[faces[none]].mean(axis=1))
    return vertices, faces, label


def _split(faces: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Triangles split at the cuts of their edges; -1 where an edge is whole."""
    count = (cuts >= 0).sum(axis=1)
    found = [faces[count == 0]]
    for first in range(3):
        a, b, c = (np.roll(faces, -first, axis=1)[:, k] for k in range(3))
        ab, bc, ca = (np.roll(cuts, -first, axis=1)[:, k] for k in range(3))
        one = (count == 1) & (ab >= 0)
        found += [np.column_stack([a, ab, c])[one], np.column_stack([ab, b, c])[one]]
        two = (count == 2) & (bc < 0)
        found += [
            np.column_stack([a, ab, ca])[two],
            np.column_stack([ab, b, ca])[two],
            np.column_stack([b, c, ca])[two],
        ]
    three = count == 3
    (a, b, c), (ab, bc, ca) = faces[three].T, cuts[three].T
    found += [
        np.column_stack(corner)
        for corner in ((a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca))
    ]
    return np.concatenate(found)
