# SPDX-License-Identifier: Apache-2.0
"""The skin of a human: one closed mesh that bends with the joints.

In other poses than the one it was made in, each vertex follows up to four joints
(linear blend skinning).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
import trimesh

from humans_sim.models import Model
from humans_sim.soft.skin.body_shape import making_pose


@dataclass(frozen=True, eq=False)
class Skin:
    """A closed mesh on the joints of a model.

    Attributes:
        vertices: in the pose it was made in (n, 3) [m].
        faces: triangles, facing out (m, 3).
        labels: of the faces, numbers of materials (m,).
        materials: their names.
        colours: red, green, blue of the materials, 0 to 255 (k, 3).
        bones: names of the joints that carry it.
        poses: of the joints in the pose it was made in (b, 3, 4).
        weights: how much each vertex follows each joint (n, b).
        lengths: of what the joints carry (b,) [m].
    """

    vertices: np.ndarray
    faces: np.ndarray
    labels: np.ndarray
    materials: tuple[str, ...]
    colours: np.ndarray
    bones: tuple[str, ...]
    poses: np.ndarray
    weights: np.ndarray
    lengths: np.ndarray

    def mesh(self) -> trimesh.Trimesh:
        """The closed surface in the pose it was made in."""
        return trimesh.Trimesh(self.vertices, self.faces, process=False)

    def posed(self, model: Model, q: np.ndarray) -> np.ndarray:
        """Vertices in a configuration of its model (n, 3) [m]."""
        return self._carried(joint_poses(model, q, self.bones))

    def fitted(self, model: Model) -> Skin:
        """The skin on a model with other lengths: what each joint carries is scaled.

        It is quick, and near to the skin that is made for these lengths.
        """
        poses = joint_poses(model, making_pose(model), self.bones)
        lengths = bone_lengths(model, self.bones)
        vertices = self._carried(poses, lengths / self.lengths)
        return replace(self, vertices=vertices, poses=poses, lengths=lengths)

    def _carried(
        self, poses: np.ndarray, scales: np.ndarray | None = None
    ) -> np.ndarray:
        """Vertices where the joints have other poses (b, 3, 4)."""
        turn, shift = self.poses[:, :, :3], self.poses[:, :, 3]
        moved = poses[:, :, :3] @ turn.transpose(0, 2, 1)
        if scales is not None:
            moved = moved * scales[:, None, None]
        offset = poses[:, :, 3] - np.einsum("bij,bj->bi", moved, shift)
        flat = np.concatenate([moved.reshape(-1, 9), offset], axis=1)
        blend = self.weights @ flat
        turned = np.einsum("nij,nj->ni", blend[:, :9].reshape(-1, 3, 3), self.vertices)
        return np.asarray(turned + blend[:, 9:])


def joint_poses(model: Model, q: np.ndarray, bones: tuple[str, ...]) -> np.ndarray:
    """Rotations and places of joints in a configuration (b, 3, 4)."""
    data = model.buffers
    pin.forwardKinematics(model.pin, data, model.check_configuration(q))
    poses = [data.oMi[model.pin.getJointId(bone)] for bone in bones]
    return np.array([np.column_stack([p.rotation, p.translation]) for p in poses])


def bone_lengths(model: Model, bones: tuple[str, ...]) -> np.ndarray:
    """Lengths from joints to the next ones that lie elsewhere (b,) [m].

    Of the last joints of the limbs: the stature.
    """
    tree, lengths = model.pin, []
    offsets = [np.array(pose.translation) for pose in tree.jointPlacements]
    for bone in bones:
        below, length = [tree.getJointId(bone)], 0.0
        while below and length == 0.0:
            below = [k for k in range(tree.njoints) if int(tree.parents[k]) in below]
            length = max([float(np.linalg.norm(offsets[k])) for k in below] or [0.0])
        lengths.append(length or model.height)
    return np.array(lengths)
