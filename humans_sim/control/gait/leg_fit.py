# SPDX-License-Identifier: Apache-2.0
"""The legs of one stride in their planes: foot paths and hip height, by least squares.

A foot lands on its heel, turns about it until it is flat, stands, turns about its toes
and leaves the ground. In the air its ankle follows a spline. The path of the hips over
the ground is given. What is left free (pitch of the foot, two places in the air, height
of the hips) is chosen so that hip, knee and ankle bend as in normal gait as nearly as
the lengths of the legs allow.

*Normal gait.* Angles at the ends of the phases of a stride, in degrees: J. Perry, J.
Burnfield, "Gait Analysis: Normal and Pathological Function", 2nd edition, Slack, 2010
(hip: the thigh against the vertical; rounded there to five degrees). Cadence: D.
Grieve, R. Gear, "The relationships between length of stride, step frequency, time of
swing and speed of walking for children and adults", Ergonomics 9, 1966.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator
from scipy.optimize import least_squares

from humans_sim.core.constants import GRAVITY
from humans_sim.core.errors import ParameterError

PHASE_ENDS = np.array([0.0, 0.12, 0.31, 0.50, 0.62, 0.75, 0.87, 1.0])
"""Initial contact, then the ends of loading response, mid-stance, terminal stance,
pre-swing, initial, mid- and terminal swing, in strides."""
HIP = np.array([20.0, 20.0, 0.0, -20.0, -10.0, 15.0, 25.0, 20.0])
KNEE = np.array([5.0, 15.0, 5.0, 5.0, 40.0, 60.0, 25.0, 5.0])
ANKLE = np.array([0.0, -5.0, 5.0, 10.0, -15.0, -5.0, 0.0, 0.0])
"""Flexion of hip and knee, dorsiflexion of the ankle [degrees]."""
SLOWEST, FASTEST = 0.4, 0.85
"""Speeds for which a stride is made, in statures a second."""


def stride_time(speed: float, stature: float) -> float:
    """Duration of a stride [s] of adults at a speed [m/s] (Grieve and Gear).

    Speeds that the relation does not cover are refused: ParameterError.
    """
    relative = speed / stature
    if not SLOWEST <= relative <= FASTEST:
        raise ParameterError(
            f"a stride is known for {SLOWEST * stature:.2f} to "
            f"{FASTEST * stature:.2f} m/s, not {speed} m/s"
        )
    return 60.0 / (64.8 * relative**0.57)


def normal_angles(phase: np.ndarray) -> np.ndarray:
    """Flexion of hip, knee and ankle (3, n) [degrees] at parts of a stride (n,)."""
    curves = []
    ends = np.concatenate([PHASE_ENDS[-4:-1] - 1.0, PHASE_ENDS, 1 + PHASE_ENDS[1:4]])
    for values in (HIP, KNEE, ANKLE):
        around = np.concatenate([values[-4:-1], values, values[1:4]])
        curves.append(PchipInterpolator(ends, around)(np.mod(phase, 1.0)))
    return np.array(curves)


_CLEARANCE = 0.015
"""Least height of heel and toe in the air, away from landing and lift-off [m]."""
_NOSE = 0.03
"""How far from the edge of a tread a foot in the air is as high as the next [m]."""
STRIKE = math.radians(18.0)
"""Pitch of the foot at heel strike, toes up [rad]."""
_STRAIGHT = math.radians(5.0)
"""Least flexion of a knee [rad]."""
_LOADED = math.radians(20.0)
"""Largest flexion of a knee wanted between foot flat and heel-off [rad]."""
_ALIKE = np.array([[0.5], [0.7], [1.1]])
"""How much hip, knee and ankle matter: the ankle most, since a foot without a joint
before its toes strays from it first."""
_EVEN = 1.0
"""How much the vertical acceleration of the body matters [1/g]: it is the force."""
_GENTLE = 0.06
"""How much the acceleration of an ankle in the air forward matters [1/g]: it turns the
body on the foot that stands."""


class LegLengths(NamedTuple):
    """A leg and its foot, in its plane: hip to knee, to ankle, to the sole [m].

    Heel and toe are how far from the ankle they are.
    """

    thigh: float
    shank: float
    ankle: float
    heel: float
    toe: float


@dataclass(frozen=True)
class StrideTimes:
    """When the foot is flat, and heel and toes leave, in strides after the strike."""

    flat: float = 0.09
    heel_off: float = 0.35
    toe_off: float = 0.62


def riser(legs: LegLengths, tread: float) -> float:
    """Way from an ankle to the next riser, midway from toe to heel on treads [m]."""
    return 0.5 * (legs.toe + tread - legs.heel)


class LegPath(NamedTuple):
    """A leg through a stride at n phases.

    Attributes:
        ankle: forward, relative to the ground below the ankle of the flat foot, and up
            (n, 2) [m].
        pitch: of the foot against the ground, toes up (n,) [rad].
        hip_height: above the ground (n,) [m].
        angles: flexion of hip, knee, ankle (3, n) [rad].
    """

    ankle: np.ndarray
    pitch: np.ndarray
    hip_height: np.ndarray
    angles: np.ndarray


class LegFit:
    """Fits the legs of a stride of some length on the ground [m] and duration [s].

    The heel comes down with ``drop`` as it lands [m a stride]. On a slope [rad], uphill
    above zero, paths of feet and height of the hips are along the ground and normal to
    it, the way of the hips and the flexion of the hip are level and upright. On
    stairs a step is a tread long and climbs ``rise`` [m], down below zero: feet stand
    level, hips go along the line through the treads.
    """

    def __init__(
        self,
        lengths: LegLengths,
        times: StrideTimes,
        stride: float,
        period: float,
        drop: float,
        slope: float = 0.0,
        rise: float = 0.0,
    ) -> None:
        self._legs, self._times, self._stride = lengths, times, stride
        self._drop, self._period, self._slope = drop, period, slope
        self._climb = 2.0 * rise
        tall = lengths.thigh + lengths.shank + lengths.ankle
        # Pitch at toe-off, its power in time; pitch, place forward and height of the
        # ankle at three phases in the air; height of the hips and its harmonics.
        # Bounds, and how firmly they stay.
        first = [
            (-1.0, -1.2, -0.5, 0.2),
            (1.8, 1.5, 3.0, 0.0),
            (-0.8, -1.3, 0.0, 0.3),
            (-0.5, -1.0, 0.2, 0.3),
            (0.0, -0.5, 0.5, 0.3),
            (0.33, 0.1, 0.6, 0.0),
            (0.57, 0.3, 0.9, 0.0),
            (0.88, 0.6, 1.1, 0.0),
            (0.17, 0.05, 0.3, 0.0),
            (0.13, 0.05, 0.3, 0.0),
            (0.07, 0.03, 0.2, 0.0),
            (0.97 * tall, 0.9 * tall, tall, 0.0),
            (-0.02, -0.05, 0.05, 0.0),
            (0.0, -0.05, 0.05, 0.0),
            (0.0, -0.02, 0.02, 3.0),
            (0.0, -0.02, 0.02, 3.0),
        ]
        self._guess, *self._bounds, self._hold = np.array(first).T
        self._first = self._guess

    def fit(
        self,
        phase: np.ndarray,
        hip: np.ndarray,
        side: np.ndarray,
        lift: np.ndarray,
        limbs: np.ndarray,
    ) -> LegPath:
        """The leg that bends most nearly as in normal gait.

        Args:
            phase: of the leg, 0 at its heel strike (n,), evenly over a stride.
            hip: its level place forward of the ground below the ankle of the flat foot,
                for phases from 0 to 1 (n,) [m].
            side: hip beside the ankle (n,) [m].
            lift: hip above the middle of both hips (n,) [m].
            limbs: vertical acceleration of the centre of mass less that of the hips
                (n,) [m/s^2].
        """
        self._limbs = limbs
        self._normal = np.radians(normal_angles(phase))
        given = (phase, hip, side, lift)
        solution = least_squares(
            self._residuals,
            self._first,
            args=given,
            bounds=self._bounds,
            x_scale=0.1,
            max_nfev=100,
            ftol=1e-6,
        )
        self._first = solution.x
        return self.path(solution.x, *given)

    def path(
        self,
        free: np.ndarray,
        phase: np.ndarray,
        hip: np.ndarray,
        side: np.ndarray,
        lift: np.ndarray,
    ) -> LegPath:
        """The leg of some free values, otherwise as of :meth:`fit`."""
        legs = self._legs
        ankle, pitch = self._foot(free, phase)
        height = self._hip_height(free, phase)
        forward, down = self._beside(ankle, height, hip, side, lift)
        reach = np.hypot(forward, down)
        both = legs.thigh**2 + legs.shank**2
        cosine = (reach**2 - both) / (2 * legs.thigh * legs.shank)
        knee = np.arccos(np.clip(cosine, -1.0, 1.0))
        ahead = np.arctan2(forward, down)
        across, along = legs.shank * np.sin(knee), legs.shank * np.cos(knee)
        thigh = ahead + np.arctan2(across, legs.thigh + along)
        foot = pitch - (thigh - knee)
        return LegPath(
            ankle, pitch, height, np.array([thigh + self._slope, knee, foot])
        )

    def _beside(
        self,
        ankle: np.ndarray,
        height: np.ndarray,
        hip: np.ndarray,
        side: np.ndarray,
        lift: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ankle from the hip: along the ground, and down to it (n,) [m]."""
        along = hip / math.cos(self._slope) + math.tan(self._slope) * height
        up = height + lift + self._climb / self._stride * hip
        return ankle[:, 0] - along, np.hypot(up - ankle[:, 1], side)

    def _hip_height(
        self, free: np.ndarray, phase: np.ndarray, derivative: int = 0
    ) -> np.ndarray:
        """Middle of the hips above the ground (n,) [m], or its acceleration."""
        height = free[11] * np.ones(len(phase)) if derivative == 0 else 0.0 * phase
        for order, (a, b) in enumerate(free[12:].reshape(-1, 2), start=1):
            rate = 4.0 * np.pi * order  # twice a stride the same
            scale = -((rate / self._period) ** 2) if derivative else 1.0
            height += scale * (a * np.cos(rate * phase) + b * np.sin(rate * phase))
        return height

    def _foot(
        self, free: np.ndarray, phase: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ankle (n, 2) [m] and pitch of the foot (n,) [rad] through a stride."""
        times, (leave, power) = self._times, free[:2]
        turning = times.toe_off - times.heel_off
        swing = self._swing(free)(phase)
        landing = STRIKE * np.clip(1.0 - phase / times.flat, 0.0, 1.0) ** 2
        part = np.clip((phase - times.heel_off) / turning, 0.0, 1.0)
        stands = landing + leave * part**power
        down = phase < times.toe_off
        pitch = np.where(down, stands, swing[:, 2])
        ankle = np.where(down[:, None], self._on_ground(stands), swing[:, :2])
        return ankle, pitch

    def _swing(self, free: np.ndarray) -> CubicSpline:
        """Ankle [m] and pitch of a foot in the air [rad] over the phase."""
        times, (leave, power) = self._times, free[:2]
        air = 1.0 - times.toe_off
        turning = times.toe_off - times.heel_off
        rates = (power * leave / turning, -2.0 * STRIKE / times.flat)
        ends = self._on_ground(np.array([leave, STRIKE]))
        ends[1] += self._stride, self._climb
        slopes = self._moved(np.array([leave, STRIKE])) * np.array(rates)[:, None]
        slopes[1, 1] -= self._drop
        up = free[8:11] + self._climb * free[5:8]
        middle = np.column_stack([self._stride * free[5:8], up])
        places = np.vstack([ends[0], middle, ends[1]])
        turns = [leave, *free[2:5], STRIKE]
        return CubicSpline(
            times.toe_off + air * np.linspace(0.0, 1.0, 5),
            np.column_stack([places, turns]),
            bc_type=tuple((1, np.append(slopes[k], rates[k])) for k in (0, 1)),
        )

    def _moved(self, pitch: np.ndarray) -> np.ndarray:
        """Derivative of the ankle on the ground by the pitch (n, 2) [m]."""
        legs = self._legs
        pivot = np.where(pitch > 0, -legs.heel, legs.toe)
        sine, cosine = np.sin(pitch), np.cos(pitch)
        return np.column_stack(
            [sine * pivot - cosine * legs.ankle, -cosine * pivot - sine * legs.ankle]
        )

    def _on_ground(self, pitch: np.ndarray) -> np.ndarray:
        """Ankle of a foot on heel or toes (n, 2) [m]."""
        legs = self._legs
        pivot = np.where(pitch > 0, -legs.heel, legs.toe)
        sine, cosine = np.sin(pitch), np.cos(pitch)
        ahead = pivot - cosine * pivot - sine * legs.ankle
        return np.column_stack([ahead, -sine * pivot + cosine * legs.ankle])

    def clearance(self, path: LegPath) -> np.ndarray:
        """Height above the ground of heel or toe, the lower one (n,) [m]."""
        legs, axis = self._legs, np.array([np.cos(path.pitch), np.sin(path.pitch)])
        sole = path.ankle.T + legs.ankle * np.array([axis[1], -axis[0]])
        ends = (sole - legs.heel * axis, sole + legs.toe * axis)
        return np.min([z - self._tread(x) for x, z in ends], axis=0)

    def _tread(self, x: np.ndarray) -> np.ndarray:
        """Height that feet in the air keep: a line over the edges (n,) [m]."""
        legs, tread, rise = self._legs, 0.5 * self._stride, 0.5 * self._climb
        edge = riser(legs, tread)
        if rise > 0:
            corners = [legs.toe, edge - _NOSE, edge + tread - _NOSE]
        else:
            corners = [edge + _NOSE, edge + tread + _NOSE, 2.0 * tread - legs.heel]
        return np.interp(x, corners, [0.0, rise, 2.0 * rise])

    def _residuals(self, free: np.ndarray, *given: np.ndarray) -> np.ndarray:
        """Errors of the angles, what is out of reach, feet too low."""
        legs, times, (phase, hip, side, lift) = self._legs, self._times, given
        path = self.path(free, phase, hip, side, lift)
        error = (path.angles - self._normal) * _ALIKE
        reach = np.hypot(*self._beside(path.ankle, path.hip_height, hip, side, lift))
        both = legs.thigh**2 + legs.shank**2
        bend = 2 * legs.thigh * legs.shank * math.cos(_STRAIGHT)
        longest = math.sqrt(both + bend)
        over = 1000.0 * np.maximum(reach - longest, 0.0)
        stands = (phase > times.flat) & (phase < times.heel_off)
        bent = 5.0 * np.maximum(path.angles[1] - _LOADED, 0.0) * stands
        lowest = self.clearance(path)
        part = (phase - times.toe_off) / (1.0 - times.toe_off)
        clearance = _CLEARANCE * np.clip(np.minimum(part, 1 - part) * 5, 0.0, 1.0)
        low = 20.0 * np.maximum(clearance - lowest, 0.0) * (part > 0)
        rise = self._hip_height(free, phase, derivative=2) + self._limbs
        rise *= _EVEN / GRAVITY
        swing = self._swing(free)(phase, 2)[:, 0] / (GRAVITY * self._period**2)
        swing *= _GENTLE * (part > 0)
        small = self._hold * (free - self._guess)
        return np.concatenate([error.ravel(), over, bent, low, rise, swing, small])
