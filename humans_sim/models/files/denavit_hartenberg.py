# SPDX-License-Identifier: Apache-2.0
"""Khalil-Kleinfinger (modified Denavit-Hartenberg) tables, manual section 2.1.1.

Row k goes from frame ``ref`` to frame k: translation r and rotation alpha along x of
``ref``, then translation lambda and rotation theta along z of k.

A row that moves is written as in the manual's ``KinematicData.maple``, with its
coordinate in theta or lambda (``theta: -pi/2-q4``), or by the keys ``joint`` and
``sense``: then it turns by theta + sense * q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import BASE_LINK, Inertial
from humans_sim.models.files.coordinates import Coordinate, read_coordinate
from humans_sim.models.files.shapes import read_shape
from humans_sim.models.files.table_body import TableBody, turned_shape

_PI = {"pi": np.pi, "Pi": np.pi}
_KEYS = ("frame", "ref", "r", "lambda", "alpha", "theta")
_BODY_KEYS = ("joint", "sense", "body", "mass", "com", "inertia", "visuals")


@dataclass(frozen=True)
class DhFrame:
    """A frame of the table in the zero position.

    Attributes:
        row: its entry in the file.
        rotation: 3x3, from the frame's axes to the reference axes.
        position: origin in the reference frame [m].
        ref: number of the parent frame.
        body: name of the body it carries, if any.
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
    """Frames of a table with all coordinates zero, by frame number.

    Args:
        table: the rows.
        names: lengths that the rows may use [m].
    """
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
        raise value.error(f"a whole number is wanted, not {number:g}")
    return int(number)


def dh_bodies(
    frames: Mapping[int, DhFrame], names: Mapping[str, float]
) -> list[TableBody]:
    """The bodies of a table, in its order.

    Args:
        frames: of the table, in the zero position.
        names: lengths that masses, centres and shapes may use.
    """
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
    inertial = Inertial.about_origin(
        mass,
        frame.rotation @ fields["com"].vector(3, names),
        frame.rotation @ inertia @ frame.rotation.T,
    )
    shapes = tuple(
        turned_shape(read_shape(v, names), frame.rotation)
        for v in (fields["visuals"] if "visuals" in fields else ())
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
        raise fields["sense"].error(f"1 or -1 is wanted, not {sense:g}")
    return fields["joint"].text(), sense


def _body_above(frames: Mapping[int, DhFrame], frame: DhFrame) -> DhFrame:
    """The nearest frame above that carries a body; those between do not move."""
    above = frames.get(frame.ref)
    while above is not None and above.body is None and above.fixed:
        above = frames.get(above.ref)
    if above is None or above.body is None:
        raise frame.row.error("a body needs a parent frame with a body")
    return above
