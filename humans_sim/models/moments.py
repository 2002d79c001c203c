# SPDX-License-Identifier: Apache-2.0
"""Joint torques on the axes of a convention: generalised forces of its angles.

The moment that a joint carries does not depend on who counts the angles; its components
along the axes do. A hip turned by pitch, yaw and roll has them along these axes, one
turned by flexion, adduction and rotation along others. Power is the same in both.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.models.angles import segment_turns, split_turns
from humans_sim.models.conventions import HUMANS, load_convention
from humans_sim.models.model import Model
from humans_sim.models.segments import segments_of


def joint_moments(
    model: Model, q: np.ndarray, torques: np.ndarray, convention: str | Path = HUMANS
) -> tuple[tuple[str, ...], np.ndarray]:
    """Torques of a motion as generalised forces of a convention's angles.

    Angles that are no coordinates of one joint, seen from another segment than the
    parent or fewer than the joint has, have no such force and are left out.

    Args:
        model: that moves.
        q: configurations (n, nq).
        torques: of the model's joints (n, joints) [N m].
        convention: name of a convention, or the path of one's own.

    Returns:
        Names of the angles, and the forces (n, angles) [N m].

    Raises:
        ParameterError: there is no such convention, or it is for another model.
        ModelFileError: the file of the convention is malformed.
    """
    chosen = load_convention(convention, model)
    if not chosen.groups:
        return model.joint_names, torques
    segments = segments_of(model)
    names: list[str] = []
    columns: list[np.ndarray] = []
    for group in chosen.groups:
        segment = segments[group.body]
        if not group.spans(segment):
            continue
        joints = list(segment.joints)
        turned = segment_turns(segment, q)
        own = _axes_in_parent(segment.axes, q[:, [7 + j for j in joints]])
        theirs = _axes_in_parent(group.axes, split_turns(turned, group))
        # Components along skew axes: the moment within their span, then its others.
        moment = np.linalg.pinv(own) @ torques[:, joints, None]
        forces = (theirs @ moment)[..., 0]
        for name, column in zip(group.names, forces.T, strict=True):
            if name is not None:
                names.append(name)
                columns.append(column)
    return tuple(names), np.array(columns).reshape(-1, len(q)).T


def _axes_in_parent(axes: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Axes in turn, each turned by the angles before it (n, k, 3)."""
    turned = Rotation.identity()
    rows = []
    for axis, column in zip(axes, angles.T, strict=True):
        along = turned.apply(axis)
        rows.append(np.broadcast_to(along, (len(angles), 3)))
        turned = turned * Rotation.from_rotvec(np.outer(column, axis))
    return np.stack(rows, axis=1)
