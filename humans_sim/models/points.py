# SPDX-License-Identifier: Apache-2.0
"""Points fixed on the links of a pinocchio model: positions, Jacobians, accelerations.

All points of a set are computed at once; a model has one set for its tags and one for
its contact points.

Forces at points become generalised forces. Frames are found by name here and nowhere
else: links and joints of published robots share names.

*Axes* of HuMAnS and ROS. HuMAnS: x forward, y up, z right. ROS (REP-103): x forward, y
left, z up. :math:`(x, y, z)_{ros} = (x, -z, y)_{humans}`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.core.expressions import shortened


class PointSet:
    """Points given by their joint and their position in the joint's frame.

    Attributes:
        joints: the joints that carry points, each once.
        row: place of each point's joint in ``joints`` (n,).
        local: positions in the joints' frames (n, 3) [m].
        support: whether a velocity moves a point (n, nv).
    """

    def __init__(
        self, model: pin.Model, joints: Sequence[int], local: np.ndarray
    ) -> None:
        """Points ``local`` (n, 3) [m] on the bodies of ``joints``."""
        self.size = len(joints)
        used, self.row = np.unique(np.asarray(joints, dtype=int), return_inverse=True)
        self.joints = [int(j) for j in used]
        self.local = np.asarray(local, float).reshape(-1, 3)
        support = np.zeros((self.size, model.nv), dtype=bool)
        for row, joint in enumerate(joints):
            for ancestor in model.supports[joint]:
                if ancestor > 0:
                    first = model.joints[ancestor].idx_v
                    support[row, first : first + model.joints[ancestor].nv] = True
        self.support = support

    def positions(self, data: pin.Data) -> np.ndarray:
        """World positions (n, 3) [m]; needs up-to-date joint placements."""
        if not self.size:
            return np.zeros((0, 3))
        poses = np.array([data.oMi[j].homogeneous for j in self.joints])[self.row]
        moved: np.ndarray = np.einsum("nij,nj->ni", poses[:, :3, :3], self.local)
        return moved + poses[:, :3, 3]

    def jacobians(self, data: pin.Data) -> np.ndarray:
        """World Jacobians (n, 3, nv); needs up-to-date joint Jacobians."""
        full = np.asarray(data.J)
        linear, angular = full[:3], full[3:]
        p = self.positions(data)
        moment = np.cross(angular.T[None], p[:, None, :]).transpose(0, 2, 1)
        return np.where(self.support[:, None, :], linear[None] + moment, 0.0)

    def accelerations(self, data: pin.Data) -> np.ndarray:
        """World accelerations (n, 3) [m/s^2]; needs velocities and accelerations."""
        if not self.size:
            return np.zeros((0, 3))
        used = self.joints
        rotation = np.array([data.oMi[j].rotation for j in used])[self.row]
        velocity = np.array([data.v[j].vector for j in used])[self.row]
        spatial = np.array([data.a[j].vector for j in used])[self.row]
        omega = velocity[:, 3:]
        speed = velocity[:, :3] + np.cross(omega, self.local)
        local = spatial[:, :3] + np.cross(spatial[:, 3:], self.local)
        local = local + np.cross(omega, speed)
        return np.einsum("nij,nj->ni", rotation, local)


ROS_FROM_HUMANS = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Rotation that turns components on HuMAnS axes into components on ROS axes."""

_UNIT = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def to_ros(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) on HuMAnS axes, expressed on ROS axes."""
    return np.asarray(vectors, float) @ ROS_FROM_HUMANS.T


def to_humans(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) on ROS axes, expressed on HuMAnS axes."""
    return np.asarray(vectors, float) @ ROS_FROM_HUMANS


def signed_axis(word: str) -> np.ndarray:
    """Unit vector of ``"x"``, ``"-y"``, ... on the axes the word is meant in."""
    sign = -1.0 if word.startswith("-") else 1.0
    return sign * np.array(_UNIT[word.lstrip("-")])


def point_force(
    model: pin.Model,
    data: pin.Data,
    q: np.ndarray,
    link: str,
    point: np.ndarray,
    force: np.ndarray,
) -> np.ndarray:
    """Generalised force (nv,) of a world force [N] at a point of a link [m]."""
    frame = frame_index(model, link or link_on(model, 1))
    jacobian = pin.computeFrameJacobian(
        model, data, q, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    pin.updateFramePlacement(model, data, frame)
    arm = data.oMf[frame].rotation @ np.asarray(point, dtype=float)
    moment = np.cross(arm, force)
    return jacobian[:3].T @ force + jacobian[3:].T @ moment


_KINDS = (
    pin.FrameType.BODY,
    pin.FrameType.OP_FRAME,
    pin.FrameType.SENSOR,
    pin.FrameType.FIXED_JOINT,
    pin.FrameType.JOINT,
)
"""What a name stands for, the first of these that has it."""


def frame_index(tree: pin.Model, name: str) -> int:
    """Number of a link, of a frame on one, or of a joint where no link has the name."""
    for kind in _KINDS:
        if tree.existFrame(name, kind):
            return int(tree.getFrameId(name, kind))
    raise ParameterError(f"{tree.name} has no link or frame '{shortened(name)}'")


def link_on(tree: pin.Model, joint: int) -> str:
    """The first link that a joint carries; the joint's name where there is none."""
    for frame in tree.frames:
        if frame.parentJoint == joint and frame.type == pin.FrameType.BODY:
            return str(frame.name)
    return str(tree.names[joint])
