# SPDX-License-Identifier: Apache-2.0
r"""Landing place and time of a step after a push, by the linear inverted pendulum.

The capture point :math:`\xi = c + \dot c / \omega` runs away from the zero-moment point
p below the sole that stands,

.. math:: \xi(T) = p + (\xi - p)\, e^{\omega T}

which is at the edge nearest to it once the body tips. An error e of it against the plan
grows likewise, less what a zero-moment point moved by :math:`\delta` holds back:

.. math:: e(T) = \delta + (e - \delta)\, e^{\omega T}

With :math:`\delta = e / (1 - e^{-\omega T})` nothing is left. The sole limits
:math:`\delta`; what is left has to be caught by a step (Koolen, de Boer, Rebula,
Goswami and Pratt 2012). Of all times that a swing may take the one is chosen whose
landing, within reach and speed of the leg, misses the capture point the least (after
Khadiv, Herzog, Moosavian and Righetti 2016, who solve a quadratic program).

A body whose joints are held tips as one piece: its own inertia I counts, and
:math:`\omega^2 = m g h / (m h^2 + I)`.

*One leg alone*: joint angles for a place of its sole, from the base as it is measured:
a body that was pushed is not where its plan has it, and the foot shall land flat.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.actuation.servo_set import SPEED
from humans_sim.control.walking.com_estimator import BodyEstimate, WalkSensors
from humans_sim.control.walking.footsteps import ORIGIN, Footprint, Side, SolePair
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import SLIP, sole_legs
from humans_sim.core.convex_polygon import inside
from humans_sim.models import Model
from humans_sim.models.points import frame_index

_LEAST, _MOST, _GRID = 0.65, 1.7, 0.13
"""Times that a swing takes, and their distance, in time constants."""
_LATE = 0.13
"""Time until a foot moves at its speed, in time constants."""
_INSIDE, _TOES = 0.38, 0.57
"""How far behind the heel's edge and before the toes' a capture point shall be in the
sole that lands, in its lengths: the body is stopped by what is between them."""
_PAST = 0.29
"""How far a foot lands past the other one where the body tips over its toes or its
heel, in lengths of the sole."""
_NARROW = 0.83
"""Least distance of the feet, in stances: legs do not cross."""
_DELAY = 0.08
"""Distance by which a landing may miss to be earlier, in heights and time constants."""


class BodyScale(NamedTuple):
    """What lengths and times of steps after a push are measured by.

    Attributes:
        time: constant of the body that tips as one piece [s].
        height: of the centre of mass [m].
        length: of the shorter sole [m].
        width: of the narrower sole [m].
        lift: of a foot in a step of the walk [m].
    """

    time: float
    height: float
    length: float
    width: float
    lift: float

    @classmethod
    def of_walk(
        cls, settings: WalkSettings, soles: SolePair, omega: float
    ) -> BodyScale:
        """The scale of a biped, whose body tips with omega [rad/s]."""
        sizes = np.array([np.ptp(places, axis=0) for places in soles.corners.values()])
        length, width = sizes.min(axis=0).tolist()
        return cls(1.0 / omega, settings.com_height, length, width, settings.foot_lift)


def capture_after(
    capture: np.ndarray, low: np.ndarray, high: np.ndarray, growth: float
) -> np.ndarray:
    """The capture point after a time on a sole that holds it back as it can [m].

    In the axes of the sole, whose coordinates are from low to high (2,) [m]; the growth
    of a distance in that time is exp(omega T).
    """
    zmp = np.clip(capture, low, high)
    return np.asarray(zmp + (capture - zmp) * growth)


def error_at_landing(error: float, low: float, high: float, growth: float) -> float:
    """The error of the capture point when the foot lands, one axis [m].

    The error of now is measured less planned, the growth until then exp(omega T), above
    1; the zero-moment point may go from low, negative, to high off its plan [m].
    """
    moved = min(max(error * growth / (growth - 1.0), low), high)
    return moved + (error - moved) * growth


def capturable_distance(reach: float, growth: float, steps: float) -> float:
    """How far beyond an edge of the sole a capture point can be caught by steps [m].

    Each step moves the edge by its reach r [m], while the distance grows by g =
    exp(omega T), above 1: N steps suffice for r times the sum of g to the powers -1 to
    -N (Koolen et al. 2012). Of infinitely many steps that is 1 / (g - 1).
    """
    return reach * (1.0 - growth**-steps) / (growth - 1.0)


class Landing(NamedTuple):
    """Where the swing foot lands, in the axes of the foot that stands (2,) [m].

    The swing has a duration [s]; missing: from there to where it should be [m].
    """

    place: np.ndarray
    duration: float
    missing: float


class CaptureStep:
    """Chooses landings for one biped; omega is of the body that tips [rad/s]."""

    def __init__(self, settings: WalkSettings, soles: SolePair, omega: float) -> None:
        self._settings, self._soles, self.omega = settings, soles, omega
        self.scale = BodyScale.of_walk(settings, soles, omega)
        self._boxes = {
            side: (corners.min(axis=0), corners.max(axis=0))
            for side, corners in soles.corners.items()
        }

    @property
    def most(self) -> float:
        """How far beyond the support a capture point can be caught by any steps [m]."""
        reach = self._settings.catch_reach
        swing = reach / self._settings.catch_speed + _LATE * self.scale.time
        return capturable_distance(reach, math.exp(self.omega * swing), math.inf)

    def soonest(self, side: Side, capture: np.ndarray, foot: np.ndarray) -> Landing:
        """The best landing of a swing that begins: see :meth:`landing`."""
        times = self.scale.time * np.arange(_LEAST, _MOST + 0.5 * _GRID, _GRID)
        swings = times.tolist()
        choices = [self.landing(side, capture, foot, time, time) for time in swings]
        return min(choices, key=lambda made: self.cost(side, capture, made))

    def cost(self, side: Side, capture: np.ndarray, landing: Landing) -> float:
        """How bad a landing is [m]: what it misses, how late it is.

        Where the capture point is not between the feet then it is as bad: near the foot
        that stands a landing far ahead of it or behind holds nothing.
        """
        hurry = _DELAY * self.scale.height * self.omega * landing.duration
        return landing.missing + hurry + self._outside(side, capture, landing)

    def _outside(self, side: Side, capture: np.ndarray, landing: Landing) -> float:
        """How far the capture point is outside of both feet after a landing [m]."""
        heel, toes = self._boxes[side.other]
        growth = math.exp(self.omega * landing.duration)
        later = capture_after(capture, heel, toes, growth)
        x, y = landing.place.tolist()
        feet = {side.other: ORIGIN, side: Footprint(x, y, 0.0)}
        return max(-inside(self._soles.polygon(feet, tuple(Side))).depth(later), 0.0)

    def landing(
        self,
        side: Side,
        capture: np.ndarray,
        foot: np.ndarray,
        duration: float,
        left: float,
    ) -> Landing:
        """The landing of a swing under way, of which some time is left [s].

        In the axes of the foot that stands: the capture point (2,), and where the swing
        foot left (2,) [m].
        """
        settings, length = self._settings, self.scale.length
        heel, toes = self._boxes[side.other]
        later = capture_after(capture, heel, toes, math.exp(self.omega * left))
        low, high = self._boxes[side]
        ahead = float(later[0])
        x = max(float(foot[0]), ahead - float(high[0]) + _TOES * length)
        x = min(x, ahead - float(low[0]) - _INSIDE * length)
        if capture[0] > toes[0]:
            x = max(x, _PAST * length)
        elif capture[0] < heel[0]:
            x = min(x, -_PAST * length)
        # Outwards at the capture point; inwards the leg that stands is in the way.
        middle = 0.5 * float(low[1] + high[1])
        width = max(side * (float(later[1]) - middle), settings.stance_width)
        landing_target = np.array([x, side * width])
        reach = settings.catch_reach
        goal = np.array(
            [min(max(x, -reach), reach), side * min(width, settings.catch_width)]
        )
        way = goal - foot
        size = math.hypot(*way)
        most = settings.catch_speed * max(duration - _LATE * self.scale.time, 0.0)
        place = foot + way * min(1.0, most / size) if size > 0 else goal
        place[1] = side * max(side * place[1], _NARROW * settings.stance_width)
        return Landing(place, duration, float(np.linalg.norm(landing_target - place)))


_LEVEL = 0.5 * math.pi
"""Turn of a hanging leg to the level [rad]."""
_STEPS, _LONGEST, _CLOSE, _DAMPING = 8, 0.4, 1e-5, 1e-6
"""Of the search for a leg: how many, the longest one [rad], and the error at which it
ends [m, rad]; damped, because a leg may be straight."""


class OutwardLift(NamedTuple):
    """How far a free leg can be lifted sideways [rad], and in what time [s]."""

    angle: float
    duration: float


class SwingLegs:
    """Both legs of a biped, each for itself.

    Attributes:
        joints: of each leg, as indices of joints (n,).
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        self._model, sides = model, (Side.LEFT, Side.RIGHT)
        soles = (settings.left, settings.right)
        legs = sole_legs(model, *soles)
        self.joints = {
            side: np.array(leg.joints) for side, leg in zip(sides, legs, strict=True)
        }
        self._frames = {
            side: frame_index(model.pin, sole)
            for side, sole in zip(sides, soles, strict=True)
        }
        self._rows = np.arange(5 if settings.turns == SLIP else 6)

    def sole(self, base: pin.SE3, joints: np.ndarray, side: Side) -> pin.SE3:
        """Pose of a sole, from that of the base and joint angles (njoints,) [rad]."""
        tree, data = self._model.pin, self._model.buffers
        pin.forwardKinematics(tree, data, _configuration(base, joints))
        return pin.SE3(pin.updateFramePlacement(tree, data, self._frames[side]))

    def momentum(self, seen: BodyEstimate, sensors: WalkSensors) -> pin.Force:
        """Of the body, and that about its centre of mass [N s, N m s]."""
        tree, data = self._model.pin, self._model.buffers
        q = _configuration(seen.base, sensors.joints)
        level = seen.base.rotation.T @ seen.base_velocity
        v = np.concatenate([level, seen.spin, sensors.joint_speeds])
        return pin.computeCentroidalMomentum(tree, data, q, v)

    def reach(
        self, base: pin.SE3, joints: np.ndarray, side: Side, sole: pin.SE3
    ) -> np.ndarray:
        """Joint angles with those of one leg such that its sole is nearest to a pose.

        The search begins at ``joints`` (njoints,) [rad]; the heading of the sole counts
        where hips turn.
        """
        own = self.joints[side]
        low, high = self._model.lower_limits[own], self._model.upper_limits[own]
        q = _configuration(base, joints)
        for _ in range(_STEPS):
            rows = self._jacobian(q, side)[np.ix_(self._rows, 6 + own)]
            pose = self._model.buffers.oMf[self._frames[side]]
            away = pin.log3(sole.rotation @ pose.rotation.T)
            error = np.concatenate([sole.translation - pose.translation, away])
            error = error[self._rows]
            if float(np.abs(error).max()) < _CLOSE:
                break
            square = rows @ rows.T + _DAMPING * np.eye(len(error))
            step = rows.T @ np.linalg.solve(square, error)
            step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _CLOSE))
            q[7 + own] = np.clip(q[7 + own] + step, low, high)
        return np.asarray(q[7:])

    def spread(self, joints: np.ndarray, side: Side, angle: float) -> np.ndarray:
        """Joint angles with one leg lifted outwards by the joint that lifts it most.

        From ``joints`` (njoints,), by an angle [rad].
        """
        joint, way = self._lifting(_configuration(_ORIGIN, joints), side)
        lifted = np.array(joints)
        limits = self._model.lower_limits[joint], self._model.upper_limits[joint]
        lifted[joint] = np.clip(joints[joint] + angle * way, *limits)
        return lifted

    def outward_lift(self, q: np.ndarray) -> OutwardLift:
        """How far and how fast the slower leg is lifted by that joint, from a posture.

        Until it is level, beyond which it brings no more mass inwards, or the joint
        ends; at the joint's speed, or as its torque speeds up the leg's inertia and
        brakes it again, gravity aside.
        """
        model, lifts = self._model, []
        mass = model.inertia(q)
        for side in (Side.LEFT, Side.RIGHT):
            joint, way = self._lifting(q, side)
            ends = (model.lower_limits[joint], model.upper_limits[joint])
            angle = min(_LEVEL, way * float(ends[int(way > 0.0)] - q[7 + joint]))
            inertia = float(mass[6 + joint, 6 + joint])
            torque = float(model.effort_limits[joint]) or math.inf
            speed = float(model.velocity_limits[joint]) or SPEED
            swing = 2.0 * math.sqrt(angle * inertia / torque)
            lifts.append(OutwardLift(angle, max(swing, angle / speed)))
        return max(lifts, key=lambda lift: lift.duration)

    def _lifting(self, q: np.ndarray, side: Side) -> tuple[int, float]:
        """The joint that lifts a leg outwards most, and its sign."""
        own = self.joints[side]
        outwards = side * self._jacobian(q, side)[1]
        joint = int(own[np.argmax(np.abs(outwards[6 + own]))])
        return joint, float(np.sign(outwards[6 + joint]))

    def _jacobian(self, q: np.ndarray, side: Side) -> np.ndarray:
        """Of a sole in the world's axes (6, nv)."""
        tree, data, frame = self._model.pin, self._model.buffers, self._frames[side]
        return np.asarray(
            pin.computeFrameJacobian(tree, data, q, frame, pin.LOCAL_WORLD_ALIGNED)
        )


_ORIGIN = pin.SE3.Identity()


def _configuration(base: pin.SE3, joints: np.ndarray | None) -> np.ndarray:
    assert joints is not None
    return np.concatenate([pin.SE3ToXYZQUAT(base), joints])
