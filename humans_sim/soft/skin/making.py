# SPDX-License-Identifier: Apache-2.0
"""Skins made from the implicit surface of a body, once for a subject.

The surface is polygonised in a pose with spread arms, cut where cloth ends, and bound
to the joints; the result is kept in the user's cache.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import trimesh

from humans_sim.core.surface_nets import neighbour_means
from humans_sim.models import Model
from humans_sim.soft.errors import SoftError
from humans_sim.soft.skin.body_shape import BodyShape, body_shape
from humans_sim.soft.skin.cuts import cut_mesh
from humans_sim.soft.skin.magnifier import HeadAndHands
from humans_sim.soft.skin.skin import Skin, bone_lengths, joint_poses
from humans_sim.soft.skin.skin_cache import cached
from humans_sim.soft.surfaces.polygons import net_of

SPACING = 0.0125
"""Of the grid for a person of 1.741 m [m]."""
SKINNED = ("human36",)
"""Models that have a skin."""
_REFINEMENTS = 6
_SMOOTHINGS = 10
_BONES = 4
"""Joints that a vertex follows at most."""
_SOLE = "soles"


@lru_cache(maxsize=8)
def skin_of(model: Model, spacing: float = SPACING) -> Skin:
    """The skin of a human model, from the cache where it is there.

    Args:
        model: Human36 with any lengths.
        spacing: of the grid for a person of 1.741 m; of head and hands it is a half
            and a third of it [m].

    Raises:
        SoftError: the model has no skin.
    """
    if not has_skin(model):
        raise SoftError(f"{model.name} has no skin; there is one for: {SKINNED[0]}")
    return cached(model, spacing, make_skin)


def has_skin(model: Model) -> bool:
    """Whether a model is one of the package's that have a skin."""
    return model.parts.from_table and model.name in SKINNED


def make_skin(model: Model, spacing: float = SPACING) -> Skin:
    """Make a skin, without the cache.

    Args:
        model: Human36 with any lengths.
        spacing: as in :func:`skin_of`.
    """
    shape = body_shape(model)
    net = _closed_net(model, shape, spacing * model.height / 1.741)
    names = tuple(shape.colours)
    numbers = {name: k for k, name in enumerate(names)}

    def labels(points: np.ndarray) -> np.ndarray:
        words, inverse = np.unique(shape.materials(points), return_inverse=True)
        return np.array([numbers[str(word)] for word in words])[inverse]

    vertices, faces, own = cut_mesh(
        np.asarray(net.vertices), np.asarray(net.faces), labels
    )
    bones, weights = _weights(shape, vertices, faces)
    soles = np.unique(faces[own == numbers[_SOLE]])
    for side in ("l_", "r_"):
        near = (
            soles[vertices[soles, 1] > 0]
            if side == "l_"
            else (soles[vertices[soles, 1] <= 0])
        )
        weights[near] = np.array(bones) == f"{side}ankle_roll"
    vertices = _flat_soles(model, shape.pose, vertices, soles)
    return Skin(
        vertices,
        faces,
        own,
        names,
        np.array([shape.colours[name] for name in names], dtype=np.uint8),
        bones,
        joint_poses(model, shape.pose, bones),
        weights,
        bone_lengths(model, bones),
    )


def _closed_net(model: Model, shape: BodyShape, spacing: float) -> trimesh.Trimesh:
    """The mesh of a body, on a finer grid where fingers grow together on it."""
    magnifier = _magnifier(model, shape.pose)
    for _ in range(_REFINEMENTS):
        net = net_of(shape.distance, magnifier.box(model.height), spacing, magnifier)
        if net.euler_number == 2:
            return net
        spacing *= 0.85
    raise SoftError(f"the skin of {model.name} is no sphere: its parts touch")


def _magnifier(model: Model, pose: np.ndarray) -> HeadAndHands:
    elbow, wrist = model.frame_pose(pose, "l_forearm"), model.frame_pose(pose, "l_hand")
    along = wrist.translation - elbow.translation
    neck = model.frame_pose(pose, "head").translation[2] + 0.012 * model.height
    return HeadAndHands(float(neck), np.array(wrist.translation), -along[2] / along[1])


def _weights(
    shape: BodyShape, vertices: np.ndarray, faces: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray]:
    """How much vertices follow joints: by their place along a part, then smoothed."""
    bones = sorted({bone for part in shape.parts for _, bone in part.bones})
    weights = np.zeros((len(vertices), len(bones)))
    parts = shape.part_of(vertices)
    for k, part in enumerate(shape.parts):
        own = np.flatnonzero(parts == k)
        if not len(own):
            continue
        at = shape.along(k, vertices[own])
        ends = np.array([end for end, _ in part.bones])
        for column, bone in enumerate(bones):
            share = np.array([float(name == bone) for _, name in part.bones])
            if share.any():
                weights[own, column] = np.interp(at, ends, share)
    for _ in range(_SMOOTHINGS):
        weights = 0.5 * (weights + neighbour_means(faces, weights))
    least = np.sort(weights, axis=1)[:, -_BONES][:, None]
    weights = np.where(weights < least, 0.0, weights)
    return tuple(bones), weights / weights.sum(axis=1)[:, None]


def _flat_soles(
    model: Model, pose: np.ndarray, vertices: np.ndarray, soles: np.ndarray
) -> np.ndarray:
    """Vertices of the soles moved up to where the feet touch the ground."""
    vertices = vertices.copy()
    for side, sign in (("l_", 1.0), ("r_", -1.0)):
        foot = model.frame_pose(pose, f"{side}sole")
        own = soles[sign * vertices[soles, 1] > 0]
        height = (vertices[own] - foot.translation) @ foot.rotation[:, 2]
        up = np.where(height < 1e-3, -height, 0.0)
        vertices[own] += up[:, None] * foot.rotation[:, 2]
    return vertices
