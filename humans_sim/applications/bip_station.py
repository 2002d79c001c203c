# SPDX-License-Identifier: Apache-2.0
"""Bip's control law beside its mechanics: measurements in, voltages out.

What the node ``task_law`` does with each state of the robot; it knows no ROS.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from humans_sim.control.bip.control import BipControl
from humans_sim.control.bip.task import BipTask, StepShape, one_step, standing, start_of
from humans_sim.control.trajectories.trajectory import (
    ContactPhase,
    Trajectory,
    read_traj3,
)
from humans_sim.dynamics.controller import ControlState
from humans_sim.models import Model
from humans_sim.observation.base.observer import BaseEstimate, BaseObserver

STAND, STEP = "stand", "step"
MOTIONS = (STAND, STEP)


def bip_trajectory(
    task: BipTask, motion: str | Path, shape: StepShape | None = None
) -> Trajectory:
    """A motion by its name (``stand``, ``step``), or of a .traj3 file.

    Such a file has positions in the task space.
    """
    if motion == STEP:
        return one_step(task, shape)
    if motion == STAND:
        rest = standing(task, shape)
        return Trajectory([rest] * 3, [0.0, 1.0], [ContactPhase.DOUBLE])
    return read_traj3(motion, task.size)


class BipStation:
    """Observer and control law of Bip, called with what is measured.

    Args:
        motion: as of :func:`bip_trajectory`.
        delay: of the motors [s].
        period: between two calls [s].
        gains: further arguments of :class:`BipControl`.

    Attributes:
        motors: names of the motors, in the order of the voltages.
        start: configuration in which it begins (nq,).
        estimate: of the base at the last call, or None.
    """

    def __init__(
        self,
        model: Model,
        motion: str | Path = STAND,
        shape: StepShape | None = None,
        *,
        delay: float = 0.0,
        period: float = 0.005,
        **gains: Any,
    ) -> None:
        task = BipTask(model)
        path = bip_trajectory(task, motion, shape)
        horizon = delay + 0.5 * period
        self._law = BipControl(task, path, horizon=horizon, period=period, **gains)
        self.motors = self._law.motor_names
        self.start = start_of(task, path)
        self._observer = BaseObserver(model, standing=self.start)
        self.estimate: BaseEstimate | None = None
        self._t, self._voltages = -math.inf, np.zeros(len(self.motors))

    def reset(self) -> None:
        """Time begins anew."""
        self._observer.reset()
        self.estimate, self._t = None, -math.inf

    def voltages(
        self,
        t: float,
        joints: np.ndarray,
        speeds: np.ndarray,
        sole_forces: Mapping[str, float],
    ) -> np.ndarray:
        """Voltages for a state (nmotors,) [V]; the same again for the same time.

        Args:
            t: of the state [s]; where it goes back, it begins anew.
            joints: angles in the order of the model (njoints,) [rad].
            speeds: in the same order (njoints,) [rad/s].
            sole_forces: normal force on each sole, by its name [N].

        Raises:
            ObservationError: a measurement cannot be used.
        """
        if t < self._t:
            self.reset()
        if t > self._t:
            base = self._observer.update(t, joints, speeds, sole_forces=sole_forces)
            q = np.concatenate([base.pose, joints])
            v = np.concatenate([base.velocity, speeds])
            self._voltages = self._law(t, ControlState(q, v))
            self.estimate, self._t = base, t
        return self._voltages.copy()
