# SPDX-License-Identifier: Apache-2.0
"""A person's motion without the person's sizes: directions, attitudes, steps.

Directions and attitudes are in axes that turn with the heading of the pelvis, averaged
over a step: x forwards, z up.

*Limbs*: directions of upper arms, forearms, thighs and shanks. A limb is the line from
one joint centre to the next. A person's are named; those of a robot follow from its
kinematics:

- thigh and shank: from the pitch axis of the hip over the knee to that of the ankle,
  without the sideways offsets of these axes;
- an arm: a chain of joints beside the legs that ends to the left or to the right. Its
  elbow is the joint farthest from both ends, its shoulder the last joint before that is
  still most of the way off. A forearm without a joint after the elbow points to its
  centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

from humans_sim.control.retargeting.settings import RetargetError
from humans_sim.control.walking.sole_legs import sole_legs, sole_sides
from humans_sim.core.convex_polygon import convex_hull
from humans_sim.models import Model
from humans_sim.models.legs import Leg, chain, sole_named, support_tags

UPPER_ARM, FOREARM, THIGH, SHANK = "upper_arm", "forearm", "thigh", "shank"
SIDES = ("l", "r")
_PERSON = {
    UPPER_ARM: ("shoulder_pitch", "elbow_pitch"),
    FOREARM: ("elbow_pitch", "wrist_pitch"),
    THIGH: ("hip_pitch", "knee"),
    SHANK: ("knee", "ankle_pitch"),
}
"""Joints at the ends of a person's limbs, without their sides."""
_MOST = 0.6
"""Of the largest distance to the elbow: a shoulder is farther."""
_APART = 0.1
"""Of the upper arm's length: a forearm is longer."""
_SIDE = 0.02
"""An arm is this far from the middle, in heights of the base."""


@dataclass(frozen=True, eq=False)
class Limb:
    """A line fixed on a link.

    Attributes:
        name: with its side, such as ``l_forearm``.
        joint: pinocchio's joint that carries it.
        axis: its direction in the frame of the joint (3,).
        joints: places in ``model.joint_names`` of the joints from the base to it.
    """

    name: str
    joint: int
    axis: np.ndarray
    joints: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Limbs:
    """The limbs of a body.

    Attributes:
        model: the body.
        limbs: by name.
        torso: pinocchio's joint that carries the shoulders; 1 is the base.
        waist: places of the joints between the base and the shoulders.
    """

    model: Model
    limbs: dict[str, Limb]
    torso: int
    waist: tuple[int, ...]

    def directions(self, data: pin.Data, names: tuple[str, ...]) -> np.ndarray:
        """Directions of some limbs in the world after a forward kinematics (n, 3)."""
        return np.array(
            [data.oMi[self.limbs[n].joint].rotation @ self.limbs[n].axis for n in names]
        )


def person_limbs(model: Model) -> Limbs:
    """The limbs of a Human36; RetargetError: the model is no such person."""
    data = _at_zero(model)
    limbs = {}
    for part, ends in _PERSON.items():
        for side in SIDES:
            names = [f"{side}_{end}" for end in ends]
            for name in names:
                if name not in model.joint_names:
                    raise RetargetError(
                        f"a person has a joint '{name}', {model.name} has none"
                    )
            # The last of the joints at the upper end carries the limb.
            lower = model.pin.getJointId(names[1])
            carrier = int(model.pin.parents[lower])
            upper = data.oMi[model.pin.getJointId(names[0])].translation
            name = f"{side}_{part}"
            end = data.oMi[lower].translation
            limbs[name] = _limb(model, data, name, carrier, upper, end)
    thorax = model.pin.getJointId("thorax_roll")
    return Limbs(model, limbs, thorax, _places(model, thorax))


def robot_limbs(model: Model) -> Limbs:
    """The limbs of a robot, which has two legs; arms need two joints."""
    data = _at_zero(model)
    legs = sole_legs(model, *sole_sides(model))
    limbs: dict[str, Limb] = {}
    for side, leg in zip(SIDES, legs, strict=True):
        limbs |= _leg(model, data, side, leg)
    arms = _arms(model, data, legs)
    shared = [j for j in arms.get("l", []) if j in arms.get("r", [])]
    torso = shared[-1] if shared else 1
    for side, joints in arms.items():
        own = [joint for joint in joints if joint not in shared]
        limbs |= _arm(model, data, side, own)
    return Limbs(model, limbs, torso, _places(model, torso))


def _leg(model: Model, data: pin.Data, side: str, leg: Leg) -> dict[str, Limb]:
    hip, knee, ankle = leg.pitches()
    joints = [2 + place for place in leg.joints]
    flat = np.array([1.0, 0.0, 1.0])
    centres = [data.oMi[joints[n]].translation * flat for n in (hip, knee, ankle)]
    carriers = (int(model.pin.parents[joints[knee]]), joints[knee])
    limbs = {}
    parts = zip((THIGH, SHANK), carriers, centres[:2], centres[1:], strict=True)
    for part, carrier, start, end in parts:
        name = f"{side}_{part}"
        limbs[name] = _limb(model, data, name, carrier, start, end)
    return limbs


def _arms(model: Model, data: pin.Data, legs: tuple[Leg, Leg]) -> dict[str, list[int]]:
    """Pinocchio's joints of the arms, from the base on, by side."""
    taken = {2 + place for leg in legs for place in leg.joints}
    parents = {int(parent) for parent in model.pin.parents[2:]}
    height = float(data.oMi[1].translation[2])
    arms: dict[str, list[int]] = {}
    for leaf in range(2, model.pin.njoints):
        joints = chain(model, leaf)
        if leaf in parents or taken & set(joints):
            continue
        sideways = float(_tip(model, data, leaf)[1])
        side = "l" if sideways > 0 else "r"
        far = abs(sideways) > _SIDE * height
        if far and len(joints) > len(arms.get(side, ())):
            arms[side] = joints
    return arms


def _arm(model: Model, data: pin.Data, side: str, joints: list[int]) -> dict[str, Limb]:
    """Upper arm and forearm of a chain; empty where it has no elbow."""
    centres = [data.oMi[joint].translation for joint in joints]
    tip = _tip(model, data, joints[-1])
    apart = [
        min(np.linalg.norm(c - centres[0]), np.linalg.norm(c - tip)) for c in centres
    ]
    elbow = int(np.argmax(apart))
    if elbow == 0:
        return {}
    away = np.array([np.linalg.norm(c - centres[elbow]) for c in centres[:elbow]])
    shoulder = int(np.flatnonzero(away > _MOST * away.max())[-1])
    # Axes through one centre are one joint of the arm.
    places = [*centres[elbow + 1 :], tip]
    least = _APART * away.max()
    after = next(
        (n for n, c in enumerate(places) if np.linalg.norm(c - centres[elbow]) > least),
        None,
    )
    if after is None:
        return {}
    end, carrier = places[after], joints[elbow + after]
    upper, lower = f"{side}_{UPPER_ARM}", f"{side}_{FOREARM}"
    start, middle, above = centres[shoulder], centres[elbow], joints[elbow - 1]
    return {
        upper: _limb(model, data, upper, above, start, middle),
        lower: _limb(model, data, lower, carrier, middle, end),
    }


def _limb(
    model: Model,
    data: pin.Data,
    name: str,
    carrier: int,
    start: np.ndarray,
    end: np.ndarray,
) -> Limb:
    line = end - start
    axis = data.oMi[carrier].rotation.T @ (line / np.linalg.norm(line))
    return Limb(name, carrier, axis, _places(model, carrier))


def _tip(model: Model, data: pin.Data, joint: int) -> np.ndarray:
    """Centre of mass of the last link of a chain, in the world."""
    return data.oMi[joint].act(model.pin.inertias[joint].lever)


def _places(model: Model, joint: int) -> tuple[int, ...]:
    return tuple(number - 2 for number in chain(model, joint))


def _at_zero(model: Model) -> pin.Data:
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    return data


FEWEST = 10
"""Frames of a motion, at least."""
_HEADING = 0.5
"""Turns faster than this are no change of heading [Hz]."""
HEAD_YAW = "head_yaw"


@dataclass(frozen=True, eq=False)
class PersonMotion:
    """A motion of a person.

    Attributes:
        t: times (n,) [s].
        directions: of the limbs by name, (n, 3) each.
        pelvis: attitude from upright (n, 3, 3).
        torso: attitude of the shoulders from upright (n, 3, 3).
        heading: of the body, not wrapped (n,) [rad].
        crouch: height of the hips above the ankles over the length of the leg (n,).
        place: of the centre of mass in the support of both feet, forwards and to the
            left, -1 to 1 from edge to edge (n, 2).
        feet: middle of the left and the right sole on the floor (n, 2, 2) [m].
        down: whether the left and the right foot stand (n, 2).
        leg: length from the hip over the knee to the ankle [m].
        head: yaw of the head (n,) [rad].
    """

    t: np.ndarray
    directions: dict[str, np.ndarray]
    pelvis: np.ndarray
    torso: np.ndarray
    heading: np.ndarray
    crouch: np.ndarray
    place: np.ndarray
    feet: np.ndarray
    down: np.ndarray
    leg: float
    head: np.ndarray


def person_motion(
    limbs: Limbs, t: np.ndarray, q: np.ndarray, down: np.ndarray
) -> PersonMotion:
    """Read a motion of a person, at even times (n,) [s].

    Args:
        limbs: of the person.
        t: times [s].
        q: configurations (n, nq).
        down: whether the left and the right foot stand (n, 2).

    Raises:
        RetargetError: the motion is too short, or no foot ever stands.
    """
    n = len(t)
    if n < FEWEST:
        raise RetargetError(f"a motion has {FEWEST} frames at least, not {n}")
    if not down.any():
        raise RetargetError("no foot stands in this motion: a jump is not taken over")
    model, data = limbs.model, limbs.model.data()
    names = tuple(limbs.limbs)
    directions = np.empty((n, len(names), 3))
    pelvis, torso = np.empty((n, 3, 3)), np.empty((n, 3, 3))
    points = [
        model.tag_points(support_tags(sole_named(model, sole)))
        for sole in sole_sides(model)
    ]
    legs = [
        [model.pin.getJointId(f"{side}_{end}_pitch") for end in ("hip", "ankle")]
        for side in SIDES
    ]
    soles, com, height = [], np.empty((n, 2)), np.empty(n)
    for k in range(n):
        com[k] = pin.centerOfMass(model.pin, data, q[k])[:2]
        directions[k] = limbs.directions(data, names)
        pelvis[k] = data.oMi[1].rotation
        torso[k] = data.oMi[limbs.torso].rotation
        soles.append([p.positions(data)[:, :2] for p in points])
        height[k] = np.mean(
            [data.oMi[a].translation[2] - data.oMi[b].translation[2] for a, b in legs]
        )
    t = np.asarray(t, dtype=float)
    heading = _heading(t, pelvis)
    turn = np.array([pin.utils.rotate("z", -float(angle)) for angle in heading])
    feet = np.array([[places.mean(axis=0) for places in both] for both in soles])
    place = np.array(
        [_place(com[k], np.vstack(soles[k]), float(heading[k])) for k in range(n)]
    )
    length = sum(
        float(np.linalg.norm(model.pin.jointPlacements[joint].translation))
        for joint in map(model.pin.getJointId, ("l_knee", "l_ankle_pitch"))
    )
    head = np.zeros(n)
    if HEAD_YAW in model.joint_names:
        head = q[:, 7 + model.joint_names.index(HEAD_YAW)].copy()
    level = np.einsum("nij,nkj->nki", turn, directions)
    return PersonMotion(
        t,
        {name: level[:, k] for k, name in enumerate(names)},
        turn @ pelvis,
        turn @ torso,
        heading,
        height / length,
        place,
        feet,
        np.asarray(down, dtype=bool),
        length,
        head,
    )


def _heading(t: np.ndarray, pelvis: np.ndarray) -> np.ndarray:
    """Yaw of the pelvis without the turns of single steps (n,) [rad]."""
    yaw = np.unwrap(np.arctan2(pelvis[:, 1, 0], pelvis[:, 0, 0]))
    if len(t) * (t[1] - t[0]) < 2.0 / _HEADING:
        # Too short to tell steps from turns: the mean and the trend alone.
        slope = np.polyfit(t - t[0], yaw, 1)
        return np.polyval(slope, t - t[0])
    b, a = butter(2, _HEADING * 2.0 * (t[1] - t[0]))
    smooth: np.ndarray = filtfilt(b, a, yaw)
    return smooth


def _place(com: np.ndarray, soles: np.ndarray, heading: float) -> np.ndarray:
    """Where the centre of mass is in the outline of the feet, -1 to 1 (2,)."""
    c, s = np.cos(heading), np.sin(heading)
    turn = np.array([[c, s], [-s, c]])
    corners = convex_hull(soles) @ turn.T
    low, high = corners.min(axis=0), corners.max(axis=0)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    place: np.ndarray = np.clip((turn @ com - middle) / half, -1.0, 1.0)
    return place
