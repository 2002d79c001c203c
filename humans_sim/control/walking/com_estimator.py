# SPDX-License-Identifier: Apache-2.0
r"""Centre of mass and capture point, from what a robot measures.

Encoders say how the body is bent, an IMU how it leans and turns, and soles which points
of it the floor holds. A loaded sole does not move at its centre of pressure, so that

.. math:: c = p + R\,(c_b - p_b), \qquad \dot c = \dot c_b - \dot p_b

with the centre of mass :math:`c_b` and the centre of pressure :math:`p_b` as seen from
a base that stays in place, and p where the plan has that point of the sole. This also
holds for a sole that tips: its centre of pressure is on the edge about which it turns.
Two loaded soles count by their loads. What it does not see is slip.

A foot that lands shakes the joints, and their speeds say little for some periods. The
acceleration of the plan says how the centre of mass moves on; the measurement corrects
it, less where a sole has just landed.

Where no sole is loaded a body that was seen before flies: it turns as the IMU says, and
its centre of mass falls freely, whatever the joints do.

*Plan in the world.* A plan has a world of its own. The robot slips and drifts, so what
is drawn or published of the plan is moved along with the foot that stands: heading and
place on the floor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking.feedback_kernels import (
    about_vertical,
    are_finite,
    body_over_soles,
    filtered,
    product,
)
from humans_sim.control.walking.footsteps import SolePair, minimum_jerk
from humans_sim.control.walking.pattern import PatternPoint
from humans_sim.control.walking.preview import Pendulum
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.core.convex_polygon import inside
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.points import frame_index


class SoleWrench(NamedTuple):
    """The wrench of the ground on a sole, in the frame of the sole.

    Attributes:
        force: (3,) [N].
        moment: about the origin of the frame (3,) [N m].
    """

    force: np.ndarray
    moment: np.ndarray

    @property
    def pressure(self) -> np.ndarray:
        """Centre of pressure of a loaded sole (2,) [m]."""
        return np.array([-self.moment[1], self.moment[0]]) / float(self.force[2])


class WalkSensors(NamedTuple):
    """Measurements of a robot's sensors at one time.

    Attributes:
        attitude: rotation of the base in the world (3, 3); its heading is not used.
        angular_velocity: of the base, in its own axes (3,) [rad/s]; the heading is held
            by it.
        joints: angles (njoints,) [rad]; None where nobody measures them.
        joint_speeds: (njoints,) [rad/s]; None likewise.
    """

    attitude: np.ndarray
    angular_velocity: np.ndarray
    left: SoleWrench
    right: SoleWrench
    joints: np.ndarray | None = None
    joint_speeds: np.ndarray | None = None

    @property
    def wrenches(self) -> np.ndarray:
        """Force and moment of the left sole, then of the right one (4, 3)."""
        return np.array((*self.left, *self.right), dtype=float)


def checked_sensors(sensors: WalkSensors) -> WalkSensors:
    """Measurements as kernels take them; ParameterError: they are not finite."""
    attitude, spin, left, right, *joints = sensors
    sensors = WalkSensors(
        np.ascontiguousarray(attitude, dtype=float),
        np.ascontiguousarray(spin, dtype=float),
        left,
        right,
        *(None if x is None else np.ascontiguousarray(x, dtype=float) for x in joints),
    )
    if not are_finite(*sensors[:2], sensors.wrenches, *sensors[4:]):
        raise ParameterError("a measurement of the walker is not finite")
    return sensors


LOADED = 0.02
"""Share of the weight that makes a sole count."""
_PLACE, _SPEED, _SHAKEN = 0.8, 0.8, 0.15
"""Shares of a measurement that count, in place and velocity; the latter after a
landing."""
_ALONE = {ContactPhase.LEFT_FOOT: 0, ContactPhase.RIGHT_FOOT: 1}
_SHAKING = 0.07
"""Time for which joints shake then [s]."""


class BodyEstimate(NamedTuple):
    """A body as its sensors see it, in the world of its plan.

    Attributes:
        height: of the centre of mass [m].
        base_velocity: of its origin in the plan's axes (3,) [m/s].
        spin: angular velocity of the base in its own axes (3,) [rad/s].
    """

    pendulum: Pendulum
    height: float
    base: pin.SE3
    base_velocity: np.ndarray
    spin: np.ndarray

    def base_after(self, time: float) -> pin.SE3:
        """Pose of the base after a short time at the same velocity [s]."""
        turn = self.base.rotation @ pin.exp3(time * self.spin)
        return pin.SE3(turn, self.base.translation + time * self.base_velocity)


class ComEstimator:
    """Estimates the pendulum of a robot in the world of its plan.

    Called once a period [s]; the weight is of the robot where it walks [N].
    """

    def __init__(
        self, model: Model, settings: WalkSettings, period: float, weight: float
    ) -> None:
        self._model, self._period = model, period
        corners = SolePair.of_model(model, settings).corners.values()
        edges = [(places.min(axis=0), places.max(axis=0)) for places in corners]
        self._least, self._edges = LOADED * weight, np.array(edges)
        self._gravity = weight / model.mass
        tree = model.pin
        self._frames = [
            frame_index(tree, name) for name in (settings.left, settings.right)
        ]
        self._q, self._v = np.zeros(tree.nq), np.zeros(tree.nv)
        self._body, self._poses = np.empty((2, 3)), np.empty((2, 4, 4))
        self._motions = np.empty((2, 6))
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self._last: np.ndarray | None = None
        self._sensors: WalkSensors | None = None
        self._loaded: tuple[bool, ...] = (True, True)
        self._shaken = 0.0

    @property
    def shaken(self) -> bool:
        """Whether a foot has just landed, so that speeds say little."""
        return self._shaken > 0.0

    def _filtered(
        self, seen: np.ndarray, loaded: tuple[bool, ...], plan: PatternPoint
    ) -> Pendulum:
        """The measurement, smoothed by how the plan accelerates."""
        # A foot that stands alone may lose its load in a push: it does not land.
        alone = _ALONE.get(plan.support)
        pairs = enumerate(zip(loaded, self._loaded, strict=True))
        if any(now and not was and k != alone for k, (now, was) in pairs):
            self._shaken = _SHAKING
        shares = _PLACE, _SHAKEN if self._shaken > 0.0 else _SPEED
        self._shaken -= self._period
        self._loaded = loaded
        if self._last is None:
            self._last = seen[:2, :2].copy()
        else:
            self._last = filtered(
                self._last, seen, plan.com_acceleration, self._period, shares
            )
        return Pendulum(self._last[0], self._last[1], seen[2, :2])

    def estimate(self, plan: PatternPoint, sensors: WalkSensors) -> BodyEstimate | None:
        """Centre of mass and base, as the loaded soles see them.

        None where no sole is loaded, or the joints are not measured.
        """
        if sensors.joints is None or sensors.joint_speeds is None:
            return None
        wrenches = sensors.wrenches
        loaded = tuple((wrenches[::2, 2] >= self._least).tolist())
        if not any(loaded):
            return None
        self._move(sensors)
        self._sensors = sensors
        seen, turn = body_over_soles(
            self._body,
            (self._poses, self._least, self._edges),
            self._motions,
            wrenches,
            (
                np.array((plan.left.pose.homogeneous, plan.right.pose.homogeneous)),
                (plan.left.yaw, plan.right.yaw),
            ),
        )
        attitude = product(about_vertical(turn), sensors.attitude)
        return BodyEstimate(
            self._filtered(seen, loaded, plan),
            float(seen[0, 2]),
            pin.SE3(attitude, seen[3]),
            seen[4],
            sensors.angular_velocity,
        )

    def in_flight(self, seen: BodyEstimate, sensors: WalkSensors) -> BodyEstimate:
        """The body that no sole holds, a period after it was seen."""
        assert self._sensors is not None
        time, spin = self._period, sensors.angular_velocity
        self._move(self._sensors._replace(attitude=seen.base.rotation))
        velocity = seen.base_velocity + self._body[1]
        com = seen.base.translation + self._body[0] + time * velocity
        velocity[2] -= time * self._gravity
        com[2] -= 0.5 * time**2 * self._gravity
        attitude = seen.base.rotation @ pin.exp3(time * spin)
        self._sensors = sensors._replace(attitude=attitude)
        self._move(self._sensors)
        self._last = np.array([com[:2], velocity[:2]])
        return BodyEstimate(
            Pendulum(com[:2], velocity[:2], seen.pendulum.zmp),
            float(com[2]),
            pin.SE3(attitude, com - self._body[0]),
            velocity - self._body[1],
            spin,
        )

    def _move(self, sensors: WalkSensors) -> None:
        """Centre of mass and soles as seen from a base that stays in place."""
        tree, data = self._model.pin, self._model.buffers
        self._q[3:7] = pin.Quaternion(sensors.attitude).coeffs()
        self._q[7:], self._v[6:] = sensors.joints, sensors.joint_speeds
        self._v[3:6] = sensors.angular_velocity
        pin.centerOfMass(tree, data, self._q, self._v, False)
        self._body[0], self._body[1] = data.com[0], data.vcom[0]
        for k, frame in enumerate(self._frames):
            self._poses[k] = pin.updateFramePlacement(tree, data, frame).homogeneous
            motion = pin.getFrameVelocity(tree, data, frame, pin.LOCAL_WORLD_ALIGNED)
            self._motions[k] = motion.vector


class BodyCentre(NamedTuple):
    """The centre of mass of a body.

    Attributes:
        position: in the world (3,) [m].
        velocity: (3,) [m/s].
    """

    position: np.ndarray
    velocity: np.ndarray


class PlanPlacement:
    """Moves points of a plan to where the robot really is.

    Attributes:
        pose: of the plan's world in the real one: a turn about z and a shift.
    """

    def __init__(self, model: Model, settings: WalkSettings) -> None:
        self._model = model
        self._names = {
            ContactPhase.LEFT_FOOT: settings.left,
            ContactPhase.RIGHT_FOOT: settings.right,
        }
        self.reset()

    def reset(self) -> None:
        """The plan lies right again."""
        self.pose = pin.SE3.Identity()
        self._support = ContactPhase.LEFT_FOOT

    def see(self, plan: PatternPoint, q: np.ndarray) -> None:
        """Lay the planned foot that stands where it is in a configuration.

        With both feet on the ground the one that stood last counts.
        """
        if plan.support in self._names:
            self._support = plan.support
        left = self._support is ContactPhase.LEFT_FOOT
        planned = (plan.left if left else plan.right).pose
        real = self._model.frame_pose(q, self._names[self._support])
        self.pose = _level(real) * _level(planned).inverse()
        self.pose.translation[2] = real.translation[2] - planned.translation[2]

    def point(self, place: np.ndarray) -> np.ndarray:
        """A point of the plan (3,) in the world [m]."""
        return self.pose.act(place)


class Approach:
    """A smooth motion of the joints (njoints,) [rad] between two times [s]."""

    def __init__(
        self, start: np.ndarray, end: np.ndarray, t_start: float, duration: float
    ) -> None:
        if not duration > 0:
            raise ParameterError(f"the duration must be above 0 s, not {duration}")
        self._start, self._end = np.array(start), np.array(end)
        self._t_start, self._duration = t_start, duration

    def at(self, t: float) -> np.ndarray:
        """Angles at a time (njoints,) [rad]; smooth, at rest at both ends."""
        share = min(max((t - self._t_start) / self._duration, 0.0), 1.0)
        return self._start + minimum_jerk(share)[0] * (self._end - self._start)

    def over(self, t: float) -> bool:
        """Whether the end is reached."""
        return t >= self._t_start + self._duration


def body_centre(model: Model, q: np.ndarray, v: np.ndarray) -> BodyCentre:
    """Centre of mass and its velocity."""
    data = model.buffers
    pin.centerOfMass(model.pin, data, q, v)
    return BodyCentre(data.com[0].copy(), data.vcom[0].copy())


def support_margin(plan: PatternPoint, zmp: np.ndarray) -> float:
    """Distance of a ZMP (3,) inside the edge of the plan's support, or NaN [m]."""
    return inside(plan.support_polygon).depth(zmp[:2])


def _level(pose: pin.SE3) -> pin.SE3:
    """The same place on the floor, and the same heading."""
    forward = pose.rotation[:, 0]
    heading = float(np.arctan2(forward[1], forward[0]))
    return pin.SE3(pin.utils.rotate("z", heading), np.append(pose.translation[:2], 0.0))
