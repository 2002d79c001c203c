# SPDX-License-Identifier: Apache-2.0
"""What happens at one exact time of a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CONTACT_CLOSED = "contact_closed"
CONTACT_OPENED = "contact_opened"
IMPACT = "impact"
STICK = "stick"
SLIP = "slip"
ZENO = "zeno"
LIMIT_REACHED = "limit_reached"
LIMIT_LEFT = "limit_left"
PUSH = "push"
RESET = "reset"
FAILURE = "failure"
HAND_OVER = "hand_over"
EVENTS_LEFT_OUT = "events_left_out"
"""Kinds of events; parts that plug in add their own."""


@dataclass(frozen=True)
class Event:
    """Something that happened at one exact time.

    Attributes:
        time: when [s].
        kind: one of the words of this module, or of a plugged-in part.
        subject: the contact, joint or actuator concerned; empty for the whole system.
        detail: numbers that belong to it, by name with unit, and ``text`` for a person.
    """

    time: float
    kind: str
    subject: str = ""
    detail: Mapping[str, float | str] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, float]:
        """Those of the detail, by name with unit."""
        return {n: float(v) for n, v in self.detail.items() if not isinstance(v, str)}

    @property
    def words(self) -> str:
        """What else the detail says, for a person."""
        words = {n: v for n, v in self.detail.items() if isinstance(v, str)}
        return "; ".join(v if n == "text" else f"{n}: {v}" for n, v in words.items())
