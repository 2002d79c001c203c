# SPDX-License-Identifier: Apache-2.0
"""A pinocchio model as the plain arrays that the posture kernels take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.models.axes import to_ros
from humans_sim.models.model import Model
from humans_sim.observation.markers.marker_set import SetMarker


class Tree(NamedTuple):
    """Bodies that turn about each other; body 0 is the base.

    Attributes:
        parent: body before each body, -1 for the base (n,).
        rotation: of a body's frame in its parent's, joint at zero (n, 3, 3).
        origin: of that frame in the parent (n, 3) [m].
        axis: of each body's joint, in its own frame (n, 3).
        above: velocity coordinate before each one, -1 for the first (nv,).
        lower, upper: joint limits (n - 1,) [rad].
    """

    parent: np.ndarray
    rotation: np.ndarray
    origin: np.ndarray
    axis: np.ndarray
    above: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, model: Model) -> Tree:
        """The tree of a model.

        Raises:
            ParameterError: a joint of it is not revolute.
        """
        pinned = model.pin
        data = pinned.createData()
        pin.computeJointJacobians(pinned, data, pin.neutral(pinned))
        bodies = pinned.njoints - 1
        parent = np.full(bodies, -1)
        rotation, origin = np.zeros((bodies, 3, 3)), np.zeros((bodies, 3))
        axis = np.zeros((bodies, 3))
        rotation[0] = np.eye(3)
        for i in range(1, bodies):
            joint = i + 1
            at = pinned.joints[joint]
            column = data.oMi[joint].actInv(pin.Motion(data.J[:, 5 + i]))
            if (at.nq, at.nv, at.idx_v) != (1, 1, 5 + i) or (
                abs(np.linalg.norm(column.angular) - 1.0) > 1e-9
            ):
                raise ParameterError(
                    f"the joint '{pinned.names[joint]}' of {model.name} is not a "
                    "revolute one: postures are found for turning joints only"
                )
            parent[i] = pinned.parents[joint] - 1
            placement = pinned.jointPlacements[joint]
            rotation[i], origin[i] = placement.rotation, placement.translation
            axis[i] = column.angular
        above = np.arange(-1, bodies + 4)
        for i in range(1, bodies):
            above[5 + i] = 5 + parent[i]
        return cls(
            parent,
            rotation,
            origin,
            axis,
            above,
            np.array(model.lower_limits),
            np.array(model.upper_limits),
        )


class MarkedTree(NamedTuple):
    """A tree whose bodies carry markers.

    Attributes:
        tree: the bodies.
        body: that carries each marker (m,).
        local: places of the markers in their bodies' frames (m, 3) [m].
    """

    tree: Tree
    body: np.ndarray
    local: np.ndarray


def marker_bodies(
    model: Model, markers: Sequence[SetMarker]
) -> tuple[np.ndarray, np.ndarray]:
    """Body of each marker (m,), and its place in the body's frame (m, 3) [m]."""
    body, local = [], []
    for marker in markers:
        frame = model.pin.frames[model.pin.getFrameId(marker.segment)]
        body.append(int(frame.parentJoint) - 1)
        local.append(frame.placement.act(to_ros(marker.at)))
    return np.array(body, dtype=np.int64), np.array(local).reshape(-1, 3)
