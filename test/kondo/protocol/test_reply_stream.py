# SPDX-License-Identifier: Apache-2.0
"""Replies in a stream of bytes: late, split, and bytes that are none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.replies import HOLD, OwedReplies, ReplyStream

ORDER, QUESTION = rcb1.SetPositions(0, 0, (90,) * 12), rcb1.GetPositions(0)
DONE = rcb1.Acknowledged(0).encode()
ALIKE = rcb1.Channels(0, (6, 0, 6, 0, 6, 0, 6, 0, 6, 0, 6, 0))
"""Angles that hold the bytes of an acknowledgement."""


def test_late_acknowledgements_count_one_by_one() -> None:
    """Each for the oldest order that it may belong to; more than that are none."""
    owed = OwedReplies()
    stream = ReplyStream(owed)
    for _ in range(2):
        owed.sent(ORDER, 0.0)
    assert [heard.number for heard in stream.feed(DONE, 0.2)] == [0]
    assert [heard.number for heard in stream.feed(DONE + DONE, 0.3)] == [1]


def test_angles_are_no_acknowledgement() -> None:
    """Also where they come in two parts, and an acknowledgement is owed as well."""
    owed = OwedReplies()
    stream, data = ReplyStream(owed), ALIKE.encode()
    owed.sent(QUESTION, 0.0)
    owed.sent(ORDER, 0.0)
    assert list(stream.feed(data[:3], 0.1)) == []
    assert stream.look_again(9.0) == 0.1 + HOLD
    (heard,) = stream.feed(data[3:], 0.1)
    assert heard.reply == ALIKE
    assert [heard.number for heard in stream.feed(DONE, 0.1)] == [1]


def test_an_acknowledgement_that_no_angles_follow() -> None:
    """After a while it is none of a reply that never comes."""
    owed = OwedReplies()
    stream = ReplyStream(owed)
    owed.sent(QUESTION, 0.0)
    owed.sent(ORDER, 0.0)
    assert list(stream.feed(DONE, 0.1)) == []
    assert [heard.number for heard in stream.feed(b"", 0.11 + HOLD)] == [1]
    assert stream.look_again(9.0) == 9.0


def test_damaged_angles_are_no_acknowledgement() -> None:
    """One byte of them was lost, or changed, and others look like one."""
    whole = ALIKE.encode()
    for data in (whole[:5] + whole[6:], whole[:5] + b"\x07" + whole[6:], whole[2:]):
        owed = OwedReplies()
        stream = ReplyStream(owed)
        owed.sent(ORDER, 0.0)
        owed.sent(QUESTION, 0.0)
        assert list(stream.feed(data[:4], 0.1)) == []
        assert list(stream.feed(data[4:], 0.1)) == []
        assert list(stream.feed(b"", 0.11 + HOLD)) == []
        assert [heard.number for heard in stream.feed(DONE, 0.2)] == []
        assert [heard.number for heard in stream.feed(b"", 0.21 + HOLD)] == [0]


def test_zeros_are_no_angles() -> None:
    """Switches of board 0 that come late in a row look like them, sum and all."""
    owed = OwedReplies()
    stream = ReplyStream(owed)
    for _ in range(6):
        owed.sent(rcb1.GetSwitches(0), 0.0)
    number = owed.sent(QUESTION, 0.6)
    late = 6 * rcb1.Switches(0, 0).encode()
    assert len(late) > len(ALIKE.encode())
    heard = list(stream.feed(late, 0.6))
    for k in range(6):
        heard += stream.feed(b"", 0.6 + 1.1 * (k + 1) * HOLD)
    assert [one.number for one in heard] == list(range(6))
    assert {type(one.reply) for one in heard} == {rcb1.Switches}
    (angles,) = stream.feed(ALIKE.encode(), 0.9)
    assert angles.number == number
    assert angles.reply == ALIKE


def test_what_is_left_of_a_damaged_reply_is_given_up() -> None:
    """It makes no answer of the acknowledgement that comes next."""
    owed = OwedReplies()
    stream = ReplyStream(owed)
    owed.sent(rcb1.GetSwitches(0), 0.0)
    assert list(stream.feed(bytes(2), 0.1)) == []  # the third byte was lost
    assert list(stream.feed(b"", 0.11 + HOLD)) == []
    number = owed.sent(ORDER, 0.2)
    assert [heard.number for heard in stream.feed(DONE, 0.2)] == [number]


@given(st.binary(max_size=60), st.integers(0, 60))
def test_bytes_that_are_none_are_left_out(noise: bytes, cut: int) -> None:
    """No noise hides a reply with a sum for good, and none ends the stream."""
    owed = OwedReplies()
    stream = ReplyStream(owed)
    owed.sent(ORDER, 0.0)
    list(stream.feed(noise[:cut], 0.0))
    list(stream.feed(noise[cut:], 0.1))
    number = owed.sent(rcb1.GetSwitches(1), 0.2)
    replies = list(stream.feed(bytes(4) + rcb1.Switches(1, 2).encode(), 0.3))
    assert replies[-1].number == number
