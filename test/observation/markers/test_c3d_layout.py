# SPDX-License-Identifier: Apache-2.0
"""Header and parameters that differ: the size of the file decides."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from c3d_bytes import c3d_bytes

from humans_sim.observation.markers import MarkerFileError, MarkerTrial

Read = Callable[[bytes], MarkerTrial]
POINTS, ANALOG, FIRST, LAST, BLOCK, EACH = 2, 4, 6, 8, 16, 18
"""Bytes of the header."""
COUNT = 60


POSITIONS = np.random.default_rng(8).normal(0, 800, (COUNT, 4, 3))
RAW = np.random.default_rng(9).normal(size=(COUNT, 7, 3))


def file_with(extra: dict[str, Any] | None = None, **words: int) -> bytes:
    """A file of 4 points, 3 channels and 7 samples in a frame, with other claims."""
    named = {"ANALOG:USED": 3, "ANALOG:RATE": 700.0}
    data = bytearray(c3d_bytes(POSITIONS, analog=RAW, extra=named | (extra or {})))
    for name, value in words.items():
        place = globals()[name]
        data[place : place + 2] = struct.pack("<H", value)
    return bytes(data)


CLAIMS = {
    "as it is": ({}, {}),
    "channels for values": ({}, {"ANALOG": 3}),
    "no channels": ({}, {"ANALOG": 0}),
    "another rate": ({"ANALOG:RATE": 100.0}, {}),
    "one sample": ({"ANALOG:RATE": 100.0}, {"EACH": 1}),
    "more channels": ({"ANALOG:USED": 5}, {}),
    "points of the header": ({}, {"POINTS": 9}),
    "65535 points": ({}, {"POINTS": 65535}),
    "points of the parameters": ({"POINT:USED": 40}, {}),
    "a frame more": ({"POINT:FRAMES": COUNT + 1}, {}),
    "last frame": ({}, {"LAST": COUNT + 9}),
    "frames backwards": ({}, {"LAST": 0}),
    "block of the data": ({}, {"BLOCK": 200}),
    "integers": ({"POINT:SCALE": 0.1}, {}),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_size_decides(claim: str, read_c3d: Read) -> None:
    """One reading fills the file: it is taken, and a note says so."""
    extra, words = CLAIMS[claim]
    data = file_with({"POINT:DATA_START": 3} | extra, **words)
    assert (len(data) - 1024) // 512 == -(-COUNT * (16 + 21) * 4 // 512)
    trial = read_c3d(data)
    assert len(trial) == COUNT
    np.testing.assert_allclose(trial.positions, POSITIONS / 1000, rtol=1e-6)
    assert trial.analog is not None
    if claim != "more channels":
        np.testing.assert_allclose(trial.analog.values, RAW.reshape(-1, 3), rtol=1e-6)
    differ = any("by the size of the file" in note for note in trial.notes)
    assert differ == (claim != "as it is")


def test_fewest_frames(read_c3d: Read) -> None:
    """Counts that both fill the last block: the smaller has no padding in it."""
    data = c3d_bytes(np.ones((5, 2, 3)), extra={"POINT:FRAMES": 9})
    assert len(read_c3d(data)) == 5


def test_size_has_the_count(read_c3d: Read) -> None:
    """More than 65535 frames, and no place that says how many."""
    positions = np.ones((66000, 1, 3))
    trial = read_c3d(c3d_bytes(positions, extra={"POINT:FRAMES": 65535}))
    assert 66000 <= len(trial) < 66000 + 32  # zeros that fill the last block


def test_nothing_fits(read_c3d: Read) -> None:
    """Claims that differ and are all too large are refused."""
    with pytest.raises(MarkerFileError, match="bytes from byte"):
        read_c3d(file_with({"POINT:FRAMES": 9000}, LAST=9001))


def test_rotations_have_data_of_their_own(read_c3d: Read) -> None:
    """What lies behind ROTATION:DATA_START is neither points nor channels."""
    data = file_with({"ROTATION:USED": 1, "ROTATION:DATA_START": 21}, ANALOG=3)
    assert len(data) == 20 * 512
    trial = read_c3d(data + bytes(5000))
    np.testing.assert_allclose(trial.positions, POSITIONS / 1000, rtol=1e-6)
