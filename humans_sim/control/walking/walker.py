# SPDX-License-Identifier: Apache-2.0
"""A walk with feedback: the pattern, corrected by what the robot measures.

The pattern says where everything goes. A real robot leans where its servos give way,
its floor slopes and people push it. Once a period the attitude of the base and the
wrenches on the soles come in, and joint angles go out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.control.walking.balance import Balance, SoleLoad, StanceRelief
from humans_sim.control.walking.com_estimator import (
    LOADED,
    BodyEstimate,
    ComEstimator,
    SoleWrench,
    WalkSensors,
    checked_sensors,
)
from humans_sim.control.walking.feedback_kernels import (
    tilt_against,
    zmp_of_wrenches,
)
from humans_sim.control.walking.footsteps import ORIGIN, Footprint, Side, SolePair
from humans_sim.control.walking.listed_footsteps import Heights
from humans_sim.control.walking.pattern import PatternPoint, WalkPattern
from humans_sim.control.walking.push_recovery import PushRecovery
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.timeline import WalkPhase
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model

_CAUGHT_TILT = 1.4
"""Tilt with which a body falls that steps to catch itself, in those of a walk."""


class WalkCommand(NamedTuple):
    """The command of a walker at one time.

    Attributes:
        plan: the pattern.
        joints: angles for the servos, in the order of ``model.joint_names`` [rad].
        zmp: measured zero-moment point, in the world of the plan (3,) [m]; NaN where no
            sole is loaded or nothing was measured.
        tilt: angle between the base and its planned attitude, heading aside [rad].
        fallen: the robot lies, or falls beyond help; joints are held from then on.
        falling: it will fall: no number of steps brings a foot below its capture point.
    """

    plan: PatternPoint
    joints: np.ndarray
    zmp: np.ndarray
    tilt: float
    fallen: bool
    falling: bool = False


PERIOD = 0.02
"""Time between two ticks unless a robot has another [s]."""


class Walker:
    """Leads a biped with position servos; the same calls give the same walk.

    Args:
        model: a biped; it stands at first, knees bent.
        settings: how it walks; by default those that come with the package.
        period: time between two ticks [s]; commands are for the next one.
        t_start: time of the first tick [s].
        place: where it stands then: the middle between its feet.
        heights: of uneven ground, on whose levels the feet are put.
        gravity: of the place to walk in [m/s^2]; the model's unless given.

    Attributes:
        pattern: the walking pattern; velocity and steps are commanded to it.
        capture_error: measured capture point less the planned one, in the world of the
            plan (2,) [m]; zero until joints, attitude and soles are measured.
    """

    def __init__(
        self,
        model: Model,
        settings: WalkSettings | None = None,
        *,
        period: float = PERIOD,
        t_start: float = 0.0,
        place: Footprint = ORIGIN,
        heights: Heights | None = None,
        gravity: float | None = None,
    ) -> None:
        if not (math.isfinite(period) and period > 0):
            raise ParameterError(f"period must be above 0 s, not {period}")
        self.pattern = WalkPattern(model, settings, t_start, place, heights, gravity)
        self.period = period
        self._weight = self.pattern.weight
        self._estimator = ComEstimator(model, self.settings, period, self._weight)
        self._balance = Balance(self.settings, period)
        self._recovery = PushRecovery(self.pattern, period)
        corners = SolePair.of_model(model, self.settings).corners
        self._middles = {side: places.mean(axis=0) for side, places in corners.items()}
        walk = self.settings
        self._relief = StanceRelief(
            walk.relief_gain, walk.com_height, self._weight, period, walk.shift_duration
        )
        self.reset(t_start, place)

    @property
    def model(self) -> Model:
        """The biped."""
        return self.pattern.model

    @property
    def settings(self) -> WalkSettings:
        """How it walks."""
        return self.pattern.settings

    def reset(self, t_start: float = 0.0, place: Footprint = ORIGIN) -> None:
        """Stand still at a place, from a time on, whatever was before."""
        self.pattern.reset(t_start, place)
        self._balance.reset()
        self._relief.reset()
        self._fallen, self._falling, self._heading = False, False, 0.0
        self._lost_for = 0.0
        self._plan: PatternPoint | None = None
        self._estimator.reset()
        self._recovery.reset()
        self._seen: BodyEstimate | None = None
        self.capture_error = np.zeros(2)
        self._joints: np.ndarray | None = None

    def start(self) -> np.ndarray:
        """The configuration in which a robot should stand before the first tick."""
        return self.pattern.standing()

    def tick(self, t: float, sensors: WalkSensors | None = None) -> WalkCommand:
        """The command that the servos reach one period after ``t``.

        Args:
            t: time of the measurement, not before the last one [s].
            sensors: what was measured; without it the pattern is followed blindly.

        Raises:
            ParameterError: time goes backwards, or a measurement is not finite.
            ControlError: the legs do not reach a step.
        """
        if sensors is not None:
            sensors = checked_sensors(sensors)
            # Third axis of the world: what the gyro says of the heading.
            rate = float(sensors.attitude[2] @ sensors.angular_velocity)
            self._heading += self.period * rate
            self._see(sensors)
        caught = self._caught(t, sensors)
        if caught is not None:
            return caught
        self.pattern.turned(None if sensors is None else self._heading)
        plan = self._plan = self.pattern.tick(t + self.period)
        zmp, tilt, joints = np.full(3, math.nan), 0.0, plan.joints
        if sensors is not None:
            zmp, away = self._measured_zmp(plan, sensors), self._tilt(plan, sensors)
            tilt = math.sqrt(float(away @ away))
            most = _CAUGHT_TILT if self._recovery.eases else 1.0
            self._fallen |= tilt > most * self.settings.fall_tilt
            if not self._fallen:
                joints = self._balanced(plan, sensors, away, zmp)
        joints = self._recovery.eased(t, joints)
        if self._joints is None or not self._fallen:
            self._joints = joints
        return WalkCommand(plan, self._joints, zmp, tilt, self._fallen, self._falling)

    def _caught(self, t: float, sensors: WalkSensors | None) -> WalkCommand | None:
        """The command of a body that was pushed; None while it walks."""
        plan, recovery = self._plan, self._recovery
        if plan is None or self._joints is None:
            return None
        joints = self._joints if recovery.active else None
        if not self._fallen:
            joints = self._recovered(t, plan, sensors, self._joints)
        if joints is None:
            return None
        if recovery.stands is not None:
            self._plan = plan = recovery.stands
        still = plan._replace(time=t + self.period, v=np.zeros(self.model.nv))
        zmp, tilt = np.full(3, math.nan), 0.0
        if sensors is not None:
            zmp = self._measured_zmp(still, recovery.standing(sensors))
            tilt = float(np.linalg.norm(self._tilt(still, sensors)))
            self._fallen |= tilt > _CAUGHT_TILT * self.settings.fall_tilt
        if not self._fallen:
            self._joints = joints
        return WalkCommand(still, self._joints, zmp, tilt, self._fallen, self._falling)

    def _recovered(
        self,
        t: float,
        plan: PatternPoint,
        sensors: WalkSensors | None,
        commanded: np.ndarray,
    ) -> np.ndarray | None:
        """Joint angles after a push; None while it walks."""
        recovery, seen = self._recovery, self._seen
        if sensors is None or sensors.joints is None or seen is None:
            return recovery.blind(t, commanded) if recovery.active else None
        if not recovery.active:
            if not recovery.begins(plan, self.capture_error):
                return None
            recovery.begin(t, plan, seen, sensors, commanded)
        return recovery.update(t, seen, sensors, commanded)

    def _see(self, sensors: WalkSensors) -> None:
        """How far the capture point is from the plan, and whether that is too far."""
        plan = self._plan
        if plan is None:
            return
        seen = self._estimator.estimate(plan, self._recovery.standing(sensors))
        if seen is None:
            measured = sensors.joints is not None and sensors.joint_speeds is not None
            if self._seen is not None and measured:
                self._seen = self._estimator.in_flight(self._seen, sensors)
            return
        self._seen = seen
        pendulum = seen.pendulum
        lead = (pendulum.velocity - plan.com_velocity[:2]) / self.pattern.omega
        self.capture_error = pendulum.com - plan.com[:2] + lead
        self._foresee(plan, seen, sensors)

    def _foresee(
        self, plan: PatternPoint, seen: BodyEstimate, sensors: WalkSensors
    ) -> None:
        """Whether it will fall: for some time nothing could have caught it."""
        limit, recovery = self.settings.catch_error, self._recovery
        off = recovery.active or math.hypot(*self.capture_error) > limit
        sure = off and limit > 0.0 and not self._estimator.shaken
        lost = sure and recovery.lost(plan, seen, sensors)
        self._lost_for = self._lost_for + self.period if lost else 0.0
        self._falling |= self._lost_for > recovery.certain
        self._falling &= off

    def _tilt(self, plan: PatternPoint, sensors: WalkSensors) -> np.ndarray:
        """Turn of the base away from the plan, in the plan's world (3,) [rad]."""
        return tilt_against(sensors.attitude, plan.base_rotation)

    def _balanced(
        self,
        plan: PatternPoint,
        sensors: WalkSensors,
        away: np.ndarray,
        zmp: np.ndarray,
    ) -> np.ndarray:
        """Joint angles of the plan, corrected."""
        # The robot is one period behind its command.
        turning = plan.base_rotation @ (sensors.angular_velocity - plan.v[3:6])
        # Feet that slip below a turning body measure pressure that no balance corrects.
        pressure = np.full(2, math.nan) if plan.pivots else (zmp - plan.zmp)[:2]
        left = right = None
        if plan.phase is WalkPhase.STANDING:
            left = self._load(Side.LEFT, sensors.left)
            right = self._load(Side.RIGHT, sensors.right)
        if left is not None and right is not None:
            self._relief.stand(left, right)
        else:
            self._relief.step()
        correction = self._balance.update(away[:2], turning[:2], pressure)
        return self.pattern.corrected(
            correction._replace(
                apart=np.concatenate([self._relief.shift, self._relief.turn]),
            )
        )

    def _load(self, side: Side, wrench: SoleWrench) -> SoleLoad | None:
        """The load of a sole; None where it is not loaded."""
        if float(wrench.force[2]) < LOADED * self._weight:
            return None
        return SoleLoad(wrench.force[:2], wrench.pressure - self._middles[side])

    def _measured_zmp(self, plan: PatternPoint, sensors: WalkSensors) -> np.ndarray:
        """Centre of the pressure of both soles where the plan has put them."""
        poses = np.array((plan.left.pose.homogeneous, plan.right.pose.homogeneous))
        return zmp_of_wrenches(
            sensors.wrenches, poses, float(plan.zmp[2]), LOADED * self._weight
        )
