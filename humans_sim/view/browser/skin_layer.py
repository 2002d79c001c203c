# SPDX-License-Identifier: Apache-2.0
"""The skin of a human on a page: meshes of one colour that bend with the joints."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import viser

from humans_sim.models import Model
from humans_sim.soft.skin.skin import Skin, joint_poses

_LEAST_WEIGHT = 1e-3
"""A joint that no vertex follows by more carries nothing of a mesh."""


class SkinLayer:
    """Draws a skin and moves it.

    Args:
        server: of the page.
        path: of what carries the skin on the page.
        model: whose skin it is.
        skin: in the pose it was made in.
        opacity: of the meshes; None for solid ones.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        path: str,
        model: Model,
        skin: Skin,
        opacity: float | None = None,
    ) -> None:
        """Add the meshes to the page."""
        self.skin, self._model = skin, model
        # The meshes are near their parent: what is far from it is not drawn.
        self._root = server.scene.add_frame(path, show_axes=False)
        self._origin = np.array([*skin.vertices.mean(axis=0)[:2], 0.0])
        wxyz, places = _quaternions(skin.poses), skin.poses[:, :, 3] - self._origin
        self.meshes: list[viser.MeshSkinnedHandle] = []
        self._bones: list[np.ndarray] = []
        for k, material in enumerate(skin.materials):
            faces = skin.faces[skin.labels == k]
            if not len(faces):
                continue
            own, inverse = np.unique(faces, return_inverse=True)
            bones = np.flatnonzero(skin.weights[own].max(axis=0) > _LEAST_WEIGHT)
            weights = skin.weights[np.ix_(own, bones)]
            handle = server.scene.add_mesh_skinned(
                f"{path}/{material}",
                (skin.vertices[own] - self._origin).astype(np.float32),
                inverse.reshape(-1, 3),
                bone_wxyzs=wxyz[bones],
                bone_positions=places[bones],
                skin_weights=weights / weights.sum(axis=1)[:, None],
                color=_rgb(skin.colours[k]),
                opacity=opacity,
            )
            self.meshes.append(handle)
            self._bones.append(bones)

    def show(self, q: np.ndarray) -> None:
        """Show a configuration."""
        poses = joint_poses(self._model, q, self.skin.bones)
        wxyz = _quaternions(poses)
        ground = np.array([q[0], q[1], 0.0])
        self._root.position = ground
        places = poses[:, :, 3] - ground
        for handle, bones in zip(self.meshes, self._bones, strict=True):
            for bone, k in zip(handle.bones, bones, strict=True):
                bone.wxyz, bone.position = wxyz[k], places[k]

    def remove(self) -> None:
        """Take the skin off the page."""
        self._root.remove()


def _quaternions(poses: np.ndarray) -> np.ndarray:
    """Unit quaternions (w, x, y, z) of poses (b, 3, 4)."""
    found = []
    for pose in poses:
        turn = pin.Quaternion(np.ascontiguousarray(pose[:, :3]))
        found.append([turn.w, turn.x, turn.y, turn.z])
    return np.array(found)


def _rgb(colour: np.ndarray) -> tuple[int, int, int]:
    red, green, blue = (int(value) for value in colour)
    return red, green, blue
