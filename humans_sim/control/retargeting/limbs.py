# SPDX-License-Identifier: Apache-2.0
"""Limbs of a body: the directions in which upper arms, forearms, thighs, shanks point.

A limb is the line from one joint centre to the next. A person's are named; those of a
robot follow from its kinematics:

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

from humans_sim.control.retargeting.errors import RetargetError
from humans_sim.control.walking.sole_legs import sole_legs, sole_sides
from humans_sim.models import Model
from humans_sim.models.legs.chains import Leg, chain

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
    """The limbs of a Human36.

    Raises:
        RetargetError: the model is no such person.
    """
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
            limbs[f"{side}_{part}"] = _limb(
                model, data, f"{side}_{part}", carrier, upper, data.oMi[lower]
            )
    thorax = model.pin.getJointId("thorax_roll")
    return Limbs(model, limbs, thorax, _places(model, thorax))


def robot_limbs(model: Model) -> Limbs:
    """The limbs of a robot; those without two joints of an arm have no arms.

    Raises:
        ParameterError: it has no two legs.
    """
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
    found = {}
    for part, carrier, start, end in zip(
        (THIGH, SHANK), carriers, centres[:2], centres[1:], strict=True
    ):
        name = f"{side}_{part}"
        found[name] = _limb(model, data, name, carrier, start, pin.SE3(np.eye(3), end))
    return found


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
        own = len(joints)
        if abs(sideways) > _SIDE * height and own > len(arms.get(side, ())):
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
    place = pin.SE3(np.eye(3), centres[elbow])
    return {
        upper: _limb(model, data, upper, joints[elbow - 1], centres[shoulder], place),
        lower: _limb(
            model, data, lower, carrier, centres[elbow], pin.SE3(np.eye(3), end)
        ),
    }


def _limb(
    model: Model,
    data: pin.Data,
    name: str,
    carrier: int,
    start: np.ndarray,
    end: pin.SE3,
) -> Limb:
    line = end.translation - start
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
