# SPDX-License-Identifier: Apache-2.0
"""A marker set proposed from a recording of standing still.

Labels say what they can (:mod:`labels`), the place of a marker on a standing person the
rest (:mod:`placing`), and where there are motions, the markers with which it moves
(:mod:`rigidity`). A person looks over the result: every marker says why it is where it
is, and how sure that is.

The draft is a file that people read and correct. Markers whose distances stay over a
motion move with one segment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from humans_sim.core.errors import HumansError, printable
from humans_sim.core.files import write_atomically
from humans_sim.models.model import Model
from humans_sim.observation.draft.draft_marker import (
    Certainty,
    DraftMarker,
    FittedPerson,
)
from humans_sim.observation.draft.landmarks import (
    LabelMeaning,
    Landmarks,
    landmarks,
    read_labels,
)
from humans_sim.observation.draft.placing import FAR, PersonFitter
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    SetMarker,
    marker_set_names,
)
from humans_sim.observation.markers.trial import MarkerTrial

_LENGTHS = {
    "thigh": "yfemur",
    "shank": "ytibia",
    "foot": "yfoot",
    "arm": "yhumerus",
    "forearm": "yforearm",
    "hand": "yhand",
    "head": "yhead",
}
"""Length that y on a segment grows with; x, z and others: the stature."""
_SHOULDER = ("-xshoulder", "yshoulder", "zshoulder")
"""The joint of the arm on the shoulder blade, from which its markers are counted."""
_LONGEST_COMMENT = 160
_HEAD = """\
# A draft of a marker set, from a recording: correct it, then use it as any set
# (humans-sim calibrate --marker-set FILE). Each marker says why it is where it is:
# name, place on a standing person, rigidity (it moves with the others of the segment).
# Uncertain ones serve calibration only: delete 'calibration: true' where they are
# right. Lines that begin with '#-' were left out.
# HuMAnS axes in the segment's frame: x forward, y up, z right; lengths by their names,
# h is the stature, here {height:.3f} m. The markers lie {rms:.0f} mm from their places.
title: {title}
model: {model}
spread: 0.03                     # m, of a place that was estimated

markers:
"""


def _line(model: Model, entry: DraftMarker, marker: SetMarker) -> str:
    fields = [
        f"name: {_quoted(marker.name)}",
        f"segment: {marker.segment}",
        f"at: [{', '.join(_expressions(model, marker))}]",
    ]
    spread = marker.spread
    if np.ptp(spread) > 0:
        fields.append(f"spread: [{', '.join(f'{x:g}' for x in spread)}]")
    elif spread[0] != 0.03:
        fields.append(f"spread: {spread[0]:g}")
    if marker.weight != 1.0:
        fields.append(f"weight: {marker.weight:g}")
    if marker.calibration:
        fields.append("calibration: true")
    return f"  - {{{', '.join(fields)}}}  # {_comment(entry)}\n"


def _comment(entry: DraftMarker) -> str:
    text = printable(f"{entry.certainty.value}; {entry.comment}")
    return text[:_LONGEST_COMMENT]


def _expressions(model: Model, marker: SetMarker) -> list[str]:
    """A place as shares of lengths, so that it grows with the person."""
    side = marker.segment[:2] if marker.segment[:2] in ("r_", "l_") else ""
    part = marker.segment.removeprefix(side)
    words = []
    if part == "scapula":
        signs = (1.0, 1.0, 1.0 if side == "r_" else -1.0)
        for value, name, sign in zip(marker.at, _SHOULDER, signs, strict=True):
            own = -1.0 if name[0] == "-" else 1.0
            length = own * sign * model.lengths[side + name.lstrip("-")]
            start = f"{'-' if own * sign < 0 else ''}{name.lstrip('-')}"
            share = round((float(value) - length) / model.height, 4)
            words.append(f"{start} {'-' if share < 0 else '+'} {abs(share):g}*h")
        return words
    for axis, value in zip("xyz", marker.at, strict=True):
        name, size = "h", model.height
        if axis == "y" and part in _LENGTHS:
            name, size = _LENGTHS[part], model.lengths[side + _LENGTHS[part]]
        share = round(float(value) / size, 4)
        words.append("0" if share == 0 else f"{share:g}*{name}")
    return words


def _quoted(text: str) -> str:
    """A label as YAML takes it, whatever it holds."""
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9._]*", text) and text.lower() not in (
        "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf",
    ):  # fmt: skip
        return text
    return json.dumps(text)


_FEWEST = 20
"""Frames in which two markers must be seen for their distance to say anything."""
_MOST = 400
"""Frames that are looked at; more of a motion repeat it."""
_INNER = (10.0, 90.0)
"""Percentiles between which a distance counts: swaps and ghosts are beyond."""
_TO_DEVIATION = 2.563
"""Width of these of a normal distribution, in standard deviations."""
_SLIDE, _SLIDE_OF_TWO = 0.004, 0.008
"""Usual change of a distance on one segment, as skin slides, and where it is the only
one: two markers of a foot flex with the shoe [m]."""
_MOST_COST = 9.0
"""Of rigidity, in squared deviations: a marker on the wrong segment misleads others."""
_PLACE = 0.05
"""Usual distance of a marker from the nearest landmark of its segment [m]."""
_ROUNDS = 5


def distance_spreads(
    motions: Sequence[MarkerTrial], names: Sequence[str]
) -> np.ndarray:
    """Standard deviations of the distances of all pairs over motions (m, m) [m].

    NaN where a pair is not seen together often enough.
    """
    m = len(names)
    frames = []
    for trial in motions:
        rows = np.unique(np.linspace(0, len(trial) - 1, _MOST).astype(int))
        part = np.full((len(rows), m, 3), np.nan)
        for column, name in enumerate(names):
            if name in trial.names:
                part[:, column] = trial.positions[rows, trial.names.index(name)]
        frames.append(part)
    spreads = np.full((m, m), np.nan)
    if not frames:
        return spreads
    positions = np.concatenate(frames)
    for k in range(m):
        apart = np.linalg.norm(positions - positions[:, k : k + 1], axis=2)
        for other in range(k):
            seen = apart[:, other][np.isfinite(apart[:, other])]
            if len(seen) >= _FEWEST:
                low, high = np.percentile(seen, _INNER)
                spreads[k, other] = spreads[other, k] = (high - low) / _TO_DEVIATION
    return spreads


def segment_costs(
    places: np.ndarray, spreads: np.ndarray, members: np.ndarray
) -> np.ndarray:
    """How badly each marker fits each segment, in squared deviations (m, s).

    By its distance from the nearest place on a segment (m, s) [m], the spreads of
    distances (m, m) [m] and the segment of each marker (m,).
    """
    # Median change of distances to the others of a segment [m], and how many they are.
    moving, number = np.full(places.shape, np.nan), np.zeros(places.shape, np.int64)
    for marker, segment in np.ndindex(places.shape):
        others = members == segment
        others[marker] = False
        known = spreads[marker, others]
        known = known[np.isfinite(known)]
        if len(known):
            moving[marker, segment] = np.median(known)
            number[marker, segment] = len(known)
    usual = np.where(number > 1, _SLIDE, _SLIDE_OF_TWO)
    rigid = np.minimum((moving / usual) ** 2, _MOST_COST)
    # A segment without other markers says nothing: as good as a marker's usual one.
    sure = np.isfinite(moving)
    rigid = np.where(sure, rigid, np.where(sure.any(axis=1), 1.0, 0.0)[:, None])
    return np.asarray((places / _PLACE) ** 2 + rigid)


def assign_segments(
    places: np.ndarray, spreads: np.ndarray, members: np.ndarray, fixed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Segments of all markers by place and rigidity together (m,), and their costs.

    Arguments as of :func:`segment_costs`, members to begin with; those ``fixed`` (m,)
    stay.
    """
    members = members.copy()
    for _ in range(_ROUNDS):
        costs = segment_costs(places, spreads, members)
        better = np.where(fixed, members, costs.argmin(axis=1))
        if (better == members).all():
            break
        members = better
    return members, segment_costs(places, spreads, members)


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
        title, model = _quoted(self.title), self.model.name
        height, rms = self.model.height, 1e3 * self.rms
        lines = [_HEAD.format(height=height, rms=rms, title=title, model=model)]
        used = [(entry, m) for entry in self.markers if (m := entry.marker) is not None]
        for segment in dict.fromkeys(marker.segment for _, marker in used):
            lines.append(f"  # {segment}\n")
            for entry, marker in used:
                if marker.segment == segment:
                    lines.append(_line(self.model, entry, marker))
        left = [entry for entry in self.markers if entry.marker is None]
        if left:
            lines.append("  # Left out\n")
        for entry in left:
            lines.append(f"  #- {{name: {_quoted(entry.name)}}}  # {_comment(entry)}\n")
        return "".join(lines)

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
    names, segments = np.unique(places.segments, return_inverse=True)
    on_skin = np.where(places.on_skin, fit.distances, np.inf)
    nearest = [on_skin[:, segments == k].min(axis=1) for k in range(len(names))]
    fixed = np.array([bool(meanings[name].segment) for name in placed])
    before = segments[fit.nearest]
    spreads = distance_spreads(motions, placed)
    members, costs = assign_segments(np.stack(nearest, axis=1), spreads, before, fixed)
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
    scene = FittedPerson(body, q, at, fit, places, meanings, names.tolist(), placed)
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
