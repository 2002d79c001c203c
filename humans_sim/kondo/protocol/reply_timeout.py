# SPDX-License-Identifier: Apache-2.0
"""How long each answer is waited for, on a line that loses or on one that is slow.

Both leave requests unanswered. A line that loses is served by short waits and repeats;
one that is slow would be flooded by them. They differ in this: a slow line's answers
come late, some of them so late after the newest request that they may belong to that
there is no doubt; and where it says nothing at all, it says nothing for long. Only then
do waits grow.
"""

from __future__ import annotations

import math

from humans_sim.kondo.protocol import rcb1
from humans_sim.kondo.protocol.owed_replies import LATEST, OwedReplies
from humans_sim.kondo.protocol.reply_stream import HOLD, Heard
from humans_sim.kondo.protocol.round_trip_time import RoundTripTime

LONGEST_WAIT, GROWTH = 0.3, 3.0
"""Waits grow up to so long [s], by this factor each."""
_QUICK = (rcb1.StoreHome, rcb1.WritePose)
"""Commands that are answered at once: they wait a third of the time."""
_BORNE = 4
"""Unanswered in a row before waits grow."""
_AHEAD, _RECENT = 3, 0.1
"""Open requests that lengthen a wait, at most, and how old they are [s]."""
_SHORTEST_HOLD = 0.003
"""The rest of a reply is waited for so long at least [s]."""


class ReplyTimeout:
    """Waits of a line; not safe for several threads at once.

    Args:
        timeout: longest wait for an answer of a line that is as usual [s].
        adapt: wait less once it is known how long answers take.
        owed: requests that are open.
    """

    def __init__(self, timeout: float, adapt: bool, owed: OwedReplies) -> None:
        """Nothing was asked yet."""
        self._timeout, self._adapt, self._owed = timeout, adapt, owed
        self._round_trip = RoundTripTime()
        self._unanswered = 0
        self._late_at = -math.inf

    @property
    def doubtful(self) -> bool:
        """Whether so much went unanswered that the line loses much, or is slow."""
        return self._unanswered >= _BORNE

    def limit(self, command: rcb1.Command, now: float, grows: bool = True) -> float:
        """How long an answer to a command is waited for [s].

        Args:
            command: that is sent now.
            now: time [s].
            grows: whether to find out if the line is slow; set points do not, because
                a question goes before them where much went unanswered.
        """
        usual = self.usual(
            command.size() + command.REPLY.size(), self._longest(command)
        )
        limit, slow = usual, self._slow(now)
        most = max(self._longest(command), LONGEST_WAIT)
        if self._adapt and (grows or slow):
            size = command.size() + command.REPLY.size()
            limit = self._round_trip.limit(size, self._longest(command), most)
        if grows and self._unanswered > _BORNE:
            grown = usual * GROWTH ** min(self._unanswered - _BORNE, 10)
            limit = max(limit, min(grown, LONGEST_WAIT))
        if slow and command.REPLY is not rcb1.Acknowledged:
            # What is open is answered first.
            ahead = min(self._owed.count(now - _RECENT), _AHEAD)
            limit = min((1 + ahead) * limit, most)
        if self._owed.owes_long():  # the reply may be kept for a part of it
            limit += self.hold()
        return limit

    def usual(self, size: int, longest: float) -> float:
        """How long answers take as a rule [s].

        Args:
            size: bytes to be sent and received.
            longest: where that is not known, or they are not so slow [s].
        """
        if not self._adapt:
            return longest
        most = max(longest, LONGEST_WAIT)
        return self._round_trip.limit(size, longest, most, grows=False)

    def hold(self) -> float:
        """How far the bytes of one reply are apart at most [s]."""
        if not self._adapt:
            return HOLD
        return max(self._round_trip.limit(0, HOLD, grows=False), _SHORTEST_HOLD)

    def hear(self, heard: Heard) -> None:
        """A reply came, to whatever was asked."""
        if heard.time > heard.newest + self._timeout:
            self._late_at = heard.time

    def answered(
        self, command: rcb1.Command, heard: Heard, taken: float | None
    ) -> None:
        """A command was answered, or an earlier one was.

        Args:
            command: that was asked.
            heard: the reply.
            taken: how long it took, if it is certain that it is this command's [s].
        """
        # One that was asked for earlier says little of how long answers take: the line
        # loses, or it is slow, as was seen where one came for certain late.
        soon = heard.time < heard.sent + self._longest(command)
        if taken is not None:
            self._round_trip.learn(command.size() + command.REPLY.size(), taken)
        if taken is not None or soon or not self._slow(heard.time):
            self._unanswered = 0
            self._round_trip.hear()

    def missed(self, waited: float, anything: bool, now: float) -> None:
        """No answer came.

        Args:
            waited: for so long [s].
            anything: whether any bytes did.
            now: time [s].
        """
        self._round_trip.miss()
        # Bytes that are no answer, and none that came late: the line is quick, and
        # damages them.
        if not anything or self._slow(now):
            self._unanswered += 1
        if waited >= LONGEST_WAIT and not anything:
            # A slow line would have answered one of the requests before: this one loses
            # them, and longer waits do not help it.
            self._unanswered = 0
            self._round_trip.hear()

    def _longest(self, command: rcb1.Command) -> float:
        return self._timeout / 3 if isinstance(command, _QUICK) else self._timeout

    def _slow(self, now: float) -> bool:
        """Whether an answer came late for certain, not long before a time [s]."""
        return now <= self._late_at + LATEST
