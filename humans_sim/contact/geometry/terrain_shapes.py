# SPDX-License-Identifier: Apache-2.0
"""Terrain of a few numbers: stairs, ramps, rubble."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.contact.geometry.terrain import HeightField, TriangleMesh
from humans_sim.core.budget import HEIGHTS, STEPS
from humans_sim.core.errors import ParameterError

_LOWEST = 0.05
"""Least height of rubble, in its greatest: nothing of it lies in the floor's plane."""


def stairs_mesh(
    count: int,
    rise: float,
    depth: float,
    start: float,
    width: float,
    name: str = "stairs",
) -> TriangleMesh:
    """Stairs that climb along x, standing on the floor, as one mesh.

    Args:
        count: number of steps.
        rise: of each [m].
        depth: of each [m].
        start: x of the first riser [m].
        width: along y, around y = 0 [m].
        name: of the mesh.
    """
    _check_numbers("stairs", rise=rise, depth=depth, width=width)
    if not (count >= 1 and count == int(count)):
        raise ParameterError(f"stairs have one step or more, not {count}")
    STEPS.check(name, count)
    profile = [(0.0, 0.0)]
    for k in range(int(count)):
        profile += [(k * depth, (k + 1) * rise), ((k + 1) * depth, (k + 1) * rise)]
    return _extruded(profile, start, width, name)


def ramp_mesh(
    angle: float,
    length: float,
    start: float,
    platform: float,
    width: float,
    name: str = "ramp",
) -> TriangleMesh:
    """A ramp that climbs along x, standing on the floor, and a level part behind it.

    Args:
        angle: 0 to 1.5 [rad].
        length: of the ramp along x [m].
        start: x of its foot [m].
        platform: length of the level part, 0 for none [m].
        width: along y, around y = 0 [m].
        name: of the mesh.
    """
    _check_numbers("a ramp", length=length, width=width)
    if not 0.0 < angle <= 1.5:
        raise ParameterError(f"angle of a ramp: 0 to 1.5 rad, not {angle}")
    if not (math.isfinite(platform) and platform >= 0.0):
        raise ParameterError(f"platform of a ramp: 0 m or more, not {platform}")
    top = length * math.tan(angle)
    profile = [(0.0, 0.0), (length, top)]
    if platform > 0.0:
        profile.append((length + platform, top))
    return _extruded(profile, start, width, name)


def rubble_field(
    seed: int,
    height: float,
    size: tuple[float, float],
    spacing: float,
    start: float,
    name: str = "rubble",
) -> HeightField:
    """Random heights on the floor; their border lies as deep under it.

    A border at the height of the floor would be a buried wall, which feet that slide on
    the floor run into by a rounding error.

    Args:
        seed: of the random numbers.
        height: of the highest [m].
        size: along x and y [m].
        spacing: of the grid [m].
        start: x at which it begins; it lies around y = 0 [m].
        name: of the field.
    """
    length, width = (float(side) for side in size)
    _check_numbers("rubble", height=height, length=length, width=width, spacing=spacing)
    if not (0 <= seed < 2**32 and seed == int(seed)):
        raise ParameterError(f"seed of rubble: a whole number of 0 or more, not {seed}")
    sides = [side / spacing for side in (length, width)]
    HEIGHTS.check(name, *(side + 1 for side in sides))
    shape = [max(3, round(side) + 1) for side in sides]
    random = np.random.default_rng(int(seed))
    heights = height * random.uniform(_LOWEST, 1.0, shape)
    heights[[0, -1], :] = -height
    heights[:, [0, -1]] = -height
    spacings = (length / (shape[0] - 1), width / (shape[1] - 1))
    return HeightField(heights, spacings, (start, -width / 2, 0.0), name)


def _check_numbers(what: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not (math.isfinite(number) and number > 0):
            raise ParameterError(f"{name} of {what} must be above zero, not {number}")


def _extruded(
    profile: list[tuple[float, float]], start: float, width: float, name: str
) -> TriangleMesh:
    """What lies under a profile of x and z that never falls, between two y.

    Its sides are fans around the lower corner at the end, from which all of a profile
    that never falls can be seen.
    """
    if not math.isfinite(start):
        raise ParameterError(f"start of {name} must be a number, not {start}")
    outline = np.array([*profile, (profile[-1][0], 0.0)])
    count = len(outline)
    vertices = np.zeros((2, count, 3))
    vertices[:, :, 0], vertices[:, :, 2] = start + outline[:, 0], outline[:, 1]
    vertices[0, :, 1], vertices[1, :, 1] = -width / 2, width / 2
    here, apex = np.arange(count), count - 1
    after = np.roll(here, -1)
    fan = np.arange(count - 2)
    faces = [
        np.stack([here, after + count, here + count], -1),
        np.stack([here, after, after + count], -1),
        np.stack([np.full(count - 2, apex), fan + 1, fan], -1),
        np.stack([np.full(count - 2, apex), fan, fan + 1], -1) + count,
    ]
    return TriangleMesh(vertices.reshape(-1, 3), np.concatenate(faces), name)
