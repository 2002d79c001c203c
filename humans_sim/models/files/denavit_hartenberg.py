# SPDX-License-Identifier: Apache-2.0
"""Khalil-Kleinfinger (modified Denavit-Hartenberg) tables, manual section 2.1.1.

Row k goes from frame ``ref`` to frame k: translation r and rotation alpha along x of
``ref``, then translation lambda and rotation theta along z of k.

A row that moves is written as in the manual's ``KinematicData.maple``, with its
coordinate in theta or lambda (``theta: -pi/2-q4``), or by the keys ``joint`` and
``sense``: then it turns by theta + sense * q.

Also: coordinates in the rows (``0.903+q17``, ``-pi/2-q4``), bodies before they become
links and joints, and the HuMAnS vector of a table that does not list it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import (
    BASE_LINK,
    HumansLayout,
    Inertial,
    Shape,
    read_shape,
)

_NAME = re.compile(r"\bq([0-9]{1,4})\b")
_EXACT = 1e-12


@dataclass(frozen=True)
class Coordinate:
    """A coordinate q_k of the HuMAnS vector (k from 1), as a row uses it."""

    number: int
    sense: float
    value: YamlValue

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"q{self.number}"


def read_coordinate(
    value: YamlValue, names: Mapping[str, float]
) -> tuple[float, Coordinate | None]:
    """An expression as a constant, plus or minus a coordinate where it has one."""
    numbers = {int(digits) for digits in _NAME.findall(value.text())}
    if not numbers:
        return value.number(names), None
    if len(numbers) > 1 or 0 in numbers:
        raise value.error("a row has one coordinate at most: q1, q2, ...")
    (number,) = numbers
    at = [value.number({**names, f"q{number}": x}) for x in (0.0, 1.0, 2.0)]
    slope = at[1] - at[0]
    if abs(abs(slope) - 1.0) > _EXACT or abs(at[2] - at[1] - slope) > _EXACT:
        raise value.error(f"must be a constant plus or minus q{number}")
    return at[0], Coordinate(number, 1.0 if slope > 0 else -1.0, value)


@dataclass(frozen=True)
class TableBody:
    """A body on HuMAnS axes, its frame parallel to the reference in the zero position.

    Attributes:
        parent: name of the body it hangs on; empty for the base.
        origin: joint centre in the parent's frame [m].
        rotations: joints, the first rotation first, each with its axis.
        frame_rotation: 3x3, from the axes of the file's frame to the reference axes.
    """

    name: str
    parent: str
    origin: np.ndarray
    rotations: tuple[tuple[str, np.ndarray], ...]
    frame_rotation: np.ndarray
    inertial: Inertial | None
    shapes: tuple[Shape, ...]


_PI = {"pi": np.pi, "Pi": np.pi}
_KEYS = ("frame", "ref", "r", "lambda", "alpha", "theta")
_BODY_KEYS = ("joint", "sense", "body", "mass", "com", "inertia", "visuals")


@dataclass(frozen=True)
class DhFrame:
    """A frame of the table in the zero position.

    Attributes:
        rotation: 3x3, from the frame's axes to the reference axes.
        position: origin in the reference frame [m].
        ref: number of the parent frame.
        sliding: coordinate of its translation along z, if any.
        turning: coordinate of its rotation about z, if any.
    """

    row: YamlValue
    rotation: np.ndarray
    position: np.ndarray
    ref: int
    body: str | None
    sliding: Coordinate | None
    turning: Coordinate | None

    @property
    def fixed(self) -> bool:
        """Whether it does not move in its parent."""
        return self.sliding is None and self.turning is None


def transform(r: float, lam: float, alpha: float, theta: float) -> np.ndarray:
    """Homogeneous matrix of one row.

    Right angles are made exact, so that frames parallel to the axes stay parallel to
    the last digit.
    """
    ca, sa, ct, st = (
        round(c) if abs(c - round(c)) < 1e-15 else c
        for c in (np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta))
    )
    return np.array(
        [
            [ct, -st, 0.0, r],
            [ca * st, ca * ct, -sa, -lam * sa],
            [sa * st, sa * ct, ca, lam * ca],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def zero_position(
    table: YamlValue, names: Mapping[str, float] | None = None
) -> dict[int, DhFrame]:
    """Frames of a table with all coordinates zero, by frame number."""
    names = {**(names or {}), **_PI}
    poses: dict[int, np.ndarray] = {0: np.eye(4)}
    frames: dict[int, DhFrame] = {}
    for row in table:
        fields = row.fields(_KEYS, _BODY_KEYS)
        number, ref = _whole(fields["frame"]), _whole(fields["ref"])
        if ref not in poses:
            raise fields["ref"].error(
                f"frame {ref} is not defined above: a row stands below that of its "
                "parent, so that a table has no loop"
            )
        if number in poses:
            raise fields["frame"].error(f"frame {number} stands twice")
        r, alpha = (fields[key].number(names) for key in ("r", "alpha"))
        lam, sliding = read_coordinate(fields["lambda"], names)
        theta, turning = read_coordinate(fields["theta"], names)
        if sliding is not None and turning is not None:
            raise row.error("a row moves by lambda or by theta, not by both")
        pose = poses[ref] @ transform(r, lam, alpha, theta)
        poses[number] = pose
        body = fields["body"].text() if "body" in fields else None
        frames[number] = DhFrame(
            row, pose[:3, :3], pose[:3, 3], ref, body, sliding, turning
        )
    return frames


def _whole(value: YamlValue) -> int:
    number = value.number()
    if number != int(number):
        raise value.error(f"must be a whole number, not {number:g}")
    return int(number)


def dh_bodies(
    frames: Mapping[int, DhFrame], names: Mapping[str, float]
) -> list[TableBody]:
    """The bodies of a table, in its order."""
    return [
        _body(frames, frame, names)
        for frame in frames.values()
        if frame.body is not None
    ]


def _body(
    frames: Mapping[int, DhFrame], frame: DhFrame, names: Mapping[str, float]
) -> TableBody:
    assert frame.body is not None
    fields = frame.row.mapping()
    for key in ("mass", "com", "inertia"):
        if key not in fields:
            raise frame.row.error(f"a body needs the key '{key}'")
    rotations: tuple[tuple[str, np.ndarray], ...] = ()
    parent, origin = "", np.zeros(3)
    if frame.body != BASE_LINK:
        joint, sense = _joint(frame, fields)
        above = _body_above(frames, frame)
        assert above.body is not None
        parent, origin = above.body, frame.position - above.position
        rotations = ((joint, sense * frame.rotation[:, 2]),)
    mass = fields["mass"].number(names)
    if mass < 0:
        raise fields["mass"].error(f"the mass {mass:g} is negative")
    xx, yy, zz, xy, xz, yz = fields["inertia"].vector(6, names)
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    com = frame.rotation @ fields["com"].vector(3, names)
    # From the inertia about the frame's origin (Huygens' theorem).
    transfer = mass * (com @ com * np.eye(3) - np.outer(com, com))
    inertia = frame.rotation @ inertia @ frame.rotation.T - transfer
    inertial = Inertial(mass, com, inertia)
    turn = frame.rotation
    shapes = tuple(
        replace(shape, origin=turn @ shape.origin, rotation=turn @ shape.rotation)
        for shape in (read_shape(v, names) for v in fields.get("visuals", ()))
    )
    return TableBody(
        frame.body, parent, origin, rotations, frame.rotation, inertial, shapes
    )


def _joint(frame: DhFrame, fields: Mapping[str, YamlValue]) -> tuple[str, float]:
    """Name and sense of the joint above a body."""
    if frame.sliding is not None:
        raise fields["lambda"].error("joints turn: a coordinate stands in theta")
    if frame.turning is not None:
        if "sense" in fields:
            raise fields["sense"].error("theta has a coordinate, and so its sense")
        named = fields["joint"].text() if "joint" in fields else frame.turning.name
        return named, frame.turning.sense
    for key in ("joint", "sense"):
        if key not in fields:
            raise frame.row.error(
                f"a body needs the key '{key}', or a coordinate such as q3 in theta"
            )
    sense = fields["sense"].number()
    if abs(sense) != 1.0:
        raise fields["sense"].error(f"must be 1 or -1, not {sense:g}")
    return fields["joint"].text(), sense


def _body_above(frames: Mapping[int, DhFrame], frame: DhFrame) -> DhFrame:
    """The nearest frame above that carries a body; those between do not move."""
    above = frames.get(frame.ref)
    while above is not None and above.body is None and above.fixed:
        above = frames.get(above.ref)
    if above is None or above.body is None:
        raise frame.row.error("a body needs a parent frame with a body")
    return above


_AXES = "xyz"
BASE_ROTATION = "zyx"
"""Order of the base's rotations where a file does not say it (manual, 2.1.1)."""


def dh_layout(
    table: YamlValue, frames: Mapping[int, DhFrame], bodies: Sequence[TableBody]
) -> HumansLayout:
    """Layout of a Denavit-Hartenberg table: joints by the numbers of coordinates.

    Rows above the base either have no coordinate, and then the base rotates in the
    order z, y, x; or they are the manual's six: three translations along the reference
    axes, then three rotations about them.
    """
    height = next(f.position[1] for f in frames.values() if f.body == BASE_LINK)
    segments = tuple(body.name for body in bodies)
    joint_of = {body.name: body.rotations[0][0] for body in bodies if body.rotations}
    turning = [
        (frame.turning, joint_of[frame.body])
        for frame in frames.values()
        if frame.turning is not None and frame.body in joint_of
    ]
    if not turning:
        joints = tuple(joint_of.values())
        return HumansLayout(joints, BASE_ROTATION, float(height), segments)
    if len(turning) != len(joint_of):
        raise table.error(
            "some joints have a coordinate in theta and others the key 'sense': write "
            "all of them one way"
        )
    names: list[str] = [""] * len(turning)
    for coordinate, joint in turning:
        place = coordinate.number - 1
        if place >= len(names) or names[place]:
            raise coordinate.value.error(
                f"the {len(names)} joints have the coordinates q1 to q{len(names)}, "
                f"each once, not {coordinate.name}"
            )
        names[place] = joint
    rotation = _base_rotation(frames, len(names))
    return HumansLayout(tuple(names), rotation, float(height), segments)


def tree_layout(
    bodies: Sequence[TableBody], lowest: float | None = None
) -> HumansLayout:
    """Layout of a tree; ``lowest``: height of a contact over the base [m]."""
    joints = tuple(joint for body in bodies for joint, _ in body.rotations)
    height = 0.0 if lowest is None else -lowest
    segments = tuple(body.name for body in bodies)
    return HumansLayout(joints, BASE_ROTATION, height, segments)


def _base_rotation(frames: Mapping[int, DhFrame], joints: int) -> str:
    """Order of the base's rotations, from the rows above it."""
    chain: list[DhFrame] = []
    frame = next(f for f in frames.values() if f.body == BASE_LINK)
    chain.append(frame)
    while frame.ref in frames:
        frame = frames[frame.ref]
        chain.append(frame)
    moving = [frame for frame in reversed(chain) if not frame.fixed]
    if not moving:
        return BASE_ROTATION
    order = ""
    for place, frame in enumerate(moving):
        sliding = place < 3
        coordinate = frame.sliding if sliding else frame.turning
        if len(moving) != 6 or coordinate is None:
            raise frame.row.error(
                "the base moves by three translations, then three rotations, each in "
                "its row; or leave their coordinates out"
            )
        axis = _axis(frame, coordinate)
        expected = joints + 1 + _AXES.index(axis) + (0 if sliding else 3)
        if coordinate.number != expected:
            word = "along" if sliding else "about"
            raise coordinate.value.error(
                f"the coordinate {word} {axis} of a base over {joints} joints is "
                f"q{expected}, not {coordinate.name}"
            )
        order += "" if sliding else axis
    return order


def _axis(frame: DhFrame, coordinate: Coordinate) -> str:
    direction = coordinate.sense * frame.rotation[:, 2]
    for name, unit in zip(_AXES, np.eye(3), strict=True):
        if np.allclose(direction, unit, atol=1e-12):
            return name
    raise coordinate.value.error(
        f"{coordinate.name} moves the base along {np.round(direction, 3).tolist()}, "
        "not along the reference axes x, y or z"
    )
