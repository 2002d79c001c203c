# SPDX-License-Identifier: Apache-2.0
"""The skin on a page: its bones are the joints, fitted where lengths change."""

from __future__ import annotations

import numpy as np

import humans_sim as hs
from humans_sim.soft.skin.skin import joint_poses
from humans_sim.view.browser.scene import Scene


def test_bones_are_where_the_joints_are(human: hs.Model) -> None:
    """In a posture far from the origin, bones of all meshes are their joints."""
    scene = Scene(human, port=0)
    try:
        layer = scene._skin
        assert layer is not None
        q = human.neutral()
        q[:2] += [3.0, -1.0]
        q[7:] = 0.3 * np.clip(human.upper_limits, -1, 1)
        scene.show(q)
        poses = joint_poses(human, q, layer.skin.bones)
        for mesh, bones in zip(layer.meshes, layer._bones, strict=True):
            places = np.array([bone.position for bone in mesh.bones])
            np.testing.assert_allclose(
                places + [3.0, -1.0, 0.0], poses[bones][:, :, 3], atol=1e-6
            )
        scene.see_through(True)
        assert all(mesh.opacity is not None for mesh in layer.meshes)
        tall = human.with_height(1.9)
        scene.change_model(tall, tall.neutral())
        assert scene._skin is not layer and scene._skin is not None
        vertices = scene._skin.skin.posed(tall, tall.neutral())
        assert abs(np.ptp(vertices[:, 2]) - 1.9) < 0.02
    finally:
        scene.stop()


def test_robots_have_no_skin(khr1: hs.Model) -> None:
    """They are drawn by the solids of their links."""
    scene = Scene(khr1, port=0)
    try:
        assert scene._skin is None and scene._frames
    finally:
        scene.stop()
