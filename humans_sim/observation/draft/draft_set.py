# SPDX-License-Identifier: Apache-2.0
"""A marker set proposed from a recording of standing still.

Labels say what they can (:mod:`labels`), the place of a marker on a standing person the
rest (:mod:`placing`), and where there are motions, the markers with which it moves
(:mod:`rigidity`). A person looks over the result: every marker says why it is where it
is, and how sure that is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import HumansError
from humans_sim.core.files import write_atomically
from humans_sim.models.model import Model
from humans_sim.observation.draft.draft_marker import (
    Certainty,
    DraftMarker,
    FittedPerson,
)
from humans_sim.observation.draft.draft_text import draft_text
from humans_sim.observation.draft.labels import LabelMeaning, read_labels
from humans_sim.observation.draft.landmarks import Landmarks, landmarks
from humans_sim.observation.draft.placing import FAR, PersonFitter
from humans_sim.observation.draft.rigidity import assign_segments, distance_spreads
from humans_sim.observation.markers.marker_set import MarkerSet, marker_set_names
from humans_sim.observation.markers.trial import MarkerTrial

FEWEST = 6
"""Markers with a place without which there is no person."""
_REACH = 2.5
"""Markers of one person are not further from their middle [m]."""
_LOWEST = 0.4
"""Height of the markers of a leg [m]."""
_SEEN = 0.1
"""Share of the frames in which a marker must be seen."""
_WORST_FIT = 0.09
"""Root mean square distance of markers that are no standing person [m]."""
_UPRIGHT = 0.8
"""Cosine of the pelvis' largest tilt in standing."""


class MarkerSetDraftError(HumansError, ValueError):
    """No marker set can be proposed from a recording."""


@dataclass(frozen=True, eq=False)
class MarkerSetDraft:
    """A proposed set.

    Attributes:
        model: of the stature that was taken or given.
        markers: all labels of the recordings.
        rms: distance of the markers used from their places [m].
        q: posture in the static trial (nq,).
        title: one line for people.
    """

    model: Model
    markers: tuple[DraftMarker, ...]
    rms: float
    q: np.ndarray
    title: str

    @property
    def counts(self) -> dict[str, int]:
        """How many markers are how sure, by the words of :class:`Certainty`."""
        sure = [entry.certainty for entry in self.markers]
        return {word.value: sure.count(word) for word in Certainty}

    def marker_set(self) -> MarkerSet:
        """The set as it will be read."""
        markers = tuple(m.marker for m in self.markers if m.marker is not None)
        return MarkerSet("draft", self.title, markers)

    def text(self) -> str:
        """The set as YAML, with the reasons as comments."""
        return draft_text(self)

    def save(self, path: Path | str) -> Path:
        """Write the set; :func:`load_marker_set` reads it."""
        path = Path(path)
        write_atomically(path, self.text())
        return path


def draft_marker_set(
    model: Model,
    static: MarkerTrial,
    motions: Sequence[MarkerTrial] = (),
    *,
    height: float | None = None,
    title: str = "",
    sets: Sequence[str] | None = None,
) -> MarkerSetDraft:
    """Propose a marker set from a recording.

    Args:
        model: a human with named lengths.
        static: somebody stands still, upright.
        motions: the same person with the same markers in motion; they show which
            markers move together.
        height: stature, if known [m].
        title: of the set.
        sets: names of the marker sets whose labels and places are known; None: all.

    Raises:
        MarkerSetDraftError: too few markers have a place, or nobody stands there.
    """
    labels = list(static.names)
    labels += [n for t in motions for n in t.names if n not in labels]
    labels = list(dict.fromkeys(labels))
    places = landmarks(model, tuple(marker_set_names() if sets is None else sets))
    meanings = read_labels(labels, places)
    positions = _standing_positions(static)
    for name in labels:
        if "{side}" in name:  # which a set's file cannot have as a label
            meanings[name] = LabelMeaning(computed=True)
    placed = [n for n in labels if n in positions and not meanings[n].computed]
    if len(placed) < FEWEST:
        raise MarkerSetDraftError(
            f"{len(placed)} markers have a place in the static trial: a person needs "
            f"{FEWEST}"
        )
    at = np.array([positions[name] for name in placed])
    middle = np.median(at, axis=0)
    near = np.linalg.norm(at - middle, axis=1) < _REACH
    placed = [name for name, close in zip(placed, near, strict=True) if close]
    at = at[near]
    if len(at) < FEWEST or np.ptp(at[:, 2]) < _LOWEST:
        raise MarkerSetDraftError(
            f"the markers are not spread over a standing person: {len(at)} of them "
            f"within {_REACH:g} m, {np.ptp(at[:, 2]) if len(at) else 0:.2f} m high: "
            "check units and upward axis"
        )
    fitter = PersonFitter(model, places, at)
    allowed = _allowed(placed, meanings, places)
    fit = fitter.find(allowed, _left(placed, at, meanings), height)
    segments, names = _segment_numbers(places)
    by_segment = _by_segment(fit.distances, places, segments, len(names))
    fixed = np.array([bool(meanings[name].segment) for name in placed])
    before = segments[fit.nearest]
    spreads = distance_spreads(motions, placed)
    members, costs = assign_segments(by_segment, spreads, before, fixed)
    allowed &= segments[None, :] == members[:, None]
    fit = fitter.refit(fit, allowed)
    body = model.with_height(fit.height)
    q = fit.q.copy()
    q[:3] *= fit.height / model.height
    rms = float(np.sqrt((np.minimum(fit.near(), FAR) ** 2).mean()))
    if rms > _WORST_FIT:
        raise MarkerSetDraftError(
            f"the markers lie {1e3 * rms:.0f} mm from any place on a standing person: "
            "is this the static trial, and are its units and its upward axis right? If "
            "so, give the stature"
        )
    if pin.Quaternion(q[3:7]).matrix()[2, 2] < _UPRIGHT:
        raise MarkerSetDraftError(
            "nobody stands upright in the static trial: check its upward axis"
        )
    scene = FittedPerson(body, q, at, fit, places, meanings, names, placed)
    moving = {name for trial in motions for name in trial.names}
    drafted = {
        name: scene.draft(
            row,
            name,
            int(members[row]),
            bool(members[row] != before[row]),
            costs[row],
            bool(motions) and name not in moving,
        )
        for row, name in enumerate(placed)
    }
    drafted |= {
        name: scene.unplaced(name, positions.get(name), middle)
        for name in labels
        if name not in drafted
    }
    return MarkerSetDraft(
        body,
        tuple(drafted[name] for name in labels),
        rms,
        q,
        title or "Draft of a marker set",
    )


def _standing_positions(static: MarkerTrial) -> dict[str, np.ndarray]:
    """Median position of each marker that is seen often enough, by label."""
    medians = {}
    for column, name in enumerate(static.names):
        seen = static.positions[:, column]
        seen = seen[np.isfinite(seen).all(axis=1)]
        if len(seen) and len(seen) >= _SEEN * len(static):
            medians[name] = np.median(seen, axis=0)
    return medians


def _allowed(
    names: Sequence[str], meanings: dict[str, LabelMeaning], places: Landmarks
) -> np.ndarray:
    """Which places a label allows its marker (m, n)."""
    segments = places.segments
    rows = []
    for name in names:
        meaning = meanings[name]
        known = -1
        if meaning.landmark is not None:
            known = places.sources.index(meaning.landmark)
        if known >= 0 and places.exact[known]:
            row = np.arange(len(places)) == known
        elif meaning.segment:  # a cluster is anywhere there
            row = places.on_skin & (segments == meaning.segment)
        else:
            row = places.on_skin.copy()
        rows.append(row)
    return np.array(rows)


def _left(
    names: Sequence[str], at: np.ndarray, meanings: dict[str, LabelMeaning]
) -> np.ndarray | None:
    """Horizontal direction of the person's left, where labels of both sides are."""
    sides: dict[str, list[np.ndarray]] = {"r": [], "l": []}
    for name, point in zip(names, at, strict=True):
        segment = meanings[name].segment
        if segment.startswith(("r_", "l_")):
            sides[segment[0]].append(point[:2])
    if min(map(len, sides.values())) < 2:
        return None
    across: np.ndarray = np.mean(sides["l"], axis=0) - np.mean(sides["r"], axis=0)
    return across if np.linalg.norm(across) > 0.02 else None


def _segment_numbers(places: Landmarks) -> tuple[np.ndarray, list[str]]:
    names, numbers = np.unique(places.segments, return_inverse=True)
    return numbers, [str(name) for name in names]


def _by_segment(
    distances: np.ndarray, places: Landmarks, segments: np.ndarray, count: int
) -> np.ndarray:
    """Distance of each marker from the nearest place on each segment (m, s) [m]."""
    on_skin = np.where(places.on_skin, distances, np.inf)
    columns = [on_skin[:, segments == k].min(axis=1) for k in range(count)]
    return np.stack(columns, axis=1)
