# SPDX-License-Identifier: Apache-2.0
"""A model's tree of links as arrays, for kernels."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.dynamics.tree_kernels import TreeTable

_ROTORS = 16
"""Columns of a table of rotors."""


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
