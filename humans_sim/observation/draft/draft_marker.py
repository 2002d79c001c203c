# SPDX-License-Identifier: Apache-2.0
"""The draft of one marker: its segment, its place, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pinocchio as pin

from humans_sim.models.model import Model
from humans_sim.models.points import frame_index, to_humans
from humans_sim.observation.draft.landmarks import LabelMeaning, Landmarks
from humans_sim.observation.draft.placing import FAR, Fit
from humans_sim.observation.markers.marker_set import SetMarker

OFF_BODY = 0.15
"""Distance from any place on the body beyond which a marker is not on it: the ends of
wands are nearer [m]."""
_AT_LANDMARK = 0.06
"""Distance within which an unnamed marker is taken for one at the landmark [m]."""
_SAME_SHAPE = 0.03
"""Difference of two distances that are alike [m]."""
_SURE, _LIKELY = 2.0, 0.5
"""How much worse the next segment fits, in squared deviations."""
_ESTIMATED, _UNSURE = 0.03, 0.06
"""Spread of a place that was estimated, and of one on an uncertain segment [m]."""


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
        reason: why it is there: ``name``, ``place``, ``rigidity``, or why it is not.
        certainty: of its segment.
        distance: from the landmark or place that was taken for it [m]; NaN: none.
    """

    marker: SetMarker | None
    name: str
    reason: str
    certainty: Certainty
    comment: str
    distance: float = float("nan")


class FittedPerson:
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

    def unplaced(
        self, name: str, position: np.ndarray | None, middle: np.ndarray
    ) -> DraftMarker:
        """A marker that is not placed: computed, far away, or not in the static trial.

        Its position and the middle of all markers are those of the static trial (3,)
        [m].
        """
        meaning = self._meanings[name]
        reason, comment = "unseen", "not seen in the static trial"
        if meaning.computed:
            reason = "computed"
            comment = "by its label no marker, but a point that a program computed"
        elif position is not None:
            away = float(np.linalg.norm(position - middle))
            reason, comment = "place", f"{away:.1f} m from the middle of all markers"
        elif meaning.known and meaning.landmark is not None:
            row = self._places.sources.index(meaning.landmark)
            known = self._places.markers.markers[row]
            marker = SetMarker(
                name, known.segment, known.at * self._size, known.weight,
                spread=known.spread,
            )  # fmt: skip
            comment = f"name: {known.name}; {comment}"
            return DraftMarker(marker, name, "name", Certainty.LIKELY, comment)
        return DraftMarker(None, name, reason, Certainty.LEFT_OUT, comment)

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
        self, place: int, distance: float, segment: int, moved: bool, costs: np.ndarray
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
        frame = frame_index(self._model.pin, link)
        return np.asarray(to_humans(self._data.oMf[frame].actInv(point)))
