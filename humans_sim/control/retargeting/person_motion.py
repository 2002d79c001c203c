# SPDX-License-Identifier: Apache-2.0
"""What is taken over of a person's motion, without the person's sizes.

Directions and attitudes are in axes that turn with the heading of the pelvis, averaged
over a step: x forwards, z up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from scipy.signal import butter, filtfilt

from humans_sim.control.retargeting.errors import RetargetError
from humans_sim.control.retargeting.limbs import SIDES, Limbs
from humans_sim.control.walking.sole_legs import sole_sides
from humans_sim.core.convex_polygon import convex_hull
from humans_sim.models import Model
from humans_sim.models.points import PointSet
from humans_sim.models.soles import sole_named, support_tags

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
    """Read a motion of a person.

    Args:
        limbs: of the person.
        t: times, evenly (n,) [s].
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
    points = [_sole_points(model, sole) for sole in sole_sides(model)]
    legs = [_leg_joints(model, side) for side in SIDES]
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
        for joint in (
            model.pin.getJointId("l_knee"),
            model.pin.getJointId("l_ankle_pitch"),
        )
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


def _sole_points(model: Model, sole: str) -> PointSet:
    return model.tag_points(support_tags(sole_named(model, sole)))


def _leg_joints(model: Model, side: str) -> tuple[int, int]:
    return (
        model.pin.getJointId(f"{side}_hip_pitch"),
        model.pin.getJointId(f"{side}_ankle_pitch"),
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
