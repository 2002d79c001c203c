# SPDX-License-Identifier: Apache-2.0
"""What happened in a recording, as somebody marked it: foot strikes, foot offs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TrialEvent:
    """A moment that somebody marked.

    Attributes:
        time: on the clock of the trial [s]; below 0 before its first sample.
        label: what happened, e.g. Foot Strike.
        context: whose or which side, e.g. Left; empty where the file has none.
    """

    time: float
    label: str
    context: str = ""
