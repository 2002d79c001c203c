# SPDX-License-Identifier: Apache-2.0
"""A model as segments: joints that turn about one centre belong together.

A hip of three revolute joints is three bodies in a URDF, two of them without mass. Here
it is one segment that turns about one point by three axes, as joints are in textbooks
and in OpenSim. Everything is on HuMAnS axes: x forward, y up, z right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pinocchio as pin
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ParameterError
from humans_sim.models.axes import ROS_FROM_HUMANS, to_humans
from humans_sim.models.model import Model

_SAME_PLACE = 1e-12
"""Joint centres closer than this are one [m]."""
_PARALLEL = 1e-6
"""Sine of the least angle between two axes of one segment."""
_MOST = 3
"""Turns of one segment."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A body that turns about one point of its parent.

    Attributes:
        name: link of the model.
        parent: name of the segment before; empty for the base.
        pin_joint: joint of the pinocchio model that carries the link.
        joints: places in ``joint_names`` of the joints that turn it, first one first.
        centre: of these joints, in the parent's frame (3,) [m].
        rotation: of its frame in the parent's where all angles are zero (3, 3).
        axes: of the joints in that frame, each turned by those before it (k, 3).
        mass: [kg].
        com: centre of mass in its frame (3,) [m].
        inertia: about the centre of mass, in its frame (3, 3) [kg m2].
    """

    name: str
    parent: str
    pin_joint: int
    joints: tuple[int, ...]
    centre: np.ndarray
    rotation: np.ndarray
    axes: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def turn(self, angles: np.ndarray) -> Rotation:
        """Orientation in the parent's frame.

        Args:
            angles: of its joints over time (n, k) [rad].
        """
        turned = Rotation.from_matrix(np.tile(self.rotation, (len(angles), 1, 1)))
        for axis, column in zip(self.axes, angles.T, strict=True):
            turned = turned * Rotation.from_rotvec(np.outer(column, axis))
        return turned


def segments_of(model: Model) -> Mapping[str, Segment]:
    """Segments of a model by name, parents before children; the base is the first.

    Raises:
        ParameterError: a joint of it is not a revolute one.
    """
    tree = model.pin
    chains = _chains(model)
    names = {1: _link(model, 1), **{joint: _link(model, joint) for joint in chains}}
    base = _segment(model, names[1], "", [1], np.zeros((0, 3)))
    segments = {base.name: base}
    for joint, (chain, axes) in chains.items():
        parent = names[tree.parents[chain[0]]]
        segments[names[joint]] = _segment(model, names[joint], parent, chain, axes)
    return MappingProxyType(segments)


def _chains(model: Model) -> dict[int, tuple[list[int], np.ndarray]]:
    """Joints that turn one segment, and their axes in its frame, by the last joint."""
    tree, axes = model.pin, _axes(model)
    below = Counter(tree.parents[2:])
    chains: dict[int, tuple[list[int], np.ndarray]] = {}
    for joint in range(2, tree.njoints):
        parent, placement = tree.parents[joint], tree.jointPlacements[joint]
        joints, turned = [joint], axes[joint][None]
        if (
            parent in chains
            and below[parent] == 1
            and tree.inertias[parent].mass == 0
            and np.linalg.norm(placement.translation) < _SAME_PLACE
            and len(chains[parent][0]) < _MOST
        ):
            before = chains[parent][1] @ placement.rotation
            apart = np.linalg.norm(np.cross(before, axes[joint]), axis=1)
            if apart.min() > _PARALLEL:
                joints = [*chains.pop(parent)[0], joint]
                turned = np.vstack([before, turned])
        chains[joint] = joints, turned
    return chains


def _segment(
    model: Model, name: str, parent: str, chain: list[int], axes: np.ndarray
) -> Segment:
    tree = model.pin
    placement = pin.SE3.Identity()
    if parent:
        for joint in chain:
            placement = placement * tree.jointPlacements[joint]
    body = tree.inertias[chain[-1]]
    return Segment(
        name,
        parent,
        chain[-1],
        tuple(joint - 2 for joint in chain) if parent else (),
        to_humans(placement.translation),
        ROS_FROM_HUMANS.T @ placement.rotation @ ROS_FROM_HUMANS,
        to_humans(axes),
        float(body.mass),
        to_humans(body.lever),
        ROS_FROM_HUMANS.T @ body.inertia @ ROS_FROM_HUMANS,
    )


def _axes(model: Model) -> dict[int, np.ndarray]:
    """Axis of each joint in its own frame, ROS axes."""
    tree = model.pin
    data = tree.createData()
    pin.computeJointJacobians(tree, data, pin.neutral(tree))
    axes = {}
    for joint in range(2, tree.njoints):
        at = tree.joints[joint]
        column = data.oMi[joint].actInv(pin.Motion(data.J[:, at.idx_v]))
        if (at.nq, at.nv) != (1, 1) or abs(np.linalg.norm(column.angular) - 1) > 1e-9:
            raise ParameterError(
                f"the joint '{tree.names[joint]}' of {model.name} is not a revolute "
                "one: segments turn only"
            )
        axes[joint] = np.array(column.angular)
    return axes


def _link(model: Model, joint: int) -> str:
    """The first link that a joint carries."""
    for frame in model.pin.frames:
        if frame.parentJoint == joint and frame.type == pin.FrameType.BODY:
            return str(frame.name)
    return str(model.pin.names[joint])
