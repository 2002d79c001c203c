# SPDX-License-Identifier: Apache-2.0
"""Events of C3D files: on the clock of the trial, from group or header."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from c3d_bytes import c3d_bytes

from humans_sim.observation.markers import MarkerTrial, TrialEvent

Read = Callable[[bytes], MarkerTrial]


def event_bytes(times: list[list[float]], first: int, used: int = 2) -> bytes:
    """A file of 50 frames at 100 Hz, with events at (minutes, seconds)."""
    extra = {
        "EVENT:USED": used,
        "EVENT:TIMES": np.array(times),
        "EVENT:LABELS": ["Foot Off", "Foot Strike"],
        "EVENT:CONTEXTS": ["Left", "Right"],
    }
    return c3d_bytes(np.ones((50, 1, 3)), first_frame=first, extra=extra)


def test_times_count_from_the_recording(read_c3d: Read) -> None:
    """A trial that begins with frame 6001 begins a minute after the recording."""
    trial = read_c3d(event_bytes([[1.0, 0.3], [1.0, 0.1]], first=6001))
    assert [event.label for event in trial.events] == ["Foot Strike", "Foot Off"]
    assert [event.context for event in trial.events] == ["Right", "Left"]
    assert [event.time for event in trial.events] == pytest.approx([0.1, 0.3], abs=1e-5)
    assert not trial.notes


def test_times_count_from_the_trial(read_c3d: Read) -> None:
    """Where no event were in the trial otherwise, they count from its first frame."""
    trial = read_c3d(event_bytes([[0.0, 0.1], [0.0, 0.3]], first=6001))
    assert [event.time for event in trial.events] == pytest.approx([0.1, 0.3])
    assert any("first frame stored" in note for note in trial.notes)


def test_events_without_a_time(read_c3d: Read) -> None:
    """Events that the file announces and does not have are noted."""
    trial = read_c3d(event_bytes([[0.0, 0.1]], first=1, used=500))
    assert trial.events == (TrialEvent(pytest.approx(0.1), "Foot Off", "Left"),)
    assert any("500 events, but 1" in note for note in trial.notes)


def test_header(read_c3d: Read) -> None:
    """Older files have up to 18 events in the header, with labels of four letters."""
    data = bytearray(c3d_bytes(np.ones((50, 1, 3))))
    data[298:302] = struct.pack("<HH", 12345, 2)
    data[304:312] = struct.pack("<ff", 0.25, 0.125)
    data[396:404] = b"RHS LTO "
    events = read_c3d(bytes(data)).events
    assert events == (TrialEvent(0.125, "LTO"), TrialEvent(0.25, "RHS"))
    data[300] = 200
    assert read_c3d(bytes(data)).events == ()
