# SPDX-License-Identifier: Apache-2.0
"""The HuMAnS vector of a table that does not list it: what its rows say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from humans_sim.core.yaml_file import YamlValue
from humans_sim.models.description import BASE_LINK, HumansLayout
from humans_sim.models.files.coordinates import Coordinate
from humans_sim.models.files.denavit_hartenberg import DhFrame
from humans_sim.models.files.table_body import TableBody

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

    Raises:
        ModelFileError: numbers are missing or stand twice, or the base moves otherwise.
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
    """Layout of a tree: joints in the order of the file, the contacts on the ground.

    Args:
        bodies: of the tree.
        lowest: height of the lowest contact point over the base's origin, in the zero
            position; None where there is none [m].
    """
    joints = tuple(joint for body in bodies for joint, _ in body.rotations)
    height = 0.0 if lowest is None else -lowest
    segments = tuple(body.name for body in bodies)
    return HumansLayout(joints, BASE_ROTATION, height, segments)


def zero_places(bodies: Sequence[TableBody]) -> dict[str, np.ndarray]:
    """Origins of the bodies from that of the base, in the zero position [m]."""
    places: dict[str, np.ndarray] = {}
    for body in bodies:
        places[body.name] = places.get(body.parent, np.zeros(3)) + body.origin
    return places


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
