# SPDX-License-Identifier: Apache-2.0
"""What a look at a recording shows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from humans_sim.core.errors import HumansError


class Topic(Enum):
    """What a finding is about."""

    LABELS = "labels"
    """Too few are of the set."""
    EMPTY = "empty"
    """No frame has enough markers."""
    UNIT = "unit"
    SIZE = "size"
    """Somebody else than the model."""
    UP = "up"
    SIDES = "sides"
    """Left and right."""
    PLACES = "places"
    """Labels stand on other markers."""
    MOTION = "motion"
    """Nobody moves so."""
    SIGHT = "sight"
    """Markers of some joints are missing."""


class Severity(Enum):
    """What follows from a finding."""

    CORRECTED = "corrected"
    """The recording is changed, and the result is doubtful until the user agrees."""
    DOUBT = "doubt"
    """The result is doubtful."""
    REFUSAL = "refusal"
    """No posture is sought, unless forced."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Attributes:
        topic: what it is about.
        text: what, and what to do about it; part of a sentence.
        severity: what follows from it.
    """

    topic: Topic
    text: str
    severity: Severity


class ScreeningError(HumansError, ValueError):
    """A recording that cannot be a person with these markers.

    Attributes:
        findings: what shows it.
    """

    def __init__(self, recording: object, findings: tuple[Finding, ...]) -> None:
        """Compose the line of what is refused."""
        self.findings = findings
        reasons = "; ".join(f.text for f in findings if f.severity is Severity.REFUSAL)
        super().__init__(
            f"{recording}: {reasons} (--force, or force=True, uses it anyway)"
        )
