# SPDX-License-Identifier: Apache-2.0
"""From a :class:`ModelDescription` to a pinocchio model."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.models.description import BASE_LINK, Inertial, ModelDescription


def build(description: ModelDescription) -> pin.Model:
    """Pinocchio model with a free-flyer base, joints in the order of a URDF parser."""
    model = pin.Model()
    model.name = description.name
    base = model.addJoint(
        0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root_joint"
    )
    model.addJointFrame(base)
    joint_of = {BASE_LINK: base}
    _add_link(model, description, BASE_LINK, base)
    for joint in description.tree():
        identifier = model.addJoint(
            joint_of[joint.parent],
            pin.JointModelRevoluteUnaligned(joint.axis),
            pin.SE3(np.eye(3), joint.origin),
            joint.name,
            np.array([joint.effort]),
            np.array([joint.velocity]),
            np.array([joint.lower]),
            np.array([joint.upper]),
        )
        model.addJointFrame(identifier)
        joint_of[joint.child] = identifier
        _add_link(model, description, joint.child, identifier)
    return model


def _add_link(
    model: pin.Model, description: ModelDescription, name: str, joint: int
) -> None:
    link = description.link(name)
    if link.inertial is not None and link.inertial.mass > 0:
        model.appendBodyToJoint(joint, _inertia(link.inertial), pin.SE3.Identity())
    body = model.addBodyFrame(name, joint, pin.SE3.Identity(), -1)
    for frame in description.frames:
        if frame.link == name:
            placement = pin.SE3(np.eye(3), frame.position)
            model.addFrame(
                pin.Frame(frame.name, joint, body, placement, pin.FrameType.BODY)
            )


def _inertia(inertial: Inertial) -> pin.Inertia:
    """Pinocchio inertia; unlike its constructor, this takes non-positive matrices."""
    mass, com = inertial.mass, inertial.com
    about_origin = inertial.inertia + mass * (
        com @ com * np.eye(3) - np.outer(com, com)
    )
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = about_origin
    return pin.Inertia.FromDynamicParameters(
        np.array([mass, *(mass * com), xx, xy, yy, xz, yz, zz])
    )
