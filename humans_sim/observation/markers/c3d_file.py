# SPDX-License-Identifier: Apache-2.0
"""C3D, the binary format of most motion-capture systems: reading.

The reader is our own, because a file from elsewhere must never end the process: of 600
files damaged at random, ezc3d 1.7 crashed on 36 (segmentation fault), did not come back
from 5 within 5 s, and it reads files whose data were cut off without a word. What we
need of the format is small, and is checked against the size of the file first. ezc3d
writes the files, and reads them beside us in the tests.

Events come from the group EVENT or, in older files, from the header; analogue channels
have their units.

*The axis that points up*, by what the file says and by its content. Programs write the
axes of their screen, and some of them a screen that stands on its head. People do not,
and neither do floors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from humans_sim.core.arrays import by_rows
from humans_sim.core.errors import printable
from humans_sim.observation.markers.assemble import (
    HIGHEST_RATE,
    LOWEST_RATE,
    UP_AXES,
    ReadOptions,
    check_rate,
    full_units,
    length_of,
    make_trial,
    nearest_axis,
    numbered_names,
    read_marker_bytes,
)
from humans_sim.observation.markers.c3d_parameters import (
    MOST,
    C3dHead,
    C3dLayout,
    find_layout,
)
from humans_sim.observation.markers.c3d_plates import plate_corners, read_plates
from humans_sim.observation.markers.force_plate import plate_axes
from humans_sim.observation.markers.trial import (
    AnalogChannels,
    FileHeader,
    MarkerFileError,
    MarkerTrial,
    TrialEvent,
)

_KEY, _COUNT, _TIMES, _LABELS, _MOST = 298, 300, 304, 396, 18
"""Bytes of the header at which events stand, and how many it holds."""
_FOUR_LETTERS = 12345
"""The key of a header whose events have labels."""


def read_events(
    head: C3dHead, first: int, count: int, rate: float
) -> tuple[TrialEvent, ...]:
    """Events in the order of time, on the clock of the trial.

    Files count from the first frame of the recording, of which the trial may be a part.
    Where that puts all events outside the trial, and counting from its own first frame
    puts all inside, they count from there.
    """
    times, labels, contexts = _group(head)
    if not times:
        times, labels, contexts = _header(head)
    before, length = max(first - 1, 0) / rate, count / rate
    inside = [0.0 <= time - before <= length for time in times]
    if before and times and not any(inside):
        if all(0.0 <= time <= length for time in times):
            before = 0.0
            head.note("the times count from the first frame stored", "EVENT:TIMES")
    events = [
        TrialEvent(time - before, label, context)
        for time, label, context in zip(times, labels, contexts, strict=True)
        if math.isfinite(time)
    ]
    return tuple(sorted(events, key=lambda event: event.time))


def _group(head: C3dHead) -> tuple[list[float], list[str], list[str]]:
    """Times [s], labels and contexts of the group EVENT; times are in two parts."""
    used = head.count("EVENT:USED") or 0
    parts = head.all_numbers("EVENT:TIMES")
    number = min(used, len(parts) // 2)
    if number < used:
        head.note(f"{used} events, but {number} have a time", "EVENT:USED")
    pairs = parts[: 2 * number].reshape(-1, 2)
    times = (60.0 * pairs[:, 0] + pairs[:, 1]).tolist()
    words = (head.texts(f"EVENT:{key}", number) for key in ("LABELS", "CONTEXTS"))
    return times, *words


def _header(head: C3dHead) -> tuple[list[float], list[str], list[str]]:
    words = head.words
    key, used = (int(head.integers(words[k : k + 2])[0]) for k in (_KEY, _COUNT))
    if key != _FOUR_LETTERS or not 0 < used <= _MOST:
        return [], [], []
    times: np.ndarray = head.reals(words[_TIMES : _TIMES + 4 * used])
    labels = [
        words[_LABELS + 4 * k : _LABELS + 4 * k + 4].decode("latin-1").strip("\0 ")
        for k in range(used)
    ]
    return times.tolist(), labels, [""] * used


_FAR_OFFSET = -(1 << 14)
"""No board with signs is set off so far."""


def read_analog(
    head: C3dHead, layout: C3dLayout, data: bytes, rate: float
) -> AnalogChannels | None:
    """All channels, scaled: (number - OFFSET) x SCALE x GEN_SCALE; None without any."""
    channels, each = layout.channels, layout.subframes
    if channels == 0 or each == 0:
        return None
    form = head.text("ANALOG:FORMAT").upper()
    offsets = _filled(head, "ANALOG:OFFSET", channels, 0.0)
    size, width = layout.size, layout.width
    stored = np.frombuffer(data, np.uint8, layout.bytes, layout.begin)
    stored = stored.reshape(layout.count, width * size)[:, 4 * layout.points * size :]
    raw = stored.tobytes()
    with np.errstate(all="ignore"):  # damaged reals; they are looked at below
        if size == 4:
            values = head.reals(raw)
            # Reals of a board without signs are never negative; its offsets seem so.
            guess = not form and offsets.min() <= _FAR_OFFSET and values.min() >= 0
            unsigned = form == "UNSIGNED" or guess
        else:
            unsigned = form == "UNSIGNED"
            values = _signless(head.integers(raw), unsigned).astype(float)
        values = values.reshape(layout.count * each, channels)
        general = head.number("ANALOG:GEN_SCALE")
        values -= _signless(offsets, unsigned)
        values *= _filled(head, "ANALOG:SCALE", channels, 1.0)
        values *= 1.0 if general is None else general
    bad = ~np.isfinite(values)
    if bad.any():
        values[bad] = np.nan
        head.note(f"{bad.sum()} analogue values are no numbers", "ANALOG")
    labels = head.texts("ANALOG:LABELS", channels)
    said = head.number("ANALOG:RATE")
    if said and abs(said - rate * each) > 1e-3 * rate * each:
        text = f"{said:g} Hz, but the samples come at {rate * each:g} Hz"
        head.note(text, "ANALOG:RATE")
    return AnalogChannels(
        numbered_names(
            labels, "channel", lambda text: head.note(text, "ANALOG:LABELS")
        ),
        tuple(head.texts("ANALOG:UNITS", channels)),
        rate * each,
        values,
    )


def _signless(numbers: np.ndarray, unsigned: bool) -> np.ndarray:
    """16-bit numbers without a sign, where the file says that they have none."""
    return np.where(numbers < 0, numbers + 65536, numbers) if unsigned else numbers


def _filled(head: C3dHead, name: str, count: int, usual: float) -> np.ndarray:
    """A number for each channel; the usual one where the file has none."""
    numbers = head.all_numbers(name)[:count]
    if len(numbers) < count:
        head.note(f"{len(numbers)} numbers for {count} channels", name)
    return np.concatenate([numbers, np.full(count - len(numbers), usual)])


USUAL = "z"
"""Where neither the file nor its content says more."""
_HIGH = re.compile(
    r"[LR]?[FB]HD|[LR]?HD[FB]|(TOP|[LR]?[FB]?)HEAD|VERTEX|NECK|C7|CV7|CLAV|STRN|SXS"
    r"|SNJ|(L|R|LEFT|RIGHT)?(SHO|SHOULD|SHOULDER|ACR|ACROM|ACROMIUM|ACROMION|SAE)"
)
_LOW = re.compile(
    r"(L|R|LEFT|RIGHT)?(TOE|HEE|HEEL|FOO|FOOT|ANK|ANKLE|MALL|MET|MT[1-5]|MTP[1-5]"
    r"|FM[1-5]|CAL|CALC|FCC|FAL|TAM)[1-4]?"
)
"""Labels of markers on head and shoulders, and on feet, as common sets name them."""
_APART = 0.4
"""Head or shoulders of a person upright are further above the feet than this [m]."""
_ALONG = 0.8
"""Cosine of the largest angle between an axis and what shows it."""
_SAMPLES = 10_000
"""Samples of a recording that show where up is."""
_BELOW = 0.1
"""So much may lie beneath the floor: a marker on a foot, a badly set origin [m]."""


def find_up(
    said: str, names: Sequence[str], positions: np.ndarray, corners: np.ndarray
) -> tuple[str, str]:
    """The axis that points up, and a note where that is not what the file says.

    The axis is what the file says, in the direction that the content shows. Where the
    file says nothing (empty), the content shows the axis too: heads above feet, by the
    positions (n, m, 3) [m] on the axes of the file, or the corners (k, 4, 3) [m] of
    force plates.
    """
    body = nearest_axis(_body(names, positions), _ALONG)
    # The direction in which plates show their upper sides.
    downwards = sum((plate_axes(plate)[:, 2] for plate in corners), np.zeros(3))
    floor = nearest_axis(-downwards, _ALONG)
    reason = "heads are above feet" if body else "force plates show their upper sides"
    shown = body or floor
    if not said:
        if shown and shown != USUAL:
            return shown, f"no axis is said to be up; {reason} along {shown}"
        return shown or USUAL, ""
    if shown == said:
        return said, ""
    if shown and shown[-1] != said[-1]:
        return said, (
            f"{said} is taken for up, as the file says, though {reason} along {shown}: "
            f"if that is right, give up='{shown}'"
        )
    if not shown and said.startswith("-"):
        # Markers may all lie above a floor through the origin, none beneath.
        some = positions[:: max(1, len(positions) // _SAMPLES)]
        heights = some[:, :, "xyz".index(said[-1])]
        heights = heights[~np.isnan(heights)]
        if len(heights) and heights.min() > -_BELOW and heights.max() > _APART:
            shown, reason = said[-1], "all markers are above the floor"
    if not shown:
        return said, ""
    return shown, f"the file says that {said} is up, but {reason} along {shown}"


def _body(names: Sequence[str], positions: np.ndarray) -> np.ndarray:
    """From feet to head or shoulders (3,); zero where they are not seen."""
    labels = [re.sub("[^A-Z0-9]", "", n.rpartition(":")[2].upper()) for n in names]
    high = [k for k, label in enumerate(labels) if _HIGH.fullmatch(label)]
    low = [k for k, label in enumerate(labels) if _LOW.fullmatch(label)]
    # Of a long recording some samples show it as well.
    some = positions[:: max(1, len(positions) // _SAMPLES)]
    upper, lower = some[:, high], some[:, low]
    upper, lower = (part[~np.isnan(part).any(axis=2)] for part in (upper, lower))
    if not len(upper) or not len(lower):
        return np.zeros(3)
    difference: np.ndarray = np.median(upper, axis=0) - np.median(lower, axis=0)
    return difference if np.linalg.norm(difference) > _APART else np.zeros(3)


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
    labels = head.texts("POINT:LABELS", layout.points)
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
    kinds = (
        (layout.points, "points that are angles or forces"),
        (layout.channels, "analogue channels"),
        (head.count("ROTATION:USED"), "segments with rotations"),
    )
    rest = " and ".join(f"{count} {word}" for count, word in kinds if count)
    text = f"the file holds no markers{', only ' if rest else ''}{rest}"
    return head.error(text, "POINT:USED")


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
        head.rate if rate is None else rate, lambda text: head.error(text, "POINT:RATE")
    )


def _units(head: C3dHead, values: np.ndarray, seen: np.ndarray) -> str:
    """The unit of length; where the file has none, that of a laboratory."""
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
        text = f"'{word[:40]}' is no axis: give up, one of {', '.join(UP_AXES)}"
        raise head.error(text, "POINT:Y_SCREEN")
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
    return np.where(seen, low * scale * unit, np.nan)
