# SPDX-License-Identifier: Apache-2.0
"""C3D, the binary format of most motion-capture systems: writing.

All that the reader gives is kept: markers with their residuals and numbers of frames,
events, analogue channels, force plates and notes. A plate becomes one of type 2, with
six channels of its own, called after it. Notes go to a parameter of this package.

*The module ezc3d*, also built from source. Where ezc3d has no wheel (Linux on arm64),
its extension looks for its own library in the folder it was built in, which is gone.
The library lies beside the extension: loaded first, it is found.
"""

from __future__ import annotations

import ctypes
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from humans_sim.core.errors import MissingDependencyError, ParameterError
from humans_sim.core.files import atomic_stream
from humans_sim.observation.markers.assemble import METRES, check_units, from_z_up
from humans_sim.observation.markers.c3d_parameters import BLOCK, MOST
from humans_sim.observation.markers.force_plate import ForcePlate, plate_axes
from humans_sim.observation.markers.trial import AnalogChannels, MarkerTrial

_LIBRARY = "libezc3d.so"


def ezc3d_module() -> ModuleType:
    """The module ezc3d; MissingDependencyError where it does not load."""
    spec = find_spec("ezc3d")
    if spec is None:
        raise MissingDependencyError(
            "C3D files are written by ezc3d: pip install 'humans-sim[c3d]'"
        )
    for folder in spec.submodule_search_locations or ():
        library = Path(folder) / _LIBRARY
        if library.is_file():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    try:
        return import_module("ezc3d")
    except ImportError as error:
        raise MissingDependencyError(f"ezc3d does not load: {error}") from error


UP = "z"
UNITS = "mm"
"""Axis and units of files, unless others are given."""
_SCREEN = {"x": "y", "y": "z", "z": "x"}
"""An axis that can lie to the right of a screen whose upward axis is given."""
_LONGEST_NAME = 127
_MOST_NAMES = 255 * 255
_MOST_EVENTS = 255
NOTES = ("HUMANS_SIM", "NOTES")
"""Group and name of the parameter that keeps the notes of the file that was read."""
_LONGEST_NOTE = 250
_LARGEST_RESIDUAL = 255
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
    scale = _residual_scale(trial, METRES[units])
    first = _first_frame(trial)
    file["header"]["points"]["first_frame"] = first - 1
    file["parameters"]["POINT"]["SCALE"]["value"] = [-scale]
    file["parameters"]["POINT"]["RATE"]["value"] = [trial.rate]
    file["parameters"]["POINT"]["UNITS"]["value"] = [units]
    file["parameters"]["POINT"]["LABELS"]["value"] = list(trial.names)
    for name, word in zip(("X_SCREEN", "Y_SCREEN"), _screen(trial, up), strict=True):
        file.add_parameter("POINT", name, word)
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
        _add_events(file, trial, (first - 1) / trial.rate)
    if trial.notes:
        file.add_parameter(*NOTES, _note_lines(trial.notes))
    with TemporaryDirectory() as folder:
        written = Path(folder) / "trial.c3d"
        file.write(str(written))
        content = bytearray(written.read_bytes())
    _put_residuals(content, trial, scale * METRES[units])
    with atomic_stream(path) as stream:
        stream.write(content)
    return path


def _first_frame(trial: MarkerTrial) -> int:
    """Number of the first frame; 1 where a header cannot count as the trial does.

    Readers take events for those of another count if none of them is in the trial.
    """
    first, last = int(trial.frames[0]), int(trial.frames[-1])
    counted = 1 <= first and last < MOST and (np.diff(trial.frames) == 1).all()
    times = [event.time for event in trial.events]
    inside = any(trial.times[0] <= time <= trial.times[-1] for time in times)
    return first if counted and (inside or not times) else 1


def _screen(trial: MarkerTrial, up: str) -> tuple[str, str]:
    """The axes of a screen: those of the file read, where they still hold."""
    sign, axis = ("-", up[1]) if up.startswith("-") else ("+", up)
    upward = f"{sign}{axis.upper()}"
    header = trial.header
    if header is not None and header.y_screen.upper() == upward:
        across = header.x_screen.upper()
        if re.fullmatch("[+-][XYZ]", across) and across[1] != upward[1]:
            return across, upward
    return f"+{_SCREEN[axis].upper()}", upward


def _residual_scale(trial: MarkerTrial, unit: float) -> float:
    """The unit of a residual, in the file's unit [m]: the largest is 255."""
    residuals = trial.camera_residuals
    if residuals is None:
        return 1.0
    largest = float(np.nan_to_num(residuals).max(initial=0.0)) / unit
    return largest / _LARGEST_RESIDUAL if largest > 0 else 1.0


def _put_residuals(content: bytearray, trial: MarkerTrial, unit: float) -> None:
    """Put residuals where the C3D user guide has them, in a point's low byte.

    ezc3d writes them to the high byte, which is the cameras'. The file has Intel reals;
    residuals count in a unit [m].
    """
    if trial.camera_residuals is None:
        return
    points, values = np.frombuffer(content, "<u2", 2, 2).tolist()
    begin = (int.from_bytes(content[16:18], "little") - 1) * BLOCK
    width, count = 4 * points + values, len(trial)
    reals = np.frombuffer(content, "<f4", width * count, begin).reshape(count, width)
    seen = ~trial.occluded
    words = np.rint(np.nan_to_num(trial.camera_residuals) / unit)
    reals[:, 3 : 4 * points : 4][seen] = words[seen]


def _note_lines(notes: tuple[str, ...]) -> list[str]:
    """Notes as texts that fit into a parameter."""
    plain = [note.encode("ascii", "replace").decode() for note in notes]
    return [note[:_LONGEST_NOTE] for note in plain][:_MOST_EVENTS]


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
    """The trial's channels and its plates', as many samples in each frame."""
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
        # The wrench on the body about the sensors' origin, on the plate's axes.
        now, axes = plate.at(times), plate_axes(plate.corners)
        moment = now.moment + np.cross(plate.centre - plate.origin, now.force)
        values = np.hstack([values, now.force @ axes, moment @ axes])
    return AnalogChannels(names, words, rate, values, float(trial.times[0]))


def _plate_channels(plate: ForcePlate) -> tuple[str, ...]:
    return tuple(
        f"{plate.name} {word}" for word in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    )


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


def _add_events(file: Any, trial: MarkerTrial, before: float) -> None:
    """Events, whose times count from frame 1, ``before`` the first one [s]."""
    events = trial.events
    times = np.array([event.time for event in events]) - trial.times[0] + before
    minutes = np.floor(times / 60.0)
    file.add_parameter("EVENT", "USED", [len(events)])
    file.add_parameter("EVENT", "CONTEXTS", [event.context for event in events])
    file.add_parameter("EVENT", "LABELS", [event.label for event in events])
    file.add_parameter("EVENT", "TIMES", np.array([minutes, times - 60.0 * minutes]))
