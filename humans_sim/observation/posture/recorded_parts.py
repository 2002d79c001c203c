# SPDX-License-Identifier: Apache-2.0
"""What a recording has beside its markers, in files of reconstructions (``.npz``).

Events, notes and what the file said of itself go to the header; channels and plates
are arrays, those of all plates one after the other.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from humans_sim.observation.markers.analog import AnalogChannels
from humans_sim.observation.markers.assemble import FARTHEST, HIGHEST_RATE, LOWEST_RATE
from humans_sim.observation.markers.file_header import FileHeader
from humans_sim.observation.markers.force_plate import ForcePlate
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.markers.trial_events import TrialEvent

PART_ARRAYS = (
    "analog_values",
    "plate_corners",
    "plate_origins",
    "plate_times",
    "plate_wrenches",
)
"""Arrays that a file may lack."""
_KEYS = ("events", "notes", "plates")


def describe_parts(
    trial: MarkerTrial,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Entries of the header, and arrays by name, of :data:`PART_ARRAYS`."""
    analog, plates = trial.analog, trial.plates
    header: dict[str, Any] = {
        "events": [[event.time, event.label, event.context] for event in trial.events],
        "notes": list(trial.notes),
        "plates": [[plate.name, len(plate.times)] for plate in plates],
    }
    arrays: dict[str, np.ndarray] = {}
    if trial.header is not None:
        header["file"] = asdict(trial.header)
    if analog is not None:
        header["analog"] = {
            "names": list(analog.names),
            "units": list(analog.units),
            "rate": float(analog.rate),
            "start": float(analog.start),
        }
        arrays["analog_values"] = analog.values
    if plates:
        arrays["plate_corners"] = np.array([plate.corners for plate in plates])
        arrays["plate_origins"] = np.array([plate.origin for plate in plates])
        arrays["plate_times"] = np.concatenate([plate.times for plate in plates])
        arrays["plate_wrenches"] = np.concatenate([plate.wrench for plate in plates])
    return header, arrays


def read_parts(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arguments of a :class:`MarkerTrial`; files of older versions have none.

    Args:
        header: of the file.
        arrays: of the file, some of :data:`PART_ARRAYS` among them.

    Raises:
        ValueError: the entries are not as they were written.
        HumansError: channels or plates cannot be.
    """
    for key in _KEYS:
        if not isinstance(header.get(key, []), list):
            raise ValueError(f"its {key} are no list")
    for name in PART_ARRAYS:
        if name in arrays and arrays[name].dtype.kind != "f":
            raise ValueError(f"{name} holds numbers of another kind")
    return {
        "events": tuple(_event(entry) for entry in header.get("events", [])),
        "notes": tuple(_text(note) for note in header.get("notes", [])),
        "analog": _analog(header.get("analog"), arrays),
        "plates": _plates(header.get("plates", []), arrays),
        "header": _file(header.get("file")),
    }


def _event(entry: Any) -> TrialEvent:
    time, label, context = entry
    return TrialEvent(_number(time), _text(label), _text(context))


def _file(entry: Any) -> FileHeader | None:
    if entry is None:
        return None
    words = ("units", "x_screen", "y_screen", "up")
    return FileHeader(*(_text(entry[word]) for word in words))


def _analog(entry: Any, arrays: dict[str, np.ndarray]) -> AnalogChannels | None:
    if entry is None:
        return None
    names, units = (
        tuple(_text(word) for word in entry[key]) for key in ("names", "units")
    )
    rate = _number(entry["rate"])
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise ValueError(f"channels at {rate:g} Hz")
    values = arrays["analog_values"]
    if np.isinf(values).any():
        raise ValueError("a channel is infinite")
    return AnalogChannels(names, units, rate, values, _number(entry["start"]))


def _plates(
    entries: list[Any], arrays: dict[str, np.ndarray]
) -> tuple[ForcePlate, ...]:
    if not entries:
        return ()
    count = len(entries)
    corners, origins = arrays["plate_corners"], arrays["plate_origins"]
    times, wrenches = arrays["plate_times"], arrays["plate_wrenches"]
    lengths = [length for _, length in entries]
    if any(type(length) is not int or length < 0 for length in lengths):
        raise ValueError("a plate has no count of samples")
    for array, shape in (
        (corners, (count, 4, 3)),
        (origins, (count, 3)),
        (times, (sum(lengths),)),
        (wrenches, (sum(lengths), 6)),
    ):
        if array.shape != shape:
            raise ValueError(f"{count} plates have arrays of shape {array.shape}")
    places = np.concatenate([corners.reshape(-1, 3), origins])
    if not (np.abs(places) <= FARTHEST).all() or np.isinf(wrenches).any():
        raise ValueError("a plate or its force is far away")
    ends = np.cumsum(lengths)[:-1]
    parts = zip(
        entries,
        corners,
        origins,
        np.split(times, ends),
        np.split(wrenches, ends),
        strict=True,
    )
    return tuple(
        ForcePlate(_text(entry[0]), c, o, t, w[:, :3], w[:, 3:])
        for entry, c, o, t, w in parts
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is no text")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:40]!r} is no number")
    if not math.isfinite(value):
        raise ValueError(f"{value} is no number")
    return float(value)
