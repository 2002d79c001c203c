# SPDX-License-Identifier: Apache-2.0
"""How long answers are waited for."""

from __future__ import annotations

from humans_sim.kondo.protocol.frames import BYTE
from humans_sim.kondo.protocol.patience import Patience

SIZE, LONGEST = 18, 0.03


def test_it_learns_from_answers() -> None:
    """All of the time at first; little more than answers take later."""
    patience = Patience()
    assert patience.limit(SIZE, LONGEST) == LONGEST
    for _ in range(50):
        patience.learn(SIZE, SIZE * BYTE + 0.003)
    assert 0.003 < patience.limit(SIZE, LONGEST) - SIZE * BYTE < 0.004
    for k in range(50):
        patience.learn(SIZE, SIZE * BYTE + 0.002 + 0.002 * (k % 2))
    assert patience.limit(SIZE, LONGEST) - SIZE * BYTE > 0.005


def test_a_line_that_becomes_slow_is_not_given_up() -> None:
    """A few misses change nothing; more of them lead back to all of the time."""
    patience = Patience()
    for _ in range(20):
        patience.learn(SIZE, SIZE * BYTE + 0.0005)
    quick = patience.limit(SIZE, LONGEST)
    for _ in range(3):
        patience.miss()
    assert patience.limit(SIZE, LONGEST) == quick
    for _ in range(6):
        patience.miss()
    assert patience.limit(SIZE, LONGEST) == LONGEST
    patience.learn(SIZE, 0.02)
    assert quick < patience.limit(SIZE, LONGEST) <= LONGEST
