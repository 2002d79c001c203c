# SPDX-License-Identifier: Apache-2.0
"""The position observer: pose of the base from joint angles and sole forces.

The manual's chapter 7, for any model with soles. A foot that is well on the ground did
not move since the last call, so the base is where the joint angles put it over that
foot. Where we depart from the manual:

- The distance between a foot's reference pose and its present one is that of two poses,
  not of six coordinates of three tags; with one foot both vanish at the same base.
- A foot loaded at the first call counts as well on the ground: the manual starts in
  the air.
- A foot stays on the ground down to a share of the threshold, so that a force that
  wavers about it does not change the reference at every call.
- The suspension takes its reference pose when it comes into use, as a foot does; the
  manual keeps that of the start. Bodies without suspension continue with their last
  velocity.
- Velocity comes from the joint speeds where they are given. Otherwise it is the
  manual's difference, of two poses that are seen from the same reference: a change of
  reference gives no spike.
- All feet on the ground may be used together; or the one that is there longest, while
  the places of the others are averaged, which encoders that round call for. Where the
  height of a level floor is known, they are those of the closed chain.
- Where an inertial unit says how the base is turned, feet say only where they are: a
  foot that rolls over an edge or turns as it slips does not turn the estimate. The
  heading counts from that of the estimate at the first such call.
- The estimate has a covariance (:mod:`~humans_sim.observation.base.drift`).

Also its checked measurements, and its references: soles and a suspension.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import HumansError, ParameterError
from humans_sim.models import Model
from humans_sim.models.description import BASE_LINK, QUATERNION_TOLERANCE
from humans_sim.models.links import SUSPENSION_PREFIX
from humans_sim.models.points import frame_index
from humans_sim.observation.base.base_fit import (
    base_over,
    fit_base,
    fit_velocity,
    levelled,
    relative_motion,
)
from humans_sim.observation.base.drift import DriftCovariance, DriftRates, heading_of


class ObservationError(HumansError, ValueError):
    """Measurements cannot be used: wrong size, not finite, or out of time."""


def checked_time(t: float, last: float | None) -> float:
    """A time that is later than the last one [s]."""
    t = float(t)
    if not math.isfinite(t):
        raise ObservationError(f"the time of the measurements is {t}")
    if last is not None and t <= last:
        raise ObservationError(
            f"measurements of t = {t:g} s came after those of {last:g} s; "
            "where time jumps back, call reset() first"
        )
    return t


def checked_joints(model: Model, given: np.ndarray, what: str) -> np.ndarray:
    """One finite number for each joint."""
    names = model.joint_names
    values = np.asarray(given, dtype=float)
    if values.shape != (len(names),):
        raise ObservationError(
            f"{what} of {model.name} has {len(names)} entries, not shape {values.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise ObservationError(f"{what}: {names[bad[0]]} is {values[bad[0]]}")
    return values


def checked_forces(soles: Sequence[str], forces: Mapping[str, float]) -> list[float]:
    """One finite force for each sole [N], in the order of the soles."""
    wrong = sorted(set(forces) ^ set(soles))
    if wrong:
        word = "no force is given for" if wrong[0] in soles else "there is no"
        raise ObservationError(
            f"sole_forces: {word} '{wrong[0]}'; the soles are {', '.join(soles)}"
        )
    values = [float(forces[name]) for name in soles]
    for name, value in zip(soles, values, strict=True):
        if not math.isfinite(value):
            raise ObservationError(f"sole_forces: {name} is {value}")
    return values


def checked_attitude(quaternion: np.ndarray) -> np.ndarray:
    """Rotation (3, 3) of a quaternion (x, y, z, w) of unit length."""
    values = np.asarray(quaternion, dtype=float)
    if values.shape != (4,) or not abs(values @ values - 1.0) <= QUATERNION_TOLERANCE:
        raise ObservationError(f"the attitude is no unit quaternion: {values}")
    return np.asarray(pin.Quaternion(values).normalized().matrix())


THRESHOLDS = {"bip": 40.0}
"""Force above which a foot of a model is on the ground [N] (manual, section 7.1)."""
THRESHOLD_FRACTION = 0.3
"""The same for other models, as a share of the weight (assumed)."""
RELEASE = 0.8
"""Share of the threshold below which a foot is off the ground again (assumed)."""
FIRST_SOLE = "r_sole"
"""Sole that is asked first (manual, section 7.1; the name is REP-120's)."""

SUSPENSION = "suspension"
DEAD_RECKONING = "dead_reckoning"
"""References that are no sole."""


@dataclass
class Body:
    """A sole, or the link that hangs: something that can be the reference."""

    name: str
    frame: int
    in_base: pin.SE3
    force: float = 0.0
    loaded: bool = False
    on_ground: bool = False
    calls: int = 0
    reference: pin.SE3 | None = None

    def load(self, force: float, threshold: float, release: float) -> None:
        """Take the force of a new call."""
        before, self.loaded, self.force = self.loaded, force > threshold, force
        held = self.on_ground and force > release * threshold
        self.on_ground = held or (before and self.loaded)
        if not self.on_ground:
            self.reference, self.calls = None, 0


def ordered_soles(model: Model, order: Sequence[str] | None) -> tuple[str, ...]:
    """The soles of a model in the order of trust."""
    names = tuple(sole.name for sole in model.soles)
    if order is None:
        return tuple(sorted(names, key=lambda name: name != FIRST_SOLE))
    if sorted(order) != sorted(names):
        raise ParameterError(
            f"order names each sole of {model.name} once: {', '.join(names)}; "
            f"not {list(order)}"
        )
    return tuple(order)


def suspension_link(model: Model, tags: Sequence[str] | None) -> str | None:
    """The one link that carries the tags a model hangs by."""
    links = {tag.name: tag.link for tag in model.parts.tags}
    if tags is None:
        tags = [name for name in links if name.startswith(SUSPENSION_PREFIX)]
    for name in tags:
        if name not in links:
            raise ParameterError(f"{model.name} has no tag called '{name}'")
    names = sorted({links[name] for name in tags})
    if len(names) > 1:
        raise ParameterError(
            f"tags of a suspension are on one link, not on {' and '.join(names)}"
        )
    return names[0] if names else None


USES = ("first", "all", "oldest")


@dataclass(frozen=True)
class BaseEstimate:
    """Where the base is, and how that is known.

    Attributes:
        time: of the measurements [s].
        position: of base_link in the world (3,) [m].
        quaternion: of base_link in the world, (x, y, z, w) (4,).
        velocity: linear [m/s] and angular [rad/s], in base_link (6,).
        covariance: of place [m] and rotation [rad], in axes of the world (6, 6).
        velocity_std: standard deviations of the velocity (6,).
        reference: name of the sole that is trusted first, ``suspension`` or
            ``dead_reckoning``.
        feet: all soles that are well on the ground, in the order of trust.
        mismatch: how far a foot that is well on the ground is from its reference
            place, the largest [m]; more than the encoders explain is slip.
        unsupported: time since there was a reference [s].
    """

    time: float
    position: np.ndarray
    quaternion: np.ndarray
    velocity: np.ndarray
    covariance: np.ndarray
    velocity_std: np.ndarray
    reference: str
    feet: tuple[str, ...]
    mismatch: float
    unsupported: float

    @property
    def pose(self) -> np.ndarray:
        """Position and quaternion: the base's part of a configuration (7,)."""
        return np.concatenate([self.position, self.quaternion])


class BaseObserver:
    """Follows the base of a model, one call of :meth:`update` after the other.

    Attributes:
        model: the model.
        threshold: force above which a foot is on the ground [N].
        soles: names of the soles in the order of trust.
        suspension: link that the body hangs by, or None.
    """

    def __init__(
        self,
        model: Model,
        *,
        start: np.ndarray | None = None,
        standing: np.ndarray | None = None,
        use: str = "first",
        order: Sequence[str] | None = None,
        threshold: float | None = None,
        release: float = RELEASE,
        floor_height: float | None = None,
        suspension: Sequence[str] | None = None,
        drift: DriftRates | None = None,
    ) -> None:
        """Prepare; the first call of :meth:`update` starts it.

        Args:
            model: the model.
            start: pose of the base at the first call: position, quaternion (7,). Then
                the first foot on the ground is where this puts it.
            standing: a configuration (nq,); the first foot on the ground is where it
                is in this, whatever the start says. Default without a start: the
                zero position, feet flat at height 0.
            use: ``first``, the first foot in the order that is well on the ground, as
                the manual; ``all`` of them, weighted by their forces; or ``oldest``,
                the one that is there longest, and the reference poses of the others
                are averages over the calls meanwhile.
            order: all soles, the one to trust first; by default the right one.
            threshold: force above which a foot is on the ground [N]; by default 40 N
                for Bip, 0.3 of the weight for others.
            release: share of the threshold below which it is off again, in (0, 1].
            floor_height: of a level floor on which feet land flat [m]: landed feet are
                laid on it. None: nothing is known about the ground.
            suspension: tags of one link that do not move while no foot is on the
                ground; by default those called ``suspension_...``; () for none.
            drift: what the covariance assumes.

        Raises:
            ParameterError: a parameter does not fit the model.
            ConfigurationError: ``standing`` is no configuration.
        """
        self.model = model
        if use not in USES:
            raise ParameterError(f"use is one of {', '.join(USES)}, not '{use}'")
        self._use = use
        if threshold is None:
            share = THRESHOLD_FRACTION * model.mass * GRAVITY
            threshold = THRESHOLDS.get(model.name, share)
        if not (math.isfinite(threshold) and threshold > 0):
            raise ParameterError(f"threshold is a force above 0 N, not {threshold}")
        if not 0 < release <= 1:
            raise ParameterError(f"release is a share in (0, 1], not {release}")
        if floor_height is not None and not math.isfinite(floor_height):
            raise ParameterError(f"floor_height is not finite: {floor_height}")
        self.threshold, self._release = float(threshold), release
        self._floor = floor_height
        self.soles = ordered_soles(model, order)
        self.suspension = suspension_link(model, suspension)
        if not self.soles and self.suspension is None:
            raise ParameterError(f"{model.name} has no soles: name them in its YAML")
        self._zero = pin.neutral(model.pin)
        neutral = model.neutral()
        self._lever = float(neutral[2]) or 1.0
        self._drift = DriftCovariance(
            drift or DriftRates(), self._lever, floor_height is not None
        )
        if standing is not None:
            standing = model.check_configuration(standing).copy()
        elif start is None:
            standing = neutral
        self._standing: dict[str, pin.SE3] = {}
        if standing is not None:
            self._standing = self._sole_poses(standing)
        first = neutral if standing is None else standing
        self._start = _pose(first[:7] if start is None else start)
        self._feet: list[Body] = []
        self._hanger: Body | None = None
        self.reset()

    def reset(
        self, start: np.ndarray | None = None, standing: np.ndarray | None = None
    ) -> None:
        """Forget everything; the next :meth:`update` is a first call.

        Args:
            start: pose of the base (7,) in place of that of the constructor. The first
                foot on the ground is then where this puts it.
            standing: a configuration (nq,); the first foot on the ground is where it is
                in this, whatever the start says.
        """
        if start is not None:
            self._start, self._standing = _pose(start), {}
        if standing is not None:
            self._standing = self._sole_poses(standing)
        self._time: float | None = None
        self._base = self._start.copy()
        self._velocity = np.zeros(6)
        self._supported = 0.0
        self._stood = False
        self._heading: float | None = None
        self._reference = ""
        self._drift.begin(self._base)
        self._feet = [self._body(name, name) for name in self.soles]
        self._hanger = None
        if self.suspension is not None:
            self._hanger = self._body(SUSPENSION, self.suspension)

    def update(
        self,
        t: float,
        joints: np.ndarray,
        joint_speeds: np.ndarray | None = None,
        *,
        sole_forces: Mapping[str, float],
        attitude: np.ndarray | None = None,
    ) -> BaseEstimate:
        """Take measurements, give the base. Refused ones change nothing.

        Args:
            t: their time, later than that of the last call [s]. Where time jumps back,
                call :meth:`reset` first.
            joints: angles in the order of ``model.joint_names`` [rad].
            joint_speeds: in the same order [rad/s]; None: velocity by differences.
            sole_forces: normal force on each sole, summed, by its name [N].
            attitude: of base_link by an inertial unit, quaternion (x, y, z, w); its
                heading counts from anywhere.

        Raises:
            ObservationError: a measurement is missing, of the wrong size, not finite,
                or not later than the last one.
        """
        t = checked_time(t, self._time)
        joints, speeds = checked_joints(self.model, joints, "joints"), joint_speeds
        if speeds is not None:
            speeds = checked_joints(self.model, speeds, "joint_speeds")
        forces = checked_forces(self.soles, sole_forces)
        seen = None if attitude is None else checked_attitude(attitude)
        first, last = self._time is None, self._base.copy()
        dt = 0.0 if self._time is None else t - self._time
        self._time = t
        before = self._look(joints)
        if first:
            self._supported = t
            before = {body.name: body.in_base for body in self._bodies()}
        for foot, force in zip(self._feet, forces, strict=True):
            foot.loaded |= first and force > self.threshold
            foot.load(force, self.threshold, self._release)
        held = self._held(before)
        if held:
            self._supported = t
            self._base = self._from(held)
            self._velocity = self._moving(held, before, speeds, dt)
        else:
            self._reckon(dt)
        if seen is not None:
            self._turn(seen, held)
            if speeds is not None and held and dt:
                spin = pin.log3(last.rotation.T @ self._base.rotation) / dt
                self._velocity = self._spinning(held, speeds, spin)
        name = held[0].name if held else DEAD_RECKONING
        self._follow_drift(name, seen is not None, dt)
        feet = [foot for foot in self._feet if foot.on_ground]
        mismatch = 0.0
        for foot in feet:
            place = self._base * foot.in_base
            foot.calls += 1
            averaged = self._use == "oldest" and foot is not held[0]
            landed = self._laid(self._in_chain(held[0], foot, place, averaged))
            if foot.reference is None:
                foot.reference = landed
            elif averaged:
                missing = pin.log6(foot.reference.actInv(landed))
                foot.reference = foot.reference * pin.exp6(missing / foot.calls)
            away = place.translation - foot.reference.translation
            mismatch = max(mismatch, float(np.linalg.norm(away)))
        pose = pin.SE3ToXYZQUAT(self._base)
        return BaseEstimate(
            time=t,
            position=pose[:3],
            quaternion=pose[3:],
            velocity=self._velocity.copy(),
            covariance=self._drift.matrix(seen is not None),
            velocity_std=self._drift.velocity_std(seen is not None),
            reference=self._reference,
            feet=tuple(foot.name for foot in feet),
            mismatch=mismatch,
            unsupported=t - self._supported,
        )

    def _turn(self, seen: np.ndarray, held: Sequence[Body]) -> None:
        """Turn the base as the inertial unit has it, over the places of its feet."""
        if self._heading is None:
            self._heading = heading_of(self._base.rotation) - heading_of(seen)
        turn = pin.utils.rotate("z", self._heading) @ seen
        if not held:
            self._base.rotation = turn
            return
        references = [body.reference for body in held]
        in_base = [body.in_base for body in held]
        self._base = base_over(references, in_base, self._weights(held), turn)

    def _follow_drift(self, reference: str, led: bool, dt: float) -> None:
        if reference != self._reference:
            self._drift.step(self._base, led)
        if reference == DEAD_RECKONING:
            self._drift.reckon(dt, led)
        self._reference = reference

    def _sole_poses(self, q: np.ndarray) -> dict[str, pin.SE3]:
        return {name: self.model.frame_pose(q, name) for name in self.soles}

    def _body(self, name: str, frame: str) -> Body:
        return Body(name, frame_index(self.model.pin, frame), pin.SE3.Identity())

    def _bodies(self) -> list[Body]:
        return self._feet + ([self._hanger] if self._hanger else [])

    def _look(self, joints: np.ndarray) -> dict[str, pin.SE3]:
        """Place all bodies in the base; returns where they were at the last call."""
        before = {body.name: body.in_base for body in self._bodies()}
        data = self.model.buffers
        self._zero[7:] = joints
        pin.computeJointJacobians(self.model.pin, data, self._zero)
        for body in self._bodies():
            placed = pin.updateFramePlacement(self.model.pin, data, body.frame)
            body.in_base = placed.copy()
        return before

    def _held(self, before: Mapping[str, pin.SE3]) -> list[Body]:
        """References of the base, in the order of trust; may be empty."""
        feet = [foot for foot in self._feet if foot.on_ground]
        held = [foot for foot in feet if foot.reference is not None]
        hanger = self._hanger
        if feet and not held:
            # It was on the ground at the last call already, and has not moved since.
            place = self._base * before[feet[0].name]
            if not self._stood:
                place = self._standing.get(feet[0].name, place)
            feet[0].reference = self._laid(place)
            held = feet[:1]
        if feet:
            self._stood = True
            if hanger:
                hanger.reference = None
            if self._use == "oldest":
                held = [max(held, key=lambda foot: foot.calls)]
            return held if self._use == "all" else held[:1]
        if hanger:
            if hanger.reference is None:
                hanger.reference = self._base * before[hanger.name]
            return [hanger]
        return []

    def _laid(self, place: pin.SE3) -> pin.SE3:
        """The reference pose of a foot that has landed at a place."""
        if self._floor is None:
            return place
        position = np.array([*place.translation[:2], self._floor])
        return pin.SE3(pin.utils.rotate("z", heading_of(place.rotation)), position)

    def _in_chain(
        self, oldest: Body, foot: Body, place: pin.SE3, averaged: bool
    ) -> pin.SE3:
        """The place of a foot that stands on the floor with the oldest one."""
        if self._floor is None or not averaged:
            return place
        tree, data = self.model.pin, self.model.buffers
        motion = relative_motion(tree, data, (oldest.frame, foot.frame))
        return levelled(place, self._base.rotation, motion, self._floor, self._lever)

    def _from(self, held: Sequence[Body]) -> pin.SE3:
        references = [body.reference for body in held]
        in_base = [body.in_base for body in held]
        return fit_base(references, in_base, self._weights(held), self._lever)

    def _weights(self, held: Sequence[Body]) -> np.ndarray:
        forces = np.array([body.force for body in held])
        return forces / forces.sum() if len(held) > 1 else np.ones(1)

    def _moving(
        self,
        held: Sequence[Body],
        before: Mapping[str, pin.SE3],
        speeds: np.ndarray | None,
        dt: float,
    ) -> np.ndarray:
        """Velocity of the base over bodies that stand still (6,)."""
        if speeds is None:
            if dt == 0.0:
                return np.zeros(6)
            seen = held[0]
            moved = before[seen.name] * seen.in_base.inverse()
            return np.asarray(pin.log6(moved).vector / dt)
        model, data = self.model.pin, self.model.buffers
        velocities = []
        for body in held:
            rows = pin.getFrameJacobian(model, data, body.frame, pin.LOCAL)
            velocities.append(rows[:, 6:] @ speeds)
        in_base = [body.in_base for body in held]
        return fit_velocity(in_base, velocities, self._weights(held), self._lever)

    def _spinning(
        self, held: Sequence[Body], speeds: np.ndarray, spin: np.ndarray
    ) -> np.ndarray:
        """Velocity of the base over feet whose places stand still (6,)."""
        model, data = self.model.pin, self.model.buffers
        linear = [
            -np.cross(spin, body.in_base.translation)
            - body.in_base.rotation
            @ pin.getFrameJacobian(model, data, body.frame, pin.LOCAL)[:3, 6:]
            @ speeds
            for body in held
        ]
        return np.concatenate([self._weights(held) @ np.array(linear), spin])

    def _reckon(self, dt: float) -> None:
        """Go on with the last velocity: straight on in the world, turning alike."""
        linear = self._base.rotation @ self._velocity[:3]
        turn = pin.exp3(self._velocity[3:] * dt)
        place = self._base.translation + linear * dt
        self._base = pin.SE3(self._base.rotation @ turn, place)
        self._velocity[:3] = self._base.rotation.T @ linear


def _pose(values: np.ndarray) -> pin.SE3:
    values = np.asarray(values, dtype=float)
    if values.shape != (7,) or not np.isfinite(values).all():
        raise ParameterError(
            f"the start of {BASE_LINK} is its position and quaternion, 7 finite "
            f"numbers, not {values}"
        )
    if abs(values[3:] @ values[3:] - 1.0) > QUATERNION_TOLERANCE:
        raise ParameterError("the quaternion of the start is not of unit length")
    return pin.XYZQUATToSE3(values)
