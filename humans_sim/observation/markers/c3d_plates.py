# SPDX-License-Identifier: Apache-2.0
"""Force plates of a C3D file: from channels to the wrench on the body.

Types 1 to 4 of the C3D user guide (c3d.org), FORCE_PLATFORM:TYPE: force, centre of
pressure and free moment; force and moment of the sensors; eight sensors in the corners;
six sensors with a calibration matrix. A plate's own axes follow from its corners, z
down. Files differ in signs and units, and physics decides: the sensors lie beneath the
surface, a plate can only push a body upwards, and the centre of pressure lies on it.

Zero and sign follow from what a plate can do: be empty, and push.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.assemble import FARTHEST, to_z_up
from humans_sim.observation.markers.c3d_parameters import C3dHead
from humans_sim.observation.markers.force_plate import ForcePlate, plate_axes
from humans_sim.observation.markers.trial import AnalogChannels

_QUIET = 20.0
"""An empty plate's vertical force changes by less than this [N]."""
_LOAD = 100.0
"""A plate that somebody steps on changes by more than this [N]."""
_OFFSET = 75.0
"""An empty plate may show so much, or anything against the later load [N]."""


def empty_wrench(wrench: np.ndarray, zero: slice) -> np.ndarray:
    """The wrench of an empty plate (6,); zero where it is not known to be so.

    Files say when plates are empty, mostly in the first frames, and say so too where a
    person stands there. The plate was empty if the force then leaves its value to one
    side only, by the load of a step, and if that value was small or pulled. Wrenches
    (n, 6) [N, N m] are in the laboratory's frame, z up.
    """
    none = np.zeros(6)
    part = wrench[zero]
    if not len(part) or not np.isfinite(wrench).all():
        return none
    mean: np.ndarray = part.mean(axis=0)
    level = float(mean[2])
    low, high = float(wrench[:, 2].min() - level), float(wrench[:, 2].max() - level)
    if np.ptp(part[:, 2]) > _QUIET or max(-low, high) < _LOAD:
        return none
    if min(-low, high) > _QUIET:
        return none
    peak = level + (high if high > -low else low)
    opposite = level * peak < 0 and abs(peak) > _LOAD
    return mean if opposite or abs(level) < min(_OFFSET, abs(peak)) else none


def upward_wrench(wrench: np.ndarray) -> np.ndarray:
    """The wrench on the body (n, 6): its largest vertical force points up.

    Some programs write the force on the body, some that on the plate.
    """
    vertical = wrench[np.isfinite(wrench[:, 2]), 2]
    if not len(vertical) or -vertical.min() <= max(vertical.max(), _QUIET):
        return wrench
    return -wrench


_CHANNELS = {1: 6, 2: 6, 3: 8, 4: 6}
"""Channels of a plate, by its type."""
_NEWTONS = {"n": 1.0, "nt": 1.0, "newton": 1.0, "newtons": 1.0, "kn": 1e3}
_NEWTON_METRES = {
    "nm": 1.0,
    "ntm": 1.0,
    "ncm": 1e-2,
    "ntcm": 1e-2,
    "nmm": 1e-3,
    "ntmm": 1e-3,
    "newtonmeters": 1.0,
    "newtonmillimeters": 1e-3,
}
_METRES = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
"""Units of channels, by the letters of their names."""
_MOST_INSIDE = 0.5
"""Of the centres of pressure, with the right unit of moments."""


def plate_corners(head: C3dHead, unit: float) -> np.ndarray:
    """Corners of the plates that have sound ones, on the axes of the file (k, 4, 3)."""
    numbers = head.all_numbers("FORCE_PLATFORM:CORNERS") * unit
    used = min(head.count("FORCE_PLATFORM:USED") or 0, len(numbers) // 12)
    sound = []
    for corners in numbers[: 12 * used].reshape(used, 4, 3):
        with suppress(ParameterError):
            if (np.abs(corners) < FARTHEST).all():
                plate_axes(corners)
                sound.append(corners)
    return np.array(sound).reshape(-1, 4, 3)


def read_plates(
    head: C3dHead, analog: AnalogChannels | None, each: int, unit: float, up: str
) -> tuple[ForcePlate, ...]:
    """The plates of which all is there; of others, a note says why not.

    Args:
        head: header and parameters.
        analog: the channels, or None where there are none.
        each: samples in a frame.
        unit: of lengths in the file [m].
        up: axis of the file that points up.
    """
    used = head.count("FORCE_PLATFORM:USED") or 0
    types = head.all_numbers("FORCE_PLATFORM:TYPE")
    if used == 0:
        return ()
    if analog is None:
        head.note(f"{used} plates, but no analogue channels", "FORCE_PLATFORM:USED")
        return ()
    if used > len(types):
        head.note(f"{used} plates, but {len(types)} types", "FORCE_PLATFORM:USED")
    plates: list[ForcePlate] = []
    taken: set[int] = set()
    frames, zero = head.all_numbers("FORCE_PLATFORM:ZERO")[:2], slice(0, 0)
    if len(frames) == 2 and np.isfinite(frames).all():  # the plates are empty there
        first, last = (int(frame) for frame in frames)
        zero = slice((max(first, 1) - 1) * each, max(last, 0) * each)
    for index, kind in enumerate(types[:used].tolist()):
        name = f"plate {index + 1}"
        try:
            plates.append(
                _plate(head, analog, name, index, kind, unit, up, taken, zero)
            )
        except ParameterError as fault:
            head.note(f"{name} is left out: {fault}", "FORCE_PLATFORM")
    return tuple(plates)


def _plate(
    head: C3dHead,
    analog: AnalogChannels,
    name: str,
    index: int,
    kind: float,
    unit: float,
    up: str,
    taken: set[int],
    zero: slice,
) -> ForcePlate:
    """One plate; ParameterError where something of it is missing."""
    if kind not in _CHANNELS:
        raise ParameterError(f"its type {kind:g} is not one of 1, 2, 3, 4")
    kind = int(kind)
    corners = _part(head, "CORNERS", index, 12).reshape(4, 3) * unit
    if not (np.abs(corners) < FARTHEST).all():
        raise ParameterError("its corners are no places")
    axes = to_z_up(plate_axes(corners).T, up).T
    corners = to_z_up(corners, up)
    columns = _columns(head, analog, index, _CHANNELS[kind])
    if taken.intersection(columns):
        raise ParameterError("another plate has one of its channels")
    centre = corners.mean(axis=0)
    lever = _lever(head, index, kind) * unit
    if not (np.abs(lever) < FARTHEST).all():
        raise ParameterError("its ORIGIN is no place")
    values = analog.values[:, columns]
    words = [analog.units[column] for column in columns]
    sensors = centre - axes @ (lever if kind in (2, 4) else lever * (0.0, 0.0, 1.0))
    taken.update(columns)

    def plate(channel_units: list[str]) -> ForcePlate:
        wrench = _wrench(head, values, channel_units, index, kind, lever, unit)
        wrench = np.concatenate([wrench[:, :3] @ axes.T, wrench[:, 3:] @ axes.T], 1)
        wrench = upward_wrench(wrench - empty_wrench(wrench, zero))
        return ForcePlate(
            name, corners, sensors, analog.times, wrench[:, :3], wrench[:, 3:]
        )

    with np.errstate(all="ignore"):  # damaged files hold any number
        measured = plate(words)
        if kind == 3 and not lever[:2].all():
            head.note(f"{name}: places of sensors are missing", "FORCE_PLATFORM:ORIGIN")
            return replace(measured, moment=np.full(measured.moment.shape, np.nan))
        if kind == 2 and _misses(measured):
            other = plate(words[:3] + [""] * 3)
            if not _misses(other):
                head.note(
                    f"{name}: moments are not in {words[3]}, but in newtons times the "
                    "unit of length",
                    "ANALOG:UNITS",
                )
                return other
        if _misses(measured):
            head.note(f"{name}: most pressure lies beside it", "FORCE_PLATFORM")
    return measured


def _part(head: C3dHead, name: str, index: int, size: int) -> np.ndarray:
    """The numbers of one plate."""
    numbers = head.all_numbers(f"FORCE_PLATFORM:{name}")
    part = numbers[size * index : size * (index + 1)]
    if len(part) < size or not np.isfinite(part).all():
        raise ParameterError(f"its {name} are missing")
    return part


def _columns(
    head: C3dHead, analog: AnalogChannels, index: int, number: int
) -> list[int]:
    """Columns of the plate's channels."""
    parameter = head.parameters.get("FORCE_PLATFORM:CHANNEL")
    stride = number if parameter is None or not parameter.shape else parameter.shape[0]
    if stride < number:
        raise ParameterError(f"it has {stride} channels, not {number}")
    columns = [int(k) - 1 for k in _part(head, "CHANNEL", index, stride)[:number]]
    for column in columns:
        if not 0 <= column < len(analog.names):
            raise ParameterError(
                f"its channel {column + 1} is none of {len(analog.names)}"
            )
    if len(set(columns)) < number:
        raise ParameterError("one of its channels is named twice")
    return columns


def _lever(head: C3dHead, index: int, kind: int) -> np.ndarray:
    """From the sensors to the centre of the surface, on the plate's axes (3,).

    Of type 3, half the distances of the sensors stand for x and y. The sensors lie
    beneath the surface: z is never positive, though some programs write it so.
    """
    lever = _part(head, "ORIGIN", index, 3)
    if kind == 1:
        return np.array([0.0, 0.0, -abs(lever[2])])
    if kind == 3:
        return np.array([abs(lever[0]), abs(lever[1]), -abs(lever[2])])
    return -lever if lever[2] > 0 else lever


def _wrench(
    head: C3dHead,
    values: np.ndarray,
    words: list[str],
    index: int,
    kind: int,
    lever: np.ndarray,
    unit: float,
) -> np.ndarray:
    """Wrench about the centre of the surface, on the plate's axes (n, 6) [N, N m].

    Of the plate's channels (n, 6 or 8) and their units; the lever (3,) [m] leads from
    the sensors to the centre of the surface.
    """
    if kind == 3:
        # x of sides 12, 34; y of 14, 23; z of 1, 2, 3, 4
        scale = np.array([_scale(word, _NEWTONS, 1.0) for word in words])
        x12, x34, y14, y23, z1, z2, z3, z4 = (values * scale).T
        a, b, _ = lever
        force = np.column_stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4])
        tilt = b * (z1 + z2 - z3 - z4), a * (z2 + z3 - z1 - z4)
        moment = np.column_stack([*tilt, b * (x34 - x12) + a * (y14 - y23)])
        moment -= np.cross(lever * (0.0, 0.0, 1.0), force)
        return np.concatenate([force, moment], axis=1)
    if kind == 4:
        matrix = _part(head, "CAL_MATRIX", index, 36).reshape(6, 6, order="F")
        values = values @ matrix.T * ([1.0] * 3 + [unit] * 3)
    else:
        tables = [_NEWTONS] * 3 + [_NEWTON_METRES] * 3
        usual = [1.0] * 3 + [unit] * 3
        if kind == 1:
            tables[3:5] = [_METRES] * 2
        scales = zip(words, tables, usual, strict=True)
        values = values * [_scale(*entry) for entry in scales]
    force, moment = values[:, :3], values[:, 3:]
    if kind == 1:
        point = np.column_stack([values[:, 3:5], np.zeros(len(values))])
        free = np.zeros((len(values), 3))
        free[:, 2] = values[:, 5]
        return np.concatenate([force, np.cross(point, force) + free], axis=1)
    return np.concatenate([force, moment - np.cross(lever, force)], axis=1)


def _scale(word: str, table: dict[str, float], usual: float) -> float:
    """A channel's unit [N, N m or m]; the usual one where its word is no unit of it."""
    return table.get(re.sub("[^a-z]", "", word.lower()), usual)


def _misses(plate: ForcePlate) -> bool:
    """Whether most centres of pressure lie beside the plate."""
    points = plate.centre_of_pressure[plate.loaded]
    points = points[np.isfinite(points).all(axis=1)]
    return bool(len(points)) and bool(plate.contains(points).mean() < _MOST_INSIDE)
