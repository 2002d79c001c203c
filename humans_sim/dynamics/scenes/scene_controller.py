# SPDX-License-Identifier: Apache-2.0
"""The controller of a robot among free bodies."""

from __future__ import annotations

from typing import Any

from humans_sim.dynamics.controller import ControlFunction, Controller, ControlState
from humans_sim.dynamics.scenes.scene_system import SceneSystem


class SceneController(Controller):
    """Shows a robot's controller the robot alone, without contacts and forces.

    Args:
        scene: the system.
        robot: controller of its robot.

    Attributes:
        period: that of the robot's controller [s], or None.
    """

    def __init__(self, scene: SceneSystem, robot: ControlFunction) -> None:
        self._robot, self._nq, self._nv = robot, scene.robot_nq, scene.robot_nv
        self.period = robot.period if isinstance(robot, Controller) else None

    def __call__(self, t: float, state: ControlState) -> Any:
        """The command of the robot's controller."""
        own = ControlState(state.q[: self._nq], state.v[: self._nv], state.z)
        return self._robot(t, own)
