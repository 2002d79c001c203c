# SPDX-License-Identifier: Apache-2.0
"""What touches what as solids: links, free bodies, and what stands on the ground."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from humans_sim.contact.geometry.convex_cores import ConvexSolid
from humans_sim.contact.geometry.ground import Ground, Solid
from humans_sim.contact.geometry.link_pairs import link_solids, touching_links
from humans_sim.contact.geometry.solids import Ball, Box, HalfSpace
from humans_sim.contact.geometry.terrain import TriangleMesh
from humans_sim.dynamics.pair_contacts import Mover, MoverPair
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.models import Model
from humans_sim.models.description import SelfCollision
from humans_sim.results.records import LINK, POINT


def fixed_solid(solid: Solid | Ball) -> ConvexSolid | None:
    """A convex solid of the ground; None of meshes."""
    if isinstance(solid, HalfSpace):
        row = solid.row()
        return ConvexSolid.half_space(row[10:13], row[1:4])
    if isinstance(solid, Box):
        row = solid.row()
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        corners = (signs * row[4:7]) @ row[7:16].reshape(3, 3).T
        return ConvexSolid.of(row[1:4] + corners)
    if isinstance(solid, Ball):
        return ConvexSolid.of(np.array([solid.centre], dtype=float), solid.radius)
    return None


def is_plane(mover: Mover) -> bool:
    """Whether a part of the ground is a half space."""
    return bool(mover.solids) and mover.solids[0].is_half_space


def body_solid(body: SceneBody) -> ConvexSolid:
    """The solid of a free body, around its centre of mass; else that of its points."""
    solid = ConvexSolid.of(body.points, body.radius)
    if body.solid is not None:
        solid = fixed_solid(body.solid) or solid
    centre = body.properties.center
    return replace(solid, vertices=solid.vertices - centre, core=solid.core - centre)


def ground_movers(ground: Ground) -> list[tuple[Mover, float]]:
    """What stands on the ground, and its friction."""
    movers = []
    for solid, friction in zip(ground.solids, ground.frictions(), strict=True):
        shape = fixed_solid(solid)
        if shape is not None:
            movers.append((Mover(solid.name, 0, (shape,)), float(friction)))
        elif isinstance(solid, TriangleMesh):
            movers.append((Mover(solid.name, 0, (), solid), float(friction)))
    return movers


def link_movers(model: Model, tags: Mapping[int, np.ndarray]) -> list[Mover]:
    """The links of a model; ``tags`` are those of :func:`link_solids`."""
    found = link_solids(model, tags)
    return [Mover(name, joint, solids) for name, (joint, solids) in found.items()]


def own_pairs(
    model: Model, links: Sequence[Mover], own: SelfCollision, ground: Ground
) -> list[MoverPair]:
    """Links of a model that touch each other."""
    named = {mover.name: mover for mover in links}
    friction = ground.friction if own.friction is None else own.friction
    return [
        MoverPair(named[a], named[b], LINK, friction, 0.0)
        for a, b in touching_links(model, own)
        if a in named and b in named
    ]


def body_movers(
    bodies: Sequence[SceneBody], first: int, ground: Ground
) -> list[tuple[Mover, float]]:
    """Free bodies that touch others, and their friction; ``first``: their joint."""
    return [
        (
            Mover(body.name, first + k, (body_solid(body),)),
            ground.friction if body.friction is None else body.friction,
        )
        for k, body in enumerate(bodies)
        if body.solid is not None
    ]


def body_pairs(
    bodies: Sequence[SceneBody], first: int, links: Sequence[Mover], ground: Ground
) -> list[MoverPair]:
    """Free bodies with the ground, links and each other; of two the lower friction.

    Args:
        bodies: all of the scene.
        first: joint of the first of them.
        links: of a robot.
        ground: of the scene.
    """
    fixed, bounce = ground_movers(ground), ground.restitution
    plain = float(ground.frictions().max(initial=ground.friction))
    pairs: list[MoverPair] = []
    others: list[tuple[Mover, float]] = []
    for k, body in enumerate(bodies):
        own = Mover(body.name, first + k, (body_solid(body),))
        rough = ground.friction if body.friction is None else body.friction
        touched = [(own, other, friction) for other, friction in fixed]
        if body.solid is not None:
            touched += [(own, other, friction) for other, friction in others]
            touched += [(link, own, plain) for link in links]
        pairs += [
            MoverPair(one, other, POINT, min(friction, rough), bounce)
            for one, other, friction in touched
        ]
        if body.solid is not None:
            others.append((own, rough))
    return pairs
