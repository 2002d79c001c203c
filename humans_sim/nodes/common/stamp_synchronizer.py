# SPDX-License-Identifier: Apache-2.0
"""Messages of several topics synchronized by their stamps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REPEAT = 0.5
"""Wall time within which a state that comes again is not answered again [s]."""
DEPTH = 32
"""Stamps that may be incomplete at once."""


class StampSynchronizer:
    """Waits until every topic has spoken of one time.

    One topic leads: where its stamps go back, the time begins anew. Nothing is said of
    the order in which the topics come, nor that all of them come.

    Args:
        depth: stamps that are kept incomplete; the oldest comers go first.

    Attributes:
        newest: stamp of the last message of the leading topic [ns]; None before it.
        dropped: stamps that were given up incomplete.
    """

    def __init__(self, lead: str, others: Sequence[str], depth: int = DEPTH) -> None:
        self._lead, self._topics = lead, {lead, *others}
        self._depth = depth
        self._incomplete: dict[int, dict[str, Any]] = {}
        self.newest: int | None = None
        self.beginnings = self.dropped = 0

    def put(self, topic: str, stamp: int, value: Any) -> dict[str, Any] | None:
        """Take what a message says of its time [ns].

        What all topics say of this time is returned once all have; else None.
        """
        if topic == self._lead:
            if self.newest is None or stamp < self.newest:
                # Forget what belongs to the time before; others may have come ahead.
                self.beginnings += 1
                self._incomplete = {
                    stamp: known
                    for stamp, known in self._incomplete.items()
                    if self._lead not in known
                }
            self.newest = stamp
        known = self._incomplete.setdefault(stamp, {})
        known[topic] = value
        if len(known) == len(self._topics):
            return self._incomplete.pop(stamp)
        while len(self._incomplete) > self._depth:
            del self._incomplete[next(iter(self._incomplete))]
            self.dropped += 1
        return None

    def missing(self, stamp: int) -> list[str]:
        """Topics that have said nothing of a time yet."""
        return sorted(self._topics - set(self._incomplete.get(stamp, ())))
