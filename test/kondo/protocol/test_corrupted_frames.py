# SPDX-License-Identifier: Apache-2.0
"""Set points damaged so that their sum is still right: how far they lead a servo."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.kondo.driver.robot_settings import load_robot
from humans_sim.kondo.emulation.emulator import CommandStream
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import DEGREES

SETTINGS = load_robot()
SLOW = len(SPEED_STEPS) - 1


def undetected(frame: bytes) -> Iterator[rcb1.Command]:
    """What a board hears when any one or two bits of a frame are flipped."""
    bits = range(8 * len(frame))
    once, twice = itertools.combinations(bits, 1), itertools.combinations(bits, 2)
    for flips in itertools.chain(once, twice):
        damaged = bytearray(frame)
        for bit in flips:
            damaged[bit // 8] ^= 1 << bit % 8
        yield from CommandStream().feed(bytes(damaged))


@pytest.mark.parametrize("board", [0, 1])
def test_a_wrong_frame_moves_a_servo_little(board: int) -> None:
    """It lives for one period: 0.6 degrees, or 3.6 where its speed was hit as well."""
    home = SETTINGS.channels.home()[12 * board : 12 * board + 12]
    sound = rcb1.SetPositions(board, SLOW, home)
    used = [k for k, value in enumerate(home) if value <= DEGREES]
    count = 0
    for wrong in undetected(sound.encode()):
        assert isinstance(wrong, rcb1.SetPositions)  # no other command comes of it
        count += 1
        moved = VirtualBoard(wrong.board, home)
        moved.hear(sound, 0.0)
        moved.hear(wrong, 1.0)
        after = moved.angles(1.0 + SETTINGS.period)
        distance = max(abs(after[k] - home[k]) for k in used)
        assert distance <= SETTINGS.period / SPEED_STEPS[wrong.speed] + 1e-9
        # The next frame stops it there and leads it back.
        moved.hear(rcb1.SetPositions(wrong.board, SLOW, home), 1.0 + SETTINGS.period)
        back = moved.angles(2.0)
        assert [back[k] for k in used] == [home[k] for k in used]
    assert count > 100
    assert SETTINGS.period / SPEED_STEPS[SLOW] < 0.6
    assert SETTINGS.period / SPEED_STEPS[0] < 3.6
