# SPDX-License-Identifier: Apache-2.0
"""Retargeting: a person's motion on a robot.

1. Feet: where and when they stand (:mod:`.foot_plan`); a foot that stands stays.
2. Waist and arms follow the directions of the person's limbs (:mod:`.upper_body`).
3. The base has the person's attitude as far as the legs allow; hips come down as the
   person's do, in lengths of the leg.
4. The centre of mass is shifted such that the zero-moment point of the whole motion
   stays in the support (:mod:`.balance`), in a few passes.
5. Legs follow from feet, centre of mass and attitude within their limits
   (:class:`~humans_sim.control.walking.whole_body_ik.WalkKinematics`).
6. What is too fast or too strong for a joint is slowed down; what no slowing cures is
   refused (:class:`.errors.RetargetError`).
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pinocchio as pin

from humans_sim.actuation.robots import RobotSetup
from humans_sim.control.retargeting.balance import (
    STANDING,
    WALKING,
    Balance,
    JointTorques,
    balance_knots,
    limit_excess,
    zero_moment_points,
)
from humans_sim.control.retargeting.foot_plan import (
    Feet,
    FootPlan,
    PlannedPhase,
    feet_at,
    feet_down,
    plan_feet,
)
from humans_sim.control.retargeting.person_motion import (
    HEAD_YAW,
    SHANK,
    SIDES,
    THIGH,
    Limbs,
    PersonMotion,
    robot_limbs,
)
from humans_sim.control.retargeting.robot_motion import (
    RobotMotion,
    low_pass,
    rates,
)
from humans_sim.control.retargeting.settings import RetargetError, RetargetSettings
from humans_sim.control.retargeting.upper_body import UpperBody
from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.footsteps import ORIGIN, Side, SolePair
from humans_sim.control.walking.settings import WalkSettings
from humans_sim.control.walking.sole_legs import HIP_YAW, sole_legs
from humans_sim.control.walking.whole_body_ik import WalkKinematics
from humans_sim.core.budget import POSTURES
from humans_sim.core.convex_polygon import HalfPlanes, inside
from humans_sim.models import Model
from humans_sim.models.legs import Leg


class SampledPerson:
    """A person's motion, sampled; ends hold.

    Sampled at ``times`` of the person (n,) [s], which are ``period`` apart on the robot
    [s]; what is faster than ``cutoff`` is left out of attitudes and heights [Hz].
    """

    def __init__(
        self, person: PersonMotion, times: np.ndarray, cutoff: float, period: float
    ) -> None:
        rate = 1.0 / period

        def at(values: np.ndarray) -> np.ndarray:
            flat = values.reshape(len(person.t), -1)
            columns = [np.interp(times, person.t, column) for column in flat.T]
            return np.column_stack(columns).reshape(len(times), *values.shape[1:])

        def smooth(values: np.ndarray) -> np.ndarray:
            return low_pass(at(values), rate, cutoff)

        rows = {name: at(values) for name, values in person.directions.items()}
        self.directions = {
            name: line / np.linalg.norm(line, axis=1, keepdims=True)
            for name, line in rows.items()
        }
        self.pelvis, self.torso = (
            np.array([_rotation(m) for m in smooth(attitude)])
            for attitude in (person.pelvis, person.torso)
        )
        self.crouch, self.place = smooth(person.crouch), smooth(person.place)
        self.head = smooth(person.head)


def _rotation(matrix: np.ndarray) -> np.ndarray:
    """The rotation nearest to a matrix."""
    u, _, vt = np.linalg.svd(matrix)
    return u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt


_BOTH = (Side.LEFT, Side.RIGHT)
_PASSES = 3
"""In which the centre of mass is found."""
_FOLLOWS = 0.75
"""How far the centre of mass rises with the hips: feet and shanks stay behind."""
_QUICKEST = 8.0
"""Torques that change faster are not led by the servos [Hz]."""
_LEAST_RISE = 0.01
"""Of the leg's length: a centre of mass that is less higher need not be."""
_TRIES = 12
"""Of slower or shorter motions before it is refused."""
_LOWER, _SHORTER = 0.6, 0.85
"""What is left of the centre of mass's rise, and of steps and depth, where the legs did
not reach."""
_SLOWER, _SPARE = 1.3, 1.02
"""Time over that of a motion that lost its balance; over what limits ask for, since
torques do not fall evenly with speed."""


class Retargeting:
    """Takes motions of persons over to one robot.

    Args:
        settings: how.
        walk: reach of the robot's steps; its own unless given.

    Raises:
        ParameterError: it has no two legs to stand on.

    Attributes:
        limbs: of the robot.
        upper: its waist and arms.
    """

    def __init__(
        self,
        model: Model,
        settings: RetargetSettings | None = None,
        walk: WalkSettings | None = None,
    ) -> None:
        self.model, self.settings = model, settings or RetargetSettings()
        self.walk = walk or WalkSettings.of_model(model)
        self.limbs: Limbs = robot_limbs(model)
        self.upper = UpperBody(self.limbs)
        self._kinematics = WalkKinematics(model, self.walk)
        self._soles = SolePair.of_model(model, self.walk)
        self._setup = RobotSetup.of_model(model)
        legs = sole_legs(model, self.walk.left, self.walk.right)
        self.leg = float(np.mean([leg.length for leg in legs]))
        self._leg_parts = _parts(legs[0])
        self._hips = [
            (2 + leg.joints[leg.pitches()[0]], 2 + leg.joints[leg.pitches()[2]])
            for leg in legs
        ]
        armature = self._setup.servos(model).armature
        assert armature is not None
        soles = (self.walk.left, self.walk.right)
        friction = self._setup.friction
        self._torques = JointTorques(model, soles, friction, armature)
        joint = self._setup.servo_joints
        self._gains = np.array(
            [joint.get(name, self._setup.servo).gain for name in model.joint_names]
        )
        # What the legs reached of the last person: asked again for a slower motion.
        self._reached: tuple[PersonMotion, tuple[float, float, float]] | None = None
        self._gravity = float(np.linalg.norm(model.pin.gravity.linear))

    @property
    def period(self) -> float:
        """Between two samples [s]."""
        return self.settings.period or self._setup.sampling_period

    def retarget(self, person: PersonMotion, slowdown: float = 1.0) -> RobotMotion:
        """The robot's motion.

        The time of the robot is the person's times ``slowdown``, at least.

        Raises:
            RetargetError: no slowing makes the robot able to do it; with the joint and
                the time.
        """
        settings = self.settings
        shorter, depth, rise = settings.stride, 1.0, self._rise(person)
        if self._reached is not None and self._reached[0] is person:
            shorter, depth, rise = self._reached[1]
        fault: RetargetError | None = None
        started = time.process_time()
        for _ in range(_TRIES):
            if slowdown > settings.slowest:
                break
            plan = plan_feet(
                person, self.walk, self.leg, slowdown, shorter, settings.least_step
            )
            try:
                motion = self._planned(person, plan, depth, rise)
            except ControlError as error:
                fault = RetargetError(str(error))
                if plan.steps and rise > 0.0:
                    rise = _LOWER * rise if rise > _LEAST_RISE * self.leg else 0.0
                else:
                    shorter, depth = _SHORTER * shorter, _SHORTER * depth
                continue
            except RetargetError as error:
                fault, slowdown = error, _SLOWER * plan.slowdown
                continue
            excess, fault = limit_excess(motion, settings)
            if fault is None:
                spent = (time.process_time() - started) / len(motion.t)
                remarks = _remarks(plan, depth)
                self._reached = (person, (shorter, depth, rise))
                return replace(motion, frame_time=spent, remarks=remarks)
            slowdown = _SPARE * plan.slowdown * excess
        if fault is None:
            raise RetargetError(f"it would have to be slowed by {slowdown:.2g}")
        raise fault.slowed(min(slowdown, settings.slowest)) from None

    def _planned(
        self, person: PersonMotion, plan: FootPlan, depth: float, rise: float
    ) -> RobotMotion:
        """A motion, whatever its speeds and torques."""
        walks = plan.steps > 0
        period = self.period
        n = POSTURES.check("a motion", np.ceil(plan.duration / period) + 1)
        t = period * np.arange(n)
        at = SampledPerson(person, plan.person_time(t), self.settings.cutoff, period)
        phases = [plan.phase(time) for time in t]
        feet = [
            feet_at(phase, now, self.walk.foot_lift)
            for phase, now in zip(phases, t, strict=True)
        ]
        attitudes, headings = self._attitudes(at, feet, walks)
        joints = self._upper_joints(at, attitudes, headings)
        balance = self._balance(t, plan)
        reference = self._reference(at, phases, t, walks)
        heights = np.full(n, self.walk.com_height + (rise if walks else 0.0))
        hips = self._hip_places(at, depth)
        extra = np.zeros((n, 2))
        for _ in range(_PASSES):
            com = balance.solve(heights, reference, extra)
            q = self._postures(com.places, feet, attitudes, joints)
            v, a = rates(self.model, period, q)
            zmp = zero_moment_points(self.model, q, v, a)
            extra = low_pass(zmp - com.zmp, 1.0 / period, 2.0 * self.settings.cutoff)
            if not walks:
                change = _FOLLOWS * (hips - self._hips_above(q, headings))
                reference[:, 0] += change[:, 0]
                heights = heights + change[:, 1]
        torques = self._all_torques(q, v, a, phases)
        commands = self._commands(q[:, 7:], torques)
        outlines = {phase: self._support(phase, 0.0) for phase in plan.phases}
        room = np.array(
            [outlines[p].depth(z) for p, z in zip(phases, zmp, strict=True)]
        )
        if room[1:-1].min() < 0:
            worst = float(t[int(room.argmin())])
            raise RetargetError(
                f"the zero-moment point leaves the support by {-1e3 * room.min():.1f} "
                "mm",
                time=worst,
            )
        errors = self._errors(q, headings, at)
        moving = (t >= plan.knots[0, 0]) & (t <= plan.knots[0, -1])
        errors = {name: angles[moving] for name, angles in errors.items()}
        return RobotMotion(
            self.model, t, q, v, torques, commands, zmp, room, plan, errors, np.nan, ()
        )

    def _rise(self, person: PersonMotion) -> float:
        """Height of the centre of mass above the walk's, knees bent as theirs [m]."""
        half = 0.5 * self.walk.stance_width
        stance = {side: ORIGIN.moved(0.0, side * half) for side in _BOTH}
        left, right = (stance[side].pose() for side in _BOTH)
        joints = [self.walk.posture.get(name, 0.0) for name in self.model.joint_names]
        com = np.append(self._soles.middle(stance), self.walk.com_height)
        start = self.model.standing(np.array(joints))
        q = self._kinematics.solve(start, com, left, right, np.eye(3))
        most = min(float(person.crouch.mean()), self.settings.straightest)
        height = float(self._hips_above(q[None], np.zeros(1))[0, 1])
        return max(_FOLLOWS * (most * sum(self._leg_parts) - height), 0.0)

    def _balance(self, t: np.ndarray, plan: FootPlan) -> Balance:
        margin = self.settings.margin * self._soles.margin
        shrunk = {phase: self._support(phase, margin) for phase in plan.phases}
        knots = balance_knots(t)
        support = [shrunk[plan.phase(float(knot))] for knot in knots]
        weights = WALKING if plan.steps else STANDING
        return Balance(t, knots, support, weights, self._gravity)

    def _all_torques(
        self,
        q: np.ndarray,
        v: np.ndarray,
        a: np.ndarray,
        phases: list[PlannedPhase],
    ) -> np.ndarray:
        """Joint torques (n, njoints) [N m]; between every other sample, the mean."""
        n = len(q)
        rows = np.unique(np.append(np.arange(0, n, 2), n - 1))
        torques = np.array(
            [self._torques.at(q[k], v[k], a[k], feet_down(phases[k])) for k in rows]
        )
        return np.column_stack(
            [np.interp(np.arange(n), rows, column) for column in torques.T]
        )

    def _commands(self, joints: np.ndarray, torques: np.ndarray) -> np.ndarray:
        """Angles for the servos: ahead of the joints by torque over gain [rad]."""
        model = self.model
        ahead = low_pass(torques / self._gains, 1.0 / self.period, _QUICKEST)
        return np.clip(joints + ahead, model.lower_limits, model.upper_limits)

    def _attitudes(
        self, at: SampledPerson, feet: list[Feet], walks: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rotations of the base (n, 3, 3), and headings (n,)."""
        headings = np.array([0.5 * (left.yaw + right.yaw) for left, right in feet])
        # Legs with yaw joints let the pelvis turn; others keep it parallel to the feet.
        free = self.walk.turns == HIP_YAW
        body = at.pelvis if self.limbs.waist else at.torso
        attitudes = np.empty((len(feet), 3, 3))
        for k in range(len(feet)):
            roll, pitch, yaw = pin.rpy.matrixToRpy(body[k])
            if walks:
                roll, pitch, yaw = 0.0, self.walk.trunk_pitch, 0.0
            elif not free:
                roll, yaw = 0.0, 0.0
            attitudes[k] = pin.rpy.rpyToMatrix(roll, pitch, yaw + headings[k])
        return attitudes, headings

    def _upper_joints(
        self, at: SampledPerson, attitudes: np.ndarray, headings: np.ndarray
    ) -> np.ndarray:
        """Angles of all joints outside the legs (n, njoints); legs as they stand."""
        model, n = self.model, len(attitudes)
        names = model.joint_names
        standing = np.array([self.walk.posture.get(name, 0.0) for name in names])
        guess = model.standing(standing)
        guess[7 + self.upper.joints] = 0.0
        rows = np.tile(standing, (n, 1))
        for name in set(names) - {names[j] for j in self._kinematics.legs}:
            rows[:, names.index(name)] = 0.0
        if HEAD_YAW in names:
            rows[:, names.index(HEAD_YAW)] = at.head
        directions = np.zeros((n, len(self.upper.names), 3))
        for k, name in enumerate(self.upper.names):
            directions[:, k] = at.directions[name]
        for k in range(n):
            turn = pin.utils.rotate("z", -float(headings[k]))
            search = self.upper.solve if k else self.upper.first
            found = search(guess, turn @ attitudes[k], at.torso[k], directions[k])
            guess[7 + self.upper.joints] = found
            rows[k, self.upper.joints] = found
        rows = low_pass(rows, 1.0 / self.period, self.settings.cutoff)
        return np.clip(rows, model.lower_limits, model.upper_limits)

    def _support(self, phase: PlannedPhase, margin: float) -> HalfPlanes:
        sides = [side for side in Side if side is not phase.swing]
        return inside(self._soles.polygon(phase.feet, sides), margin)

    def _reference(
        self, at: SampledPerson, phases: list[PlannedPhase], t: np.ndarray, walks: bool
    ) -> np.ndarray:
        """Where centre of mass and zero-moment point are best (n, 2) [m]."""
        soles = self._soles
        if not walks:
            corners = soles.polygon(phases[0].feet, Side)
            low, high = corners.min(axis=0), corners.max(axis=0)
            margin = 2.0 * self.settings.margin * soles.margin
            half = np.maximum(0.5 * (high - low) - margin, 0.0)
            return 0.5 * (low + high) + at.place * half
        rows = np.empty((len(t), 2))
        order = list(dict.fromkeys(phases))
        for k, (phase, now) in enumerate(zip(phases, t, strict=True)):
            if phase.swing is not None:
                rows[k] = soles.place(phase.feet, phase.swing.other)
                continue
            place = order.index(phase)
            start = end = soles.middle(phase.feet)
            share = (now - phase.start) / (phase.end - phase.start)
            if place > 0 and (before := order[place - 1].swing) is not None:
                start = soles.place(phase.feet, before.other)
            if place + 1 < len(order) and (after := order[place + 1].swing) is not None:
                end = soles.place(phase.feet, after.other)
            if place == 0:
                share = 2.0 * share - 1.0
            elif place + 1 == len(order):
                share = 2.0 * share
            rows[k] = start + np.clip(share, 0.0, 1.0) * (end - start)
        return rows

    def _hip_places(self, at: SampledPerson, depth: float) -> np.ndarray:
        """Hips ahead of and above the ankles as the limbs of the person say (n, 2)."""
        upper, lower = self._leg_parts
        line = np.mean(
            [
                -upper * at.directions[f"{side}_{THIGH}"]
                - lower * at.directions[f"{side}_{SHANK}"]
                for side in SIDES
            ],
            axis=0,
        )
        most = self.settings.straightest * (upper + lower)
        place = np.column_stack([line[:, 0], np.minimum(line[:, 2], most)])
        place[:, 1] = most + depth * (place[:, 1] - most)
        return low_pass(place, 1.0 / self.period, self.settings.cutoff)

    def _hips_above(self, q: np.ndarray, headings: np.ndarray) -> np.ndarray:
        """Hips ahead of and above the ankles (n, 2) [m]."""
        data = self.model.buffers
        places = np.empty((len(q), 2))
        for k in range(len(q)):
            pin.forwardKinematics(self.model.pin, data, q[k])
            line = np.mean(
                [data.oMi[a].translation - data.oMi[b].translation
                 for a, b in self._hips], axis=0
            )  # fmt: skip
            ahead = np.cos(headings[k]) * line[0] + np.sin(headings[k]) * line[1]
            places[k] = ahead, line[2]
        return places

    def _postures(
        self,
        com: np.ndarray,
        feet: list[Feet],
        attitudes: np.ndarray,
        joints: np.ndarray,
    ) -> np.ndarray:
        """Configurations (n, nq); ControlError: the legs do not reach."""
        rows = np.empty((len(com), self.model.nq))
        guess = self.model.standing(joints[0])
        for k in range(len(com)):
            legs = guess[7 + self._kinematics.legs].copy()
            guess[7:] = joints[k]
            guess[7 + self._kinematics.legs] = legs
            left, right = feet[k]
            guess = self._kinematics.solve(
                guess, com[k], left.pose, right.pose, attitudes[k]
            )
            rows[k] = guess
        return rows

    def _errors(
        self, q: np.ndarray, headings: np.ndarray, at: SampledPerson
    ) -> dict[str, np.ndarray]:
        """Angles between the limbs of robot and person (n,) [rad]."""
        names = tuple(self.limbs.limbs)
        data = self.model.buffers
        cosines = np.empty((len(q), len(names)))
        for k in range(len(q)):
            pin.forwardKinematics(self.model.pin, data, q[k])
            turn = pin.utils.rotate("z", -float(headings[k]))
            own = self.limbs.directions(data, names) @ turn.T
            theirs = np.array([at.directions[name][k] for name in names])
            cosines[k] = np.einsum("ij,ij->i", own, theirs)
        angles = np.arccos(np.clip(cosines, -1.0, 1.0))
        return {name: angles[:, j] for j, name in enumerate(names)}


def _parts(leg: Leg) -> tuple[float, float]:
    """Lengths of thigh and shank, sideways offsets left out [m]."""
    hip, knee, ankle = (leg.origins[place][[0, 2]] for place in leg.pitches())
    return float(np.linalg.norm(hip - knee)), float(np.linalg.norm(knee - ankle))


def _remarks(plan: FootPlan, depth: float) -> tuple[str, ...]:
    notes = []
    if plan.slowdown > 1.0 + 1e-9:
        notes.append(f"slowed: it takes {plan.slowdown:.2f} times as long")
    if plan.shortened < 1.0 - 1e-9:
        notes.append(
            f"steps are down to {100 * plan.shortened:.0f} % of the person's, scaled"
        )
    if depth < 1.0:
        notes.append(f"hips come down by {100 * depth:.0f} % of the person's, scaled")
    return tuple(notes)
