# SPDX-License-Identifier: Apache-2.0
r"""Settings of a walk derived from the robot itself.

Settings missing in the file of a walk are taken from the model: legs, soles and masses.
The inverted pendulum of the height of the centre of mass sets the times, :math:`\omega
= \sqrt{g / h}`; the legs set lengths. Shares are those with which the robots of the
package walk.

*Reach of the legs*: inverse kinematics within the joints' ranges. A step is looked at
in the postures that a walk goes through: both feet down with the centre of mass on its
way from one to the other, and the swing foot in the air half way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.control.task.whole_body import ControlError
from humans_sim.control.walking.sole_legs import (
    HIP_YAW,
    SLIP,
    SolePairNames,
    sole_legs,
)
from humans_sim.control.walking.whole_body_ik import (
    ReachError,
    WalkKinematics,
    find_shoulders,
)
from humans_sim.core.convex_polygon import convex_hull
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.legs import PITCH, YAW, Leg, corner_places, sole_named

SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1)
"""Of a wanted length, that are tried in turn."""
ROOM = 0.02
"""That joints leave to the ends of their ranges, for balance [rad]."""
_ON_ITS_WAY, _SINGLE = (0.35, 0.5, 0.65), 0.25
"""Shares of the way between the feet, of the centre of mass on both and on one. On one
foot a pendulum with steps of 2.6 time constants sways to a quarter, on both to more."""


class _Soles(NamedTuple):
    left: str
    right: str
    turns: str


class Step(NamedTuple):
    """A step of one foot beside the other: forwards, outwards [m], and turn [rad].

    Outwards is beyond the stance.
    """

    forward: float = 0.0
    aside: float = 0.0
    turn: float = 0.0

    def share(self, part: float) -> Step:
        """A shorter step."""
        return Step(part * self.forward, part * self.aside, part * self.turn)


class Reach:
    """Steps of one robot in one posture.

    The soles are a stance apart [m] where it stands; the centre of mass is at a height
    above and a little before them [m].
    """

    def __init__(
        self,
        model: Model,
        soles: SolePairNames,
        standing: np.ndarray,
        height: float,
        stance: float,
        forward: float,
    ) -> None:
        self._kinematics = WalkKinematics(model, soles, ROOM)
        self._standing, self._height = standing, height
        self._stance, self._forward = stance, forward

    def longest(self, wanted: Step, lift: float) -> tuple[float, tuple[str, ...]]:
        """The largest share of a step that both legs reach, and what blocks more.

        The foot is lifted half way [m]. The share is one of :data:`SHARES`, or zero;
        joints that block are those at their limits in the first longer step.
        """
        blocked: tuple[str, ...] = ()
        for share in SHARES:
            joints = self._blocking(wanted.share(share), lift)
            if joints is None:
                return share, blocked
            blocked = joints
        return 0.0, blocked

    def _blocking(self, step: Step, lift: float) -> tuple[str, ...] | None:
        """Joints at their limits somewhere in a step of either foot; None: reached."""
        try:
            for side in (1.0, -1.0):
                for way in _ON_ITS_WAY:
                    self._solve(step, side, 0.0, way)
                self._solve(step.share(0.5), side, lift, _SINGLE)
                if lift:
                    self._solve(step.share(-0.5), side, lift, _SINGLE)
        except ReachError as error:
            return error.joints
        except ControlError:
            return ()
        return None

    def _solve(self, step: Step, side: float, lift: float, way: float) -> None:
        """The posture with one foot at the origin, the other one a step away."""
        apart = self._stance + max(step.aside, 0.0)
        turn = side * max(step.turn, 0.0)
        other = pin.SE3(
            pin.utils.rotate("z", turn), np.array([step.forward, side * apart, lift])
        )
        foot = pin.SE3.Identity()
        ahead = self._forward + way * step.forward
        com = np.array([ahead, side * way * apart, self._height])
        q = self._standing.copy()
        q[:2] += com[:2] - np.array([self._forward, 0.0])
        left, right = (other, foot) if side > 0 else (foot, other)
        attitude = pin.utils.rotate("z", 0.5 * turn)
        self._kinematics.solve(q, com, left, right, attitude)


_BENDS = (20.0, 15.0, 10.0, 25.0)
"""Pitches of a hip while standing that are tried in turn [degrees]; the knee bends by
twice as much."""
_ENOUGH = 0.8
"""Share of the wanted steps, within the joints' ranges, that needs no other bend."""
_STEPS = {
    "max_forward": (0.25, Step(forward=1.0)),
    "max_backward": (0.15, Step(forward=-1.0)),
    "max_sideways": (0.10, Step(aside=1.0)),
}
"""Wanted steps over the leg's length, and their directions."""
_LIFT = 0.06
"""Of a foot, over the leg's length."""
_TURN = math.radians(15.0)
"""Wanted turn of a foot against the other."""
_SWING = 0.6
"""Of an arm, over the angle of the leg of the other side; people have about as much."""
_ROOM = 0.1
"""Of a joint's range that postures leave to its ends."""
_STEP = 2.6
"""Duration of a step, over the time constant of the pendulum."""
_KNOTS = 12
"""Periods of a step, and half of those of the horizon."""
_SHORTEST = 0.005
"""Least period [s]: a program is solved in each."""
_APART = 2.2
"""Distance of the soles over how far each reaches inwards: a tenth is left free."""
_AHEAD = 0.2
"""Of a sole's length: the zero-moment point is no farther before the ankle, which is
weak."""
_EDGE, _INWARD = 0.1, 0.1
"""Of a sole's shorter side and of its width: margin of the zero-moment point, and how
far inwards it is preferred, for less sway."""


@dataclass(frozen=True)
class Derived:
    """A setting that was derived.

    Attributes:
        value: of a number [SI], a word, or angles by joint [rad].
        reason: in a few words.
    """

    value: float | str | dict[str, float]
    reason: str


class _Stand(NamedTuple):
    """A posture to walk in, and the steps that the legs reach from it."""

    posture: Derived
    height: float
    stance: Derived
    steps: dict[str, Derived]
    turn: Derived
    reach: float


def derived_settings(
    model: Model, left: str, right: str, step: float | None = None
) -> dict[str, Derived]:
    """Settings of a walk by name, for soles of a robot, each with its reason.

    The duration of a step may be given: the other times follow [s].

    Raises:
        ParameterError: it has no such soles, or no legs to walk with.
    """
    legs = sole_legs(model, left, right)
    corners = convex_hull(corner_places(model, sole_named(model, left))[:, :2])
    turns = _turns(legs[0])
    # Where the zero-moment point is wanted in the left sole, and how near the edge.
    low, high = corners.min(axis=0), corners.max(axis=0)
    width, middle = high - low, 0.5 * (low + high)
    forward = float(np.clip(middle[0], -_AHEAD * width[0], _AHEAD * width[0]))
    inward, margin = _INWARD * float(width[1]), _EDGE * float(width.min())
    pressure = {
        "zmp_margin": Derived(margin, "a tenth of its shorter side"),
        "zmp_forward": Derived(forward, "towards the middle of the sole"),
        "zmp_inward": Derived(inward, "a tenth of the sole's width: less sway"),
    }
    ahead = float(pressure["zmp_forward"].value)  # type: ignore[arg-type]
    soles = _Soles(left, right, str(turns.value))
    # The first bend of the knees that cuts no step very short, or the best.
    stands = (
        _stand(model, legs, soles, corners, ahead, math.radians(bend))
        for bend in _BENDS
    )
    chosen = next(stands)
    while chosen.reach < _ENOUGH and (stand := next(stands, None)) is not None:
        chosen = max(chosen, stand, key=lambda made: made.reach)
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    time = math.sqrt(chosen.height / gravity)
    period = _STEP * time / _KNOTS
    period = max(round(period, 1 - math.floor(math.log10(period))), _SHORTEST)
    if step is not None and step > 0:
        period = step / _KNOTS
    found = {
        "turns": turns,
        "posture": chosen.posture,
        "com_height": Derived(chosen.height, "in that posture"),
        "trunk_pitch": Derived(0.0, "upright"),
        "stance_width": chosen.stance,
        "mpc_period": Derived(period, f"a {_KNOTS}th of a step"),
        "step_duration": Derived(
            _KNOTS * period, f"{_STEP} time constants of the pendulum, {time:.3f} s"
        ),
        "double_support": Derived(0.25, "share of a step"),
        "shift_duration": Derived(10 * period, "5/6 of a step"),
        "mpc_horizon": Derived(2 * _KNOTS * period, "two steps"),
    }
    found["arm_swing"] = _arms(model, legs)
    found |= chosen.steps
    found |= _turning(turns.value == SLIP, period, chosen.turn)
    found |= pressure
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


def _arms(model: Model, legs: tuple[Leg, Leg]) -> Derived:
    """How far arms swing, where there are shoulders."""
    joints = [joint for leg in legs for joint in leg.joints]
    if find_shoulders(model, joints, legs[0].length) is None:
        return Derived(0.0, "no pair of shoulders with a pitch joint each")
    return Derived(_SWING, "of the other leg's angle: less spin of the body")


def _turns(leg: Leg) -> Derived:
    if YAW in leg.kinds or ("" in leg.kinds and len(leg.joints) > 5):
        return Derived(HIP_YAW, "the legs have a yaw joint")
    return Derived(SLIP, "no yaw joint in the legs: feet turn by slipping")


def _stand(
    model: Model,
    legs: tuple[Leg, Leg],
    soles: _Soles,
    corners: np.ndarray,
    ahead: float,
    bend: float,
) -> _Stand:
    """A posture with knees bent by twice an angle, and its steps."""
    angles = _posture(model, legs, bend)
    q = model.standing(np.array([angles.get(name, 0.0) for name in model.joint_names]))
    knees = f"knees bent by {round(math.degrees(2.0 * bend))} degrees, soles level"
    poses = [model.frame_pose(q, name) for name in soles[:2]]
    floor = 0.5 * (poses[0].translation[2] + poses[1].translation[2])
    height = float(model.com(q)[2] - floor)
    if height <= 0:
        raise ParameterError(
            f"{model.name}: its centre of mass is {-height:g} m below its soles"
        )
    stance = _stance(poses, corners)
    width, length = float(stance.value), legs[0].length  # type: ignore[arg-type]
    reach = Reach(model, soles, q, height, width, ahead)
    lift = _LIFT * length
    steps = {"foot_lift": Derived(lift, f"{_LIFT} of the leg, {length:.3f} m")}
    shares = []
    for name, (share, direction) in _STEPS.items():
        step_length = share * length
        kept, blocked = reach.longest(direction.share(step_length), lift)
        shares.append(kept)
        reason = f"{share} of the leg, {length:.3f} m"
        steps[name] = _kept(step_length, kept, blocked, reason)
    kept, blocked = 1.0, ()
    if soles.turns == HIP_YAW:
        kept, blocked = reach.longest(Step(turn=_TURN), lift)
    turn = _kept(_TURN, kept, blocked, "a foot against the other")
    posture = Derived(angles, knees)
    return _Stand(posture, height, stance, steps, turn, min(*shares, kept))


def _kept(
    wanted: float, share: float, blocked: tuple[str, ...], reason: str
) -> Derived:
    """A wanted length or turn as far as the joints allow it."""
    if share == 1.0:
        return Derived(wanted, reason)
    stops = ", ".join(blocked) if blocked else "the legs' length"
    # Where nothing is reached the walk itself says what is missing.
    return Derived(
        max(share, SHARES[-1]) * wanted, f"{share} of {wanted:.3g}: {stops} stops more"
    )


def _posture(model: Model, legs: tuple[Leg, Leg], bend: float) -> dict[str, float]:
    """Knees bent, soles level, arms away from the body, all within limits."""
    angles: dict[str, float] = {}
    for leg in legs:
        hip, knee, ankle = leg.pitches()
        forwards = leg.axes[knee, 1] * leg.bend  # the shank goes back about +y
        for place, share in ((hip, -1.0), (knee, 2.0), (ankle, -1.0)):
            if place == knee or leg.kinds[place] == PITCH:
                turn = share * bend * np.sign(forwards) / leg.axes[place, 1]
                angles[leg.names[place]] = _within(model, leg.joints[place], turn)
    for place, name in enumerate(model.joint_names):
        if name not in angles:
            rest = _within(model, place, 0.0)
            if rest != 0.0:
                angles[name] = rest
    return angles


def _within(model: Model, place: int, angle: float) -> float:
    """An angle with some room to the ends of a joint's range; zero where it may be."""
    low, high = model.lower_limits[place], model.upper_limits[place]
    room = _ROOM * min(high - low, 1.0)
    if angle == 0.0 and low < 0.0 < high:
        return 0.0
    return float(np.clip(angle, low + room, high - room))


def _stance(poses: list[pin.SE3], corners: np.ndarray) -> Derived:
    """The feet as far apart as they hang, or farther where they would touch."""
    apart = poses[0].translation - poses[1].translation
    hanging = float(np.linalg.norm(apart[:2]))
    # The left sole reaches inwards by -min(y): so does the right one, mirrored.
    least = _APART * max(-float(corners[:, 1].min()), 0.0)
    if hanging >= least:
        return Derived(hanging, "as the legs hang")
    return Derived(least, "the soles a tenth of their width apart")


def _turning(slips: bool, period: float, turn: Derived) -> dict[str, Derived]:
    if slips:
        return {
            "max_turn": Derived(math.radians(16.0), "of the body, on both feet"),
            "pivot_duration": Derived(6 * period, "half a step"),
            "pivot_pitch": Derived(math.radians(1.0), "onto toes and heel"),
            "pivot_share": Derived(0.7, "measured with the KHR-1"),
        }
    return {
        "max_turn": turn,
        "pivot_duration": Derived(0.0, "no turns on both feet"),
        "pivot_pitch": Derived(0.0, "no turns on both feet"),
        "pivot_share": Derived(1.0, "no turns on both feet"),
    }
