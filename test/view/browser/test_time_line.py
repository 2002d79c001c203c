# SPDX-License-Identifier: Apache-2.0
"""The time of runs that are played."""

from __future__ import annotations

import pytest

from humans_sim.view.browser.run_page import TimeLine


def test_it_goes_along_with_the_wall() -> None:
    """In real time, faster, and no farther than the end."""
    line = TimeLine(1.0, 3.0)
    assert line.advance(100.0) == 1.0
    assert line.advance(100.5) == pytest.approx(1.5)
    line.speed = 2.0
    assert line.advance(101.0) == pytest.approx(2.5)
    assert line.advance(109.0) == 3.0 and line.playing


def test_pause_and_play() -> None:
    """It resumes where it stood, however long that was."""
    line = TimeLine(0.0, 10.0)
    line.advance(0.0)
    line.advance(1.0)
    line.play(False)
    assert line.advance(5.0) == line.advance(50.0) == 1.0
    line.play(True)
    assert line.advance(60.0) == 1.0
    assert line.advance(61.0) == pytest.approx(2.0)


def test_scrubbing_stops_it() -> None:
    """Within the ends."""
    line = TimeLine(0.0, 2.0)
    for time, expected in ((1.5, 1.5), (-3.0, 0.0), (9.0, 2.0)):
        line.play(True)
        line.seek(time)
        assert not line.playing and line.advance(7.0) == line.time == expected


def test_the_end() -> None:
    """It stays for a second and begins anew, or stops; play begins anew."""
    line = TimeLine(0.0, 1.0)
    line.advance(0.0)
    assert line.advance(2.0) == 1.0
    assert line.advance(2.5) == 1.0
    assert line.advance(3.1) == 0.0
    assert line.advance(3.2) == pytest.approx(0.1)
    line.loop = False
    line.advance(9.0)
    assert line.advance(9.1) == 1.0 and not line.playing
    line.play(True)
    assert line.playing and line.time == 0.0


def test_a_run_of_one_sample() -> None:
    """It stands still, and does not fail."""
    line = TimeLine(2.0, 2.0)
    assert [line.advance(wall) for wall in (0.0, 1.0, 5.0)] == [2.0] * 3
