# SPDX-License-Identifier: Apache-2.0
"""Which links of a model may touch each other, and their solids.

All pairs of links count but neighbours and those whose solids overlap in the zero
position. Neighbours are links of one rigid group, parent and child, and links with
nothing between them but links without solids or much shorter ones (a cardan joint).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import coal
import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_cores import ConvexSolid
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.collision_shapes import (
    CollisionShape,
    collision_shapes,
    missing_meshes,
)
from humans_sim.models.description import SelfCollision
from humans_sim.models.points import frame_index

_SHORT = 0.25
"""A link is passed over whose length is shorter, over the reach of those beside it."""
SOLE_SHARE, BALL_SHARE = 0.01, 0.05
"""What lies less than this above a sole, or above balls in its place, belongs to it, in
lengths of the sole."""
_NO_POINTS = np.zeros((0, 4))
_TOUCHING, _TOUCHING_SHARE = 1e-4, 0.01
"""Distance in the zero position at which links count as overlapping, at most [m]; over
the reach of the smaller shape, if that is less."""


class LinkSolid(NamedTuple):
    """The solids of a link.

    Attributes:
        joint: that carries it.
        solids: in the frame of the joint.
    """

    joint: int
    solids: tuple[ConvexSolid, ...]


def link_solids(model: Model, tags: Mapping[int, np.ndarray]) -> dict[str, LinkSolid]:
    """The solids of all links; soles are plates between their contact points.

    A sole is what touches of a foot where it stands: the thin layer around its plane,
    :data:`SOLE_SHARE` of its length, is left to its contact points and to a plate
    between them; a foot that stands on balls has these instead.

    Args:
        model: that has the links.
        tags: points that touch by themselves, and the radii of balls around them, by
            joint (t, 4) [m].
    """
    soles = {}
    for sole in model.soles:
        frame = model.pin.frames[frame_index(model.pin, sole.name)]
        soles[int(frame.parentJoint)] = frame.placement.rotation[:, 2]
    links: dict[str, LinkSolid] = {}
    for shape in collision_shapes(model):
        corners = tags.get(shape.joint, _NO_POINTS)
        solid: ConvexSolid | None = convex_solid(shape)
        if shape.joint in soles and len(corners):
            solid = _above(shape, soles[shape.joint], _top(corners, soles[shape.joint]))
        before = links.get(shape.link, LinkSolid(shape.joint, ()))
        if solid is not None:
            links[shape.link] = before._replace(solids=(*before.solids, solid))
    for link, (joint, solids) in list(links.items()):
        corners = tags.get(joint, _NO_POINTS)
        sharp = corners[corners[:, 3] == 0.0, :3]
        if joint in soles and len(sharp) > 2:
            up = soles.pop(joint)
            raised = sharp + (_top(corners, up) - sharp @ up)[:, None] * up
            plate = ConvexSolid.of(np.vstack([sharp, raised]))
            links[link] = LinkSolid(joint, (*solids, plate))
    return links


def _top(corners: np.ndarray, up: np.ndarray) -> float:
    """Height up to which a sole goes."""
    length = float(np.linalg.norm(np.ptp(corners[:, :3], axis=0)))
    lowest = float((corners[:, :3] @ up - corners[:, 3]).min())
    return lowest + (BALL_SHARE if corners[:, 3].any() else SOLE_SHARE) * length


def _above(shape: CollisionShape, up: np.ndarray, height: float) -> ConvexSolid | None:
    """The part of a shape above a height; of a round one, as thick as fits there."""
    solid = convex_solid(shape)
    levels = solid.vertices @ up - height
    lowest = float(levels.min())
    if lowest >= solid.radius:
        return solid
    if solid.radius > 0.0 or len(solid.normals) == 0:
        left = lowest > _touching(shape.reach)
        return replace(solid, radius=lowest) if left else None
    kept = [solid.vertices[levels >= 0.0]]
    start = 0
    for end in solid.loop_ends:
        loop = solid.loops[start:end]
        start = end
        for a, b in zip(loop, np.roll(loop, -1), strict=True):
            if levels[a] * levels[b] < 0.0:
                share = levels[a] / (levels[a] - levels[b])
                edge = solid.vertices[b] - solid.vertices[a]
                kept.append((solid.vertices[a] + share * edge)[None])
    points = np.vstack(kept)
    if not len(points) or np.ptp(points @ up) <= _touching(shape.reach):
        return None
    return ConvexSolid.of(points)


def _touching(reach: float) -> float:
    """Distance at which a shape of a reach counts as overlapping [m]."""
    return min(_TOUCHING, _TOUCHING_SHARE * reach)


@lru_cache(maxsize=16)
def _geometry(model: Model, rounded: bool = False) -> pin.GeometryModel:
    """All solids of a model, without pairs."""
    geometry = pin.GeometryModel()
    for k, shape in enumerate(collision_shapes(model)):
        solid, pose = coal_solid(convex_solid(shape), rounded)
        geometry.addGeometryObject(
            pin.GeometryObject(f"{shape.link}.{k}", shape.joint, pose, solid)
        )
    return geometry


def convex_solid(shape: CollisionShape) -> ConvexSolid:
    """A shape of a link; made once for equal shapes."""
    vertices = np.ascontiguousarray(shape.vertices, dtype=float)
    return _convex_solid(vertices.tobytes(), shape.radius)


@lru_cache(maxsize=1024)
def _convex_solid(vertices: bytes, radius: float) -> ConvexSolid:
    return ConvexSolid.of(np.frombuffer(vertices).reshape(-1, 3), radius)


def coal_solid(
    solid: ConvexSolid, rounded: bool = False
) -> tuple[coal.CollisionGeometry, pin.SE3]:
    """A solid as coal takes it, and its pose in the joint.

    ``rounded``: its edges and corners, by the depth of its core.
    """
    corners, radius, pose = solid.vertices, solid.radius, pin.SE3.Identity()
    if rounded and len(solid.normals) and not radius:
        corners = solid.core
        heights = (solid.normals @ corners.T).max(axis=1)
        radius = float(((solid.normals @ solid.vertices.T).max(axis=1) - heights).min())
    if len(corners) == 1:
        pose.translation = corners[0]
        return coal.Sphere(solid.radius), pose
    if len(corners) == 2:
        along = corners[1] - corners[0]
        pose.translation = corners.mean(axis=0)
        pose.rotation = pin.Quaternion.FromTwoVectors(
            np.array([0.0, 0.0, 1.0]), along
        ).matrix()
        return coal.Capsule(solid.radius, float(np.linalg.norm(along))), pose
    points = coal.StdVec_Vec3s()
    for vertex in corners:
        points.append(vertex)
    hull = coal.Convex.convexHull(points, True, "Qt")
    hull.setSweptSphereRadius(radius)
    return hull, pose


def touching_links(model: Model, chosen: SelfCollision) -> tuple[tuple[str, str], ...]:
    """The pairs of links of a model that may touch each other."""
    links = list(dict.fromkeys(shape.link for shape in collision_shapes(model)))
    for pair in (*chosen.exclude, *chosen.include):
        for link in pair:
            if link not in links and link not in missing_meshes(model):
                raise ParameterError(
                    f"self_collision: {model.name} has no link '{link}' with a solid"
                )
    if not chosen.enabled:
        return ()
    excluded = {frozenset(pair) for pair in chosen.exclude}
    included = {frozenset(pair) for pair in chosen.include}
    touching = (usual_pairs(model)[0] - excluded) | included
    return tuple(
        (one, other)
        for k, one in enumerate(links)
        for other in links[k + 1 :]
        if frozenset((one, other)) in touching
    )


def pair_geometry(
    model: Model, pairs: tuple[tuple[str, str], ...], rounded: bool = False
) -> tuple[pin.GeometryModel, list[tuple[str, str]]]:
    """All solids of a model with pairs of some links; the links of each of them.

    ``rounded``: with rounded edges, as the parts of a robot have.
    """
    geometry, links = pin.GeometryModel(_geometry(model, rounded)), []
    shapes = collision_shapes(model)
    for one, other in pairs:
        for a, first in enumerate(shapes):
            for b, second in enumerate(shapes):
                if (first.link, second.link) == (one, other):
                    geometry.addCollisionPair(pin.CollisionPair(a, b))
                    links.append((one, other))
    return geometry, links


def overlapping_links(model: Model) -> tuple[tuple[str, str], ...]:
    """Pairs that never touch, no neighbours: they overlap in the zero position.

    Their surfaces are not known to the millimetre there, and no depth can be taken for
    a gap of zero.
    """
    return tuple(sorted((min(p), max(p)) for p in usual_pairs(model)[1]))


@lru_cache(maxsize=16)
def usual_pairs(
    model: Model,
) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Pairs of links, no neighbours: apart, and overlapping in the zero position."""
    return pairs_at(model, model.neutral())


def pairs_at(
    model: Model, q: np.ndarray
) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Pairs of links, no neighbours: apart, and overlapping in a configuration."""
    shapes = collision_shapes(model)
    geometry = _geometry(model)
    data = pin.GeometryData(geometry)
    pin.updateGeometryPlacements(model.pin, model.pin.createData(), geometry, data, q)
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
            least = _touching(min(one.reach, other.reach))
            if pair in touching or apart > one.reach + other.reach + least:
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
            if distance <= least:
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
