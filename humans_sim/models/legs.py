# SPDX-License-Identifier: Apache-2.0
"""Legs of a model: their joints, and which tags of their soles carry load.

*Support*, the one rule for which tags of a sole carry load.

A sole has corners, which outline it, and may stand on balls instead
(:mod:`humans_sim.contact.geometry.foot_spheres`). Everything that sums forces over a
foot, lets one stand, or draws its outline asks here:

- :func:`support_tags`: what a sole stands on, balls where it has any, else its corners.
- :func:`load_tags`: every tag through which a force on the sole may come. Of a contact
  table :func:`contacts_of` picks those that are there, whatever a scene put into it.
- :func:`corner_places`: the outline, which does not depend on what touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import ParameterError
from humans_sim.models.description import Sole
from humans_sim.models.model import Model


def sole_named(model: Model, name: str) -> Sole:
    """A sole of a model by the name of its frame."""
    for sole in model.soles:
        if sole.name == name:
            return sole
    raise ParameterError(f"{model.name} has no sole called '{name}'")


def support_tags(sole: Sole) -> tuple[str, ...]:
    """The tags a sole stands on: its balls, or its corners where it has none."""
    return sole.spheres or sole.contacts


def load_tags(sole: Sole) -> tuple[str, ...]:
    """All tags through which a sole may carry load: corners and balls."""
    return sole.contacts + sole.spheres


def tag_of(contact: str) -> str:
    """The tag of a contact: what stands before the solid that it touches."""
    return contact.partition("/")[0]


def contacts_of(sole: Sole, contacts: Sequence[str]) -> dict[str, np.ndarray]:
    """Rows of the contacts that load a sole, by tag; tags without one are left out."""
    tags = np.array([tag_of(name) for name in contacts], dtype=object)
    rows = {tag: np.flatnonzero(tags == tag) for tag in load_tags(sole)}
    return {tag: points for tag, points in rows.items() if len(points)}


def corner_places(model: Model, sole: Sole) -> np.ndarray:
    """Corners of a sole in its own frame (n, 3) [m]."""
    return tag_places(model, sole, sole.contacts)


def tag_places(model: Model, sole: Sole, tags: Sequence[str]) -> np.ndarray:
    """Some tags of a sole in its own frame, in the zero position (n, 3) [m]."""
    q = model.neutral()
    frame = model.frame_pose(q, sole.name)
    points = model.tags(q)[[model.tag_names.index(tag) for tag in tags]]
    return np.array([frame.actInv(point) for point in points]).reshape(-1, 3)


ROLL, PITCH, YAW = "roll", "pitch", "yaw"
_NAMES = (ROLL, PITCH, YAW)
_ALONG = 0.8
"""Cosine from which a joint's axis counts as along one of the base's."""
_APART = 0.15
"""Of the leg's length: a knee is farther from hip and ankle than this."""


class NoBipedError(ParameterError):
    """A model has no two legs to walk with; the message says what is there."""


@dataclass(frozen=True)
class Leg:
    """The joints of a leg, from the hip on, in the zero position.

    Attributes:
        joints: places in ``model.joint_names``.
        axes: directions in the base's frame (n, 3).
        origins: in the base's frame (n, 3) [m].
        kinds: ``roll``, ``pitch``, ``yaw``, or empty where an axis is oblique (n,).
        knee: place among the joints.
        bend: sign of the knee's angles that bend it.
        length: from the hip over the knee to the ankle [m].
    """

    joints: tuple[int, ...]
    names: tuple[str, ...]
    axes: np.ndarray
    origins: np.ndarray
    kinds: tuple[str, ...]
    knee: int
    bend: int
    length: float

    @property
    def rolls_ankle(self) -> bool:
        """Whether the foot can roll: its soles stay level while the body sways."""
        return any(kind != PITCH for kind in self.kinds[self.knee + 1 :])

    def pitches(self) -> tuple[int, int, int]:
        """Places of the pitch joints of hip, knee and ankle among the joints."""
        pitches = [n for n, kind in enumerate(self.kinds) if kind == PITCH]
        return pitches[0], self.knee, pitches[-1]


def chain(model: Model, joint: int) -> list[int]:
    """Pinocchio's joints from the base to one of them, the floating base left out."""
    path = []
    while joint > 1:
        path.append(joint)
        joint = int(model.pin.parents[joint])
    return path[::-1]


def leg_chains(model: Model, left: int, right: int) -> tuple[list[int], list[int]]:
    """Pinocchio's joints that move one foot and not the other."""
    first, second = chain(model, left), chain(model, right)
    shared = set(first) & set(second)
    return (
        [joint for joint in first if joint not in shared],
        [joint for joint in second if joint not in shared],
    )


def read_leg(model: Model, joints: list[int]) -> Leg:
    """The joints of a leg, from pinocchio's numbers from the hip to the foot."""
    names = tuple(model.pin.names[joint] for joint in joints)
    listed = ", ".join(names) or "none"
    if len(joints) < 3:
        raise NoBipedError(
            f"{model.name}: a leg needs three joints or more to walk, not {listed}"
        )
    data = model.data()
    pin.computeJointJacobians(model.pin, data, model.neutral())
    base = data.oMi[1]
    axes = np.empty((len(joints), 3))
    origins = np.empty((len(joints), 3))
    for n, joint in enumerate(joints):
        column = model.pin.joints[joint].idx_v
        axes[n] = base.rotation.T @ data.J[3:, column]
        origins[n] = base.actInv(data.oMi[joint].translation)
    kinds = tuple(axis_kind(axis) for axis in axes)
    pitches = [n for n, kind in enumerate(kinds) if kind == PITCH]
    if len(pitches) < 3:
        raise NoBipedError(
            f"{model.name}: a leg needs pitch joints at hip, knee and ankle, its "
            f"joints are {listed}"
        )
    knee = _knee(origins, pitches)
    if knee is None:
        raise NoBipedError(f"{model.name}: no joint of the leg is a knee: {listed}")
    low, high = (
        limits[joints[knee] - 2] for limits in (model.lower_limits, model.upper_limits)
    )
    bend = 1 if high >= -low else -1
    hip, ankle = origins[pitches[0]], origins[pitches[-1]]
    length = np.linalg.norm(hip - origins[knee]) + np.linalg.norm(origins[knee] - ankle)
    return Leg(
        tuple(joint - 2 for joint in joints),
        names,
        axes,
        origins,
        kinds,
        knee,
        bend,
        float(length),
    )


def axis_kind(axis: np.ndarray) -> str:
    """``roll``, ``pitch``, ``yaw``, or empty where an axis is oblique."""
    along = int(np.abs(axis).argmax())
    return _NAMES[along] if abs(axis[along]) > _ALONG else ""


def _knee(origins: np.ndarray, pitches: list[int]) -> int | None:
    """The pitch joint farthest from hip and ankle; None: all are near one of them."""
    hip, ankle = origins[pitches[0]], origins[pitches[-1]]
    reach = float(np.linalg.norm(hip - ankle))
    apart = {
        n: min(
            float(np.linalg.norm(origins[n] - hip)),
            float(np.linalg.norm(origins[n] - ankle)),
        )
        for n in pitches[1:-1]
    }
    best = max(apart, key=lambda n: apart[n])
    return best if apart[best] > _APART * max(reach, 1e-9) else None
