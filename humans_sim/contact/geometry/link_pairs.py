# SPDX-License-Identifier: Apache-2.0
"""Which links of a model may touch each other, and their solids as coal takes them.

All pairs of links count but neighbours and those whose solids overlap in the zero
position. Neighbours are links of one rigid group, parent and child, and links with
nothing between them but links without solids or much shorter ones (a cardan joint).
"""

from __future__ import annotations

from functools import lru_cache

import coal
import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_cores import ConvexCore, CoreTable
from humans_sim.models import Model
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes

_SHORT = 0.25
"""A link is passed over whose length is shorter, over the reach of those beside it."""
_TOUCHING = 1e-4
"""Distance in the zero position at which links count as overlapping [m]."""


@lru_cache(maxsize=16)
def link_solids(model: Model) -> tuple[pin.GeometryModel, CoreTable]:
    """All solids of a model, without pairs, and their cores."""
    geometry, cores = pin.GeometryModel(), []
    for k, shape in enumerate(collision_shapes(model)):
        vertices = np.ascontiguousarray(shape.vertices, dtype=float)
        core, solid, pose = _core_with_solid(vertices.tobytes(), shape.radius)
        geometry.addGeometryObject(
            pin.GeometryObject(f"{shape.link}.{k}", shape.joint, pose, solid)
        )
        cores.append(core)
    return geometry, CoreTable.of(cores)


@lru_cache(maxsize=256)
def _core_with_solid(
    vertices: bytes, radius: float
) -> tuple[ConvexCore, coal.CollisionGeometry, pin.SE3]:
    """The core of a shape; with its skin as coal takes it, and its pose in the joint.

    Hulls are made once for equal shapes.
    """
    core = ConvexCore.of(np.frombuffer(vertices).reshape(-1, 3), radius)
    corners, pose = core.vertices, pin.SE3.Identity()
    if len(corners) == 1:
        pose.translation = corners[0]
        return core, coal.Sphere(core.radius), pose
    if len(corners) == 2:
        along = corners[1] - corners[0]
        pose.translation = corners.mean(axis=0)
        pose.rotation = pin.Quaternion.FromTwoVectors(
            np.array([0.0, 0.0, 1.0]), along
        ).matrix()
        return core, coal.Capsule(core.radius, float(np.linalg.norm(along))), pose
    points = coal.StdVec_Vec3s()
    for vertex in corners:
        points.append(vertex)
    solid = coal.Convex.convexHull(points, True, "Qt")
    solid.setSweptSphereRadius(core.radius)
    return core, solid, pose


def overlapping_links(model: Model) -> tuple[tuple[str, str], ...]:
    """Pairs that never touch, no neighbours: they overlap in the zero position.

    Their surfaces are not known to the millimetre there, and no depth can be taken for
    a gap of zero: below the skins of both cores a distance has no normal.
    """
    return tuple(sorted((min(p), max(p)) for p in usual_pairs(model)[1]))


@lru_cache(maxsize=16)
def usual_pairs(
    model: Model,
) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Pairs of links, no neighbours: apart, and overlapping in the zero position."""
    shapes = collision_shapes(model)
    geometry, _ = link_solids(model)
    data = pin.GeometryData(geometry)
    pin.updateGeometryPlacements(
        model.pin, model.pin.createData(), geometry, data, model.neutral()
    )
    request, result = coal.DistanceRequest(), coal.DistanceResult()
    centres = [
        (data.oMg[k] * solid.placement.inverse()).act(np.array(shape.centre))
        for k, (solid, shape) in enumerate(
            zip(geometry.geometryObjects, shapes, strict=True)
        )
    ]
    neighbours = _neighbours(model.pin, shapes)
    pairs, touching = set(), set()
    for a, one in enumerate(shapes):
        for b in range(a + 1, len(shapes)):
            other = shapes[b]
            pair = frozenset((one.link, other.link))
            if frozenset((one.joint, other.joint)) in neighbours or len(pair) == 1:
                continue
            pairs.add(pair)
            apart = float(np.linalg.norm(centres[a] - centres[b]))
            if pair in touching or apart > one.reach + other.reach + _TOUCHING:
                continue
            result.clear()
            distance = coal.distance(
                geometry.geometryObjects[a].geometry,
                _transform(data.oMg[a]),
                geometry.geometryObjects[b].geometry,
                _transform(data.oMg[b]),
                request,
                result,
            )
            if distance <= _TOUCHING:
                touching.add(pair)
    return frozenset(pairs - touching), frozenset(touching)


def _transform(pose: pin.SE3) -> coal.Transform3s:
    return coal.Transform3s(pose.rotation, pose.translation)


def extents(shapes: tuple[CollisionShape, ...]) -> dict[int, float]:
    """How far the solids of each joint go from it [m]."""
    extents: dict[int, float] = {}
    for shape in shapes:
        away = float(np.linalg.norm(shape.centre)) + shape.reach
        extents[shape.joint] = max(away, extents.get(shape.joint, 0.0))
    return extents


def _neighbours(
    tree: pin.Model, shapes: tuple[CollisionShape, ...]
) -> set[frozenset[int]]:
    """Pairs of joints whose links are neighbours, or one group."""
    reach = extents(shapes)
    pairs = {frozenset((joint,)) for joint in reach}
    for joint in reach:
        child, parent = joint, int(tree.parents[joint])
        while parent > 0:
            if parent in reach:
                pairs.add(frozenset((joint, parent)))
                # The link between the two: from its own joint to the next one.
                length = float(np.linalg.norm(tree.jointPlacements[child].translation))
                above = reach.get(int(tree.parents[parent]), np.inf)
                if length > _SHORT * min(reach[joint], above):
                    break
            child, parent = parent, int(tree.parents[parent])
    return pairs
