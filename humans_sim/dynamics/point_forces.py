# SPDX-License-Identifier: Apache-2.0
"""Forces at points of a model, as generalised forces."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError


def point_force(
    model: pin.Model,
    data: pin.Data,
    q: np.ndarray,
    link: str,
    point: np.ndarray,
    force: np.ndarray,
) -> np.ndarray:
    """Generalised force of a world force at a point of a link (nv,).

    Args:
        model: of pinocchio, with a free base.
        data: of the model; it is written.
        q: configuration.
        link: a link or frame; empty for the base.
        point: in the link's frame [m].
        force: in the world [N].

    Raises:
        ParameterError: there is no such link.
    """
    if link and not model.existFrame(link):
        raise ParameterError(f"{model.name} has no link '{link}'")
    frame = model.getFrameId(link) if link else _base_frame(model)
    jacobian = pin.computeFrameJacobian(
        model, data, q, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    pin.updateFramePlacement(model, data, frame)
    arm = data.oMf[frame].rotation @ np.asarray(point, dtype=float)
    moment = np.cross(arm, force)
    generalised: np.ndarray = jacobian[:3].T @ force + jacobian[3:].T @ moment
    return generalised


def _base_frame(model: pin.Model) -> int:
    """The link that the free base carries."""
    for index, frame in enumerate(model.frames):
        if frame.parentJoint == 1 and frame.type == pin.FrameType.BODY:
            return index
    raise ParameterError("the model has no base link")
