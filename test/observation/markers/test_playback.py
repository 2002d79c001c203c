# SPDX-License-Identifier: Apache-2.0
"""Which frames are due, on any clock."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers import MarkerTrial
from humans_sim.observation.markers.playback import (
    ENDED,
    PAUSED,
    PLAYING,
    Playback,
)
from humans_sim.observation.markers.trial import part_of

MS = 1_000_000
T = 1_700_000_000_000_000_000
"""A wall time [ns]."""


def trial_of(*times: float) -> MarkerTrial:
    """A trial with samples at these times."""
    count = len(times)
    return MarkerTrial(
        ("a",), np.array(times), np.zeros((count, 1, 3)), np.arange(count)
    )


def due(player: Playback, now: int) -> list[tuple[int, int, int]]:
    """Row, stamp since the start and round of what is due."""
    return [(f.row, f.stamp - T, f.round) for f in player.due(now)]


def test_frames_come_at_their_own_times() -> None:
    """Stamps are exact, whenever one looks; the start of the file does not matter."""
    player = Playback(trial_of(5.0, 5.01, 5.03))
    assert player.state == ENDED
    player.restart(T)
    assert player.state == PLAYING
    assert due(player, T - 1) == []
    assert due(player, T) == [(0, 0, 0)]
    assert due(player, T + 9 * MS) == []
    assert due(player, T + 31 * MS) == [(1, 10 * MS, 0), (2, 30 * MS, 0)]
    assert player.state == ENDED
    assert due(player, T + 900 * MS) == []
    player.restart(T + 1000 * MS)
    assert due(player, T + 1000 * MS) == [(0, 1000 * MS, 0)]


def test_a_loop_goes_on_one_step_after_its_end() -> None:
    """Stamps grow evenly over the end of a trial, at any speed."""
    player = Playback(trial_of(0.0, 0.01, 0.02), factor=2.0, loop=True)
    player.restart(T)
    found = due(player, T + 25 * MS)
    assert [stamp for _, stamp, _ in found] == [
        0,
        5 * MS,
        10 * MS,
        15 * MS,
        20 * MS,
        25 * MS,
    ]
    assert [row for row, _, _ in found] == [0, 1, 2, 0, 1, 2]
    assert [k for _, _, k in found] == [0, 0, 0, 1, 1, 1]


def test_a_pause_shifts_what_comes_after() -> None:
    """Nothing is due in a pause, nothing is lost by it."""
    player = Playback(trial_of(0.0, 0.01, 0.02))
    player.restart(T)
    assert due(player, T) == [(0, 0, 0)]
    player.pause(True, T + 4 * MS)
    player.pause(True, T + 40 * MS)
    assert player.state == PAUSED
    assert due(player, T + 100 * MS) == []
    player.pause(False, T + 104 * MS)
    assert due(player, T + 109 * MS) == []
    assert due(player, T + 110 * MS) == [(1, 110 * MS, 0)]
    player.pause(True, T + 111 * MS)
    player.restart(T + 200 * MS)
    assert due(player, T + 300 * MS) == []
    player.pause(False, T + 300 * MS)
    assert due(player, T + 300 * MS) == [(0, 300 * MS, 0)]


def test_a_machine_that_was_held_up_plays_on_from_there() -> None:
    """No flood of frames after a long stop, and none is left out."""
    player = Playback(trial_of(*np.arange(100) / 100.0))
    player.restart(T)
    assert len(due(player, T + 10 * MS)) == 2
    assert due(player, T + 5000 * MS) == [(2, 5000 * MS, 0)]
    assert player.slips == 1
    assert due(player, T + 5010 * MS) == [(3, 5010 * MS, 0)]


def test_a_single_sample_and_its_loop() -> None:
    """One sample is shown, and again after 10 ms."""
    player = Playback(trial_of(3.0), loop=True)
    player.restart(T)
    assert due(player, T + 10 * MS) == [(0, 0, 0), (0, 10 * MS, 1)]


@pytest.mark.parametrize("factor", [0.0, -1.0, 1000.0, float("nan")])
def test_speed_out_of_range(factor: float) -> None:
    """The error says what is allowed."""
    with pytest.raises(hs.errors.ParameterError, match=r"0\.01 to 100"):
        Playback(trial_of(0.0, 1.0), factor)


def test_part_of_a_trial() -> None:
    """Times are the file's own; zero is its start and its end."""
    trial = trial_of(-1.0, 0.0, 1.0, 2.0)
    assert len(part_of(trial, 0.0, 0.0)) == 4
    assert part_of(trial, 0.5, 0.0).times.tolist() == [1.0, 2.0]
    assert part_of(trial, 0.5, 1.5).times.tolist() == [1.0]
    with pytest.raises(hs.errors.ParameterError, match="not after the start"):
        part_of(trial, 2.0, 1.0)
    with pytest.raises(hs.errors.ParameterError, match="no sample lies"):
        part_of(trial, 5.0, 6.0)
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        part_of(trial, float("nan"), 0.0)
