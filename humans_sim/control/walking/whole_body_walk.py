# SPDX-License-Identifier: Apache-2.0
"""A walk by torques: whole-body control that follows a walking pattern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    FramePose,
    JointTask,
)
from humans_sim.control.task.whole_body import (
    SIGNALS,
    GuardedWholeBody,
    Target,
    WeightedTask,
    WholeBody,
)
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking.listed_footsteps import ListedStep
from humans_sim.control.walking.pattern import PatternPoint, WalkPattern
from humans_sim.control.walking.timeline import WalkPhase
from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.controller import Controller, ControlState
from humans_sim.models.legs import sole_named, support_tags
from humans_sim.results.records import Signal

_COM, _TRUNK, _POSTURE, _FOOT = 100.0, 10.0, 0.3, 50.0
"""Weights of the tasks; assumed: balance first, then the foot, the trunk, the rest."""
_COM_STIFFNESS, _FOOT_STIFFNESS = 60.0, 300.0
"""Of the tasks [1/s^2]: a foot comes to its place within a step, the body slower."""


class WholeBodyWalk(Controller):
    """Joint torques that carry a body along a walking pattern.

    The feet that the pattern puts down carry the load; the centre of mass, the trunk,
    the foot in the air and the posture are weighted tasks. Where they have no answer,
    the last one holds, damped, and is counted.

    It walks with a velocity, forwards, to the left [m/s], turning [rad/s], or makes
    footsteps, from its start to its stop [s]; it is called once a period [s].

    Attributes:
        point: of the pattern, at the last call.
        guarded: whole-body control, which counts its failures.
    """

    def __init__(
        self,
        body: WholeBody,
        pattern: WalkPattern,
        velocity: tuple[float, float, float],
        start: float = 0.5,
        stop: float = np.inf,
        period: float = 0.005,
        footsteps: Sequence[ListedStep] = (),
    ) -> None:
        model = pattern.model
        if body.system.model is not model:
            raise ParameterError("the body and the pattern must be of one model object")
        self.guarded = GuardedWholeBody(body, period)
        self._pattern, self.period = pattern, period
        self._velocity, self._start, self._stop = velocity, start, stop
        self._footsteps = tuple(footsteps)
        self._begun = self._ended = False
        self.point: PatternPoint = pattern.tick(0.0)
        walk = pattern.settings
        soles = {"l": walk.left, "r": walk.right}
        self._soles = {
            side: body.contacts(support_tags(sole_named(model, name)))
            for side, name in soles.items()
        }
        self._tasks = [
            WeightedTask(CentreOfMass(model), self._com, _COM, _COM_STIFFNESS),
            WeightedTask(FrameOrientation(model, "base_link"), self._trunk, _TRUNK),
            WeightedTask(JointTask(model), self._joints, _POSTURE),
        ]
        self._feet = {
            side: WeightedTask(
                FramePose(model, name), self._foot(side), _FOOT, _FOOT_STIFFNESS
            )
            for side, name in soles.items()
        }

    def __call__(self, t: float, state: ControlState) -> np.ndarray:
        """Joint torques at time t (njoints,) [N m]."""
        if t < self.point.time:  # another run
            self._pattern.reset(t)
            self.guarded.reset()
            self._begun = self._ended = False
        if t >= self._stop and not self._ended:
            self._pattern.stop()
            self._ended = self._begun = True
        elif t >= self._start and not self._begun:
            if self._footsteps:
                self._pattern.follow(self._footsteps)
            else:
                self._pattern.command(*self._velocity)
            self._begun = True
        self.point = self._pattern.tick(t)
        tasks, support = list(self._tasks), ["l", "r"]
        if self.point.support == ContactPhase.RIGHT_FOOT:
            tasks.append(self._feet["l"])
            support = ["r"]
        elif self.point.support == ContactPhase.LEFT_FOOT:
            tasks.append(self._feet["r"])
            support = ["l"]
        contacts = np.concatenate([self._soles[side] for side in support])
        return self.guarded.solve(t, state.q, state.v, tasks, contacts)

    def signals(self) -> tuple[Signal, ...]:
        """Failures of whole-body control, joints at their limits."""
        return SIGNALS

    def signal_values(self) -> np.ndarray:
        """Numbers of the signals after the last call."""
        return self.guarded.signal_values()

    @property
    def stands(self) -> bool:
        """Whether the walk has not begun, or is over."""
        return self.point.phase == WalkPhase.STANDING

    def _com(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        point = self.point
        return point.com, point.com_velocity, point.com_acceleration

    def _joints(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        point = self.point
        return point.joints, point.joint_speeds, np.zeros(len(point.joints))

    def _trunk(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        turn = self.point.base_rotation
        return pin.log3(turn), turn @ self.point.v[3:6], np.zeros(3)

    def _foot(self, side: str) -> Target:
        def at(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            foot = self.point.left if side == "l" else self.point.right
            return FramePose.target(foot.pose), foot.velocity, np.zeros(6)

        return at
