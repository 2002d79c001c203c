# SPDX-License-Identifier: Apache-2.0
"""Findings of the screening of a recording, and which set fits its labels."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from humans_sim.core.errors import HumansError
from humans_sim.models.model import Model
from humans_sim.observation.markers.correspondence import identify
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    load_marker_set,
    marker_set_names,
)
from humans_sim.observation.markers.trial import MarkerTrial


class Topic(Enum):
    """The topic of a finding."""

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
    """The severity of a finding."""

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


_LEAST = 1 / 3
"""Share of a set's markers below which a recording is not of that set."""
_FEW = 2 / 3
"""Share below which it is in doubt, and other sets are looked at."""
_BETTER, _FAR_BETTER = 1.3, 2.0
"""Times as many labels that another set has, to be named, and to be the right one."""


@dataclass(frozen=True)
class SetMatch:
    """A marker set beside a recording's labels.

    Attributes:
        name: of the set.
        matched: labels that are of its markers.
        markers: it has, without those of static trials.
    """

    name: str
    matched: int
    markers: int


def match_sets(trial: MarkerTrial, model: Model) -> list[SetMatch]:
    """The package's sets for a model beside the labels of a trial, best first."""
    matches = []
    for name in marker_set_names():
        try:
            aliases = _labels(name, model)
            known = identify(trial, None, tuple(aliases), aliases)
        except HumansError:  # of another model, or no label is of the set
            continue
        matches.append(SetMatch(name, len(known.trial.names), len(aliases)))
    return sorted(matches, key=lambda match: (-match.matched, match.markers))


@lru_cache(maxsize=32)
def _labels(name: str, model: Model) -> dict[str, tuple[str, ...]]:
    """Markers of a set that are used on motions, and their other labels."""
    return load_marker_set(name, model).moving.aliases


def better_set(trial: MarkerTrial, model: Model, matched: int) -> SetMatch | None:
    """The set that has far more of a trial's labels than were matched; None: none."""
    best = next(iter(match_sets(trial, model)), None)
    return None if best is None or best.matched < _BETTER * matched else best


def screen_labels(
    trial: MarkerTrial, matched: int, marker_set: MarkerSet, model: Model
) -> list[Finding]:
    """Findings on a recording's labels, ``matched`` of which are of the set.

    The set has no markers of static trials.
    """
    markers = len(marker_set.names)
    share = matched / markers
    if share >= _FEW:
        return []
    text = f"only {matched} of {markers} markers of the set {marker_set.name} are there"
    better = better_set(trial, model, matched)
    if better is not None:
        text += f"; the set {better.name} has {better.matched} of these labels"
    wrong = better is not None and better.matched >= _FAR_BETTER * matched
    refused = share < _LEAST or wrong
    severity = Severity.REFUSAL if refused else Severity.DOUBT
    return [Finding(Topic.LABELS, text, severity)]
