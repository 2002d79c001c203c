# SPDX-License-Identifier: Apache-2.0
"""A planned motion as a stream of joint angles, one period early."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from humans_sim.control.retargeting.robot_motion import RobotMotion
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.dynamics.system import TIME_STEPPING
from humans_sim.models import Model


class MotionStream(Controller):
    """Commands where the joints of a motion shall be one period later.

    No sensor is used: so do boards that play motions.

    Args:
        motion: of the robot that is simulated.
        start: when it begins; before it the first posture is held [s].

    Attributes:
        period: between two commands [s].
    """

    def __init__(self, motion: RobotMotion, start: float = 0.0) -> None:
        self._motion, self._start = motion, start
        self.period = motion.period

    def simulation_arguments(self, model: Model) -> Mapping[str, Any]:
        """Time stepping: on both feet legs slip by micrometres, events are countless.

        Args:
            model: that is simulated.
        """
        return {"method": TIME_STEPPING}

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint angles for the end of the period (njoints,) [rad]."""
        return self.at(t + self._motion.period)

    def at(self, t: float) -> np.ndarray:
        """Joint angles at a time; the ends hold outside (njoints,) [rad]."""
        motion = self._motion
        place = (t - self._start) / motion.period
        place = min(max(place, 0.0), len(motion.t) - 1.0)
        k = min(int(place), len(motion.t) - 2)
        share = place - k
        rows = motion.commands
        row: np.ndarray = (1.0 - share) * rows[k] + share * rows[k + 1]
        return row
