# SPDX-License-Identifier: Apache-2.0
r"""Settings of a walk that follow from the robot itself.

What a file of a walk does not say is taken from the model: legs, soles and masses. The
inverted pendulum of the height of the centre of mass sets the times,
:math:`\omega = \sqrt{g / h}`; the legs set lengths. Shares are those with which the
robots of the package walk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.convex_polygon import convex_hull
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.legs.chains import PITCH, YAW, Leg, leg_chains, read_leg
from humans_sim.models.soles import corner_places, sole_named

_BEND = math.radians(20.0)
"""Pitch of a hip while standing: the knee bends by twice as much."""
_ROOM = 0.1
"""Of a joint's range that postures leave to its ends."""
_STEP = 2.6
"""Duration of a step, over the time constant of the pendulum."""
_KNOTS = 12
"""Periods of a step, and half of those of the horizon."""


@dataclass(frozen=True)
class Derived:
    """A setting that was derived.

    Attributes:
        value: of a number [SI], a word, or angles by joint [rad].
        reason: in a few words.
    """

    value: float | str | dict[str, float]
    reason: str


def derived_settings(model: Model, left: str, right: str) -> dict[str, Derived]:
    """Settings of a walk by name, each with its reason.

    Args:
        model: the robot.
        left: frame of its left sole.
        right: frame of its right sole.

    Raises:
        ParameterError: it has no such soles, or no legs to walk with.
    """
    legs = sole_legs(model, left, right)
    corners = {
        name: convex_hull(corner_places(model, sole_named(model, name))[:, :2])
        for name in (left, right)
    }
    turns = _turns(legs[0])
    posture = _posture(model, legs)
    q = _standing(model, posture.value)
    com = float(model.com(q)[2])
    poses = [model.frame_pose(q, name) for name in (left, right)]
    floor = 0.5 * (poses[0].translation[2] + poses[1].translation[2])
    height = com - float(floor)
    if height <= 0:
        raise ParameterError(
            f"{model.name}: its centre of mass is {-height:g} m below its soles"
        )
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    time = math.sqrt(height / gravity)
    period = _rounded(_STEP * time / _KNOTS)
    length = legs[0].length
    found = {
        "turns": turns,
        "posture": posture,
        "com_height": Derived(height, "in that posture"),
        "trunk_pitch": Derived(0.0, "upright"),
        "stance_width": _stance(poses, corners[left]),
        "mpc_period": Derived(period, f"a {_KNOTS}th of a step"),
        "step_duration": Derived(
            _KNOTS * period, f"{_STEP} time constants of the pendulum, {time:.3f} s"
        ),
        "double_support": Derived(0.25, "share of a step"),
        "shift_duration": Derived(10 * period, "5/6 of a step"),
        "mpc_horizon": Derived(2 * _KNOTS * period, "two steps"),
    }
    for name, share in (
        ("foot_lift", 0.06),
        ("max_forward", 0.25),
        ("max_backward", 0.15),
        ("max_sideways", 0.10),
    ):
        found[name] = Derived(share * length, f"{share} of the leg, {length:.3f} m")
    found |= _turning(turns.value == "slip", period)
    found |= _pressure(corners[left])
    for name, value in _FEEDBACK.items():
        found[name] = Derived(value, "as of the other robots")
    return found


_FEEDBACK = {
    "zmp_weight": 1.0,
    "zmp_rate_weight": 0.001,
    "capture_weight": 1000.0,
    "lean_time": 3.0,
    "ankle_gain": 0.2,
    "ankle_damping": 0.005,
    "ankle_limit": math.radians(4.0),
    "pressure_gain": 0.5,
    "pressure_time": 0.1,
}


def sole_sides(model: Model) -> tuple[str, str]:
    """Frames of the left and the right sole, by where they are.

    Raises:
        ParameterError: the model has not two soles.
    """
    if len(model.soles) != 2:
        raise ParameterError(
            f"{model.name} has {len(model.soles)} soles, a walk needs two: "
            "'humans-sim init-robot' finds them in a URDF"
        )
    q = model.neutral()
    first, second = (sole.name for sole in model.soles)
    if (
        model.frame_pose(q, first).translation[1]
        < model.frame_pose(q, second).translation[1]
    ):
        first, second = second, first
    return first, second


def sole_legs(model: Model, left: str, right: str) -> tuple[Leg, Leg]:
    """The legs that carry two soles.

    Raises:
        ParameterError: the model has no such soles or legs.
    """
    joints = [
        int(
            model.pin.frames[
                model.pin.getFrameId(sole_named(model, name).name)
            ].parentJoint
        )
        for name in (left, right)
    ]
    first, second = leg_chains(model, *joints)
    return read_leg(model, first), read_leg(model, second)


def _turns(leg: Leg) -> Derived:
    if YAW in leg.kinds or ("" in leg.kinds and len(leg.joints) > 5):
        return Derived("hip_yaw", "the legs have a yaw joint")
    return Derived("slip", "no yaw joint in the legs: feet turn by slipping")


def _posture(model: Model, legs: tuple[Leg, Leg]) -> Derived:
    """Knees bent, soles level, arms away from the body, all within limits."""
    angles: dict[str, float] = {}
    for leg in legs:
        hip, knee, ankle = leg.pitches()
        forwards = leg.axes[knee, 1] * leg.bend  # the shank goes back about +y
        for place, share in ((hip, -1.0), (knee, 2.0), (ankle, -1.0)):
            if place == knee or leg.kinds[place] == PITCH:
                turn = share * _BEND * np.sign(forwards) / leg.axes[place, 1]
                angles[leg.names[place]] = _within(model, leg.joints[place], turn)
    for place, name in enumerate(model.joint_names):
        if name not in angles:
            rest = _within(model, place, 0.0)
            if rest != 0.0:
                angles[name] = rest
    return Derived(angles, "knees bent by 40 degrees, soles level")


def _within(model: Model, place: int, angle: float) -> float:
    """An angle with some room to the ends of a joint's range; zero where it may be."""
    low, high = model.lower_limits[place], model.upper_limits[place]
    room = _ROOM * min(high - low, 1.0)
    if angle == 0.0 and low <= 0.0 <= high:
        return 0.0
    return float(np.clip(angle, low + room, high - room))


def _standing(model: Model, posture: float | str | dict[str, float]) -> np.ndarray:
    joints = np.zeros(len(model.joint_names))
    if isinstance(posture, dict):
        for name, angle in posture.items():
            joints[model.joint_names.index(name)] = angle
    return model.standing(joints)


def _stance(poses: list[pin.SE3], corners: np.ndarray) -> Derived:
    """The feet as far apart as they hang, or farther where they would touch."""
    apart = poses[0].translation - poses[1].translation
    hanging = float(np.linalg.norm(apart[:2]))
    # The left sole reaches inwards by -min(y): so does the right one, mirrored.
    least = 2.2 * max(-float(corners[:, 1].min()), 0.0)
    if hanging >= least:
        return Derived(hanging, "as the legs hang")
    return Derived(least, "the soles a tenth of their width apart")


def _turning(slips: bool, period: float) -> dict[str, Derived]:
    if slips:
        return {
            "max_turn": Derived(math.radians(16.0), "of the body, on both feet"),
            "pivot_duration": Derived(6 * period, "half a step"),
            "pivot_pitch": Derived(math.radians(1.0), "onto toes and heel"),
            "pivot_share": Derived(0.7, "measured with the KHR-1"),
        }
    return {
        "max_turn": Derived(math.radians(15.0), "a foot against the other"),
        "pivot_duration": Derived(0.0, "no turns on both feet"),
        "pivot_pitch": Derived(0.0, "no turns on both feet"),
        "pivot_share": Derived(1.0, "no turns on both feet"),
    }


def _pressure(corners: np.ndarray) -> dict[str, Derived]:
    """Where the zero-moment point is wanted in the left sole, and how near the edge."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    width, middle = high - low, 0.5 * (low + high)
    # Not farther from the ankle than a fifth of the sole: ankles are weak.
    forward = float(np.clip(middle[0], -0.2 * width[0], 0.2 * width[0]))
    inward = 0.1 * float(width[1])
    return {
        "zmp_margin": Derived(0.1 * float(width.min()), "a tenth of its shorter side"),
        "zmp_forward": Derived(forward, "towards the middle of the sole"),
        "zmp_inward": Derived(inward, "a tenth of the sole's width: less sway"),
    }


def _rounded(period: float) -> float:
    """Two digits, at least 5 ms."""
    digits = 1 - math.floor(math.log10(period))
    return max(round(period, digits), 0.005)
