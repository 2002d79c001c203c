# SPDX-License-Identifier: Apache-2.0
r"""One stride of a human as a periodic motion of the whole body.

The zero-moment point moves from heel to toe of one foot and on to the other. The centre
of mass that goes with it, with no drift from stride to stride, solves

.. math:: \ddot c = \frac{g + \ddot z}{z} (c - p)

with the height z of the centre of mass, periodic but for the way (S. Kajita et al.,
"Biped walking pattern generation by using preview control of zero-moment point", ICRA
2003, whose second pass is taken, too: what moving limbs add to the zero-moment point is
taken off the wanted one). Feet and hips come from
:class:`~humans_sim.control.gait.leg_fit.LegFit`, all joints by inverse kinematics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import pinocchio as pin
from scipy.interpolate import CubicSpline

from humans_sim.contact.geometry.solids import Box
from humans_sim.control.gait.leg_fit import (
    LegFit,
    LegLengths,
    LegPath,
    StrideTimes,
    riser,
    stride_time,
)
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.points import frame_index

SIDES = ("l", "r")
LONGEST = 0.76
"""Longest stride, in statures."""
STEEPEST = math.radians(10.0)
"""Steepest slope for which a stride is made [rad]."""
RISES = (-0.05, 0.10)
"""Rises of stairs from tread to tread for which a stride is made [m]."""
_TREAD_WIDTH, _TREAD_THICKNESS = 2.0, 1.0
"""Of the stairs of a stride [m]."""
_SAMPLES = 80
_PASSES = 8
_DROP = 0.05
"""How fast a heel comes down as it lands [m/s]."""
_PUSH = 0.17
"""Time between heel-off and the strike of the other foot, at least [s]; assumed."""
_UPHILL = 0.8
"""Share of the way by which an upright body is nearer to the ground uphill that the
zero-moment point goes back there."""
_ROLL_OVER = 0.03
"""In which the zero-moment point goes to the toes after heel-off [strides]."""
_TIP = 0.005
"""How far before the tip of the toes it stays [m]."""
_RELAXED = 0.7
"""Share of the zero-moment point's error that a pass takes off: all of it overshoots,
since the limbs move with the centre of mass."""
_COM_HEIGHT, _LEGS = 0.56, 0.49
"""Height of the centre of mass, and of thigh with shank, in statures: a first guess."""
_KEPT, _KEPT_ZMP = 8, 9
"""Harmonics of a stride that are kept of corrections, and of the zero-moment point."""
_LIST_PHASE, _ARM_PHASE, _ELBOW_PHASE = 0.3, 0.2, 0.6
"""By which the pelvis lists early, and arms and elbows swing late [rad]; assumed."""
_ARM_BACK, _ARM_OUT = 0.1, 0.10
"""Mean of the arms' swing backwards, in amplitudes, and to the side [rad]; assumed."""
_SEARCH, _REACHED = 60, 1e-9
"""Steps of the search for postures, and error at which it ends [m, rad]."""
_FAR, _DAMPING, _FAR_DAMPING, _LONGEST_STEP = 1e-2, 1e-8, 1e-4, 0.2
"""Error [m, rad] beyond which the search is damped more, since straight legs are near
singular; damping near the end and far from it; longest step [rad]."""
_Part = TypeVar("_Part", float, np.ndarray)
LEG = ("hip_pitch", "hip_yaw", "hip_roll", "knee", "ankle_pitch", "ankle_roll")


@dataclass(frozen=True)
class GaitSettings:
    """A walk on level ground, on a slope or on stairs.

    Attributes:
        speed: level [m/s].
        slope: of the ground along the way, uphill above zero [rad].
        turn: of the way, to the left above zero, on level ground [rad/s].
        rise: of stairs from tread to tread, up above zero; a tread is a step long [m].
        width: between the middles of the feet [m].
        times: events of a foot; in fast walks the heel leaves earlier.
        zmp_strike: zero-moment point before the ankle as the other foot leaves [m].
        zmp_end: the same as the other foot lands [m].
        zmp_inward: from the middle of the foot to the inside, between these [m].
        pelvis_turn: amplitude about the vertical [rad].
        pelvis_list: amplitude about the forward axis [rad].
        trunk_turn: of the thorax against the pelvis [rad].
        arm_swing: amplitude of the shoulders [rad].
        elbow: mean flexion [rad].
    """

    speed: float = 1.0
    slope: float = 0.0
    turn: float = 0.0
    rise: float = 0.0
    width: float = 0.13
    times: StrideTimes = StrideTimes()
    zmp_strike: float = 0.1
    zmp_end: float = 0.15
    zmp_inward: float = 0.015
    pelvis_turn: float = math.radians(4.0)
    pelvis_list: float = math.radians(2.5)
    trunk_turn: float = math.radians(7.0)
    arm_swing: float = math.radians(17.0)
    elbow: float = math.radians(20.0)


class GaitPoint(NamedTuple):
    """The motion at one phase of a stride; x is relative to the first heel strike.

    Attributes:
        com: centre of mass, its velocity, its acceleration (3, 3).
        feet: pose of the soles, by side.
        foot_rates: velocity and acceleration of the soles on world axes, by side
            (2, 6): linear, angular.
    """

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    com: np.ndarray
    feet: dict[str, pin.SE3]
    foot_rates: dict[str, np.ndarray]


class GaitCycle:
    """A stride of a model, made for a speed.

    Args:
        model: a human whose legs have three joints in the hip, one in the knee and two
            in the ankle, named as those of Human36.
        settings: of the walk.
        gravity: of the place to walk in [m/s^2]; the model's unless given.

    Attributes:
        period: of a stride [s].
        stride: its level length [m].
        incline: of the ground, or of the line through the treads of stairs.
        legs: the left leg as it was fitted.
    """

    def __init__(
        self,
        model: Model,
        settings: GaitSettings | None = None,
        gravity: float | None = None,
    ) -> None:
        self.model, self._pin = model, model.pin
        if gravity is not None:
            self._pin = pin.Model(model.pin)
            self._pin.gravity.linear = np.array([0.0, 0.0, -gravity])
        self.settings = settings = settings or GaitSettings()
        self._stature = stature = float(model.height or 1.741)
        normal_period = stride_time(settings.speed, stature)
        self.period = min(normal_period, LONGEST * stature / settings.speed)
        self.stride = settings.speed * self.period
        heel_off = min(settings.times.heel_off, 0.5 - _PUSH / self.period)
        times = replace(settings.times, heel_off=heel_off)
        self.settings = settings = replace(settings, times=times)
        if not abs(settings.slope) <= STEEPEST:
            raise ParameterError(
                f"a slope is known up to {math.degrees(STEEPEST):g} degrees, "
                f"not {math.degrees(settings.slope):g}"
            )
        down, up = RISES
        if not down <= settings.rise <= up:
            raise ParameterError(
                f"a rise is known from {down:g} to {up:g} m, not {settings.rise:g} m"
            )
        if sum(map(bool, (settings.slope, settings.turn, settings.rise))) > 1:
            raise ParameterError("a stride has one of slope, turn and rise, not two")
        self.incline = math.tan(settings.slope) + 2.0 * settings.rise / self.stride
        self._index = {name: k for k, name in enumerate(model.joint_names)}
        for side in SIDES:
            for joint in LEG:
                if f"{side}_{joint}" not in self._index:
                    raise ParameterError(f"{model.name} has no joint '{side}_{joint}'")
        self._data = model.data()
        self._phase = np.arange(_SAMPLES) / _SAMPLES
        self._hip = self._lengths()
        self._path = [self.path(phase) for phase in self._phase]
        self._make()

    def path(self, phase: float) -> pin.SE3:
        """Place and heading of the way on the ground: a line or an arc of a circle."""
        turn = self.settings.turn * self.period * phase
        chord = self.stride * phase * np.sinc(turn / (2.0 * np.pi))
        ahead, aside = chord * math.cos(turn / 2.0), chord * math.sin(turn / 2.0)
        place = np.array([ahead, aside, self.incline * ahead])
        return pin.SE3(pin.utils.rotate("z", turn), place)

    def stairs(self, count: int) -> tuple[Box, ...]:
        """The treads that the feet of the first ``count`` steps stand on.

        They are a step long, their risers midway from the toes of a foot to the heel of
        the next. Two more lie behind.
        """
        tread, rise = self.stride / 2.0, self.settings.rise
        middle = riser(self.lengths, tread) - tread / 2.0
        size = (tread, _TREAD_WIDTH, _TREAD_THICKNESS)
        return tuple(
            Box(
                size,
                (middle + k * tread, 0.0, k * rise - size[2] / 2),
                name=f"tread_{k}",
            )
            for k in range(-2, count + 1)
        )

    # What is wanted of feet, trunk and arms.

    def _lengths(self) -> np.ndarray:
        """Measure the legs; the left hip in the base (3,) [m]."""
        model, q = self.model, self.model.neutral()
        pin.forwardKinematics(model.pin, self._data, q)
        hip, knee, ankle = (
            np.array(self._data.oMi[model.pin.getJointId(f"l_{name}")].translation)
            for name in ("hip_pitch", "knee", "ankle_pitch")
        )
        sole = next(s for s in model.soles if s.name == "l_sole")
        tags = model.tags(q)[[model.tag_names.index(n) for n in sole.contacts]]
        self._sole_ankle = ankle - model.frame_pose(q, "l_sole").translation
        self.lengths = LegLengths(
            hip[2] - knee[2],
            knee[2] - ankle[2],
            ankle[2] - tags[:, 2].min(),
            ankle[0] - tags[:, 0].min(),
            tags[:, 0].max() - ankle[0],
        )
        return hip - q[:3]

    def _zmp(self) -> np.ndarray:
        """Zero-moment point on the way (n, 2) [m]."""
        s, half = self.settings, self.settings.width / 2.0
        both, heel_off = s.times.toe_off - 0.5, s.times.heel_off
        inward = half - s.zmp_inward
        knots = [both, heel_off, heel_off + _ROLL_OVER, 0.5]
        toe = self.lengths.toe - _TIP
        back = _UPHILL * _COM_HEIGHT * self._stature * self.incline
        x = [s.zmp_strike - back, s.zmp_end - back, toe, toe]
        y = [inward, inward, half, half]  # toes bear in the middle
        phases, places = [], []
        for k in range(-3, 4):
            side, path = 1.0 if k % 2 == 0 else -1.0, self.path(k / 2.0)
            phases += [at + k / 2.0 for at in knots]
            places += [
                path.act(np.array([a, side * b, 0.0]))
                for a, b in zip(x, y, strict=True)
            ]
        xyz = np.array(
            [np.interp(self._phase, phases, np.array(places)[:, k]) for k in range(3)]
        ).T
        return _smooth(self._on_path(xyz)[:, :2], _KEPT_ZMP)

    def _on_path(self, places: np.ndarray) -> np.ndarray:
        """Places at the samples, from the world to axes along the way (n, 3)."""
        pairs = zip(self._path, places, strict=True)
        return np.array([path.actInv(place) for path, place in pairs])

    def _upper_body(self, q: np.ndarray) -> None:
        """Write joints of trunk and arms (n, nq)."""
        s, around = self.settings, 2.0 * np.pi * self._phase
        self._set(q, "thorax_yaw", s.trunk_turn * np.cos(around))
        self._set(q, "thorax_roll", -s.pelvis_list * np.sin(around + _LIST_PHASE))
        self._set(q, "head_yaw", -(s.trunk_turn - s.pelvis_turn) * np.cos(around))
        for side, sign in (("l", -1.0), ("r", 1.0)):
            swing = sign * np.cos(around - _ARM_PHASE)
            self._set(q, f"{side}_shoulder_pitch", s.arm_swing * (swing - _ARM_BACK))
            self._set(q, f"{side}_shoulder_roll", np.full_like(around, _ARM_OUT))
            lag = sign * np.cos(around - _ELBOW_PHASE)
            self._set(q, f"{side}_elbow_pitch", s.elbow + 0.5 * s.arm_swing * lag)

    def _set(self, q: np.ndarray, joint: str, values: np.ndarray) -> None:
        if joint in self._index:
            q[:, 7 + self._index[joint]] = values

    # The stride.

    def _make(self) -> None:
        """Fit legs, centre of mass and zero-moment point in turns."""
        n, phase = _SAMPLES, self._phase
        s, around = self.settings, 2.0 * np.pi * phase
        drop = _DROP * self.period
        stride = self.stride / math.cos(s.slope)
        fit = LegFit(self.lengths, s.times, stride, self.period, drop, s.slope, s.rise)
        air = (phase - s.times.toe_off) / (1.0 - s.times.toe_off)
        self._ahead = ease(np.clip(air, 0.0, 1.0))
        # Roll, pitch, yaw of the pelvis (n, 3) [rad].
        roll = s.pelvis_list * np.sin(around + _LIST_PHASE)
        turn = np.column_stack([roll, 0 * around, -s.pelvis_turn * np.cos(around)])
        zmp = self._zmp()
        zmp_target = zmp.copy()
        self.zmp_wanted = zmp
        legs = self.lengths.thigh + self.lengths.shank
        height = np.full(n, _COM_HEIGHT * legs / _LEGS)
        com = self._com_of(zmp_target, height)
        base, limbs = com.copy(), np.zeros(n)
        q = np.tile(self.model.neutral(), (n, 1))
        self._upper_body(q)
        # Straight ahead, both legs do the same.
        legs_of_fit = SIDES if s.turn else SIDES[:1]
        for _ in range(_PASSES):
            beside = [self._hip_path(side, base, turn) for side in legs_of_fit]
            hip, aside, lift = np.concatenate(beside, axis=1)
            times = len(legs_of_fit)
            self.legs: LegPath = fit.fit(
                np.tile(phase, times), hip, aside, lift, np.tile(limbs, times)
            )
            q = self._postures(q, turn, base)
            # Periodic splines through the samples.
            self._joints = _periodic(q[:, 7:])
            place = self._on_path(q[:, :3])
            self._place = _periodic(place)
            turns = [pin.log3(pin.rpy.rpyToMatrix(*at)) for at in turn]
            self._turn = _periodic(np.array(turns))
            now, zmp_now = self._dynamics()
            zmp_target = zmp_target + _RELAXED * _smooth(zmp - zmp_now, _KEPT)
            limbs = self._derivative(now[:, 2] - place[:, 2], 2)
            com = self._com_of(zmp_target, now[:, 2])
            base = base + _smooth(com - now[:, :2], _KEPT)
        self.zmp = zmp_now

    def _hip_path(self, side: str, base: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """A hip over the phases of its leg: forward and beside its foot, lift (3, n).

        From places of the base and angles of the pelvis on the way (n, 3).
        """
        sign = 1.0 if side == "l" else -1.0
        first = 0 if side == "l" else -_SAMPLES // 2
        out = sign * self._hip[1]
        places = np.column_stack(
            [base[:, 0] - out * np.sin(turn[:, 2]), base[:, 1] + out, 0 * base[:, 0]]
        )
        rows = zip(self._phase, self._ahead, np.roll(places, first, 0), strict=True)
        path = np.array([self.path(at - foot).act(place) for at, foot, place in rows])
        hip = path[:, 0] + self.stride * self._ahead
        beside = sign * path[:, 1] - self.settings.width / 2.0
        climb = 2.0 * self.settings.rise / self.stride
        lift = out * (np.sin(turn[:, 0]) + climb * np.sin(turn[:, 2]))
        return np.array([hip, beside, np.roll(lift, first)])

    def _com_of(self, zmp: np.ndarray, height: np.ndarray) -> np.ndarray:
        """Periodic centre of mass for a zero-moment point (n, 2) [m].

        The height (n,) is that of the centre of mass; all on the way.
        """
        first, second = (self._derivative(np.eye(_SAMPLES), k) for k in (1, 2))
        rise = second @ height
        above = height - self.incline * zmp[:, 0]
        stiffness = (rise - self._pin.gravity.linear[2]) / above
        # On axes that go along the way and turn with it: x + i y.
        turn = 1j * self.settings.turn
        left = second + 2.0 * turn * first + np.diag(turn**2 - stiffness)
        right = -stiffness * (zmp @ [1.0, 1.0j]) - turn * self.settings.speed
        com = np.linalg.solve(left, right)
        return np.column_stack([com.real, com.imag])

    def _derivative(self, values: np.ndarray, order: int) -> np.ndarray:
        """First or second derivative of periodic samples (n, ...) [1/s, 1/s^2]."""
        rate = 2j * np.pi * np.fft.fftfreq(_SAMPLES, self.period / _SAMPLES)
        spectrum = (np.fft.fft(values, axis=0).T * rate**order).T
        return np.real(np.fft.ifft(spectrum, axis=0))

    def _foot_pose(self, side: str, k: int) -> pin.SE3:
        """Sole at a sample, in the world of the stride."""
        legs, shift = self.legs, 0 if side == "l" else _SAMPLES // 2
        at = (k + shift) % _SAMPLES
        strike = (k - at) / _SAMPLES
        ahead = self._ahead[at]
        rotation = pin.utils.rotate("y", -legs.pitch[at])
        y = (1.0 if side == "l" else -1.0) * self.settings.width / 2.0
        stride = self.stride / math.cos(self.settings.slope)
        x, z = legs.ankle[at] - ahead * np.array([stride, 2.0 * self.settings.rise])
        ankle = np.array([x, y, z])
        ground = pin.SE3(pin.utils.rotate("y", -self.settings.slope), np.zeros(3))
        sole = pin.SE3(rotation, ankle - rotation @ self._sole_ankle)
        return self.path(strike + ahead) * ground * sole

    def _postures(
        self, q: np.ndarray, turn: np.ndarray, base: np.ndarray
    ) -> np.ndarray:
        """All configurations of the stride by inverse kinematics (n, nq)."""
        result = q.copy()
        angles, bent = self.legs.angles, ("hip_pitch", "knee", "ankle_pitch")
        for k in range(_SAMPLES):
            at = result[k]
            path = self._path[k]
            rotation = path.rotation @ pin.rpy.rpyToMatrix(*turn[k])
            at[:2] = path.act(np.append(base[k], 0.0))[:2]
            at[2] = self.legs.hip_height[k] / math.cos(self.settings.slope)
            at[2] += self.incline * at[0] - self._hip[2]
            at[3:7] = pin.Quaternion(rotation).coeffs()
            for side, shift in (("l", 0), ("r", _SAMPLES // 2)):
                leg = angles[:, (k + shift) % _SAMPLES]
                for joint, value in zip(bent, (leg[0], -leg[1], leg[2]), strict=True):
                    at[7 + self._index[f"{side}_{joint}"]] = value
            feet = {side: self._foot_pose(side, k) for side in SIDES}
            result[k] = self._solve(at, feet)
        return result

    def _solve(self, q: np.ndarray, feet: dict[str, pin.SE3]) -> np.ndarray:
        """Legs that put the feet there."""
        model, data = self.model, self._data
        columns = np.array([6 + self._index[f"{s}_{j}"] for s in SIDES for j in LEG])
        frames = {s: frame_index(model.pin, f"{s}_sole") for s in SIDES}
        for _ in range(_SEARCH):
            pin.computeJointJacobians(model.pin, data, q)
            rows, error = [], []
            for side in SIDES:
                now = pin.updateFramePlacement(model.pin, data, frames[side])
                jacobian = pin.getFrameJacobian(
                    model.pin, data, frames[side], pin.LOCAL_WORLD_ALIGNED
                )
                error.append(feet[side].translation - now.translation)
                error.append(pin.log3(feet[side].rotation @ now.rotation.T))
                rows.append(jacobian[:, columns])
            e = np.concatenate(error)
            if np.abs(e).max() < _REACHED:
                return q
            a = np.vstack(rows)
            damping = _DAMPING if np.abs(e).max() < _FAR else _FAR_DAMPING
            step = np.linalg.solve(a.T @ a + damping * np.eye(len(columns)), a.T @ e)
            step *= min(1.0, _LONGEST_STEP / np.abs(step).max())
            q[1 + columns] += step
        raise ParameterError(
            f"the legs of {model.name} do not reach the feet of this walk: "
            f"{np.abs(e).max():.2g} m are missing"
        )

    def at(self, phase: float) -> GaitPoint:
        """The motion at a phase [strides], which may be below 0 or above 1."""
        model, data = self.model, self._data
        q, v, a = self._motion(phase)
        pin.forwardKinematics(model.pin, data, q, v, a)
        pin.centerOfMass(model.pin, data, pin.ACCELERATION, False)
        com = np.array([data.com[0], data.vcom[0], data.acom[0]])
        feet, rates = {}, {}
        for side in SIDES:
            frame = frame_index(model.pin, f"{side}_sole")
            feet[side] = pin.SE3(pin.updateFramePlacement(model.pin, data, frame))
            axes = pin.LOCAL_WORLD_ALIGNED
            speed = pin.getFrameVelocity(model.pin, data, frame, axes)
            change = pin.getFrameClassicalAcceleration(model.pin, data, frame, axes)
            rates[side] = np.array([speed.vector, change.vector])
        return GaitPoint(q, v, a, com, feet, rates)

    def _motion(self, phase: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Configuration, velocity, acceleration at a phase."""
        model, rate = self.model, 1.0 / self.period
        within = phase % 1.0
        q, v, a = np.empty(model.nq), np.empty(model.nv), np.empty(model.nv)
        path, heading = self.path(phase), np.array([0.0, 0.0, self.settings.turn])
        place, speed_on_path = self._place(within), self._place(within, 1) * rate
        q[:3] = path.act(place)
        vector, turning, bend = (self._turn(within, k) * rate**k for k in range(3))
        rotation, right = pin.exp3(vector), pin.Jexp3(vector)
        q[3:7] = pin.Quaternion(path.rotation @ rotation).coeffs()
        ahead = self.stride * rate * np.array([1.0, 0.0, self.incline])
        linear = speed_on_path + np.cross(heading, place) + ahead
        change = self._place(within, 2) * rate**2
        change += np.cross(heading, linear + speed_on_path)
        v[:3] = rotation.T @ linear
        v[3:6] = right @ turning + rotation.T @ heading
        a[:3] = rotation.T @ change - np.cross(v[3:6], v[:3])
        a[3:6] = right @ bend - np.cross(right @ turning, rotation.T @ heading)
        q[7:] = self._joints(within)
        v[6:] = self._joints(within, 1) * rate
        a[6:] = self._joints(within, 2) * rate**2
        return q, v, a

    def _dynamics(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre of mass (n, 3), zero-moment point (n, 2), on the way."""
        model, data = self.model, self._data
        com, zmp = np.empty((2, _SAMPLES, 3))
        for k, phase in enumerate(self._phase):
            q, v, a = self._motion(phase)
            force = pin.rnea(self._pin, data, q, v, a)[:6]
            place = pin.SE3(pin.Quaternion(q[3:7]).matrix(), q[:3])
            wrench = place.act(pin.Force(force))
            com[k] = pin.centerOfMass(model.pin, data, q)
            force, moment = wrench.linear, wrench.angular
            x = -moment[1] / (force[2] - self.incline * force[0])
            y = (moment[0] + self.incline * x * force[1]) / force[2]
            zmp[k] = x, y, self.incline * x
        return self._on_path(com), self._on_path(zmp)[:, :2]


def _periodic(values: np.ndarray) -> CubicSpline:
    """Spline over one stride from samples (n, m)."""
    n = len(values)
    around = np.vstack([values, values[:1]])
    return CubicSpline(np.arange(n + 1) / n, around, bc_type="periodic")


def ease(part: _Part) -> _Part:
    """From 0 to 1 without a jump of the rate at either end."""
    return part**2 * (3.0 - 2.0 * part)


def _smooth(values: np.ndarray, harmonics: int) -> np.ndarray:
    """The first harmonics of a periodic signal (n, m)."""
    spectrum = np.fft.rfft(values, axis=0)
    spectrum[harmonics + 1 :] = 0.0
    return np.fft.irfft(spectrum, len(values), axis=0)
