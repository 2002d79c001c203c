# SPDX-License-Identifier: Apache-2.0
"""Events of a C3D file, from its group EVENT or, in older files, from its header."""

from __future__ import annotations

import math

import numpy as np

from humans_sim.observation.markers.c3d_parameters import C3dHead
from humans_sim.observation.markers.trial_events import TrialEvent

_KEY, _COUNT, _TIMES, _LABELS, _MOST = 298, 300, 304, 396, 18
"""Bytes of the header at which events stand, and how many it holds."""
_FOUR_LETTERS = 12345
"""The key of a header whose events have labels."""


def read_events(
    head: C3dHead, first: int, count: int, rate: float
) -> tuple[TrialEvent, ...]:
    """Events in the order of time, on the clock of the trial.

    Files count from the first frame of the recording, of which the trial may be a
    part. Where that puts all events outside the trial, and counting from its own first
    frame puts all inside, they count from there.

    Args:
        head: header and parameters.
        first: number of the first frame.
        count: of frames.
        rate: of the frames [Hz].
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
    labels, contexts = head.texts("EVENT:LABELS"), head.texts("EVENT:CONTEXTS")
    number = min(used, len(parts) // 2)
    if number < used:
        head.note(f"{used} events, but {number} have a time", "EVENT:USED")
    pairs = parts[: 2 * number].reshape(-1, 2)
    times = (60.0 * pairs[:, 0] + pairs[:, 1]).tolist()
    blanks = [""] * number
    return times, (labels + blanks)[:number], (contexts + blanks)[:number]


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
