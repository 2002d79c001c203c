# SPDX-License-Identifier: Apache-2.0
"""Compiled kinematics of a tree: poses of its bodies, markers, their Jacobians.

A :class:`Tree` is a pinocchio model as plain arrays, a :class:`MarkedTree` one with
markers; tests hold positions and Jacobians against pinocchio's. They are here, not
called there, because a call into pinocchio from Python, with its results fetched joint
by joint, takes longer than the rest of a frame's solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index, to_ros
from humans_sim.observation.markers.marker_set import SetMarker

BASE = 6
"""Velocity coordinates of the base: translation along the world's axes, then rotation
about them."""


class BodyPoses(NamedTuple):
    """Where the n bodies of a tree are.

    Attributes:
        turn: their rotations in the world (n, 3, 3).
        centre: origins of their frames (n, 3) [m].
        line: axes of their joints in the world; zero for the base (n, 3).
    """

    turn: np.ndarray
    centre: np.ndarray
    line: np.ndarray


@kernel
def empty_poses(bodies):
    """Memory for the poses of so many bodies."""
    turn, centre = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    return BodyPoses(turn, centre, np.zeros((bodies, 3)))


@kernel
def place(tree, q, poses):
    """Fill in the pose of every body at q.

    Body 0 is the base; body i > 0 turns about ``tree.axis[i]``, in its own frame, which
    sits at ``tree.rotation[i]``, ``tree.origin[i]`` in its parent.
    """
    parent, rotation, origin, axis = tree.parent, tree.rotation, tree.origin, tree.axis
    turn, centre, line = poses
    x, y, z, w = q[3], q[4], q[5], q[6]
    turn[0, 0, 0] = 1 - 2 * (y * y + z * z)
    turn[0, 0, 1] = 2 * (x * y - z * w)
    turn[0, 0, 2] = 2 * (x * z + y * w)
    turn[0, 1, 0] = 2 * (x * y + z * w)
    turn[0, 1, 1] = 1 - 2 * (x * x + z * z)
    turn[0, 1, 2] = 2 * (y * z - x * w)
    turn[0, 2, 0] = 2 * (x * z - y * w)
    turn[0, 2, 1] = 2 * (y * z + x * w)
    turn[0, 2, 2] = 1 - 2 * (x * x + y * y)
    for a in range(3):
        centre[0, a] = q[a]
    fixed = np.empty((3, 3))
    own = np.empty((3, 3))
    for i in range(1, parent.size):
        p = parent[i]
        for a in range(3):
            centre[i, a] = centre[p, a]
            for b in range(3):
                centre[i, a] += turn[p, a, b] * origin[i, b]
                fixed[a, b] = 0.0
                for c in range(3):
                    fixed[a, b] += turn[p, a, c] * rotation[i, c, b]
        s, co = np.sin(q[6 + i]), np.cos(q[6 + i])
        t = 1.0 - co
        u, v, k = axis[i, 0], axis[i, 1], axis[i, 2]
        own[0, 0] = t * u * u + co
        own[0, 1] = t * u * v - s * k
        own[0, 2] = t * u * k + s * v
        own[1, 0] = t * u * v + s * k
        own[1, 1] = t * v * v + co
        own[1, 2] = t * v * k - s * u
        own[2, 0] = t * u * k - s * v
        own[2, 1] = t * v * k + s * u
        own[2, 2] = t * k * k + co
        for a in range(3):
            line[i, a] = fixed[a, 0] * u + fixed[a, 1] * v + fixed[a, 2] * k
            for b in range(3):
                turn[i, a, b] = 0.0
                for c in range(3):
                    turn[i, a, b] += fixed[a, c] * own[c, b]


@kernel
def points(marked, poses, out):
    """World positions of the markers (m, 3)."""
    body, local, turn, centre = marked.body, marked.local, poses.turn, poses.centre
    for m in range(body.size):
        b = body[m]
        for a in range(3):
            out[m, a] = centre[b, a]
            for c in range(3):
                out[m, a] += turn[b, a, c] * local[m, c]


@kernel
def chain_of(body, parent, out):
    """Velocity coordinates that move a body, root first; returns how many."""
    n, b = 0, body
    while b > 0:
        n += 1
        b = parent[b]
    b = body
    for k in range(n):
        out[BASE + n - 1 - k] = BASE + b - 1
        b = parent[b]
    for k in range(BASE):
        out[k] = k
    return BASE + n


@kernel
def point_jacobian(x, chain, size, poses, out):
    """Jacobian (3, size) of a point at ``x`` along its chain."""
    centre, line = poses.centre, poses.line
    for k in range(3):
        for a in range(3):
            out[a, k] = 1.0 if a == k else 0.0
    d0, d1, d2 = x[0] - centre[0, 0], x[1] - centre[0, 1], x[2] - centre[0, 2]
    out[0, 3], out[1, 3], out[2, 3] = 0.0, -d2, d1
    out[0, 4], out[1, 4], out[2, 4] = d2, 0.0, -d0
    out[0, 5], out[1, 5], out[2, 5] = -d1, d0, 0.0
    for k in range(BASE, size):
        i = chain[k] - BASE + 1
        d0, d1, d2 = x[0] - centre[i, 0], x[1] - centre[i, 1], x[2] - centre[i, 2]
        out[0, k] = line[i, 1] * d2 - line[i, 2] * d1
        out[1, k] = line[i, 2] * d0 - line[i, 0] * d2
        out[2, k] = line[i, 0] * d1 - line[i, 1] * d0


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
        body: that carries each marker (m,).
        local: places of the markers in their bodies' frames (m, 3) [m].
    """

    tree: Tree
    body: np.ndarray
    local: np.ndarray

    def places(self, q: np.ndarray) -> np.ndarray:
        """Where the markers are in the posture q (m, 3) [m]."""
        poses, places = empty_poses(len(self.tree.parent)), np.empty(self.local.shape)
        place(self.tree, q, poses)
        points(self, poses, places)
        return places


def marker_bodies(
    model: Model, markers: Sequence[SetMarker]
) -> tuple[np.ndarray, np.ndarray]:
    """Body of each marker (m,), and its place in the body's frame (m, 3) [m]."""
    body, local = [], []
    for marker in markers:
        frame = model.pin.frames[frame_index(model.pin, marker.segment)]
        body.append(int(frame.parentJoint) - 1)
        local.append(frame.placement.act(to_ros(marker.at)))
    return np.array(body, dtype=np.int64), np.array(local).reshape(-1, 3)
