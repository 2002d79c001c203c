# SPDX-License-Identifier: Apache-2.0
"""Compiled distances to solids of all kinds, terrain among them."""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.feature_kernels import feature_contact, feature_number
from humans_sim.contact.geometry.mesh_kernels import MESH, RANK, nearest_triangle
from humans_sim.contact.geometry.solids import HALF_SPACE, distance
from humans_sim.contact.geometry.valley_kernels import next_contact, next_feature
from humans_sim.core.kernels import kernel


@kernel
def surface_distance(row, data, point, normal, hessian):
    """Signed distance of a point to any solid; fills its normal and its Hessian.

    Args:
        row: of the solid.
        data: of all meshes of the scene; None without any: what looks at it is left
            out of the machine code.
        point: (3,) [m].
        normal: filled (3,).
        hessian: filled (3, 3) [1/m].
    """
    # A floor is by far the most frequent: here it costs no call.
    if row[0] == HALF_SPACE:
        total = 0.0
        for k in range(3):
            normal[k] = row[10 + k]
            total += normal[k] * (point[k] - row[1 + k])
            for i in range(3):
                hessian[k, i] = 0.0
        return total
    if data is not None:
        if row[0] == MESH:
            return _mesh_distance(row, data, point, normal, hessian)
    return distance(row, point, normal, hessian)


@kernel
def _mesh_distance(row, data, point, normal, hessian):
    if row[RANK] > 0.0:
        return next_contact(row, data, point, normal, hessian)
    hit = np.empty(5)
    hit[3], hit[4] = nearest_triangle(row, data, point, np.inf, hit[:3])
    return feature_contact(row, data, point, hit, normal, hessian)


@kernel
def least_distances(rows, data, points):
    """Signed distance of each point to the nearest solid (n,) [m].

    Args:
        rows: of the solids (s, 16).
        data: of all meshes of the scene, or None.
        points: (n, 3) [m].
    """
    least = np.empty(points.shape[0])
    normal, hessian = np.empty(3), np.empty((3, 3))
    for k in range(points.shape[0]):
        least[k] = np.inf
        for s in range(rows.shape[0]):
            here = surface_distance(rows[s], data, points[k], normal, hessian)
            least[k] = min(least[k], here)
    return least


@kernel
def surface_feature(row, data, point):
    """A number of what the contact is with: a plane, an edge or a corner of a mesh.

    Other solids have one feature, 0: boxes are smooth where they matter.
    """
    if data is not None:
        if row[0] == MESH:
            return _mesh_feature(row, data, point)
    return 0


@kernel
def _mesh_feature(row, data, point):
    if row[RANK] > 0.0:
        return next_feature(row, data, point)
    hit, normal, hessian = np.empty(5), np.empty(3), np.empty((3, 3))
    hit[3], hit[4] = nearest_triangle(row, data, point, np.inf, hit[:3])
    feature_contact(row, data, point, hit, normal, hessian)
    return feature_number(row, data, hit)
