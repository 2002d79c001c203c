# SPDX-License-Identifier: Apache-2.0
"""An RCB-1 in memory: it answers, keeps, and moves in its own time."""

from __future__ import annotations

import pytest

from humans_sim.core.constants import SPEED_STEPS
from humans_sim.core.errors import ParameterError
from humans_sim.kondo.emulation.virtual_board import VirtualBoard
from humans_sim.kondo.motion.channels import load_channels
from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.rcb1 import FREE, LOW, MOTION, SLEEP

HOME = load_channels().home()[12:]


@pytest.fixture
def legs() -> VirtualBoard:
    """The board of the legs."""
    return VirtualBoard(1, HOME)


def moved(change: int) -> tuple[int, ...]:
    """Home, its second channel elsewhere."""
    return (HOME[0], HOME[1] + change, *HOME[2:])


def test_every_set_is_got_back(legs: VirtualBoard) -> None:
    """What was written is read."""
    channels = moved(7)
    trims = tuple(range(12))
    pairs = [
        (
            rcb1.WritePose(1, 3, 9, 5, channels),
            rcb1.ReadPose(1, 3, 9),
            rcb1.StoredPose(1, 5, channels),
        ),
        (
            rcb1.SetMotionLength(1, 3, 10),
            rcb1.GetMotionLength(1, 3),
            rcb1.MotionLength(1, 10),
        ),
        (
            rcb1.SetScenario(1, 2, 199, 3),
            rcb1.GetScenario(1, 2, 199),
            rcb1.ScenarioMotion(1, 3),
        ),
        (
            rcb1.SetScenarioLength(1, 2, 200),
            rcb1.GetScenarioLength(1, 2),
            rcb1.ScenarioLength(1, 200),
        ),
        (rcb1.SetSwitches(1, MOTION), rcb1.GetSwitches(1), rcb1.Switches(1, MOTION)),
        (
            rcb1.SetRemoteKeys(1, 5, 1, 2, 3),
            rcb1.GetRemoteKeys(1, 5),
            rcb1.RemoteKeys(1, 1, 2, 3),
        ),
        (rcb1.SetTrims(1, trims), rcb1.GetTrims(1), rcb1.Trims(1, trims)),
    ]
    for order, question, answer in pairs:
        assert legs.hear(order, 0.0) == rcb1.Acknowledged(1)
        assert legs.hear(question, 0.0) == answer
        # as bytes, too: what a port would carry
        assert question.read_reply(answer.encode()) == answer


def test_other_boards_are_not_answered(legs: VirtualBoard) -> None:
    """But a question for the id is; and the id can be changed."""
    assert legs.hear(rcb1.GetPositions(0), 0.0) is None
    assert legs.hear(rcb1.GetId(), 0.0) == rcb1.BoardId(1)
    assert legs.hear(rcb1.SetId(4), 0.0) == rcb1.Acknowledged(4)
    assert legs.hear(rcb1.GetPositions(1), 0.0) is None
    assert legs.hear(rcb1.GetPositions(4), 0.0) is not None


@pytest.mark.parametrize("speed", range(8))
def test_a_motion_takes_its_time(legs: VirtualBoard, speed: int) -> None:
    """Evenly, by the seconds a degree of the speed step."""
    legs.hear(rcb1.SetPositions(1, speed, moved(-40)), 10.0)
    whole = 40 * SPEED_STEPS[speed]
    assert legs.arrival() == pytest.approx(10.0 + whole)
    for share in (0.0, 0.25, 0.5, 1.0, 2.0):
        expected = HOME[1] - 40 * min(share, 1.0)
        assert legs.angles(10.0 + share * whole)[1] == pytest.approx(expected)


def test_a_new_command_begins_where_the_servo_is(legs: VirtualBoard) -> None:
    """No jump when an order comes on the way."""
    legs.hear(rcb1.SetPositions(1, 7, moved(-40)), 0.0)
    half = 20 * SPEED_STEPS[7]
    legs.hear(rcb1.SetPositions(1, 7, moved(0)), half)
    assert legs.angles(half)[1] == pytest.approx(HOME[1] - 20)
    assert legs.arrival() == pytest.approx(2 * half)
    assert legs.hear(rcb1.GetPositions(1), 99.0) == rcb1.Channels(1, HOME)


def test_limp_and_unused_channels(legs: VirtualBoard) -> None:
    """DD frees a servo, E1 leaves a channel as it was."""
    assert not any(legs.driven)
    legs.hear(rcb1.SetPositions(1, 0, HOME), 0.0)
    assert legs.driven == tuple(value != LOW for value in HOME)
    free = (FREE, *(LOW,) * 11)
    legs.hear(rcb1.SetPositions(1, 0, free), 1.0)
    assert legs.driven[0] is False and legs.driven[1] is True
    assert legs.hear(rcb1.GetPositions(1), 2.0) == rcb1.Channels(1, HOME)
    legs.hear(rcb1.SetSwitches(1, SLEEP), 3.0)
    assert not any(legs.driven)
    legs.hear(rcb1.SetPositions(1, 0, HOME), 4.0)
    assert not any(legs.driven)


def test_trims_move_the_servo_not_the_value(legs: VirtualBoard) -> None:
    """+5 degrees on the second channel."""
    trims = (20, 25, *(20,) * 10)
    legs.hear(rcb1.SetTrims(1, trims), 0.0)
    assert legs.angles(0.0)[1] == HOME[1] + 5
    assert legs.hear(rcb1.GetPositions(1), 0.0) == rcb1.Channels(1, HOME)


def test_motions_and_scenarios_play(legs: VirtualBoard) -> None:
    """Pose after pose, motion after motion; only where MOTION is on."""
    for pose, change in enumerate((10, -10)):
        legs.hear(rcb1.WritePose(1, 2, pose, 6, moved(change)), 0.0)
    legs.hear(rcb1.SetMotionLength(1, 2, 2), 0.0)
    legs.hear(rcb1.PlayMotion(1, 2), 1.0)
    assert legs.angles(99.0)[1] == HOME[1]
    legs.hear(rcb1.SetSwitches(1, MOTION), 2.0)
    legs.hear(rcb1.PlayMotion(1, 2), 2.0)
    step = SPEED_STEPS[6]
    assert legs.angles(2.0 + 10 * step)[1] == pytest.approx(HOME[1] + 10)
    assert legs.angles(2.0 + 20 * step)[1] == pytest.approx(HOME[1])
    assert legs.arrival() == pytest.approx(2.0 + 30 * step)
    for index in range(2):
        legs.hear(rcb1.SetScenario(1, 0, index, 2), 5.0)
    legs.hear(rcb1.SetScenarioLength(1, 0, 2), 5.0)
    legs.hear(rcb1.PlayScenario(1, 0), 5.0)
    assert legs.arrival() == pytest.approx(5.0 + (20 + 20 + 20 + 20) * step)


def test_home_is_kept(legs: VirtualBoard) -> None:
    """FB stores where the channels are, FA reads it."""
    legs.hear(rcb1.SetPositions(1, 0, moved(12)), 0.0)
    legs.hear(rcb1.StoreHome(1), 5.0)
    assert legs.hear(rcb1.GetHome(1), 5.0) == rcb1.Channels(1, moved(12))


def test_bad_boards() -> None:
    """An id or a number of channels that cannot be."""
    with pytest.raises(ParameterError, match="board"):
        VirtualBoard(32, HOME)
    with pytest.raises(ParameterError, match="12 channels"):
        VirtualBoard(0, HOME[1:])
