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
from enum import StrEnum
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import HumansError
from humans_sim.core.files import write_atomically
from humans_sim.models.axes import to_humans
from humans_sim.models.model import Model
from humans_sim.observation.draft.draft_text import draft_text
from humans_sim.observation.draft.labels import LabelMeaning, read_labels
from humans_sim.observation.draft.landmarks import Landmarks, landmarks
from humans_sim.observation.draft.placing import FAR, Fit, PersonFitter
from humans_sim.observation.draft.rigidity import assign_segments, distance_spreads
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    SetMarker,
    marker_set_names,
)
from humans_sim.observation.markers.trial import MarkerTrial

FEWEST = 6
"""Markers with a place without which there is no person."""
_SEEN = 0.1
"""Share of the frames in which a marker must be seen."""
OFF_BODY = 0.15
"""Distance from any place on the body beyond which a marker is not on it: the ends of
wands are nearer [m]."""
_AT_LANDMARK = 0.06
"""Distance within which an unnamed marker is taken for one at the landmark [m]."""
_SAME_SHAPE = 0.03
"""Difference of two distances that are alike [m]."""
_WORST_FIT = 0.09
"""Root mean square distance of markers that are no standing person [m]."""
_UPRIGHT = 0.8
"""Cosine of the pelvis' largest tilt in standing."""
_SURE, _LIKELY = 2.0, 0.5
"""How much worse the next segment fits, in squared deviations."""
_ESTIMATED, _UNSURE = 0.03, 0.06
"""Spread of a place that was estimated, and of one on an uncertain segment [m]."""


class MarkerSetDraftError(HumansError, ValueError):
    """No marker set can be proposed from a recording."""


class Certainty(StrEnum):
    """How sure the segment of a marker is."""

    SURE = "sure"
    LIKELY = "likely"
    UNCERTAIN = "uncertain"
    LEFT_OUT = "left out"


@dataclass(frozen=True, eq=False)
class DraftMarker:
    """A marker of a draft.

    Attributes:
        marker: as it stands in the set; None: left out.
        name: its label.
        reason: why it is there: ``name``, ``place``, ``rigidity``, or why it is not.
        certainty: of its segment.
        comment: in words.
        distance: from the landmark or place that was taken for it [m]; NaN: none.
    """

    marker: SetMarker | None
    name: str
    reason: str
    certainty: Certainty
    comment: str
    distance: float = float("nan")


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
            "is this the static trial, and does its upward axis point up? If so, give "
            "the stature"
        )
    if pin.Quaternion(q[3:7]).matrix()[2, 2] < _UPRIGHT:
        raise MarkerSetDraftError(
            "nobody stands upright in the static trial: check its upward axis"
        )
    scene = _Scene(body, q, at, fit, places, meanings, names, placed)
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
        name: scene.unplaced(name, name in positions)
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


class _Scene:
    """A fitted person among its markers, from which drafts of markers are made."""

    def __init__(
        self,
        model: Model,
        q: np.ndarray,
        at: np.ndarray,
        fit: Fit,
        places: Landmarks,
        meanings: dict[str, LabelMeaning],
        segments: list[str],
        placed: Sequence[str],
    ) -> None:
        self._model, self._at, self._fit = model, at, fit
        self._places, self._meanings, self._segments = places, meanings, segments
        self._size = fit.height / places.height
        self._exact = self._at_landmarks(placed)
        self._data = model.data()
        pin.framesForwardKinematics(model.pin, self._data, q)

    def draft(
        self,
        row: int,
        name: str,
        segment: int,
        moved: bool,
        costs: np.ndarray,
        static_only: bool,
    ) -> DraftMarker:
        """A marker that has a place in the static trial.

        Args:
            row: of the marker.
            name: its label.
            segment: its number.
            moved: whether rigidity chose another segment than its place did.
            costs: of all segments, in squared deviations.
            static_only: whether motions are there and lack it.
        """
        meaning = self._meanings[name]
        place = int(self._fit.nearest[row])
        known = self._places.markers.markers[place]
        if meaning.known and meaning.landmark is not None:
            number = self._places.sources.index(meaning.landmark)
            known = self._places.markers.markers[number]
        distance = float(self._fit.near()[row])
        link = self._segments[segment]
        if meaning.segment:
            certainty, reason, comment = self._by_name(meaning, known.name, distance)
        else:
            certainty, reason, comment = self._by_place(
                place, distance, segment, moved, costs
            )
        if distance > OFF_BODY and not meaning.known:
            return DraftMarker(
                None, name, reason, Certainty.LEFT_OUT, comment, distance
            )
        exact = bool(self._exact[row])
        if certainty is Certainty.UNCERTAIN:
            spread = np.full(3, _UNSURE)
        elif exact:
            spread = known.spread if meaning.known else np.maximum(known.spread, 0.015)
        else:
            spread = np.full(3, _ESTIMATED)
        at = known.at * self._size if exact else self._local(link, self._at[row])
        calibration = (
            static_only
            or certainty is Certainty.UNCERTAIN
            or (meaning.known and known.calibration)
        )
        marker = SetMarker(
            name, link, at, known.weight if meaning.known else 1.0,
            calibration=calibration, spread=spread,
        )  # fmt: skip
        return DraftMarker(marker, name, reason, certainty, comment, distance)

    def unplaced(self, name: str, seen: bool) -> DraftMarker:
        """A marker that is not placed: computed, or not in the static trial."""
        meaning = self._meanings[name]
        if meaning.computed or seen:
            return DraftMarker(
                None, name, "computed", Certainty.LEFT_OUT,
                "by its label no marker, but a point that a program computed",
            )  # fmt: skip
        if meaning.known and meaning.landmark is not None:
            row = self._places.sources.index(meaning.landmark)
            known = self._places.markers.markers[row]
            marker = SetMarker(
                name, known.segment, known.at * self._size, known.weight,
                spread=known.spread,
            )  # fmt: skip
            comment = f"name: {known.name}; not seen in the static trial"
            return DraftMarker(marker, name, "name", Certainty.LIKELY, comment)
        return DraftMarker(
            None, name, "unseen", Certainty.LEFT_OUT, "not seen in the static trial"
        )

    def _by_name(
        self, meaning: LabelMeaning, word: str, distance: float
    ) -> tuple[Certainty, str, str]:
        off = f"{1e3 * distance:.0f} mm from its place"
        if distance > OFF_BODY:
            return Certainty.UNCERTAIN, "name", f"name: {word}, but {off}: look"
        if meaning.known:
            return Certainty.SURE, "name", f"name: {word}, {off}"
        if meaning.landmark is not None:
            return Certainty.LIKELY, "name", f"words of the name: {word}, {off}"
        return Certainty.LIKELY, "name", f"words of the name: {meaning.segment}"

    def _by_place(
        self,
        place: int,
        distance: float,
        segment: int,
        moved: bool,
        costs: np.ndarray,
    ) -> tuple[Certainty, str, str]:
        known = self._places.markers.markers[place]
        others = np.delete(costs, segment)
        margin = float(others.min() - costs[segment])
        names = [n for k, n in enumerate(self._segments) if k != segment]
        rival = names[int(others.argmin())]
        word = known.name if self._places.exact[place] else known.segment
        reason = "rigidity" if moved else "place"
        comment = f"{reason}: {1e3 * distance:.0f} mm from {word}"
        if moved:
            comment = f"rigidity: moves with {known.segment}; {comment[10:]}"
        if distance > OFF_BODY:
            return Certainty.UNCERTAIN, reason, f"{comment}: not on the body"
        if distance > FAR:
            comment += ", as on a wand"
        if margin < _LIKELY:
            return Certainty.UNCERTAIN, reason, f"{comment}; or {rival}: look"
        if margin < _SURE:
            return Certainty.LIKELY, reason, f"{comment}; less likely {rival}"
        return Certainty.SURE, reason, comment

    def _at_landmarks(self, placed: Sequence[str]) -> np.ndarray:
        """Which markers are at their landmarks, not only near them (m,).

        Two markers of a segment are both at theirs if these are as far apart.
        """
        near, nearest = self._fit.near(), self._fit.nearest
        places = self._places.markers.markers
        named = [self._meanings[name].landmark is not None for name in placed]
        exact = self._places.exact[nearest] & (np.array(named) | (near < _AT_LANDMARK))
        kept: list[int] = []
        for row in sorted(np.flatnonzero(exact), key=lambda k: (not named[k], near[k])):
            own = places[nearest[row]]
            for other in kept:
                their = places[nearest[other]]
                apart = np.linalg.norm(own.at - their.at) * self._size
                measured = np.linalg.norm(self._at[row] - self._at[other])
                differ = abs(apart - measured) > _SAME_SHAPE
                if own.segment == their.segment and differ and not named[row]:
                    exact[row] = False
            if exact[row]:
                kept.append(int(row))
        return exact

    def _local(self, link: str, point: np.ndarray) -> np.ndarray:
        """A point in a segment's frame, HuMAnS axes (3,) [m]."""
        frame = self._model.pin.getFrameId(link)
        local: np.ndarray = to_humans(self._data.oMf[frame].actInv(point))
        return local


def _standing_positions(static: MarkerTrial) -> dict[str, np.ndarray]:
    """Median position of each marker that is seen often enough, by label."""
    found = {}
    for column, name in enumerate(static.names):
        seen = static.positions[:, column]
        seen = seen[np.isfinite(seen).all(axis=1)]
        if len(seen) and len(seen) >= _SEEN * len(static):
            found[name] = np.median(seen, axis=0)
    return found


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
