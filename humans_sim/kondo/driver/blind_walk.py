# SPDX-License-Identifier: Apache-2.0
"""The package's walk, led by a velocity, for a robot without sensors.

As :mod:`.walk_stream`, but without an end: from where the joints are into the posture
of the walk, slowly, and then wherever commands lead. Time advances by periods, however
late they come: a walk that was held up resumes where it was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from humans_sim.control.walking import WalkPattern, WalkSettings
from humans_sim.control.walking.pattern import PatternPoint
from humans_sim.control.walking.placement import Approach
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.driver.robot_settings import RobotSettings
from humans_sim.kondo.driver.walk_stream import STEP
from humans_sim.models import Model

_PEAK = 1.875
"""Largest speed of the path into the walk's posture over its mean."""


class BlindWalk:
    """Joint angles of a walk, period by period.

    Attributes:
        pattern: takes the commands, once :attr:`ready`.
        point: of the pattern at the last period.
        farthest: how far a joint goes at most into the posture of the walk [rad].
        approach_time: how long that takes [s].
    """

    def __init__(
        self,
        model: Model,
        robot: RobotSettings,
        settings: WalkSettings | None = None,
        period: float = 0.02,
    ) -> None:
        """A robot that stands; :meth:`begin` comes first.

        Args:
            model: of the robot.
            robot: its channels and limits.
            settings: of the walk; None: those of the model, with steps that take
                :data:`~humans_sim.kondo.driver.walk_stream.STEP` at least.
            period: between two set points [s].

        Raises:
            ParameterError: a joint of the robot is none of the model's.
        """
        missing = set(robot.joint_names) - set(model.joint_names)
        if missing:
            raise ParameterError(f"{model.name} has no joint '{min(missing)}'")
        if settings is None:
            usual = WalkSettings.of_model(model)
            settings = replace(usual, step_duration=max(usual.step_duration, STEP))
        self.pattern = WalkPattern(model, settings)
        self._names, self._period = robot.joint_names, period
        self._columns = [model.joint_names.index(name) for name in self._names]
        self._approach_speed = math.radians(robot.limits.approach)
        self._approach: Approach | None = None
        self._sent = self._stance = self._of(self.pattern.standing()[7:])
        self.point: PatternPoint = self.pattern.tick(0.0)
        self._t = self.farthest = self.approach_time = 0.0

    @property
    def ready(self) -> bool:
        """Whether it is in its posture, and commands count."""
        return self._approach is None

    def begin(self, joints: Mapping[str, float]) -> None:
        """Stand, and go into the posture of the walk from here.

        Args:
            joints: where they are [rad]; those left out are in it already.
        """
        pairs = zip(self._names, self._stance, strict=True)
        first = np.array([joints.get(name, angle) for name, angle in pairs])
        largest = float(np.abs(self._stance - first).max())
        duration = max(_PEAK * largest / self._approach_speed, self._period)
        self.farthest, self.approach_time = largest, duration
        self._t, self._sent = 0.0, first
        self._approach = Approach(first, self._stance, 0.0, duration)
        self.pattern.reset()
        self.point = self.pattern.tick(0.0)

    def tick(self) -> dict[str, float]:
        """Where the joints shall be one period later [rad].

        Raises:
            ControlError: the legs do not reach a step.
        """
        self._t += self._period
        if self._approach is not None:
            self._sent = self._approach.at(self._t)
            if self._approach.over(self._t):
                self._approach, self._t = None, 0.0
        else:
            self.point = self.pattern.tick(self._t)
            self._sent = self._of(self.point.joints)
        return dict(zip(self._names, self._sent.tolist(), strict=True))

    def off(self, joints: Mapping[str, float]) -> float:
        """How far a joint is at most from its set point [rad]."""
        pairs = zip(self._names, self._sent.tolist(), strict=True)
        return max(abs(joints.get(name, angle) - angle) for name, angle in pairs)

    def _of(self, joints: np.ndarray) -> np.ndarray:
        """Of all joints of the model, those that have a servo."""
        return np.array(joints[self._columns])
