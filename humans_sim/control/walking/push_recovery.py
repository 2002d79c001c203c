# SPDX-License-Identifier: Apache-2.0
"""Steps after a push: the body is caught, and the walk goes on from where it is.

A push that the sole below the body cannot hold back ends the plan. What then happens is
led by what is measured:

- *Step.* The leg that stands is held as it is. The foot in the air goes to where the
  body falls (:mod:`humans_sim.control.walking.capture_step`), placed from the base as
  it is measured, so that it lands flat below a body that leans. Where the body falls
  over the outer edge of the foot that stands no step helps; the free leg is then lifted
  sideways, which takes up its turning and brings the centre of mass back.
- *Rest.* With both feet down the posture goes to one that stands on them. A capture
  point that leaves the support in the meantime takes another step, of the foot that is
  farther from it. Pushed in double support it rests at once: no foot is better than
  where it is.
- *Plan.* A tall body still rocks from foot to foot then. The walk is planned anew from
  its centre of mass and velocity as they are measured, at first in place; the foot that
  is farther from the capture point steps first. What joints differ from that plan
  fades.
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
    ORIGIN,
    Footprint,
    Side,
    SolePair,
    bump,
    minimum_jerk,
)
from humans_sim.control.walking.pattern import PatternPoint, WalkPattern
from humans_sim.control.walking.preview import Pendulum
from humans_sim.control.walking.timeline import WalkPhase
from humans_sim.core.convex_polygon import inside

_NONE = SoleWrench(np.zeros(3), np.zeros(3))
_LANDED, _SOONEST = 0.05, 0.4
"""Share of the weight on a foot that has landed, and time before it may, in time
constants."""
_EVEN = 0.8
"""Share of constant speed in a swing; the rest has the least jerk."""
_FLAT = 1.5
"""How much sooner than at its place a sole is flat."""
_CLEARANCE, _PRESS = 0.8, 0.27
"""Lift of a foot on its way, and how far below the floor it is put, in lifts of a step
of the walk."""
_SINKING = 0.08
"""How fast it goes on down where there is no floor, in heights and time constants."""
_OUTSIDE, _BACK = 0.9, 0.45
"""Where no step helps, and where the free leg comes back: the capture point outwards of
a foot that stands, over the distance of its edge. As far inwards a step helps again."""
_SLOWLY, _RAISED = 0.25, 1.3
"""Share of the speed of a free leg's lift with which it comes back, and how far its
foot is lifted, in lifts of a step."""
_REST, _SURE = 3.25, 0.26
"""Time to come to rest on both feet, and before something else may follow, in time
constants."""
_CALM, _LONGEST = 0.05, 2.0
"""Distance of the capture point from the centre of mass with which the walk goes on, in
heights, and after how many such times it does in any case."""
_ROUNDING = 1e-9
"""Of the share of a rest that is over."""
_CERTAIN = 0.5
"""For how many time constants a body is lost until that is believed."""
_EASE = 2.0
"""Time in which joints come to a plan that began anew, in time constants."""
_LEFT = 0.05
"""How far outside of the support a capture point takes another step, in lengths of the
sole."""


@dataclass
class _Step:
    """A step under way; points are in the axes of the foot that stands."""

    side: Side
    feet: dict[Side, Footprint]
    began: float
    start: pin.SE3
    held: np.ndarray
    landing: Landing
    spread: float = 0.0

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
        stands: the plan on the feet where it comes to rest, if it does.
        certain: for how long a body is :meth:`lost` until that is believed [s].
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
        self._tipping = model.mass * height**2 + inertia
        tips = self._weight * height / self._tipping
        self._capture = CaptureStep(settings, self._soles, math.sqrt(tips))
        self._scale = self._capture.scale
        self._spread = self._legs.outward_lift(self._posture)
        self._rest_time = period * round(_REST * self._scale.time / period)
        self._most = self._capture.most
        self.certain = _CERTAIN * self._scale.time
        self._sure = _SURE * self._scale.time
        self._calm = _CALM * height * pattern.omega
        self._ease_time = _EASE * self._scale.time
        self.reset()

    def reset(self) -> None:
        """Walk."""
        self._step: _Step | None = None
        self._rest: _Rest | None = None
        self.stands: PatternPoint | None = None
        self._handed: np.ndarray | None = None
        self._offset: np.ndarray | None = None
        self._since = 0.0

    @property
    def active(self) -> bool:
        """Whether it leads the body."""
        return self._step is not None or self._rest is not None

    @property
    def eases(self) -> bool:
        """Whether the walk goes on, but joints are not there yet."""
        return self._handed is not None or self._offset is not None

    def eased(self, t: float, joints: np.ndarray) -> np.ndarray:
        """Joint angles of a walk that goes on, from those commanded last [rad]."""
        if self._handed is not None:
            self._offset, self._since = self._handed - joints, t
            self._handed = None
        if self._offset is None:
            return joints
        share = (t + self._period - self._since) / self._ease_time
        if share >= 1.0:
            self._offset = None
            return joints
        return joints + (1.0 - minimum_jerk(share)[0]) * self._offset

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
        if side is None and self._outside(feet, seen, sensors, 0.0):
            side = self._better(feet, seen, sensors)
        if side is not None:
            self._lift(t, side, feet, seen, sensors, commanded)
        else:
            self._land(t, feet, seen, sensors, commanded)

    def update(
        self, t: float, seen: BodyEstimate, sensors: WalkSensors, commanded: np.ndarray
    ) -> np.ndarray | None:
        """Joint angles one period later; None: the walk goes on (see :meth:`begin`)."""
        if self._rest is not None:
            feet = self._rest.feet
            side = self._next_step(t, self._rest, seen, sensors)
            if side is None:
                return self._resting(t, self._rest, seen, sensors, commanded)
            self._rest = self.stands = None
            self._lift(t, side, feet, seen, sensors, commanded)
        if self._step is None:
            return None
        self._aim(t, self._step, seen, sensors)
        step = self._step
        wrench = sensors.left if step.side is Side.LEFT else sensors.right
        landed = float(wrench.force[2]) > _LANDED * self._weight
        late = t - step.began > _SOONEST * self._scale.time
        if landed and late and not step.spread:
            x, y, _ = self._sole(step.side, seen, sensors).translation.tolist()
            feet = {**step.feet, step.side: Footprint(x, y, step.stance.yaw)}
            self._step = None
            self._land(t, feet, seen, sensors, commanded)
            if self._rest:
                return self._resting(t, self._rest, seen, sensors, commanded)
        assert self._step is not None
        return self._swing(t, self._step, seen, sensors)

    def blind(self, t: float, commanded: np.ndarray) -> np.ndarray:
        """The same where nothing is measured: a foot in the air stays."""
        return commanded if self._rest is None else self._on_the_way(t, self._rest)

    def lost(
        self, plan: PatternPoint, seen: BodyEstimate, sensors: WalkSensors
    ) -> bool:
        """Whether the capture point is beyond what any number of steps can catch."""
        feet, side = _footprints(plan), _in_the_air(plan)
        if self._step is not None:
            feet, side = self._step.feet, self._step.side
        elif self._rest is not None:
            feet, side = self._rest.feet, None
        standing = [foot for foot in Side if foot is not side]
        capture = self._capture_point(ORIGIN, seen, sensors)
        return inside(self._soles.polygon(feet, standing)).depth(capture) < -self._most

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
        capture = self._capture_point(stance, seen, sensors)
        landing = self._capture.soonest(side, capture, foot)
        self._step = _Step(side, feet, t, start, commanded, landing)

    def _aim(
        self, t: float, step: _Step, seen: BodyEstimate, sensors: WalkSensors
    ) -> None:
        """Let the foot in the air go to where the body falls."""
        capture = self._capture_point(step.stance, seen, sensors)
        beyond = self._beyond(step.side, capture)
        if beyond > _OUTSIDE and not step.spread:
            step.began, step.start = t, self._sole(step.side, seen, sensors)
        if beyond > _OUTSIDE or step.spread:
            rate = 1.0 if beyond > _OUTSIDE else -_SLOWLY if beyond < _BACK else 0.0
            turn = rate * self._spread.angle / self._spread.duration * self._period
            step.spread = min(step.spread + turn, self._spread.angle)
            if beyond < -_OUTSIDE or step.spread <= 0.0:
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
            commanded = self._legs.spread(commanded, step.side, step.spread)
        return commanded

    def _sole_at(self, t: float, step: _Step) -> pin.SE3:
        """Pose of the foot in the air at a time."""
        elapsed, scale = t - step.began, self._scale
        duration = step.landing.duration
        if step.spread:
            duration = self._spread.duration
        s = min(elapsed / duration, 1.0)
        far = _EVEN * s + (1.0 - _EVEN) * minimum_jerk(s)[0]
        end = step.stance.moved(*step.landing.place.tolist())
        start = step.start.translation
        place = start + far * (np.array([*end[:2], 0.0]) - start)
        if step.spread:
            place[2] += far * _RAISED * scale.lift
        else:
            place[2] += scale.lift * (_CLEARANCE * bump(s)[0] - far * _PRESS)
            late = max(elapsed - duration, 0.0) / scale.time
            place[2] -= _SINKING * scale.height * late
        away = pin.log3(end.pose().rotation @ step.start.rotation.T)
        turn = pin.exp3(min(_FLAT * far, 1.0) * away) @ step.start.rotation
        return pin.SE3(turn, place)

    def _land(
        self,
        t: float,
        feet: dict[Side, Footprint],
        seen: BodyEstimate,
        sensors: WalkSensors,
        commanded: np.ndarray,
    ) -> None:
        """Both feet are down: come to rest."""
        farther, middle = self._farther(feet, seen), self._soles.middle(feet)
        still = Pendulum(middle, np.zeros(2), middle)
        then = t + self._rest_time
        try:
            end = self._pattern.resume(then, feet, farther, self._guess(feet), still)
            self.stands = self._pattern.tick(then)
        except ControlError:
            # Feet too far apart to walk on from: it holds still, then one comes after.
            end, self.stands = commanded, self._pattern.held(feet)
        self._rest = _Rest(t, feet, commanded, end)

    def _resting(
        self,
        t: float,
        rest: _Rest,
        seen: BodyEstimate,
        sensors: WalkSensors,
        commanded: np.ndarray,
    ) -> np.ndarray | None:
        """Joint angles on the way to rest; None once the walk goes on."""
        share = (t + self._period - rest.began) / self._rest_time
        moving = math.hypot(*seen.pendulum.velocity) > self._calm
        if share <= (_LONGEST if moving else 1.0) + _ROUNDING:
            return self._on_the_way(t, rest)
        side, guess = self._farther(rest.feet, seen), self._guess(rest.feet)
        self._rest = self.stands = None
        try:
            self._pattern.resume(t, rest.feet, side, guess, seen.pendulum)
        except ControlError:
            self._lift(t, side, rest.feet, seen, sensors, commanded)
            return commanded
        self._handed = commanded
        return None

    def _on_the_way(self, t: float, rest: _Rest) -> np.ndarray:
        """Joint angles on the way to rest, then there."""
        share = min((t + self._period - rest.began) / self._rest_time, 1.0)
        return rest.start + minimum_jerk(share)[0] * (rest.end - rest.start)

    def _next_step(
        self, t: float, rest: _Rest, seen: BodyEstimate, sensors: WalkSensors
    ) -> Side | None:
        """The foot that has to step again, if any."""
        sure = t - rest.began > self._sure
        left = _LEFT * self._scale.length
        if not (sure and self._outside(rest.feet, seen, sensors, left)):
            return None
        return self._better(rest.feet, seen, sensors)

    def _outside(
        self,
        feet: dict[Side, Footprint],
        seen: BodyEstimate,
        sensors: WalkSensors,
        least: float,
    ) -> bool:
        """Whether the capture point is outside of both feet by a distance [m]."""
        capture = self._capture_point(ORIGIN, seen, sensors)
        room = inside(self._soles.polygon(feet, tuple(Side)))
        return room.depth(capture) < -least

    def _better(
        self, feet: dict[Side, Footprint], seen: BodyEstimate, sensors: WalkSensors
    ) -> Side:
        """The foot whose step catches the body better.

        Not the one from which the body falls away over the edge of the other.
        """

        def cost(side: Side) -> float:
            stance = feet[side.other]
            capture = self._capture_point(stance, seen, sensors)
            foot = _local(stance, np.array(feet[side][:2]))
            best = self._capture.soonest(side, capture, foot)
            away = self._beyond(side, capture) > _OUTSIDE
            no_step = self._settings.stance_width if away else 0.0
            return self._capture.cost(side, capture, best) + no_step

        return min(Side, key=cost)

    def _beyond(self, side: Side, capture: np.ndarray) -> float:
        """How far outwards of the foot that stands, over the distance of its edge."""
        outwards = -side * np.array(self._boxes[side.other])[:, 1]
        return -side * float(capture[1]) / float(outwards.max())

    def _farther(self, feet: dict[Side, Footprint], seen: BodyEstimate) -> Side:
        """The foot that is farther from the capture point."""
        capture = seen.pendulum.capture_point(self._pattern.omega)
        places = {side: self._soles.place(feet, side) for side in Side}
        return max(Side, key=lambda side: math.hypot(*(capture - places[side])))

    def _guess(self, feet: dict[Side, Footprint]) -> np.ndarray:
        """A configuration near the posture on both feet."""
        guess = self._posture.copy()
        guess[:2] += self._soles.middle(feet)
        return guess

    def _capture_point(
        self, stance: Footprint, seen: BodyEstimate, sensors: WalkSensors
    ) -> np.ndarray:
        """Of a body that tips as one piece, in the axes of a foot (2,) [m].

        Limbs that swing have their part of the angular momentum about that foot, with
        which the body tips when they have stopped.
        """
        height = self._scale.height
        moving = self._legs.momentum(seen, sensors)
        about = height * moving.linear[:2] + (moving.angular[1], -moving.angular[0])
        velocity = height / self._tipping * about
        return _local(stance, seen.pendulum.com + velocity / self._capture.omega)

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
