# SPDX-License-Identifier: Apache-2.0
"""A model's tree of links as arrays, for kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

_ROTORS = 16
"""Columns of a table of rotors."""


class TreeTable(NamedTuple):
    """Links of a model with a free base and joints of one axis each.

    Link 0 is the base; link k belongs to the velocity 5 + k.

    Attributes:
        parent: link that each link turns in (n,); -1 for the base.
        turns: whether its joint turns, otherwise it slides (n,).
        rotation: of the joint's frame in the parent's (n, 3, 3).
        place: of the joint's frame in the parent's (n, 3) [m].
        axis: of the joint in its frame (n, 3).
        mass: (n,) [kg].
        centre: of mass, in the link's frame (n, 3) [m].
        inertia: about the centre of mass, in the link's frame (n, 3, 3) [kg m^2].
        gravity: (3,) [m/s^2].
        armature: inertia on the diagonal of the mass matrix (nv,).
        rotors: table of a model's geared rotors; empty where it has none (m, 16).
        locked: velocities that stay zero (indices).
        straight: whether the joint's frame is turned as the parent's (n,).
    """

    parent: np.ndarray
    turns: np.ndarray
    rotation: np.ndarray
    place: np.ndarray
    axis: np.ndarray
    mass: np.ndarray
    centre: np.ndarray
    inertia: np.ndarray
    gravity: np.ndarray
    armature: np.ndarray
    rotors: np.ndarray
    locked: np.ndarray
    straight: np.ndarray


def tree_table(
    model: pin.Model,
    armature: np.ndarray,
    rotors: np.ndarray | None,
    locked: np.ndarray,
) -> TreeTable | None:
    """The table of a model; None where it has joints that the table has no place for.

    Args:
        model: a free flyer, then joints.
        armature: inertia on the diagonal of the mass matrix (nv,).
        rotors: table of geared rotors, or None.
        locked: velocities that stay zero (indices).
    """
    count = model.njoints - 1
    if count < 1 or model.joints[1].shortname() != "JointModelFreeFlyer":
        return None
    axis, turns = np.zeros((count, 3)), np.ones(count, dtype=np.bool_)
    for k in range(1, count):
        joint = model.joints[k + 1]
        if (joint.nq, joint.nv, joint.idx_v) != (1, 1, 5 + k):
            return None
        data = joint.createData()
        joint.calc(data, np.zeros(model.nq))
        linear, angular = np.asarray(data.S).reshape(6)[:3], data.S.reshape(6)[3:]
        turns[k] = bool(angular.any())
        if turns[k] and linear.any():
            return None
        axis[k] = angular if turns[k] else linear
    inertias = [model.inertias[k + 1] for k in range(count)]
    places = [model.jointPlacements[k + 1] for k in range(count)]
    return TreeTable(
        parent=np.array([model.parents[k + 1] - 1 for k in range(count)]),
        turns=turns,
        rotation=np.array([place.rotation for place in places]),
        place=np.array([place.translation for place in places]),
        axis=axis,
        mass=np.array([inertia.mass for inertia in inertias]),
        centre=np.array([inertia.lever for inertia in inertias]),
        inertia=np.array([inertia.inertia for inertia in inertias]),
        gravity=np.array(model.gravity.linear),
        armature=np.array(armature, dtype=float),
        rotors=np.zeros((0, _ROTORS)) if rotors is None else np.array(rotors),
        locked=np.array(locked, dtype=np.int64),
        straight=np.array([bool((p.rotation == np.eye(3)).all()) for p in places]),
    )
