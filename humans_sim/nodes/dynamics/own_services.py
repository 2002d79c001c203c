# SPDX-License-Identifier: Apache-2.0
"""Services of the node ``dynamics`` for what the standard lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from humans_msgs.srv import Push, Reset

from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.nodes.common.conversions import (
    base_of,
    joint_values,
    time_of,
    velocity_of,
)
from humans_sim.nodes.dynamics.pushes import WaitingPushes

if TYPE_CHECKING:
    from humans_sim.nodes.dynamics.node import Dynamics


class OwnServices:
    """``reset`` to a posture or a state with joint angles, and ``push``.

    Args:
        node: whose run it is.
        pushes: that wait for their time.
    """

    def __init__(self, node: Dynamics, pushes: WaitingPushes) -> None:
        """Begin to serve."""
        self._node, self._pushes = node, pushes
        node.create_service(Reset, "reset", self._on_reset)
        node.create_service(Push, "push", self._on_push)

    def _on_reset(self, request: Any, response: Any) -> Any:
        node = self._node
        try:
            q, v = node.settings.start(node.model, request.posture)
            if request.use_state:
                q, v = self._state_of(request, q, v)
            node.restart(q, v)
        except Exception as error:  # whatever it is, the old run stands
            response.message = str(error)
        response.success = not response.message
        response.stamp = time_of(node.stamp)
        return response

    def _state_of(
        self, request: Any, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        joints, model = request.joint_state, self._node.model
        q[:7] = base_of(request.base_pose)
        v[:6] = velocity_of(request.base_twist)
        q[7:] = joint_values(model, joints.name, joints.position, q[7:], "position")
        if len(joints.velocity):
            v[6:] = joint_values(model, joints.name, joints.velocity, v[6:], "velocity")
        return q, v

    def _on_push(self, request: Any, response: Any) -> Any:
        node = self._node
        try:
            if node.failure:
                raise ParameterError(node.failure)
            stamp = self._pushes.add(request, node.stamp, node.run.q)
        except HumansError as error:
            response.success, response.message = False, str(error)
            return response
        response.success = True
        response.message = f"begins at {stamp * 1e-9:.9g} s"
        return response
