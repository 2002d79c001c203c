# SPDX-License-Identifier: Apache-2.0
"""Steps after a push: the walk is left, the body is caught, and the walk resumes.

A push that the sole below the body cannot hold back ends the plan. What then happens
needs no plan:

- *Step.* The leg that stands is held as it is. The foot in the air goes to where the
  body falls (:mod:`humans_sim.control.walking.capture_step`), placed from the base as
  it is measured, so that it lands flat below a body that leans. Where the body falls
  over the outer edge of the foot that stands no step helps; the free leg is then lifted
  sideways, which takes up its turning and brings the centre of mass back.
- *Rest.* With both feet down the posture goes to one that stands on them. A capture
  point that leaves the support in the meantime takes another step, of the foot that is
  farther from it.

Then the walk begins anew from there, at first in place. Pushed in double support it
rests at once: no foot is better than where it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking.capture_step import (
    CaptureStep,
    Landing,
    SwingLegs,
    error_at_landing,
)
from humans_sim.control.walking.com_estimator import (
    BodyEstimate,
    SoleWrench,
    WalkSensors,
)
from humans_sim.control.walking.footsteps import (
    Footprint,
    Side,
    SolePair,
    bump,
    minimum_jerk,
)
from humans_sim.control.walking.pattern import PatternPoint, WalkPattern
from humans_sim.control.walking.timeline import WalkPhase
from humans_sim.core.convex_polygon import inside

_NONE = SoleWrench(np.zeros(3), np.zeros(3))
_LANDED, _SOONEST = 0.05, 0.06
"""Share of the weight on a foot that has landed, and time before it may [s]."""
_EVEN = 0.8
"""Share of constant speed in a swing; the rest has the least jerk."""
_FLAT = 1.5
"""How much sooner than at its place a sole is flat."""
_CLEARANCE, _PRESS, _SINKING = 0.012, 0.004, 0.1
"""Lift of a foot on its way, how far below the floor it is put [m], and how fast it
goes on down where there is none [m/s]."""
_OUTSIDE, _BACK = 0.015, 0.0075
"""How far beyond the middle of a foot that stands, outwards, the capture point is where
no step helps, and where one helps again [m]."""
_SPREAD, _SPREADING, _RAISED = 1.3, 0.15, 0.02
"""How far the free leg is lifted then [rad], in what time [s], and its foot [m]."""
_REST, _SURE = 0.5, 0.04
"""Time to come to rest on both feet, and before another step may follow [s]."""
_ROUNDING = 1e-9
"""Of the share of a rest that is over."""
_LEFT = 0.01
"""How far outside of the support a capture point takes another step [m]."""


@dataclass
class _Step:
    """A step under way; points are in the axes of the foot that stands."""

    side: Side
    feet: dict[Side, Footprint]
    began: float
    start: pin.SE3
    held: np.ndarray
    landing: Landing
    spread: bool = False

    @property
    def stance(self) -> Footprint:
        return self.feet[self.side.other]


class _Rest(NamedTuple):
    """The way to a posture on both feet."""

    began: float
    feet: dict[Side, Footprint]
    start: np.ndarray
    end: np.ndarray


class PushRecovery:
    """Takes over from a walk that was pushed.

    Args:
        pattern: of the walk; it begins anew where the body was caught.
        period: time between two calls [s].

    Attributes:
        stands: the plan at the end of the last rest before the walk resumes, if any.
    """

    def __init__(self, pattern: WalkPattern, period: float) -> None:
        self._pattern, self._period = pattern, period
        model, settings = pattern.model, pattern.settings
        self._settings = settings
        self._soles = SolePair.of_model(model, settings)
        self._boxes = {
            side: (corners.min(axis=0).tolist(), corners.max(axis=0).tolist())
            for side, corners in self._soles.corners.items()
        }
        self._legs = SwingLegs(model, settings)
        self._weight = pattern.weight
        self._posture = pattern.standing()
        pin.ccrba(model.pin, model.buffers, self._posture, np.zeros(model.nv))
        height = settings.com_height
        inertia = float(model.buffers.Ig.inertia[1, 1])
        tips = self._weight * height / (model.mass * height**2 + inertia)
        self._capture = CaptureStep(settings, self._soles, math.sqrt(tips))
        self.reset()

    def reset(self) -> None:
        """Walk."""
        self._step: _Step | None = None
        self._rest: _Rest | None = None
        self.stands: PatternPoint | None = None

    @property
    def active(self) -> bool:
        """Whether it leads the body."""
        return self._step is not None or self._rest is not None

    def standing(self, sensors: WalkSensors) -> WalkSensors:
        """The measurement without a foot that no plan has where it lands."""
        if self._step is None:
            return sensors
        if self._step.side is Side.LEFT:
            return sensors._replace(left=_NONE)
        return sensors._replace(right=_NONE)

    def begins(self, plan: PatternPoint, error: np.ndarray) -> bool:
        """Whether the walk cannot go on as planned.

        The error is of the capture point, measured less planned (2,) [m].
        """
        limit = self._settings.catch_error
        # Feet that pivot slip, which the estimate does not see.
        if limit == 0.0 or plan.pivots or plan.phase is WalkPhase.STANDING:
            return False
        if not self._pattern.may_step_anywhere:
            return False
        side = _in_the_air(plan)
        if side is None:
            return math.hypot(*error) > limit
        # Plain numbers: this is asked at every tick.
        foot = plan.left if side is Side.RIGHT else plan.right
        c, s = math.cos(foot.yaw), math.sin(foot.yaw)
        x, y = (plan.zmp[:2] - foot.pose.translation[:2]).tolist()
        ahead, aside = error.tolist()
        low, high = self._boxes[side.other]
        growth = math.exp(self._pattern.omega * max(plan.next_change, self._period))
        for k, (along, across) in enumerate(((c, s), (-s, c))):
            zmp = along * x + across * y
            here = along * ahead + across * aside
            left = error_at_landing(here, low[k] - zmp, high[k] - zmp, growth)
            if abs(left) > limit:
                return True
        return False

    def begin(
        self,
        t: float,
        plan: PatternPoint,
        seen: BodyEstimate,
        sensors: WalkSensors,
        commanded: np.ndarray,
    ) -> None:
        """Take over now, at a time of the plan of a walk [s].

        Joints are measured; those commanded last are (njoints,) [rad].
        """
        feet, side = _footprints(plan), _in_the_air(plan)
        if side is None:
            self._come_to_rest(t, feet, plan.footsteps[0].side, commanded)
        else:
            self._lift(t, side, feet, seen, sensors, commanded)

    def update(
        self, t: float, seen: BodyEstimate, sensors: WalkSensors, commanded: np.ndarray
    ) -> np.ndarray | None:
        """Joint angles one period later; None: the walk resumes (see :meth:`begin`)."""
        if self._rest is not None:
            feet = self._rest.feet
            side = self._next_step(t, self._rest, seen)
            if side is None:
                return self._resting(t, self._rest)
            self._rest = None
            self._lift(t, side, feet, seen, sensors, commanded)
        step = self._step
        if step is None:
            return None
        self._aim(t, step, seen, sensors)
        step = self._step
        assert step is not None
        wrench = sensors.left if step.side is Side.LEFT else sensors.right
        landed = float(wrench.force[2]) > _LANDED * self._weight
        if landed and not step.spread and t - step.began > _SOONEST:
            self._land(t, step, seen, sensors, commanded)
            if self._rest is not None:
                return self._resting(t, self._rest)
        assert self._step is not None
        return self._swing(t, self._step, seen, sensors)

    def blind(self, t: float, commanded: np.ndarray) -> np.ndarray | None:
        """The same where nothing is measured: a foot in the air stays."""
        return commanded if self._rest is None else self._resting(t, self._rest)

    def _lift(
        self,
        t: float,
        side: Side,
        feet: dict[Side, Footprint],
        seen: BodyEstimate,
        sensors: WalkSensors,
        commanded: np.ndarray,
    ) -> None:
        """Begin a step of one foot."""
        start = self._sole(side, seen, sensors)
        stance = feet[side.other]
        foot = _local(stance, start.translation[:2])
        capture = self._capture_point(stance, seen)
        landing = self._capture.soonest(side, capture, foot)
        self._step = _Step(side, feet, t, start, commanded, landing)

    def _aim(
        self, t: float, step: _Step, seen: BodyEstimate, sensors: WalkSensors
    ) -> None:
        """Let the foot in the air go to where the body falls."""
        capture = self._capture_point(step.stance, seen)
        beyond = -step.side * float(capture[1])
        if not step.spread and beyond > _OUTSIDE:
            step.spread, step.began = True, t
            step.start = self._sole(step.side, seen, sensors)
        elif step.spread and beyond < _BACK:
            self._lift(t, step.side, step.feet, seen, sensors, step.held)
            return
        foot = _local(step.stance, step.start.translation[:2])
        duration, left = step.landing.duration, step.landing.duration
        if not step.spread:
            left = max(duration - (t - step.began), 0.0)
        step.landing = self._capture.landing(step.side, capture, foot, duration, left)

    def _swing(
        self, t: float, step: _Step, seen: BodyEstimate, sensors: WalkSensors
    ) -> np.ndarray:
        """Joint angles of a step under way."""
        assert sensors.joints is not None
        then = t + self._period
        base, sole = seen.base_after(self._period), self._sole_at(then, step)
        if step.spread:
            # A base turned back about the foot that stands until it does not roll.
            _, pitch, yaw = pin.rpy.matrixToRpy(base.rotation).tolist()
            upright = pin.rpy.rpyToMatrix(0.0, pitch, yaw)
            foot = np.array([*step.stance[:2], 0.0])
            back = upright @ base.rotation.T
            base = pin.SE3(upright, foot + back @ (base.translation - foot))
        joints = self._legs.reach(base, sensors.joints, step.side, sole)
        own = self._legs.joints[step.side]
        commanded = step.held.copy()
        commanded[own] = joints[own]
        if step.spread:
            share = min((then - step.began) / _SPREADING, 1.0)
            commanded = self._legs.spread(commanded, step.side, share * _SPREAD)
        return commanded

    def _sole_at(self, t: float, step: _Step) -> pin.SE3:
        """Pose of the foot in the air at a time."""
        elapsed = t - step.began
        duration = _SPREADING if step.spread else step.landing.duration
        s = min(elapsed / duration, 1.0)
        far = _EVEN * s + (1.0 - _EVEN) * minimum_jerk(s)[0]
        end = step.stance.moved(*step.landing.place.tolist())
        start = step.start.translation
        place = start + far * (np.array([*end[:2], 0.0]) - start)
        if step.spread:
            place[2] += far * _RAISED
        else:
            place[2] += _CLEARANCE * bump(s)[0] - far * _PRESS
            place[2] -= _SINKING * max(elapsed - duration, 0.0)
        away = pin.log3(end.pose().rotation @ step.start.rotation.T)
        turn = pin.exp3(min(_FLAT * far, 1.0) * away) @ step.start.rotation
        return pin.SE3(turn, place)

    def _land(
        self,
        t: float,
        step: _Step,
        seen: BodyEstimate,
        sensors: WalkSensors,
        commanded: np.ndarray,
    ) -> None:
        """Both feet are down."""
        x, y, _ = self._sole(step.side, seen, sensors).translation.tolist()
        feet = {**step.feet, step.side: Footprint(x, y, step.stance.yaw)}
        other = step.side.other
        if self._come_to_rest(t, feet, other, commanded):
            self._step = None
        else:
            # Feet too far apart to stand on: the other one comes after.
            self._lift(t, other, feet, seen, sensors, commanded)

    def _come_to_rest(
        self, t: float, feet: dict[Side, Footprint], lifted: Side, commanded: np.ndarray
    ) -> bool:
        """Go to a posture on both feet, where legs reach one, and walk on from it."""
        guess = self._posture.copy()
        guess[:2] += self._soles.middle(feet)
        try:
            end = self._pattern.stand(t + _REST, feet, lifted, guess)
        except ControlError:
            return False
        self._rest = _Rest(t, feet, commanded, end)
        self.stands = self._pattern.tick(t + _REST)
        return True

    def _resting(self, t: float, rest: _Rest) -> np.ndarray | None:
        """Joint angles on the way to rest; None once it is there."""
        share = (t + self._period - rest.began) / _REST
        if share > 1.0 + _ROUNDING:
            self._rest = self.stands = None
            return None
        return rest.start + minimum_jerk(share)[0] * (rest.end - rest.start)

    def _next_step(self, t: float, rest: _Rest, seen: BodyEstimate) -> Side | None:
        """The foot that has to step again, if any."""
        capture = seen.pendulum.capture_point(self._pattern.omega)
        room = inside(self._soles.polygon(rest.feet, tuple(Side)))
        if room.depth(capture) > -_LEFT or t - rest.began <= _SURE:
            return None
        feet = {side: self._soles.place(rest.feet, side) for side in Side}
        return max(Side, key=lambda side: math.hypot(*(capture - feet[side])))

    def _capture_point(self, stance: Footprint, seen: BodyEstimate) -> np.ndarray:
        """Of a body that tips as one piece, in the axes of a foot (2,) [m]."""
        return _local(stance, seen.pendulum.capture_point(self._capture.omega))

    def _sole(self, side: Side, seen: BodyEstimate, sensors: WalkSensors) -> pin.SE3:
        """Pose of a sole as it is measured."""
        assert sensors.joints is not None
        return self._legs.sole(seen.base, sensors.joints, side)


def _in_the_air(plan: PatternPoint) -> Side | None:
    """The foot that swings, if any."""
    if plan.support is ContactPhase.DOUBLE:
        return None
    return Side.LEFT if plan.support is ContactPhase.RIGHT_FOOT else Side.RIGHT


def _footprints(plan: PatternPoint) -> dict[Side, Footprint]:
    """Where the feet of a plan are, seen from above."""
    feet = {}
    for side, foot in ((Side.LEFT, plan.left), (Side.RIGHT, plan.right)):
        x, y, _ = foot.pose.translation.tolist()
        feet[side] = Footprint(x, y, foot.yaw)
    return feet


def _local(frame: Footprint, point: np.ndarray) -> np.ndarray:
    """A point in the axes of a footprint (2,) [m]."""
    c, s = math.cos(frame.yaw), math.sin(frame.yaw)
    return np.array([[c, s], [-s, c]]) @ (point - np.array(frame[:2]))
