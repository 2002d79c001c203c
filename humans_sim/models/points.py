# SPDX-License-Identifier: Apache-2.0
"""Points fixed on the links of a pinocchio model: positions, Jacobians, accelerations.

All points of a set are computed at once; a model has one set for its tags and one for
its contact points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin


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
        turned: np.ndarray = np.einsum("nij,nj->ni", rotation, local)
        return turned
