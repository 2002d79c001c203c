# SPDX-License-Identifier: Apache-2.0
"""How long answers are waited for."""

from __future__ import annotations

from humans_sim.kondo.protocol.rcb1 import BYTE
from humans_sim.kondo.protocol.replies import RoundTripTime

SIZE, LONGEST = 18, 0.03


def test_it_learns_from_answers() -> None:
    """All of the time at first; little more than answers take later."""
    round_trip = RoundTripTime()
    assert round_trip.limit(SIZE, LONGEST) == LONGEST
    for _ in range(50):
        round_trip.learn(SIZE, SIZE * BYTE + 0.003)
    assert 0.003 < round_trip.limit(SIZE, LONGEST) - SIZE * BYTE < 0.004
    for k in range(50):
        round_trip.learn(SIZE, SIZE * BYTE + 0.002 + 0.002 * (k % 2))
    assert round_trip.limit(SIZE, LONGEST) - SIZE * BYTE > 0.005


def test_a_line_that_becomes_slow_is_not_given_up() -> None:
    """A few misses change nothing; more of them lead back to all of the time."""
    round_trip = RoundTripTime()
    for _ in range(20):
        round_trip.learn(SIZE, SIZE * BYTE + 0.0005)
    quick = round_trip.limit(SIZE, LONGEST)
    for _ in range(3):
        round_trip.miss()
    assert round_trip.limit(SIZE, LONGEST) == quick
    for _ in range(6):
        round_trip.miss()
    assert round_trip.limit(SIZE, LONGEST) == LONGEST
    round_trip.learn(SIZE, 0.02)
    assert quick < round_trip.limit(SIZE, LONGEST) <= LONGEST
