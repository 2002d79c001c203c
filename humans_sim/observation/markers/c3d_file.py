# SPDX-License-Identifier: Apache-2.0
"""C3D, the binary format of most motion-capture systems: reading.

The reader is our own, because a file from elsewhere must never end the process: of 600
files damaged at random, ezc3d 1.7 crashed on 36 (segmentation fault), did not come back
from 5 within 5 s, and it reads files whose data were cut off without a word. What we
need of the format is small, and is checked against the size of the file first. ezc3d
writes the files, and reads them beside us in the tests.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from humans_sim.core.disk_arrays import by_rows
from humans_sim.core.errors import printable
from humans_sim.observation.markers.assemble import (
    HIGHEST_RATE,
    LOWEST_RATE,
    ReadOptions,
    check_rate,
    length_of,
    make_trial,
    numbered_names,
)
from humans_sim.observation.markers.axes import UP_AXES, full_units
from humans_sim.observation.markers.c3d_analog import read_analog
from humans_sim.observation.markers.c3d_events import read_events
from humans_sim.observation.markers.c3d_layout import C3dLayout, find_layout
from humans_sim.observation.markers.c3d_parameters import MOST, C3dHead
from humans_sim.observation.markers.c3d_plates import plate_corners, read_plates
from humans_sim.observation.markers.errors import MarkerFileError
from humans_sim.observation.markers.file_header import FileHeader
from humans_sim.observation.markers.text_file import read_marker_bytes
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.markers.up_axis import find_up

UNITS = "mm"
"""Where a file says nothing."""
_NO_MARKERS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
"""Parameters of POINT that list columns which are no positions."""
_SMALLEST_SCENE = 20.0
"""Markers that are never further apart than this are not in millimetres."""
_MOST_RESIDUAL = 0x7FFF
_MOST_NOTES = 20
_NOTES = "HUMANS_SIM:NOTES"
"""Parameter in which files of this package keep the notes of the file before."""


def read_c3d(path: Path, options: ReadOptions) -> MarkerTrial:
    """Read a C3D file: markers, events, analogue channels and force plates.

    What is no marker (angles, forces) is left out. Times begin at 0 with the first
    frame stored. A marker was not seen where its residual is negative or its
    coordinates are no numbers.

    Args:
        path: the file.
        options: axis, units and rate, where the caller knows better.

    Raises:
        MarkerFileError: it is no sound C3D file.
    """
    data = read_marker_bytes(path)
    head = C3dHead(path, data)

    def at_row(message: str, row: int) -> MarkerFileError:
        return head.error(message, f"frame {layout.first + row}")

    if not head.parameters:
        head.notes.append("the file has no parameters: markers are called by number")
    rate = _rate(head) if options.rate is None else options.rate
    layout = find_layout(head, len(data))
    values, scale = _points(head, layout, data)
    labels = head.texts("POINT:LABELS")[: layout.points]
    labels += [""] * (layout.points - len(labels))
    other = {label for kind in _NO_MARKERS for label in head.texts(f"POINT:{kind}")}
    kept = [k for k, label in enumerate(labels) if not label or label not in other]
    if not kept:
        raise _no_markers(head, layout)
    names = numbered_names(
        [labels[k] for k in kept],
        "marker",
        lambda text: head.note(text, "POINT:LABELS"),
    )
    if len(kept) < layout.points:
        values = by_rows(lambda v: v[:, kept], values)
    seen = _seen(head, values)
    unit = length_of(
        _units(head, values, seen),
        options,
        lambda text: head.error(text, "POINT:UNITS"),
    )
    residuals = by_rows(
        lambda v, s: _residuals(v[:, :, 3], s, scale, unit), values, seen
    )
    positions = by_rows(
        lambda v, r: np.where(np.isnan(r)[:, :, None], np.nan, v[:, :, :3] * unit),
        values,
        residuals,
    )
    infinite = by_rows(lambda p: np.isinf(p).any(axis=(1, 2)), positions)
    if infinite.any():
        raise at_row("a coordinate is infinite", int(np.argmax(infinite)))
    residuals = by_rows(
        lambda r, p: np.where(np.isnan(p).any(axis=2), np.nan, r), residuals, positions
    )
    del values
    up = options.up
    if up is None:
        corners = plate_corners(head, unit)
        up, note = find_up(_screen_up(head), names, positions, corners)
        if note:
            head.note(note, "POINT:Y_SCREEN")
    trial = make_trial(
        path,
        names,
        np.arange(layout.count) / rate,
        positions,
        layout.first + np.arange(layout.count),
        up=up,
        error=at_row,
        residuals=residuals,
    )
    analog = read_analog(head, layout, data, rate)
    plates = read_plates(head, analog, layout.subframes, unit, up)
    events = read_events(head, layout.first, layout.count, rate)
    rotations = head.count("ROTATION:USED")
    if rotations:
        head.note(f"{rotations} segments with rotations are not read", "ROTATION:USED")
    return replace(
        trial,
        events=events,
        analog=analog,
        plates=plates,
        header=FileHeader(
            head.text("POINT:UNITS"),
            head.text("POINT:X_SCREEN"),
            head.text("POINT:Y_SCREEN"),
            up,
        ),
        notes=_notes(head),
    )


def _notes(head: C3dHead) -> tuple[str, ...]:
    """Notes as they can be printed; of very many, the first."""
    all_notes = [note for note in head.texts(_NOTES) if note] + head.notes
    notes = [printable(note)[:300] for note in all_notes[:_MOST_NOTES]]
    more = len(all_notes) - len(notes)
    return (*notes, f"and {more} notes more") if more else tuple(notes)


def _no_markers(head: C3dHead, layout: C3dLayout) -> MarkerFileError:
    rest = [
        f"{count} {word}"
        for count, word in (
            (layout.points, "points that are angles or forces"),
            (layout.channels, "analogue channels"),
            (head.count("ROTATION:USED"), "segments with rotations"),
        )
        if count
    ]
    return head.error(
        f"the file holds no markers{', only ' if rest else ''}{' and '.join(rest)}",
        "POINT:USED",
    )


def _rate(head: C3dHead) -> float:
    """Frames a second [Hz]; the header's where the parameter is missing."""
    rate = head.number("POINT:RATE")
    if rate is not None and LOWEST_RATE <= rate <= HIGHEST_RATE:
        return rate
    if LOWEST_RATE <= head.rate <= HIGHEST_RATE:
        said = "missing" if rate is None else f"{rate:g} Hz"
        head.note(f"{said}; the header has {head.rate:g} Hz", "POINT:RATE")
        return head.rate
    return check_rate(
        head.rate if rate is None else rate,
        lambda text: head.error(text, "POINT:RATE"),
    )


def _units(head: C3dHead, values: np.ndarray, seen: np.ndarray) -> str:
    """The unit of length; where the file has none, that of a laboratory.

    Args:
        head: header and parameters.
        values: of the points (count, points, 4).
        seen: which of them were seen (count, points).
    """
    said = full_units(head.text("POINT:UNITS"))
    if said:
        return said
    if seen.any() and np.ptp(values[seen][:, :3], axis=0).max() < _SMALLEST_SCENE:
        head.note("missing; by their size the points are in metres", "POINT:UNITS")
        return "m"
    return UNITS


def _screen_up(head: C3dHead) -> str:
    """The axis that the file shows upwards on a screen; empty where it does not."""
    word = head.text("POINT:Y_SCREEN").lower().lstrip("+")
    if word and word not in UP_AXES:
        raise head.error(
            f"'{word[:40]}' is no axis: give up, one of {', '.join(UP_AXES)}",
            "POINT:Y_SCREEN",
        )
    return word


def _points(head: C3dHead, layout: C3dLayout, data: bytes) -> tuple[np.ndarray, float]:
    """All points (count, points, 4) in the file's units, and the scale of residuals.

    The fourth column is the word of residual and cameras.
    """
    scale = head.number("POINT:SCALE")
    if not scale or not math.isfinite(scale):
        said = "missing" if scale is None else f"{scale:g}"
        head.note(f"{said}; the header has {head.scale:g}", "POINT:SCALE")
        scale = head.scale
    count, size = layout.count, layout.size
    words = np.frombuffer(data, np.uint8, layout.bytes, layout.begin)
    words = words.reshape(count, layout.width * size)[:, : 4 * layout.points * size]

    def numbers(rows: np.ndarray) -> np.ndarray:
        raw = rows.tobytes()
        values = head.reals(raw) if size == 4 else head.integers(raw).astype(float)
        values = values.reshape(len(rows), layout.points, 4)
        if size == 2:
            values[:, :, :3] *= abs(scale)
        return values

    with np.errstate(all="ignore"):  # damaged reals; they are looked at later
        return by_rows(numbers, words), abs(scale)


def _seen(head: C3dHead, values: np.ndarray) -> np.ndarray:
    """Which points the cameras saw (count, points).

    The word of residual and cameras is negative where no camera saw the marker. Some
    programs write nothing sensible there: where no point at all would be seen, those
    are that have a place.
    """
    seen = by_rows(lambda v: (v[:, :, 3] >= 0) & (v[:, :, 3] <= _MOST_RESIDUAL), values)
    if seen.any():
        return seen
    words = values[:, :, 3]
    placed = (values[:, :, :3] != 0).any(axis=2)
    hidden = (words == -1) | (words == MOST)
    if not hidden.all():
        placed &= ~hidden
    if placed.any():
        head.notes.append("the residuals say nothing: points with a place are seen")
    return placed


def _residuals(
    words: np.ndarray, seen: np.ndarray, scale: float, unit: float
) -> np.ndarray:
    """Residuals of the cameras [m]; NaN where a marker was not seen.

    The low byte of the word counts in units of the scale, the high byte has a bit for
    each camera.
    """
    sound = seen & np.isfinite(words) & (words >= 0) & (words <= _MOST_RESIDUAL)
    low = np.where(sound, words, 0.0).astype(np.int64) & 0xFF
    residuals: np.ndarray = np.where(seen, low * scale * unit, np.nan)
    return residuals
