# SPDX-License-Identifier: Apache-2.0
"""OpenSim files: motions (``.mot``) and models (``.osim``).

A model (OpenSim 4) has bodies, joints and markers. OpenSim's ground has y up, as HuMAnS
axes have; each segment of the model is a body, and a CustomJoint turns it by the
coordinates of a convention, so that a ``.mot`` file of the same convention plays on it.
There are no muscles and no contact geometry. Each body is drawn as the ellipsoid of its
mass and inertia.
"""

from __future__ import annotations

import math
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.core.arrays import row_slices
from humans_sim.core.errors import ParameterError, printable
from humans_sim.core.files import write_atomically, write_lines
from humans_sim.models.conventions import BASE_COLUMNS as BASE_COLUMNS
from humans_sim.models.conventions import (
    HUMANS,
    Convention,
    Segment,
    load_convention,
    segments_of,
)
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index, to_humans, to_ros
from humans_sim.observation.markers.marker_set import MarkerSet, SetMarker

if TYPE_CHECKING:
    from humans_sim.observation.posture.result import Reconstruction
    from humans_sim.observation.posture.subject import Subject


def write_mot(
    result: Reconstruction, path: Path | str, convention: str | Path = HUMANS
) -> Path:
    """Write a reconstruction as an OpenSim motion.

    After the time [s] come the base and the joints, with the names and signs of a
    convention; it plays on the ``.osim`` of the same convention. The base is given on
    the axes of OpenSim's ground (x forward, y up, z right): tilt about z, list about x,
    rotation about y, each about the axes turned so far [degrees], then the position of
    its origin [m]. Angles of the base run on over half turns.

    Args:
        result: what was reconstructed.
        path: the file; written whole or not at all.
        convention: name of a convention, or the path of one's own.
    """
    path = Path(path)
    angles = result.angles(convention)
    parts = (
        np.column_stack([result.t[rows], angles.in_degrees(rows)])
        for rows in row_slices(len(result.q))
    )
    head = ["time", *angles.names]
    write_lines(path, storage_lines(path.stem, len(result.q), head, parts))
    return path


def write_std_sto(result: Reconstruction, path: Path | str) -> Path:
    """Write standard deviations of a reconstruction as an OpenSim storage (``.sto``).

    The columns are those of the motion in the model's own names, whatever convention
    the motion has [degrees, m]. The base's are about and along the axes of OpenSim's
    ground.

    Raises:
        ParameterError: it has no standard deviations.
    """
    path = Path(path)
    if result.std is None:
        raise ParameterError("this reconstruction has no standard deviations")
    std = result.std

    def part(rows: slice) -> np.ndarray:
        """Some rows; world x, y, z are x, -z, y there."""
        along, about = np.abs(to_humans(std[rows, :3])), std[rows, 3:6]
        # Tilt about z, list about x, rotation about y of the ground.
        turns = np.abs(to_humans(about))[:, [2, 0, 1]]
        joints = np.degrees(std[rows, 6:].astype(float))
        return np.column_stack([result.t[rows], np.degrees(turns), along, joints])

    head = ["time", *BASE_COLUMNS, *result.model.joint_names]
    parts = map(part, row_slices(len(std)))
    write_lines(path, storage_lines(path.stem, len(std), head, parts))
    return path


def storage_lines(
    title: str,
    count: int,
    head: Sequence[str],
    parts: Iterable[np.ndarray],
    degrees: bool = True,
) -> Iterator[str]:
    """Lines of an OpenSim storage: ``count`` rows in all, some at a time."""
    yield from (
        title,
        "version=1",
        f"nRows={count}",
        f"nColumns={len(head)}",
        f"inDegrees={'yes' if degrees else 'no'}",
        "endheader",
        "\t".join(head),
    )
    for part in parts:
        for row in part.tolist():
            yield "\t".join(map(repr, row))


VERSION = "40000"
"""Of the documents of OpenSim 4.0 and later."""
GRAVITY = -9.80665
"""[m/s2], as in OpenSim's models."""
_REACH = 100.0
"""How far the base may go in a viewer [m]."""
_THINNEST = 0.01
"""Least radius of an ellipsoid that is drawn [m]."""
_FORBIDDEN = '\\/*+"'
"""What no name of OpenSim's may hold, besides space."""

Turn = tuple[str, np.ndarray, tuple[float, float], bool]
"""Name, axis, range [rad] and whether the range is the model's limit."""


def write_osim(
    person: Subject | Model,
    path: Path | str,
    marker_set: MarkerSet | None = None,
    convention: str | Path = HUMANS,
) -> Path:
    """Write an OpenSim model.

    Args:
        person: a calibrated person, or a model whose joints are revolute ones.
        path: the file; written whole or not at all.
        marker_set: its markers; None: the person's own, or the model's tags.
        convention: of the coordinates' names and signs.

    Raises:
        ParameterError: the angles of the convention are no coordinates of a tree of
            joints, or a joint of the model is not a revolute one.
        ModelFileError: the file of the convention is malformed.
    """
    path = Path(path)
    title = ""
    if not isinstance(person, Model):
        marker_set = marker_set or person.marker_set()
        title, person = person.title, person.model()
    document = ET.Element("OpenSimDocument", Version=VERSION)
    model = ET.SubElement(document, "Model", name=_word(title or person.name))
    _text(model, "credits", f"{printable(person.title)}, written by humans_sim")
    _text(model, "length_units", "meters")
    _text(model, "force_units", "N")
    _text(model, "gravity", _numbers([0.0, GRAVITY, 0.0]))
    segments = segments_of(person)
    chosen = load_convention(convention, person)
    bodies = _set(model, "BodySet")
    joints = _set(model, "JointSet")
    for segment in segments.values():
        _body(bodies, segment)
        position = () if segment.parent else chosen.position
        _joint(joints, segment, _turns(person, segment, chosen), position)
    tags = (SetMarker(t.name, t.link, to_humans(t.position)) for t in person.parts.tags)
    markers = marker_set.markers if marker_set else list(tags)
    _markers(_set(model, "MarkerSet"), person, list(segments.values()), markers)
    ET.indent(document, "\t")
    text = ET.tostring(document, encoding="unicode")
    write_atomically(path, f'<?xml version="1.0" encoding="UTF-8" ?>\n{text}\n')
    return path


def check_coordinates(model: Model, convention: str | Path) -> None:
    """Refuse a convention whose angles are no coordinates of a tree of joints.

    Raises:
        ParameterError: they are not, or a joint of the model is not a revolute one.
    """
    chosen = load_convention(convention, model)
    for segment in segments_of(model).values():
        _turns(model, segment, chosen)


def _turns(model: Model, segment: Segment, chosen: Convention) -> list[Turn]:
    """Coordinates that turn a segment, in the convention's order."""
    if not segment.parent:
        if chosen.base is None or not chosen.position:
            raise _no_coordinates(chosen, segment.name)
        around = (-math.pi, math.pi)
        rows = zip(chosen.base.names, chosen.base.axes, strict=True)
        return [(str(name), axis, around, False) for name, axis in rows]
    low, high = model.lower_limits, model.upper_limits
    if chosen.name == HUMANS:
        return [
            (model.joint_names[j], axis, (float(low[j]), float(high[j])), True)
            for j, axis in zip(segment.joints, segment.axes, strict=True)
        ]
    groups = [
        group
        for group in chosen.groups
        if group.body == segment.name and group.spans(segment)
    ]
    if len(groups) != 1 or None in groups[0].names:
        raise _no_coordinates(chosen, segment.name)
    group, turns = groups[0], []
    along = segment.axes @ group.axes.T
    for k, name in enumerate(group.names):
        place = int(np.argmax(np.abs(along[:, k])))
        joint = segment.joints[place]
        ends = sorted(float(np.sign(along[place, k]) * v[joint]) for v in (low, high))
        limits = ends[0], ends[1]
        turns.append((str(name), group.axes[k], limits, group.renames(segment)))
    return turns


def _no_coordinates(chosen: Convention, name: str) -> ParameterError:
    return ParameterError(
        f"'{chosen.name}' has no .osim: its angles of '{name}' are not the coordinates "
        f"of one joint; take '{HUMANS}', 'opensim' or 'rajagopal'"
    )


def _body(bodies: ET.Element, segment: Segment) -> None:
    body = ET.SubElement(bodies, "Body", name=segment.name)
    if segment.mass > 0:
        components = ET.SubElement(body, "components")
        frame = ET.SubElement(components, "PhysicalOffsetFrame", name="mass_centre")
        geometry = ET.SubElement(frame, "attached_geometry")
        shape = ET.SubElement(geometry, "Ellipsoid", name="shape")
        _text(shape, "socket_frame", "..")
        _text(shape, "radii", _numbers(_radii(segment)))
        _text(frame, "socket_parent", "..")
        _text(frame, "translation", _numbers(segment.com))
        _text(frame, "orientation", "0 0 0")
    _text(body, "mass", repr(segment.mass))
    _text(body, "mass_center", _numbers(segment.com))
    i = segment.inertia
    moments = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
    _text(body, "inertia", _numbers(moments))


def _radii(segment: Segment) -> np.ndarray:
    """Of the even ellipsoid with the moments of inertia of a segment."""
    moments = np.diag(segment.inertia)
    squares = 2.5 * (moments.sum() - 2.0 * moments) / segment.mass
    return np.asarray(np.sqrt(np.maximum(squares, _THINNEST**2)))


def _joint(
    joints: ET.Element, segment: Segment, turns: list[Turn], position: Sequence[str]
) -> None:
    """A joint between a segment's parent, or the ground, and the segment."""
    parent = f"/bodyset/{segment.parent}" if segment.parent else "/ground"
    name = f"{segment.parent or 'ground'}_{segment.name}"
    joint = ET.SubElement(joints, "CustomJoint", name=name)
    _text(joint, "socket_parent_frame", "parent_offset")
    _text(joint, "socket_child_frame", "child_offset")
    coordinates = ET.SubElement(joint, "coordinates")
    for turn, _, limits, exact in turns:
        _coordinate(coordinates, turn, limits, exact)
    for along in position:
        _coordinate(coordinates, along, (-_REACH, _REACH), False)
    frames = ET.SubElement(joint, "frames")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Gimbal lock")  # any of the answers will do
        angles = Rotation.from_matrix(segment.rotation).as_euler("XYZ")
    for frame, body, at, orientation in (
        ("parent_offset", parent, segment.centre, angles),
        ("child_offset", f"/bodyset/{segment.name}", np.zeros(3), np.zeros(3)),
    ):
        offset = ET.SubElement(frames, "PhysicalOffsetFrame", name=frame)
        _text(offset, "socket_parent", body)
        _text(offset, "translation", _numbers(at))
        _text(offset, "orientation", _numbers(orientation))
    transform = ET.SubElement(joint, "SpatialTransform")
    axes = _completed(np.array([turn[1] for turn in turns]))
    names = [turn[0] for turn in turns] + [""] * (3 - len(turns))
    along_axes = [*(position or ("", "", ""))]
    for k, (axis, coordinate) in enumerate(
        zip([*axes, *np.eye(3)], [*names, *along_axes], strict=True)
    ):
        kind = "rotation" if k < 3 else "translation"
        name = f"{kind}{k % 3 + 1}"
        element = ET.SubElement(transform, "TransformAxis", name=name)
        _text(element, "coordinates", coordinate)
        _text(element, "axis", _numbers(axis))
        law = "LinearFunction" if coordinate else "Constant"
        function = ET.SubElement(element, law, name="function")
        field, value = ("coefficients", "1 0") if coordinate else ("value", "0")
        _text(function, field, value)


def _completed(axes: np.ndarray) -> np.ndarray:
    """Three axes of which none are parallel, as OpenSim demands, from one to three."""
    rows = list(axes)
    while len(rows) < 3:
        free = np.linalg.svd(np.array(rows))[2][-1]  # at right angles to all of them
        rows.append(free)
    return np.array(rows)


def _coordinate(
    coordinates: ET.Element, name: str, limits: tuple[float, float], exact: bool
) -> None:
    element = ET.SubElement(coordinates, "Coordinate", name=name)
    _text(element, "default_value", "0")
    _text(element, "range", _numbers(limits))
    _text(element, "clamped", "true" if exact else "false")


def _markers(
    markers: ET.Element,
    model: Model,
    segments: Sequence[Segment],
    placed: Sequence[SetMarker],
) -> None:
    by_joint = {segment.pin_joint: segment.name for segment in segments}
    names: set[str] = set()
    for marker in placed:
        frame = model.pin.frames[frame_index(model.pin, marker.segment)]
        body = by_joint.get(int(frame.parentJoint))
        if body is None:
            raise ParameterError(
                f"the marker '{marker.name}' is on '{marker.segment}', which has no "
                "mass and is no body in OpenSim: put it on the link after it"
            )
        name = _word(marker.name)
        while name in names:
            name += "_"
        names.add(name)
        element = ET.SubElement(markers, "Marker", name=name)
        _text(element, "socket_parent_frame", f"/bodyset/{body}")
        at = to_humans(frame.placement.act(to_ros(marker.at)))
        _text(element, "location", _numbers(at))
        _text(element, "fixed", "true")


def _set(model: ET.Element, kind: str) -> ET.Element:
    """A set of OpenSim's, e.g. ``BodySet`` called ``bodyset``."""
    return ET.SubElement(ET.SubElement(model, kind, name=kind.lower()), "objects")


def _text(parent: ET.Element, tag: str, text: str) -> None:
    ET.SubElement(parent, tag).text = text


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    return " ".join(repr(float(value) + 0.0) for value in values)


def _word(name: str) -> str:
    """A name as OpenSim allows it."""
    forbidden = (c.isspace() or c in _FORBIDDEN or not c.isprintable() for c in name)
    plain = "".join("_" if bad else c for c, bad in zip(name, forbidden, strict=True))
    return plain or "unnamed"
