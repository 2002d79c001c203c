# SPDX-License-Identifier: Apache-2.0
"""C3D, the binary format of most motion-capture systems: writing.

What the reader gives is kept: markers, events, analogue channels and force plates. A
plate becomes one of type 2, with six channels of its own, called after it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.core.files import atomic_stream
from humans_sim.observation.markers.analog import AnalogChannels
from humans_sim.observation.markers.axes import METRES, check_units, from_z_up
from humans_sim.observation.markers.c3d_parameters import MOST
from humans_sim.observation.markers.ezc3d_module import ezc3d_module
from humans_sim.observation.markers.force_plate import ForcePlate, plate_axes
from humans_sim.observation.markers.trial import MarkerTrial

UP = "z"
UNITS = "mm"
"""Axis and units of files, unless others are given."""
_SCREEN = {"x": "y", "y": "z", "z": "x"}
"""An axis that can lie to the right of a screen whose upward axis is given."""
_LONGEST_NAME = 127
_MOST_NAMES = 255 * 255
_MOST_EVENTS = 255
_UNEVEN = 1e-3
"""Samples may be off their even times by so much of a period."""


def write_c3d(
    trial: MarkerTrial, path: Path | str, *, up: str = UP, units: str = UNITS
) -> Path:
    """Write a trial as C3D; its reals keep seven digits.

    Args:
        trial: what to write.
        path: the file; written whole or not at all.
        up: axis that shall point up in the file; it is noted there.
        units: of the file.

    Returns:
        The path.

    Raises:
        ParameterError: the trial has one sample, too many markers or events for a C3D
            file, a name that cannot stand there, or channels that do not cover it.
    """
    ezc3d = ezc3d_module()  # takes long to load, and readers do not need it

    path, units, count = Path(path), check_units(units), len(trial)
    if count < 2:
        raise ParameterError("a trial of one sample has no rate to write as C3D")
    channels = _channels(trial, METRES[units])
    _check_names(trial.names, "marker")
    _check_names(() if channels is None else channels.names, "channel")
    if len(trial.events) > _MOST_EVENTS:
        raise ParameterError(
            f"{len(trial.events)} events are too many for one C3D file: up to "
            f"{_MOST_EVENTS}"
        )
    points = np.ones((4, len(trial.names), count))
    points[:3] = from_z_up(trial.positions, up).transpose(2, 1, 0) / METRES[units]
    residuals = np.where(trial.occluded, -1.0, 0.0).T[None]
    points[:3, trial.occluded.T] = 0.0
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [trial.rate]
    file["parameters"]["POINT"]["UNITS"]["value"] = [units]
    file["parameters"]["POINT"]["LABELS"]["value"] = list(trial.names)
    sign, axis = ("-", up[1]) if up.startswith("-") else ("+", up)
    file.add_parameter("POINT", "X_SCREEN", f"+{_SCREEN[axis].upper()}")
    file.add_parameter("POINT", "Y_SCREEN", f"{sign}{axis.upper()}")
    if count >= MOST:
        words = np.array([count & MOST, count >> 16], np.uint16).astype(np.int16)
        file.add_parameter("TRIAL", "ACTUAL_START_FIELD", [1, 0])
        file.add_parameter("TRIAL", "ACTUAL_END_FIELD", words.tolist())
    file["data"]["points"] = points
    file["data"]["meta_points"]["residuals"] = residuals
    if channels is not None:
        _add_channels(file, channels)
        _add_plates(file, trial.plates, channels, up, METRES[units])
    if trial.events:
        _add_events(file, trial)
    with TemporaryDirectory() as folder:
        written = Path(folder) / "trial.c3d"
        file.write(str(written))
        content = written.read_bytes()
    with atomic_stream(path) as stream:
        stream.write(content)
    return path


def _check_names(names: tuple[str, ...], word: str) -> None:
    if len(names) > _MOST_NAMES:
        raise ParameterError(
            f"{len(names)} {word}s are too many for one C3D file: up to {_MOST_NAMES}"
        )
    for name in names:
        if (
            not name
            or name != name.strip()
            or len(name) > _LONGEST_NAME
            or not name.isascii()
        ):
            raise ParameterError(f"a {word} called {name!r} cannot be written as C3D")


def _channels(trial: MarkerTrial, unit: float) -> AnalogChannels | None:
    """The trial's channels and its plates', as many samples in each frame.

    Raises:
        ParameterError: they do not cover the trial, or have no even rate.
    """
    if trial.analog is None and not trial.plates:
        return None
    even = trial.times[0] + np.arange(len(trial)) / trial.rate
    if np.abs(trial.times - even).max() * trial.rate > _UNEVEN:
        raise ParameterError(
            "samples at uneven times cannot be written as C3D with channels or plates"
        )
    analog = trial.analog
    if analog is None:
        times = trial.plates[0].times
        period = (times[-1] - times[0]) / max(len(times) - 1, 1)
        each = max(round(1 / (period * trial.rate)), 1) if period > 0 else 1
        names: tuple[str, ...] = ()
        words: tuple[str, ...] = ()
        values = np.zeros((len(trial) * each, 0))
    else:
        each = round(analog.rate / trial.rate)
        if each < 1 or abs(analog.rate / trial.rate - each) > _UNEVEN * each:
            raise ParameterError(
                f"channels at {analog.rate:g} Hz cannot be written as C3D beside "
                f"markers at {trial.rate:g} Hz: whole samples in each frame are needed"
            )
        begin = round((trial.times[0] - analog.start) * analog.rate)
        end = begin + len(trial) * each
        if begin < 0 or end > len(analog):
            raise ParameterError("the analogue channels do not cover the trial")
        own = {name for plate in trial.plates for name in _plate_channels(plate)}
        kept = [k for k, name in enumerate(analog.names) if name not in own]
        names = tuple(analog.names[k] for k in kept)
        words = tuple(analog.units[k] for k in kept)
        values = analog.values[begin:end, kept]
    rate = trial.rate * each
    times = trial.times[0] + np.arange(len(values)) / rate
    for plate in trial.plates:
        names += _plate_channels(plate)
        words += ("N",) * 3 + ("Nm",) * 3
        values = np.hstack([values, _of_sensors(plate.at(times))])
    return AnalogChannels(names, words, rate, values, float(trial.times[0]))


def _plate_channels(plate: ForcePlate) -> tuple[str, ...]:
    return tuple(
        f"{plate.name} {word}" for word in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    )


def _of_sensors(plate: ForcePlate) -> np.ndarray:
    """Wrench on the body about the sensors' origin, on the plate's axes (n, 6)."""
    axes = plate_axes(plate.corners)
    moment = plate.moment + np.cross(plate.centre - plate.origin, plate.force)
    return np.concatenate([plate.force @ axes, moment @ axes], axis=1)


def _add_channels(file: Any, channels: AnalogChannels) -> None:
    group = file["parameters"]["ANALOG"]
    number = len(channels.names)
    group["RATE"]["value"] = [channels.rate]
    group["LABELS"]["value"] = list(channels.names)
    group["UNITS"]["value"] = list(channels.units)
    group["SCALE"]["value"] = [1.0] * number
    group["OFFSET"]["value"] = [0] * number
    group["GEN_SCALE"]["value"] = [1.0]
    file["data"]["analogs"] = channels.values.T[None]


def _add_plates(
    file: Any,
    plates: tuple[ForcePlate, ...],
    channels: AnalogChannels,
    up: str,
    unit: float,
) -> None:
    """Plates as type 2; lengths in the file's unit [m]."""
    if not plates:
        return
    corners = np.array([from_z_up(plate.corners, up) for plate in plates]) / unit
    levers = [
        (plate.centre - plate.origin) @ plate_axes(plate.corners) / unit
        for plate in plates
    ]
    places = {name: k for k, name in enumerate(channels.names, start=1)}
    numbers = [[places[name] for name in _plate_channels(plate)] for plate in plates]
    group = file["parameters"]["FORCE_PLATFORM"]
    group["USED"]["value"] = [len(plates)]
    group["TYPE"]["value"] = [2] * len(plates)
    group["ZERO"]["value"] = [1, 0]
    group["CORNERS"]["value"] = corners.transpose(2, 1, 0)
    group["ORIGIN"]["value"] = np.array(levers).T
    group["CHANNEL"]["value"] = np.array(numbers).T


def _add_events(file: Any, trial: MarkerTrial) -> None:
    events = trial.events
    times = np.array([event.time for event in events]) - trial.times[0]
    minutes = np.floor(times / 60.0)
    file.add_parameter("EVENT", "USED", [len(events)])
    file.add_parameter("EVENT", "CONTEXTS", [event.context for event in events])
    file.add_parameter("EVENT", "LABELS", [event.label for event in events])
    file.add_parameter("EVENT", "TIMES", np.array([minutes, times - 60.0 * minutes]))
