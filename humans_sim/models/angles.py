# SPDX-License-Identifier: Apache-2.0
"""Joint angles and torques of a motion in a convention.

A hip that the model turns by pitch, yaw and roll has other angles in a convention that
turns it by flexion, adduction and rotation: names and signs alone do not convert them.
So the orientation of a segment against another is worked out and split again. On the
left side this is done with the mirror image, so that equal angles of both sides are a
symmetric posture.

*Joint torques*: generalised forces of the convention's angles. The moment that a joint
carries does not depend on who counts the angles; its components along the axes do. A
hip turned by pitch, yaw and roll has them along these axes, one turned by flexion,
adduction and rotation along others. Power is the same in both.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.core.errors import ParameterError
from humans_sim.models.conventions import (
    GROUND,
    HUMANS,
    PROGRESSION,
    Segment,
    TurnGroup,
    load_convention,
    segments_of,
)
from humans_sim.models.model import Model
from humans_sim.models.points import ROS_FROM_HUMANS, to_humans

_MIRROR = np.diag([1.0, 1.0, -1.0])
_ALIGNED = 0.999
"""Cosine above which a joint turns about an axis."""


@dataclass(frozen=True)
class Column:
    """One angle or position over time.

    Attributes:
        name: in the convention.
        title: the name without its side.
        side: ``r``, ``l`` or empty.
        joints: of the model that turn about the same axis; all those of the segment
            where none does.
        limits: of the angle; infinite where the model limits other angles [rad].
    """

    name: str
    title: str
    side: str = ""
    joints: tuple[str, ...] = ()
    limits: tuple[float, float] = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class JointAngles:
    """Angles of a motion in a convention.

    Attributes:
        convention: its name.
        base: columns of the base: its angles [rad], then its position [m].
        base_angles: how many of these are angles.
        base_values: (n, columns).
        joints: columns of the joints.
        values: (n, columns) [rad].
    """

    convention: str
    base: tuple[Column, ...]
    base_angles: int
    base_values: np.ndarray
    joints: tuple[Column, ...]
    values: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns, those of the base first."""
        return tuple(column.name for column in (*self.base, *self.joints))

    def __getitem__(self, name: str) -> np.ndarray:
        """A column by its name (n,) [rad or m]."""
        if name not in self.names:
            raise ParameterError(f"'{self.convention}' has no angle called '{name}'")
        values = np.hstack([self.base_values, self.values])
        return values[:, self.names.index(name)]

    def in_degrees(self, rows: slice = slice(None)) -> np.ndarray:
        """All columns, those of the base first (n, columns) [degrees or m]."""
        values = np.hstack([self.base_values[rows], self.values[rows]])
        turns = np.full(values.shape[1], math.degrees(1.0))
        turns[self.base_angles : len(self.base)] = 1.0
        return values * turns


def joint_angles(
    model: Model, q: np.ndarray, convention: str | Path = HUMANS
) -> JointAngles:
    """Angles of a motion (n, nq) in a convention, by its name or its path."""
    chosen = load_convention(convention, model)
    attitude = _attitude(q)
    base_names = () if chosen.base is None else chosen.base.names
    base = tuple(
        Column(str(name), str(name).replace("_", " "))
        for name in (*base_names, *chosen.position)
    )
    turned = []
    if chosen.base is not None:
        turned.append(np.unwrap(split_turns(attitude, chosen.base), axis=0))
    if chosen.position:
        turned.append(to_humans(q[:, :3]))
    base_values = np.hstack([np.zeros((len(q), 0)), *turned])
    count = 0 if chosen.base is None else 3
    if not chosen.groups:
        columns = _joint_columns(model)
        return JointAngles(HUMANS, base, count, base_values, columns, q[:, 7:])
    segments = segments_of(model)
    seen = _Orientations(segments, q, attitude)
    columns_, values = [], []
    for group in chosen.groups:
        angles = split_turns(seen.between(group.body, group.of), group)
        for k, name in enumerate(group.names):
            if name is not None:
                columns_.append(_column(model, segments[group.body], group, k, name))
                values.append(angles[:, k])
    return JointAngles(
        str(convention),
        base,
        count,
        base_values,
        tuple(columns_),
        np.column_stack(values),
    )


def segment_turns(segment: Segment, q: np.ndarray) -> Rotation:
    """Orientations of a segment in its parent's frame, of a motion (n, nq)."""
    return segment.turn(q[:, [7 + joint for joint in segment.joints]])


def split_turns(turned: Rotation, group: TurnGroup) -> np.ndarray:
    """Angles of a group over time, each by the shortest path from the one before.

    Three turns about different axes have two solutions; the first row takes the one
    whose second angle is at most a quarter turn, the others the one that continues it.
    """
    letters = group.letters.upper()
    matrices = turned.as_matrix()
    if group.side == "l":
        matrices = _MIRROR @ matrices @ _MIRROR
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Gimbal lock")  # any of the answers will do
        first = Rotation.from_matrix(matrices).as_euler(letters)
    if letters[0] == letters[2]:
        # The second angle counts against its axis: elevation of the arm after the ISB.
        chosen = _other(first, letters)
        chosen[:, [0, 2]] = np.unwrap(_short(chosen[:, [0, 2]]), axis=0)
    else:
        chosen = np.unwrap(first, axis=0)
        if (np.abs(np.diff(chosen, axis=0)) > math.pi / 2).any():
            chosen = _continued(first, _other(first, letters))
    return chosen[:, : len(group.turns)] * np.array(group.signs)


def _other(angles: np.ndarray, letters: str) -> np.ndarray:
    """The other three angles of the same orientations."""
    middle = -angles[:, 1] if letters[0] == letters[2] else math.pi - angles[:, 1]
    return np.column_stack([angles[:, 0] + math.pi, middle, angles[:, 2] + math.pi])


def _short(angles: np.ndarray) -> np.ndarray:
    """Within half a turn of zero."""
    return (angles + math.pi) % (2 * math.pi) - math.pi


def _continued(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Of two solutions, row by row the one nearest to the row before."""
    rows = [first[0]]
    for pair in np.stack([first, second], axis=1)[1:]:
        near = rows[-1] + _short(pair - rows[-1])
        rows.append(near[np.argmin(np.abs(near - rows[-1]).sum(axis=1))])
    return np.array(rows)


class _Orientations:
    """Orientations of segments over time, HuMAnS axes."""

    def __init__(
        self, segments: Mapping[str, Segment], q: np.ndarray, attitude: Rotation
    ) -> None:
        self._segments, self._q, self._attitude = segments, q, attitude

    def between(self, body: str, of: str) -> Rotation:
        """Of a segment in the frame of one before it, or in one of the laboratory."""
        turned = Rotation.identity()
        while body != of:
            segment = self._segments[body]
            if not segment.parent:
                if of not in (GROUND, PROGRESSION):
                    raise ParameterError(f"'{of}' is not between '{body}' and the base")
                heading = self._heading() if of == PROGRESSION else Rotation.identity()
                return heading.inv() * self._attitude * turned
            turned = segment_turns(segment, self._q) * turned
            body = segment.parent
        return turned

    def _heading(self) -> Rotation:
        """About the vertical: the quarter turn nearest to where the base faces."""
        ahead = self._attitude.apply([1.0, 0.0, 0.0]).mean(axis=0)
        angle = math.atan2(-ahead[2], ahead[0])
        quarter = round(angle / (math.pi / 2)) * math.pi / 2
        return Rotation.from_rotvec([0.0, quarter, 0.0])


def _attitude(q: np.ndarray) -> Rotation:
    """Of the base in the laboratory, HuMAnS axes."""
    turn = Rotation.from_matrix(ROS_FROM_HUMANS.T)
    return turn * Rotation.from_quat(q[:, 3:7]) * turn.inv()


def _joint_columns(model: Model) -> tuple[Column, ...]:
    """Columns of the model's own joints."""
    columns = []
    for k, name in enumerate(model.joint_names):
        side, _, rest = name.partition("_")
        if side not in ("l", "r") or not rest:
            side, rest = "", name
        limits = float(model.lower_limits[k]), float(model.upper_limits[k])
        columns.append(Column(name, rest.replace("_", " "), side, (name,), limits))
    return tuple(columns)


def _column(
    model: Model, segment: Segment, group: TurnGroup, k: int, name: str
) -> Column:
    """Column of an angle: what turns about the same axis, and how far it may."""
    along = segment.axes @ group.axes[k]
    places = [i for i, value in enumerate(along) if abs(value) > _ALIGNED]
    names = tuple(model.joint_names[segment.joints[i]] for i in places)
    if group.letters.count(group.letters[k]) > 1 or not names:
        names = tuple(model.joint_names[i] for i in segment.joints)
    limits = (-math.inf, math.inf)
    if group.renames(segment):
        joint = segment.joints[k]
        ends = np.array([model.lower_limits[joint], model.upper_limits[joint]])
        low, high = sorted(np.sign(along[k]) * ends)
        limits = float(low), float(high)
    return Column(name, group.titles[k], group.side, names, limits)


def joint_moments(
    model: Model, q: np.ndarray, torques: np.ndarray, convention: str | Path = HUMANS
) -> tuple[tuple[str, ...], np.ndarray]:
    """Torques of a motion as generalised forces of a convention's angles.

    Angles that are no coordinates of one joint, seen from another segment than the
    parent or fewer than the joint has, have no such force and are left out.

    Returns:
        Names of the angles, and the forces (n, angles) [N m].
    """
    chosen = load_convention(convention, model)
    if not chosen.groups:
        return model.joint_names, torques
    segments = segments_of(model)
    names: list[str] = []
    columns: list[np.ndarray] = []
    for group in chosen.groups:
        segment = segments[group.body]
        if not group.spans(segment):
            continue
        joints = list(segment.joints)
        turned = segment_turns(segment, q)
        own = _axes_in_parent(segment.axes, q[:, [7 + j for j in joints]])
        theirs = _axes_in_parent(group.axes, split_turns(turned, group))
        # Components along skew axes: the moment within their span, then its others.
        moment = np.linalg.pinv(own) @ torques[:, joints, None]
        forces = (theirs @ moment)[..., 0]
        for name, column in zip(group.names, forces.T, strict=True):
            if name is not None:
                names.append(name)
                columns.append(column)
    return tuple(names), np.array(columns).reshape(-1, len(q)).T


def _axes_in_parent(axes: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Axes in turn, each turned by the angles before it (n, k, 3)."""
    turned = Rotation.identity()
    rows = []
    for axis, column in zip(axes, angles.T, strict=True):
        along = turned.apply(axis)
        rows.append(np.broadcast_to(along, (len(angles), 3)))
        turned = turned * Rotation.from_rotvec(np.outer(column, axis))
    return np.stack(rows, axis=1)
