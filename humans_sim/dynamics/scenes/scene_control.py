# SPDX-License-Identifier: Apache-2.0
"""Actuation and control of a robot among free bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.bodies.loads import Load, Moving
from humans_sim.dynamics.actuation_interface import Actuation, PartActuation
from humans_sim.dynamics.controller import ControlFunction, Controller, ControlState
from humans_sim.dynamics.scenes.scene_system import SceneSystem


class SceneActuation(PartActuation):
    """The actuation of a robot among free bodies, on which loads act in their order."""

    def __init__(
        self,
        scene: SceneSystem,
        robot: Actuation | None = None,
        loads: Sequence[Load] = (),
    ) -> None:
        self._scene, self._loads, nv = scene, tuple(loads), scene.robot_nv
        super().__init__(robot or Actuation(), scene.robot_nq, nv, scene.nv - nv)

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the robot's actuation and of the loads."""
        forces, rates = super().dynamics(t, q, v, z)
        if self._loads:
            moving = moving_bodies(self._scene, q, v)
            force, torque = np.zeros_like(moving.x), np.zeros_like(moving.x)
            for load in self._loads:
                load.add(t, moving, force, torque)
            turned = np.einsum("nji,nj->ni", moving.frames, torque)
            forces[self._nv :] = np.concatenate([force, turned], axis=1).ravel()
        return forces, rates


def moving_bodies(scene: SceneSystem, q: np.ndarray, v: np.ndarray) -> Moving:
    """The motion of a scene's bodies, in the world's frame."""
    places = q[scene.robot_nq :].reshape(-1, 7)
    speeds = v[scene.robot_nv :].reshape(-1, 2, 3)
    frames = np.array(
        [pin.Quaternion(row[3:].copy()).normalized().matrix() for row in places]
    )
    spins = np.einsum("nij,nj->ni", frames, speeds[:, 1])
    return Moving(places[:, :3], frames, speeds[:, 0], spins)


class SceneController(Controller):
    """Shows a robot's controller the robot alone, without contacts and forces."""

    def __init__(self, scene: SceneSystem, robot: ControlFunction) -> None:
        self._robot, self._nq, self._nv = robot, scene.robot_nq, scene.robot_nv
        self.period = robot.period if isinstance(robot, Controller) else None

    def __call__(self, t: float, state: ControlState) -> Any:
        """The command of the robot's controller."""
        own = ControlState(state.q[: self._nq], state.v[: self._nv], state.z)
        return self._robot(t, own)
