# SPDX-License-Identifier: Apache-2.0
"""C3D files of force plates whose load is known, made from the format's description."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from c3d_bytes import c3d_bytes

from humans_sim.observation.markers.assemble import from_z_up

LEVER = np.array([0.001, -0.002, -0.04])
"""From the sensors to the centre of the surface, on the plate's axes, z down [m]."""
SENSORS = np.array([0.12, 0.2, -0.05])
"""Of type 3: half the distances of the sensors, and the surface above them [m]."""
CALIBRATION = (
    np.diag([2.0, 2.1, 4.0, 0.5, 0.6, 0.7]) + np.arange(36).reshape(6, 6) / 500
)


@dataclass
class Load:
    """What stands on a plate, in the laboratory, z up.

    Attributes:
        force: on the body (n, 3) [N].
        point: of the surface at which it acts (n, 3) [m].
        free: moment about the vertical there (n,) [N m].
        corners: of the plate (4, 3) [m].
    """

    force: np.ndarray
    point: np.ndarray
    free: np.ndarray
    corners: np.ndarray = field(default_factory=lambda: turned_corners(0.3))


def turned_corners(angle: float, place: tuple[float, float] = (0.5, 0.2)) -> np.ndarray:
    """Corners of a plate of 0.4 by 0.6 m in the floor, its z axis down (4, 3) [m]."""
    x = np.array([np.cos(angle), np.sin(angle), 0.0])
    y = np.array([np.sin(angle), -np.cos(angle), 0.0])  # x, y and down: a right hand
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    centre = np.array([*place, 0.0])
    return np.array([centre + a * 0.2 * x + b * 0.3 * y for a, b in signs])


def walking_load(count: int = 60, seed: int = 3) -> Load:
    """Nothing in the first third, then a foot that rolls over the plate."""
    rng = np.random.default_rng(seed)
    corners = turned_corners(0.3)
    force = rng.normal(0, 40, (count, 3)) + (0, 0, 600)
    spread = rng.uniform(-0.9, 0.9, (count, 2, 1)) / 2
    sides = np.array([corners[0] - corners[1], corners[0] - corners[3]])
    point = corners.mean(axis=0) + (spread * sides).sum(axis=1)
    free = rng.normal(0, 4, count)
    force[: count // 3], free[: count // 3] = 0.0, 0.0
    return Load(force, point, free, corners)


def plate_axes_of(corners: np.ndarray) -> np.ndarray:
    """The plate's axes as columns, from corners 1, 2 and 4."""
    x, y = corners[0] - corners[1], corners[0] - corners[3]
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)])


def channels_of(load: Load, kind: int) -> np.ndarray:
    """Channels of a plate of a type (n, 6 or 8) [N, N m, m]."""
    axes = plate_axes_of(load.corners)
    force = load.force @ axes
    place = (load.point - load.corners.mean(axis=0)) @ axes
    torque = np.outer(load.free, [0, 0, 1]) @ axes
    if kind == 1:
        return np.column_stack([force, place[:, :2], torque[:, 2]])
    if kind == 3:
        a, b, height = SENSORS
        moment = np.cross(place + (0, 0, height), force) + torque
        mx, my, mz = moment.T
        x, y, z = force.T
        return np.column_stack(
            [
                *(x / 2 - mz / (4 * b), x / 2 + mz / (4 * b)),
                *(y / 2 + mz / (4 * a), y / 2 - mz / (4 * a)),
                z / 4 + mx / (4 * b) - my / (4 * a),
                z / 4 + mx / (4 * b) + my / (4 * a),
                z / 4 - mx / (4 * b) + my / (4 * a),
                z / 4 - mx / (4 * b) - my / (4 * a),
            ]
        )
    wrench = np.hstack([force, np.cross(place + LEVER, force) + torque])
    return wrench if kind == 2 else np.linalg.solve(CALIBRATION, (wrench * MM).T).T


MM = np.array([1, 1, 1, 1000, 1000, 1000])
"""Newton metres in newton millimetres."""


def plate_bytes(
    load: Load,
    kind: int,
    *,
    up: str = "z",
    sign: float = 1.0,
    origin_sign: float = 1.0,
    each: int = 2,
    extra: dict[str, Any] | None = None,
    **options: Any,
) -> bytes:
    """A file in millimetres with one plate beside three markers.

    Args:
        load: what stands on the plate.
        kind: type of the plate.
        up: axis of the file that points up.
        sign: -1 for the force on the plate instead of the body.
        origin_sign: -1 for a file that has ORIGIN the other way round.
        each: samples in a frame.
        extra: more parameters.
        options: of ``c3d_bytes``.
    """
    values = channels_of(load, kind)
    lever = {1: LEVER, 3: SENSORS}.get(kind, LEVER) * 1000
    if kind == 1:
        values = sign * values * (1, 1, 1, sign * 1000, sign * 1000, 1000)
        units = ["N", "N", "N", "mm", "mm", "Nmm"]
    elif kind == 2:
        values, units = sign * values * MM, ["N"] * 3 + ["Nmm"] * 3
    else:
        values, units = sign * values, ["N" if kind == 3 else "V"] * values.shape[1]
    if kind == 3:
        lever = lever * (1, 1, origin_sign)
    else:
        lever = lever * origin_sign
    count, number = len(values) // each, values.shape[1]
    corners = from_z_up(load.corners, up) * 1000
    parameters: dict[str, Any] = {
        "ANALOG:USED": number,
        "ANALOG:LABELS": [f"C{k + 1}" for k in range(number)],
        "ANALOG:UNITS": units,
        "ANALOG:SCALE": np.ones(number),
        "ANALOG:OFFSET": np.zeros(number, int),
        "ANALOG:GEN_SCALE": 1.0,
        "ANALOG:RATE": 100.0 * each,
        "FORCE_PLATFORM:USED": 1,
        "FORCE_PLATFORM:TYPE": np.array([kind]),
        "FORCE_PLATFORM:CORNERS": corners[None],
        "FORCE_PLATFORM:ORIGIN": lever[None],
        "FORCE_PLATFORM:CHANNEL": np.arange(1, number + 1)[None],
        "FORCE_PLATFORM:ZERO": np.array([1, 0]),
        "POINT:Y_SCREEN": f"+{up.upper()}",
    }
    if kind == 4:
        parameters["FORCE_PLATFORM:CAL_MATRIX"] = CALIBRATION.T[None]
    analog = values[: count * each].reshape(count, each, number)
    positions = np.full((count, 3, 3), 500.0)
    return c3d_bytes(
        positions, analog=analog, extra=parameters | (extra or {}), **options
    )
