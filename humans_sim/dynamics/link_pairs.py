# SPDX-License-Identifier: Apache-2.0
"""The links of a model that may touch each other in a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.convex_cores import CoreTable
from humans_sim.contact.geometry.link_pairs import extents, link_solids, usual_pairs
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.models import Model
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.description import SelfCollision

_SLIDING = "JointModelP"
"""How names of joints that slide begin."""
_FARTHEST = 1e6
"""Travel of a sliding joint without limits [m]."""


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
    usual = usual_pairs(model)[0] if chosen.enabled else frozenset()
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
        solids, cores = link_solids(model)
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


def _reach(
    tree: pin.Model, shapes: tuple[CollisionShape, ...], pairs: list[tuple[int, int]]
) -> np.ndarray:
    """How far each joint moves one link of a pair against the other, at most."""
    extent = extents(shapes)
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
