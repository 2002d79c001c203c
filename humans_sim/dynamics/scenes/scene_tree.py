# SPDX-License-Identifier: Apache-2.0
"""A robot and free bodies in one tree of pinocchio's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from humans_sim.dynamics.scenes.scene_bodies import SceneBody
from humans_sim.models import Model


def scene_tree(
    bodies: Sequence[SceneBody], robot: Model | None
) -> tuple[pin.Model, int]:
    """One tree of everything, and the joint of the first body."""
    tree = pin.Model() if robot is None else pin.Model(robot.pin)
    first = tree.njoints
    for body in bodies:
        # Velocities of the centres in the world's frame: a free flyer has them in its
        # own, where a step would not keep the momentum of a body that spins.
        free = pin.JointModelComposite(2)
        free.addJoint(pin.JointModelTranslation())
        free.addJoint(pin.JointModelSpherical())
        joint = tree.addJoint(0, free, pin.SE3.Identity(), f"body_{body.name}")
        mass = body.properties
        inertia = pin.Inertia(mass.mass, np.zeros(3), mass.inertia)
        tree.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return tree, first
