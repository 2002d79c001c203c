# SPDX-License-Identifier: Apache-2.0
"""The links of a model that may touch each other, and their solids.

All pairs of links count but neighbours and those whose solids overlap in the zero
position. Neighbours are links of one rigid group, parent and child, and links with
nothing between them but links without solids or much shorter ones (a cardan joint).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_cores import ConvexCore, CoreTable
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.models import Model
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.description import SelfCollision

_SHORT = 0.25
"""A link is passed over whose length is shorter, over the reach of those beside it."""
_SLIDING = "JointModelP"
"""How names of joints that slide begin."""
_FARTHEST = 1e6
"""Travel of a sliding joint without limits [m]."""
_TOUCHING = 1e-4
"""Distance in the zero position at which links count as overlapping [m]."""


@dataclass(frozen=True, eq=False)
class LinkPairs:
    """Pairs of links, and of their solids.

    Attributes:
        names: the two links of each pair.
        joints: pinocchio's joints that carry them (p, 2).
        shape_pairs: numbers of two solids (s, 2).
        start: first of ``shape_pairs`` of each pair, and the end (p + 1,).
        reach: how far a joint moves the first or the second link of a pair against the
            other, at most, per radian or metre (p, joints).
        centre: of balls around the solids, in the frames of their joints (n, 3) [m].
        radius: of these balls (n,) [m].
        shape_joint: joints of the solids (n,).
        cores: of the solids.
        geometry: the solids and their pairs as pinocchio knows them.
    """

    names: tuple[tuple[str, str], ...]
    joints: np.ndarray
    shape_pairs: np.ndarray
    start: np.ndarray
    reach: np.ndarray
    centre: np.ndarray
    radius: np.ndarray
    shape_joint: np.ndarray
    cores: CoreTable
    geometry: pin.GeometryModel


def own_links(
    model: Model, given: bool | Mapping[str, Any] | None, method: str
) -> SelfCollision:
    """Which links of a model touch each other; None: as the method takes it."""
    if method == TIME_STEPPING:
        own = model.parts.self_collision
        return own if given is None else own.with_changes(given)
    if given is None or given is False:
        return SelfCollision(enabled=False)
    raise ParameterError(
        f"self_collision needs method {TIME_STEPPING}: {method} takes points and balls "
        "that touch the scene, and the limits of joints"
    )


@lru_cache(maxsize=16)
def link_pairs(model: Model, chosen: SelfCollision) -> LinkPairs:
    """The pairs of links of a model that may touch."""
    shapes = collision_shapes(model)
    links = list(dict.fromkeys(shape.link for shape in shapes))
    of_link = {
        link: [k for k, shape in enumerate(shapes) if shape.link == link]
        for link in links
    }
    for pair in (*chosen.exclude, *chosen.include):
        for link in pair:
            if link not in of_link:
                raise ParameterError(
                    f"self_collision: {model.name} has no link '{link}' with a solid"
                )
    excluded = {frozenset(pair) for pair in chosen.exclude}
    included = {frozenset(pair) for pair in chosen.include}
    usual = _usual_pairs(model)[0] if chosen.enabled else frozenset()
    touching = (usual - excluded) | included if chosen.enabled else frozenset()
    names = tuple(
        (one, other)
        for k, one in enumerate(links)
        for other in links[k + 1 :]
        if frozenset((one, other)) in touching
    )
    joint = {shape.link: shape.joint for shape in shapes}
    shape_pairs = [
        (a, b) for one, other in names for a in of_link[one] for b in of_link[other]
    ]
    counts = [len(of_link[one]) * len(of_link[other]) for one, other in names]
    geometry, cores = pin.GeometryModel(), CoreTable.of(())
    if shape_pairs:
        solids, cores = _geometry(model)
        geometry = pin.GeometryModel(solids)
    for a, b in shape_pairs:
        geometry.addCollisionPair(pin.CollisionPair(a, b))
    return LinkPairs(
        names=names,
        joints=np.array(
            [[joint[a], joint[b]] for a, b in names], dtype=np.int64
        ).reshape(-1, 2),
        shape_pairs=np.array(shape_pairs, dtype=np.int64).reshape(-1, 2),
        start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        reach=_reach(model.pin, shapes, [(joint[a], joint[b]) for a, b in names]),
        centre=np.array([shape.centre for shape in shapes]).reshape(-1, 3),
        radius=np.array([shape.reach for shape in shapes]),
        shape_joint=np.array([shape.joint for shape in shapes], dtype=np.int64),
        cores=cores,
        geometry=geometry,
    )


@lru_cache(maxsize=16)
def _geometry(model: Model) -> tuple[pin.GeometryModel, CoreTable]:
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
    return tuple(sorted((min(p), max(p)) for p in _usual_pairs(model)[1]))


@lru_cache(maxsize=16)
def _usual_pairs(
    model: Model,
) -> tuple[frozenset[frozenset[str]], frozenset[frozenset[str]]]:
    """Pairs of links, no neighbours: apart, and overlapping in the zero position."""
    shapes = collision_shapes(model)
    geometry, _ = _geometry(model)
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


def _extents(shapes: tuple[CollisionShape, ...]) -> dict[int, float]:
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
    reach = _extents(shapes)
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


def _reach(
    tree: pin.Model, shapes: tuple[CollisionShape, ...], pairs: list[tuple[int, int]]
) -> np.ndarray:
    """How far each joint moves one link of a pair against the other, at most."""
    extent = _extents(shapes)
    reach = np.zeros((len(pairs), tree.nv - 6))
    for k, pair in enumerate(pairs):
        paths = [set(tree.supports[joint]) for joint in pair]
        for side, joint in enumerate(pair):
            length, at = extent[joint], joint
            while at not in paths[1 - side]:
                column = tree.idx_vs[at] - 6
                rotates = not tree.joints[at].shortname().startswith(_SLIDING)
                reach[k, column] = length if rotates else 1.0
                length += float(np.linalg.norm(tree.jointPlacements[at].translation))
                if not rotates:
                    length += _travel(tree, at)
                at = int(tree.parents[at])
    return reach


def _travel(tree: pin.Model, joint: int) -> float:
    """How far a sliding joint goes from its zero [m]."""
    k = tree.idx_qs[joint]
    ends = abs(tree.lowerPositionLimit[k]), abs(tree.upperPositionLimit[k])
    return min(float(max(ends)), _FARTHEST)
