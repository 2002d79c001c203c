# SPDX-License-Identifier: Apache-2.0
"""What is drawn of a model whose file draws nothing: the hull of each body's points."""

from __future__ import annotations

import numpy as np
import trimesh

from humans_sim.models import Model

GREY = (140, 145, 153)
"""Their colour."""
_THICKNESS = 0.012
"""Of a body around its points, as a share of the model's size."""
_CORNERS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T


def plain_hulls(model: Model, size: float) -> dict[int, trimesh.Trimesh]:
    """A convex body around joint centres and tags, by the joint that carries it.

    Args:
        model: what to draw.
        size: of the model [m].
    """
    tree = model.pin
    points = {j: [np.zeros(3)] for j in range(1, tree.njoints)}
    for child in range(2, tree.njoints):
        parent = int(tree.parents[child])
        points[parent].append(np.array(tree.jointPlacements[child].translation))
    for tag in model.parts.tags:
        frame = tree.frames[tree.getFrameId(tag.link)]
        points[int(frame.parentJoint)].append(frame.placement.act(tag.position))
    thick = _THICKNESS * size * _CORNERS
    return {
        joint: trimesh.convex.convex_hull(
            (np.array(own)[:, None] + thick[None]).reshape(-1, 3)
        )
        for joint, own in points.items()
    }
