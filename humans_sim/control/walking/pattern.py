# SPDX-License-Identifier: Apache-2.0
"""The walking pattern: joint angles over time from a velocity command.

At each knot of the plan :class:`Preview` finds where the zero-moment point goes until
the next one. In between everything is a closed formula of time: the pendulum, the swing
foot, and the posture that belongs to them. Nothing is measured here; a balance
controller adds what the real robot needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.trajectories.trajectory import ContactPhase
from humans_sim.control.walking.balance import Correction
from humans_sim.control.walking.feedback_kernels import placed_sole, rotation_of
from humans_sim.control.walking.footsteps import (
    ORIGIN,
    Footprint,
    Side,
    SolePair,
    Velocity,
    minimum_jerk,
    pivoting,
    resting,
    swing,
)
from humans_sim.control.walking.listed_footsteps import Heights, ListedStep, Treads
from humans_sim.control.walking.preview import Pendulum, Preview
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import sole_legs
from humans_sim.control.walking.timeline import (
    Footstep,
    SupportPhase,
    Timeline,
    WalkPhase,
)
from humans_sim.control.walking.whole_body_ik import (
    ArmSwing,
    FootMotion,
    ReachError,
    WalkKinematics,
    find_shoulders,
)
from humans_sim.core.convex_polygon import HalfPlanes, inside
from humans_sim.core.errors import ParameterError
from humans_sim.core.settings import SettingError
from humans_sim.models import Model


def swinging_arms(model: Model, settings: WalkSettings) -> ArmSwing | None:
    """Arms that swing, if the settings say so; SettingError: it has no shoulders."""
    if not settings.arm_swing:
        return None
    legs = sole_legs(model, settings.left, settings.right)
    joints = [joint for leg in legs for joint in leg.joints]
    shoulders = find_shoulders(model, joints, legs[0].length)
    if shoulders is None:
        raise SettingError(
            "arm_swing", f"{model.name} has no pair of shoulders with a pitch joint"
        )
    names = [model.joint_names[joint] for joint in shoulders.joints]
    rest = np.array([settings.posture.get(name, 0.0) for name in names])
    gain = settings.arm_swing / legs[0].length
    return ArmSwing(model, shoulders, rest, gain)


_SAME = 1e-9
"""Share of a period within which a time is a knot."""

_CROUCHES, _RISING = (0.0, 0.05, 0.1, 0.15), 0.05
"""Shares of the height by which it crouches on feet far apart; speed of getting out of
it [m/s]."""


_NEAR = 0.05
"""Error of a posture after a push that is let be; with more it stays [m, rad]."""
_SWAYS = (1.0, 0.5, 0.25)
"""Shares of the way from the middle to a foot that the body may sway in a step; tall
bodies sway less."""
_STILL = np.zeros(2)


class PatternPoint(NamedTuple):
    """The walk at one time [s], in the world.

    Attributes:
        com: centre of mass (3,) [m], with its velocity and acceleration.
        zmp: zero-moment point on the ground (3,) [m].
        support_polygon: corners, counter-clockwise (n, 2) [m].
        next_change: until the support changes, infinite while standing [s].
        steps: begun since the walk began.
        velocity: command that is followed, within the reach of the legs.
        pivots: whether this is a walk that turns on both feet.
    """

    time: float
    q: np.ndarray
    v: np.ndarray
    com: np.ndarray
    com_velocity: np.ndarray
    com_acceleration: np.ndarray
    zmp: np.ndarray
    left: FootMotion
    right: FootMotion
    support: ContactPhase
    support_polygon: np.ndarray
    next_change: float
    phase: WalkPhase
    steps: int
    footsteps: tuple[Footstep, ...]
    velocity: Velocity
    pivots: bool = False

    @property
    def joints(self) -> np.ndarray:
        """Joint angles in the order of ``model.joint_names`` [rad]."""
        return self.q[7:]

    @property
    def base_rotation(self) -> np.ndarray:
        """Attitude of the base (3, 3)."""
        return rotation_of(self.q[3:7])

    @property
    def joint_speeds(self) -> np.ndarray:
        """Joint speeds [rad/s]."""
        return self.v[6:]


class WalkPattern:
    """Generates a walk; the same calls give the same walk.

    Commands take effect at the next knot. Time only goes forwards.

    Args:
        model: a biped.
        settings: how it walks; by default those that come with the package.
        t_start: time of the first knot [s].
        place: where it stands then: the middle between its feet.
        heights: of uneven ground, on whose levels the feet are put.
        gravity: of the place to walk in [m/s^2]; the model's unless given.
    """

    def __init__(
        self,
        model: Model,
        settings: WalkSettings | None = None,
        t_start: float = 0.0,
        place: Footprint = ORIGIN,
        heights: Heights | None = None,
        gravity: float | None = None,
    ) -> None:
        self.model = model
        self.settings = settings or WalkSettings.of_model(model)
        if gravity is None:
            gravity = float(np.linalg.norm(model.pin.gravity.linear))
        self.weight = model.mass * gravity
        self.omega = math.sqrt(gravity / self.settings.com_height)
        self._soles = SolePair.of_model(model, self.settings)
        self._treads = None
        if heights is not None:
            self._treads = Treads(self.settings, self._soles.corners, heights)
        self._kinematics = WalkKinematics(
            model, self.settings, arms=swinging_arms(model, self.settings)
        )
        self.reset(t_start, place)

    def reset(self, t_start: float = 0.0, place: Footprint = ORIGIN) -> None:
        """Stand still at a place, from a time on."""
        settings = self.settings
        half = 0.5 * settings.stance_width
        feet = {side: place.moved(0.0, side * half) for side in Side}
        if self._treads is not None:
            feet = {side: self._standing(side, foot) for side, foot in feet.items()}
        self._timeline = Timeline(settings, self._soles, feet, t_start, self._treads)
        self._preview = Preview(settings, self.omega)
        middle = self._soles.middle(feet)
        self._state = Pendulum(middle, np.zeros(2), middle)
        self._rate = np.zeros(2)
        self._start, self._knot, self._time = t_start, 0, t_start
        attitude = pin.rpy.rpyToMatrix(0.0, settings.trunk_pitch, place.yaw)
        # The posture of the settings at a place, a start for the first search.
        names, posture = self.model.joint_names, self.settings.posture
        for name in posture:
            if name not in names:
                raise ParameterError(f"{self.model.name} has no joint '{name}'")
        q = self.model.standing(np.array([posture.get(name, 0.0) for name in names]))
        q[:7] = pin.SE3ToXYZQUAT(place.pose() * pin.XYZQUATToSE3(q[:7]))
        self._q = self._kinematics.solve(
            q,
            np.append(middle, settings.com_height + _lowest(feet)),
            feet[Side.LEFT].pose(),
            feet[Side.RIGHT].pose(),
            attitude,
        )
        # Feet that cannot roll may lean a little: they stand on their edges.
        lowest = float(self.model.contact(self._q)[:, 2].min()) - _lowest(feet)
        self._q[2] -= min(lowest, 0.0)
        self._v = np.zeros(self.model.nv)
        self._crouch, self._caught_until = 0.0, -math.inf

    def standing(self) -> np.ndarray:
        """The configuration at the present time, which is how it stands at first."""
        return self._q.copy()

    def command(self, vx: float, vy: float, wz: float) -> None:
        """Walk with a velocity of the body [m/s, m/s, rad/s].

        It is cut to what the legs can follow; where nothing is left, the walk stops.
        """
        self._timeline.follow(_finite(vx, vy, wz))

    def walk(
        self, steps: int, vx: float = 0.0, vy: float = 0.0, wz: float = 0.0
    ) -> None:
        """Make a number of steps, then stand; the last one closes the feet."""
        if steps < 1:
            raise ParameterError(f"a walk has one step at least, not {steps}")
        self._timeline.walk(_finite(vx, vy, wz), steps)

    def follow(self, steps: Sequence[ListedStep]) -> None:
        """Make listed steps from where it stands, then stand.

        Raises:
            ParameterError: it walks, or a step is beyond the legs.
        """
        self._timeline.make(steps)

    @property
    def feet(self) -> dict[Side, Footprint]:
        """Where the feet stand, or stood before the step under way."""
        return dict(self._timeline.phases[0].feet)

    def stop(self) -> None:
        """Stand still, with the next step at the latest."""
        self._timeline.stop()

    def turned(self, heading: float | None) -> None:
        """The measured heading, not wrapped, from any zero [rad].

        Steps then make up for what lacks of the commanded turn; with None the planned
        turns are taken to be made.
        """
        self._timeline.heading.measured = heading

    def tick(self, t: float) -> PatternPoint:
        """The walk at a time that is not before the last one [s].

        Raises:
            ParameterError: time goes backwards.
            ControlError: the legs do not reach a step.
        """
        period = self.settings.mpc_period
        if not self._time - _SAME * period <= t < math.inf:
            raise ParameterError(f"t = {t} is before the last tick, {self._time}")
        if self._crouch and self._timeline.side_by_side:
            self._crouch = max(self._crouch - _RISING * (t - self._time), 0.0)
        if t - self._time <= period:
            self._q = pin.integrate(self.model.pin, self._q, self._v * (t - self._time))
        self._time = t
        knot = math.floor((t - self._start) / period + _SAME)
        while self._knot <= knot:
            if self._knot > 0:
                self._state = self._state.after(period, self._rate, self.omega)
            self._timeline.advance(self._knot)
            knots = self._preview.solve(self._state, *self._timeline.ahead(self._knot))
            self._rate = (knots[0] - self._state.zmp) / period
            self._knot += 1
        since = t - self._start - (self._knot - 1) * period
        self._last = self._point(t, since)
        return self._last

    def resume(
        self,
        t: float,
        feet: dict[Side, Footprint],
        lifted: Side,
        guess: np.ndarray,
        state: Pendulum,
    ) -> np.ndarray:
        """Go on from what is measured, with a shift of the weight and steps in place.

        With feet far apart it crouches, so that the legs reach the first step. A
        capture point outside of the support is taken to be at its edge.

        Args:
            t: when, not before the last tick [s].
            feet: where they stand.
            lifted: the foot that steps next, if the legs reach that; else the other.
            guess: configuration near the posture.
            state: of the body.

        Returns:
            Joint angles at that time.

        Raises:
            ControlError: the legs do not reach that far.
        """
        room = inside(self._soles.polygon(feet, tuple(Side)), self._soles.margin)
        middle = self._soles.middle(feet)
        capture = _drawn_in(room, state.capture_point(self.omega), middle)
        com, zmp = state.com, _drawn_in(room, state.zmp, middle)
        settings = self.settings
        self._caught_until = t + settings.shift_duration + 3 * settings.step_duration
        crouch, q, lifted = self._reached(feet, lifted, guess, com)
        self._timeline.stand(feet, t, lifted)
        self._state, self._rate = (
            Pendulum(com, self.omega * (capture - com), zmp),
            _STILL,
        )
        self._start, self._knot, self._time = t, 0, t
        self._q, self._v, self._crouch = q, np.zeros(self.model.nv), crouch
        return q[7:]

    def held(self, feet: dict[Side, Footprint]) -> PatternPoint:
        """The last point of the plan, but on both feet where they are."""
        left, right = resting(feet[Side.LEFT]), resting(feet[Side.RIGHT])
        support = ContactPhase.DOUBLE
        return self._last._replace(left=left, right=right, support=support)

    @property
    def may_step_anywhere(self) -> bool:
        """Whether neither a list nor levels of the ground say where its feet go."""
        return self._timeline.goes_by_velocity and self._treads is None

    def _reached(
        self,
        feet: dict[Side, Footprint],
        lifted: Side,
        guess: np.ndarray,
        start: np.ndarray,
    ) -> tuple[float, np.ndarray, Side]:
        """How far it crouches to lift a foot, its posture on both, and that foot.

        It starts with the centre of mass above a place (2,) [m].
        """
        height, middle = self.settings.com_height, self._soles.middle(feet)
        poses = feet[Side.LEFT].pose(), feet[Side.RIGHT].pose()
        yaw = 0.5 * (feet[Side.LEFT].yaw + feet[Side.RIGHT].yaw)
        upright = pin.rpy.rpyToMatrix(0.0, self.settings.trunk_pitch, yaw)
        missing = ControlError("the legs do not reach that far")
        sides = (lifted, lifted.other)
        for sway, share, side in product(_SWAYS, _CROUCHES, sides):
            onto = sway * (self._soles.place(feet, side.other) - middle)
            low = (1.0 - share) * height
            try:
                q = self._kinematics.solve(
                    guess, np.append(middle, low), *poses, upright
                )
                self._kinematics.solve(
                    q, np.append(middle + onto, low), *poses, upright
                )
                posture = self._kinematics.solve(
                    q, np.append(start, low), *poses, upright
                )
            except ControlError as error:
                missing = error
            else:
                return share * height, posture, side
        raise missing

    def corrected(self, correction: Correction) -> np.ndarray:
        """Joint angles at the last tick with a correction, as far as the legs reach.

        Soles in the air and the plan itself stay as they are.
        """
        point = self._last
        left, right = point.left.pose, point.right.pose
        soles, apart = correction.soles, correction.apart
        if point.support is not ContactPhase.RIGHT_FOOT:
            left = pin.SE3(placed_sole(left.homogeneous, soles, apart))
        if point.support is not ContactPhase.LEFT_FOOT:
            right = pin.SE3(placed_sole(right.homogeneous, soles, -apart))
        try:
            q = self._kinematics.solve(
                point.q,
                point.com + correction.com,
                left,
                right,
                correction.attitude @ point.base_rotation,
            )
        except ControlError:
            return point.joints
        return q[7:]

    def _point(self, t: float, since: float) -> PatternPoint:
        """The walk some time after the last knot [s]."""
        settings, timeline = self.settings, self._timeline
        state = self._state.after(since, self._rate, self.omega)
        phase = timeline.phases[0]
        elapsed = since + (self._knot - 1 - phase.first) * settings.mpc_period
        ground, climb, climbing = self._climb(phase, elapsed)
        height = settings.com_height - self._crouch + ground
        pull = state.acceleration(self.omega)
        com = np.array((state.com[0], state.com[1], height))
        com_velocity = np.array((state.velocity[0], state.velocity[1], climb))
        feet = dict(phase.resting)
        next_change = math.inf
        if phase.last is not None:
            duration = (phase.last - phase.first) * settings.mpc_period
            next_change = duration - elapsed
            if phase.step is not None:
                side, end = phase.step.side, phase.step.place
                feet[side] = swing(
                    phase.feet[side], end, settings.foot_lift, duration, elapsed
                )
        if phase.turn:
            first, last = phase.turn_knots
            duration = (last - first) * settings.mpc_period
            elapsed -= (first - phase.first) * settings.mpc_period
            feet = {
                side: pivoting(
                    foot,
                    phase.turn,
                    math.copysign(settings.pivot_pitch, side * phase.turn),
                    self._soles.pivot(side, phase.turn),
                    duration,
                    elapsed,
                )
                for side, foot in phase.feet.items()
            }
        left, right = feet[Side.LEFT], feet[Side.RIGHT]
        attitude = pin.rpy.rpyToMatrix(
            0.0, settings.trunk_pitch, 0.5 * (left.yaw + right.yaw)
        )
        spin = attitude[2] * 0.5 * (left.velocity[5] + right.velocity[5])
        self._q = self._posture(com, left.pose, right.pose, attitude)
        self._v = self._kinematics.rates(self._q, com_velocity, left, right, spin)
        return PatternPoint(
            t,
            self._q,
            self._v,
            com,
            com_velocity,
            np.array((pull[0], pull[1], climbing)),
            np.array((state.zmp[0], state.zmp[1], ground)),
            left,
            right,
            phase.support,
            phase.polygon,
            next_change,
            timeline.activity,
            timeline.steps,
            timeline.footsteps(),
            timeline.velocity,
            any(phase.turn for phase in timeline.phases),
        )

    def _posture(
        self, com: np.ndarray, left: pin.SE3, right: pin.SE3, attitude: np.ndarray
    ) -> np.ndarray:
        """The configuration; after a push the nearest one that the legs reach."""
        try:
            return self._kinematics.solve(self._q, com, left, right, attitude)
        except ReachError as error:
            if self._time > self._caught_until:
                raise
            return error.nearest if error.missing < _NEAR else self._q

    def _climb(self, phase: SupportPhase, elapsed: float) -> tuple[float, float, float]:
        """Height of the lower foot, gone through in a step, and two rates [m, s]."""
        begun = _lowest(phase.feet)
        if phase.step is None or phase.last is None:
            return begun, 0.0, 0.0
        rise = _lowest(phase.feet_after()) - begun
        duration = (phase.last - phase.first) * self.settings.mpc_period
        s = min(max(elapsed / duration, 0.0), 1.0)
        far, pace = minimum_jerk(s)
        change = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
        return begun + far * rise, pace * rise / duration, change * rise / duration**2

    def _standing(self, side: Side, foot: Footprint) -> Footprint:
        """A foot on its level at first."""
        assert self._treads is not None
        placed = self._treads.onto(side, foot)
        if placed is None:
            raise ParameterError(
                f"the ground is not flat where the {side.name.lower()} foot stands"
            )
        return placed


def _drawn_in(room: HalfPlanes, point: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """A point (2,), moved towards a centre until it is not outside [m]."""
    beyond = room.normals @ point - room.bounds
    out, way = beyond > 0.0, room.normals @ (point - centre)
    share = float((beyond[out] / way[out]).max(initial=0.0))
    return np.asarray(point + share * (centre - point))


def _lowest(feet: Mapping[Side, Footprint]) -> float:
    """Height of the ground below the lower foot, which the leg must reach [m]."""
    return min(feet[Side.LEFT].z, feet[Side.RIGHT].z)


def _finite(vx: float, vy: float, wz: float) -> Velocity:
    velocity = Velocity(float(vx), float(vy), float(wz))
    if not all(map(math.isfinite, velocity)):
        raise ParameterError(f"a velocity has finite numbers, not {tuple(velocity)}")
    return velocity
