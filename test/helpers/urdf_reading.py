# SPDX-License-Identifier: Apache-2.0
"""A URDF read a second time: Python's XML and ``float``, no code of the package.

What the file says is brought into one matrix, the mass matrix with all joints at zero:
masses, centres of mass, moments of inertia, places and axes all have a share in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import humans_sim as hs

MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
EQUAL, REFUSED, SILENT, UNTYPED, UNPLACED = OUTCOMES = (
    *("equal", "refused", "silent", "untyped", "unplaced"),
)
"""What becomes of a damaged file: the last three are faults."""


class UnreadableError(Exception):
    """The file does not say what its robot is."""


@dataclass(frozen=True)
class Reading:
    """What a URDF says.

    Attributes:
        mass: of all links [kg].
        matrix: mass matrix with all joints at zero, base first, linear before angular,
            then the moving joints by name.
        limits: of the moving joints by name: lower, upper, effort, velocity; infinite
            where there are none.
        joints: names of the moving joints.
    """

    mass: float
    matrix: np.ndarray
    limits: np.ndarray
    joints: tuple[str, ...]

    def of_joints(self, names: Sequence[str]) -> Reading:
        """The same with all other joints locked at zero."""
        kept = np.array([name in names for name in self.joints])
        rows = np.concatenate([np.arange(6), 6 + np.flatnonzero(kept)])
        left = tuple(name for name in self.joints if name in names)
        matrix = self.matrix[np.ix_(rows, rows)]
        return Reading(self.mass, matrix, self.limits[kept], left)


def read_independently(text: str) -> Reading:
    """What a URDF says.

    Raises:
        UnreadableError: it has an element twice or not at all, or no number for one.
    """
    try:
        return _reading(ElementTree.fromstring(text))
    except (ElementTree.ParseError, ValueError, KeyError, TypeError) as error:
        raise UnreadableError(str(error)) from error


def _only(element, tag):
    """The child of a name, or None."""
    children = element.findall(tag)
    if len(children) > 1:
        raise UnreadableError(f"{len(children)} of <{tag}>")
    return children[0] if children else None


def _needed(element, tag):
    child = _only(element, tag)
    if child is None:
        raise UnreadableError(f"no <{tag}>")
    return child


def _three(element, name, default):
    if element is None or (default is not None and name not in element.attrib):
        return np.array(default, float)
    values = [float(word) for word in element.attrib[name].split()]
    if len(values) != 3:
        raise UnreadableError(f"{len(values)} numbers")
    return np.array(values)


def _pose(element):
    """Homogeneous matrix of the origin in an element."""
    origin = _only(element, "origin")
    pose = np.eye(4)
    pose[:3, 3] = _three(origin, "xyz", (0, 0, 0))
    for axis, angle in enumerate(_three(origin, "rpy", (0, 0, 0))):
        turn = np.eye(3)
        i, j = (axis + 1) % 3, (axis + 2) % 3
        turn[i, i] = turn[j, j] = math.cos(angle)
        turn[j, i] = math.sin(angle)
        turn[i, j] = -turn[j, i]
        pose[:3, :3] = turn @ pose[:3, :3]
    return pose


def _reading(robot) -> Reading:
    links = {link.attrib["name"]: link for link in robot.findall("link")}
    joints = {joint.attrib["name"]: joint for joint in robot.findall("joint")}
    above = {_needed(j, "child").attrib["link"]: name for name, j in joints.items()}
    moving = sorted(n for n, j in joints.items() if j.attrib["type"] != "fixed")
    poses, chains, screws = {}, {}, {}

    def place(link: str) -> None:
        """Pose of a link with all joints at zero, and the moving joints above it."""
        if link in poses:
            return
        if link not in above:
            poses[link], chains[link] = np.eye(4), []
            return
        name = above[link]
        joint = joints[name]
        parent = _needed(joint, "parent").attrib["link"]
        place(parent)
        poses[link] = poses[parent] @ _pose(joint)
        chains[link] = list(chains[parent])
        if name in moving:
            given = _only(joint, "axis")
            axis = np.eye(3)[0] if given is None else _three(given, "xyz", None)
            axis = poses[link][:3, :3] @ (axis / np.linalg.norm(axis))
            screws[name] = poses[link][:3, 3], axis, joint.attrib["type"]
            chains[link].append(name)

    total, matrix = 0.0, np.zeros((6 + len(moving),) * 2)
    for name, link in links.items():
        place(name)
        inertial = _only(link, "inertial")
        if inertial is None:
            continue
        mass = float(_needed(inertial, "mass").attrib["value"])
        values = _needed(inertial, "inertia").attrib
        xx, xy, xz, yy, yz, zz = (float(values[word]) for word in MOMENTS)
        pose = poses[name] @ _pose(inertial)
        moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        moments = pose[:3, :3] @ moments @ pose[:3, :3].T
        linear, angular = np.zeros((2, 3, len(matrix)))
        linear[:, :3] = angular[:, 3:6] = np.eye(3)
        x, y, z = pose[:3, 3]
        linear[:, 3:6] = -np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        for joint in chains[name]:
            at, axis, kind = screws[joint]
            k = 6 + moving.index(joint)
            if kind == "prismatic":
                linear[:, k] = axis
            else:
                linear[:, k] = np.cross(axis, pose[:3, 3] - at)
                angular[:, k] = axis
        total += mass
        matrix += mass * linear.T @ linear + angular.T @ moments @ angular
    limits = []
    for name in moving:
        element = _only(joints[name], "limit")
        limit = {} if element is None else element.attrib
        ends = [float(limit.get(word, 0)) for word in ("lower", "upper")]
        kind = joints[name].attrib["type"]
        if element is None or (kind == "continuous" and not ends[0] < ends[1]):
            ends = [-math.inf, math.inf]
        most = [float(limit.get(word, math.inf)) for word in ("effort", "velocity")]
        limits.append(ends + most)
    return Reading(total, matrix, np.array(limits).reshape(-1, 4), tuple(moving))


def same(model: hs.Model, reading: Reading) -> bool:
    """Whether a model is what the second reading says."""
    order = np.argsort(model.joint_names)
    if 6 + len(order) != len(reading.matrix):
        return False
    columns = np.concatenate([np.arange(6), 6 + order])
    matrix = model.inertia(model.neutral())[np.ix_(columns, columns)]
    tree = model.pin
    limits = np.column_stack(
        [
            model.lower_limits,
            model.upper_limits,
            tree.upperEffortLimit[6:],
            tree.upperVelocityLimit[6:],
        ]
    )[order]
    return bool(
        np.isclose(model.mass, reading.mass, rtol=1e-12, atol=0.0)
        and np.allclose(matrix, reading.matrix, rtol=1e-9, atol=1e-12 * matrix.max())
        and np.allclose(limits, reading.limits, rtol=1e-14, atol=0.0)
        and tuple(sorted(model.joint_names)) == reading.joints
    )


def judge(
    path: Path, words: tuple[str, ...], line: int | None = None
) -> tuple[str, str]:
    """What the package makes of a URDF: an outcome of :data:`OUTCOMES`, and why.

    Args:
        path: of the file.
        words: names of elements or attributes, one of which an error has to have.
        line: that it has to have, where that is known.
    """
    try:
        model = hs.load_model(path)
    except hs.errors.ModelFileError as error:
        placed = error.line is not None and line in (None, error.line)
        named = any(word in str(error.key) for word in words) or "not XML" in str(error)
        return REFUSED if named and placed else UNPLACED, str(error)
    except Exception as error:
        return UNTYPED, repr(error)
    try:
        reading = read_independently(path.read_text(encoding="utf-8"))
    except UnreadableError as error:
        return SILENT, f"{model.mass:g} kg were loaded of a file with {error}"
    if same(model, reading):
        return EQUAL, ""
    return SILENT, f"the file says {reading.mass!r} kg, {model.mass!r} were loaded"
