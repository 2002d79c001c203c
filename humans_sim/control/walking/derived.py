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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.optimize import linprog

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
from humans_sim.core.convex_polygon import HalfPlanes, convex_hull, inside
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.legs import PITCH, ROLL, YAW, Leg, corner_places, sole_named
from humans_sim.models.points import frame_index

SHARES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1)
"""Of a wanted length, that are tried in turn."""
ROOM = 0.02
"""That joints leave to the ends of their ranges, for balance [rad]."""
_ON_ITS_WAY, _SINGLE = (0.35, 0.5, 0.65), 0.21
"""Shares of the way between the feet, of the centre of mass on both and on one. On one
foot a pendulum with steps of 2.6 time constants sways to a quarter, in its first step
to a little more than a fifth, on both to more."""
_ROCKING = 0.42
"""The same of a body that rocks on ankles without roll, in steps of 1.25."""


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
        self._ways, self._single = _ON_ITS_WAY, _SINGLE
        if not all(
            leg.rolls_ankle for leg in sole_legs(model, soles.left, soles.right)
        ):
            self._ways, self._single = (_ROCKING, 0.5, 1.0 - _ROCKING), _ROCKING

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
                for way in self._ways:
                    self._solve(step, side, 0.0, way)
                self._solve(step.share(0.5), side, lift, self._single)
                if lift:
                    self._solve(step.share(-0.5), side, lift, self._single)
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
_WIDER, _FEW = (1.2, 1.5, 1.8), 0.4
"""Stances over that of hanging legs, which are tried in turn where the share is less:
hips that hardly roll inwards sway less over feet that are farther apart."""
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
_SLANT, _TURNS_OF_ANKLE = 1e-3, 5
"""Sole that counts as level [rad], and how often an ankle is turned for it."""
_SPREAD = 0.15
"""A leg that is less aside of its hip hangs [rad]."""
_ROOM = 0.1
"""Of a joint's range that postures leave to its ends."""
_STEP, _ROCKING_STEP = 2.6, 1.25
"""Duration of a step, over the time constant of the pendulum; the latter for ankles
without roll: the body, which tips over an edge then, sways by 0.16 of half a stance."""
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
    ankles = [ankle.held for ankle in ankle_reaches(model, legs[0], left)]
    pressure = pressure_point(corners, _mirrored_corners(model, right), ankles)
    ahead = float(pressure["zmp_forward"].value)  # type: ignore[arg-type]
    soles = _Soles(left, right, str(turns.value))
    # The first bend of the knees that cuts no step very short, or the best.
    stand = partial(_stand, model, legs, soles, corners, ahead)
    chosen = stand(math.radians(_BENDS[0]), 1.0)
    tried = [(bend, 1.0, _ENOUGH) for bend in _BENDS[1:]]
    tried += [(bend, wider, _FEW) for wider in _WIDER for bend in _BENDS]
    for bend, wider, enough in tried:
        if chosen.reach < enough:
            other = stand(math.radians(bend), wider)
            chosen = max(chosen, other, key=lambda made: made.reach)
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    time = math.sqrt(chosen.height / gravity)
    length, why = _STEP, ""
    if not legs[0].rolls_ankle:
        length, why = _ROCKING_STEP, "; ankles do not roll"
    period = length * time / _KNOTS
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
            _KNOTS * period,
            f"{length} time constants of the pendulum, {time:.3f} s{why}",
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


_CATCH_ERROR = 0.38
"""Of the sole's length: an error at landing that the next step does not hold."""
_CATCH_REACH, _CATCH_WIDTH = 0.47, 0.35
"""Of the height of the centre of mass: how far ahead, and beyond the stance, a foot
catches the body."""
_CATCH_SPEED = 0.585
"""Of the height over the time constant of the pendulum: the speed of that foot."""


def catching_settings(
    model: Model, left: str, right: str, height: float, stance: float
) -> dict[str, Derived]:
    """Settings of steps that catch a body after a push, each with its reason.

    Height is of the centre of mass, stance between the feet [m].
    """
    leg = sole_legs(model, left, right)[0]
    corners = corner_places(model, sole_named(model, left))[:, :2]
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    speed = _CATCH_SPEED * math.sqrt(gravity * height)
    reason = f"{_CATCH_SPEED} heights of the centre of mass in a time constant"
    pitches = [leg.joints[place] for place in leg.pitches()]
    turns = model.pin.velocityLimit[6:][pitches]
    slowest = leg.length * float(turns[turns > 0.0].min(initial=math.inf))
    if slowest < speed:
        speed, reason = slowest, "of the leg at the speed of its slowest joint"
    return {
        "catch_error": Derived(
            _CATCH_ERROR * float(np.ptp(corners[:, 0])), f"{_CATCH_ERROR} of the sole"
        ),
        "catch_reach": Derived(
            _CATCH_REACH * height, f"{_CATCH_REACH} of the height of the centre of mass"
        ),
        "catch_width": Derived(
            stance + _CATCH_WIDTH * height, f"{_CATCH_WIDTH} of it beyond the stance"
        ),
        "catch_speed": Derived(speed, reason),
    }


def _mirrored_corners(model: Model, right: str) -> np.ndarray:
    """Corners of the right sole as a left one's, counter-clockwise (n, 2) [m]."""
    corners = corner_places(model, sole_named(model, right))[:, :2]
    return convex_hull(corners * (1.0, -1.0))


class AnkleReach(NamedTuple):
    """How far from an ankle's axis its torque holds the weight, on one foot.

    Attributes:
        joint: its name.
        along: 0 where that is forwards, of a pitch joint; 1 sideways, of a roll joint.
        place: of the axis, along that direction in the sole's frame [m].
        reach: the torque over the weight [m].
    """

    joint: str
    along: int
    place: float
    reach: float

    @property
    def held(self) -> HalfPlanes:
        """Where the zero-moment point may be."""
        normal = np.eye(2)[self.along]
        ends = [self.reach + self.place, self.reach - self.place]
        return HalfPlanes(np.array([normal, -normal]), np.array(ends))


def ankle_reaches(model: Model, leg: Leg, sole: str) -> list[AnkleReach]:
    """Those of the joints below the knee that have a limit of torque."""
    q = model.neutral()
    base = pin.XYZQUATToSE3(q[:7])
    frame = model.frame_pose(q, sole)
    gravity = float(np.linalg.norm(model.pin.gravity.linear))
    found = []
    for n in range(leg.knee + 1, len(leg.joints)):
        effort = float(model.effort_limits[leg.joints[n]])
        if leg.kinds[n] in (PITCH, ROLL) and 0.0 < effort < math.inf:
            along = int(leg.kinds[n] == ROLL)
            place = float(frame.actInv(base.act(leg.origins[n]))[along])
            reach = effort / (model.mass * gravity)
            found.append(AnkleReach(leg.names[n], along, place, reach))
    return found


def pressure_point(
    left: np.ndarray, right: np.ndarray, ankles: Sequence[HalfPlanes] = ()
) -> dict[str, Derived]:
    """Where the zero-moment point is preferred in a sole, and how near the edge it may.

    Towards the middle of the left sole and inwards, but moved to the deepest place that
    both soles have, and where the ankles' torques hold the weight, until it is twice
    the margin inside of them.

    Args:
        left: corners of the left sole in its frame, counter-clockwise (n, 2) [m].
        right: those of the right sole, mirrored.
        ankles: where those of the left leg hold the weight, in the same frame.
    """
    low, high = left.min(axis=0), left.max(axis=0)
    width, middle = high - low, 0.5 * (low + high)
    forward = float(np.clip(middle[0], -_AHEAD * width[0], _AHEAD * width[0]))
    wanted = np.array([forward, -_INWARD * float(width[1])])
    parts = [inside(left), inside(right), *ankles]
    both = HalfPlanes(
        np.vstack([part.normals for part in parts]),
        np.concatenate([part.bounds for part in parts]),
    )
    found = linprog(
        [0.0, 0.0, -1.0],
        A_ub=np.column_stack([both.normals, np.ones(len(both.bounds))]),
        b_ub=both.bounds,
        bounds=[(None, None)] * 3,
    )
    deepest, most = found.x[:2], float(found.x[2])
    if most <= 0.0 and ankles:
        return pressure_point(left, right)
    if most <= 0.0:
        raise ParameterError("its soles have no place in common: compare their tags")
    margin = min(_EDGE * float(width.min()), 0.4 * most)
    place, share = wanted, 0.0
    while both.depth(place) < 2.0 * margin and share < 1.0:
        share = min(share + 0.05, 1.0)
        place = wanted + share * (deepest - wanted)
    moved = "" if share == 0.0 else ", moved to where soles and ankles hold it"
    return {
        "zmp_margin": Derived(margin, "a tenth of its shorter side"),
        "zmp_forward": Derived(
            float(place[0]), f"towards the middle of the sole{moved}"
        ),
        "zmp_inward": Derived(
            -float(place[1]), f"a tenth of the sole's width: less sway{moved}"
        ),
    }


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
    wider: float,
) -> _Stand:
    """A posture with knees bent by twice an angle, and its steps.

    Feet stand so much wider than legs hang.
    """
    angles = _posture(model, legs, soles, bend)
    q = model.standing(np.array([angles.get(name, 0.0) for name in model.joint_names]))
    knees = f"knees bent by {round(math.degrees(2.0 * bend))} degrees, soles level"
    poses = [model.frame_pose(q, name) for name in soles[:2]]
    floor = 0.5 * (poses[0].translation[2] + poses[1].translation[2])
    height = float(model.com(q)[2] - floor)
    if height <= 0:
        raise ParameterError(
            f"{model.name}: its centre of mass is {-height:g} m below its soles"
        )
    stance = _stance(poses, corners, wider)
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


def _posture(
    model: Model, legs: tuple[Leg, Leg], soles: _Soles, bend: float
) -> dict[str, float]:
    """Knees bent, soles level, arms away from the body, all within limits."""
    angles: dict[str, float] = {}
    for leg in legs:
        angles |= _hanging(model, leg)
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
    for leg, sole in zip(legs, soles[:2], strict=True):
        _level(model, leg, sole, angles)
    return angles


def _hanging(model: Model, leg: Leg) -> dict[str, float]:
    """The angle of a hip's roll for a leg that is spread at zero angles.

    Without roll in the ankle the sole would not stay level.
    """
    rolls = [n for n, kind in enumerate(leg.kinds[: leg.knee]) if kind == ROLL]
    if not rolls or not leg.rolls_ankle:
        return {}
    hip = rolls[0]
    away = leg.origins[-1] - leg.origins[hip]
    turn = math.atan2(-away[1], -away[2])
    if abs(turn) < _SPREAD:
        return {}
    angle = turn / leg.axes[hip, 0]
    return {leg.names[hip]: _within(model, leg.joints[hip], angle)}


def _level(model: Model, leg: Leg, sole: str, angles: dict[str, float]) -> None:
    """Turn the ankle until a sole is level, which it need not be at zero angles."""
    ankle = list(leg.joints[leg.knee + 1 :])
    frame, data = frame_index(model.pin, sole), model.data()
    for _ in range(_TURNS_OF_ANKLE):
        q = model.standing(
            np.array([angles.get(name, 0.0) for name in model.joint_names])
        )
        up = model.frame_pose(q, sole).rotation[:, 2]
        if up[2] > math.cos(_SLANT):
            return
        jacobian = pin.computeFrameJacobian(
            model.pin, data, q, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )[3:, 6:][:, ankle]
        error = np.cross(up, (0.0, 0.0, 1.0))
        turns = np.linalg.lstsq(jacobian, error, rcond=0.1)[0]
        for place, turn in zip(ankle, turns, strict=True):
            name = model.joint_names[place]
            angle = angles.get(name, 0.0) + float(turn)
            angles[name] = _within(model, place, angle)


def _within(model: Model, place: int, angle: float) -> float:
    """An angle with some room to the ends of a joint's range; zero where it may be."""
    low, high = model.lower_limits[place], model.upper_limits[place]
    room = _ROOM * min(high - low, 1.0)
    if angle == 0.0 and low < 0.0 < high:
        return 0.0
    return float(np.clip(angle, low + room, high - room))


def _stance(poses: list[pin.SE3], corners: np.ndarray, wider: float) -> Derived:
    """The feet as far apart as they hang, or farther where they would touch."""
    apart = poses[0].translation - poses[1].translation
    hanging = wider * float(np.linalg.norm(apart[:2]))
    # The left sole reaches inwards by -min(y): so does the right one, mirrored.
    least = _APART * max(-float(corners[:, 1].min()), 0.0)
    if hanging >= least:
        more = "" if wider == 1.0 else f" times {wider}: hips that hardly roll"
        return Derived(hanging, f"as the legs hang{more}")
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
