# SPDX-License-Identifier: Apache-2.0
"""Screening: can a recording be a person with these markers?

Some frames are looked at; nothing is solved, so that it takes a fraction of a second
however long the recording is.

Looked at are its labels and which set fits them, its units, which way up the person is
(heads are above feet, or people lie down), and how fast markers are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import numpy as np

from humans_sim.core.errors import HumansError
from humans_sim.models.model import Model
from humans_sim.observation.markers.assemble import (
    axis_vector,
    from_z_up,
    nearest_axis,
    to_z_up,
)
from humans_sim.observation.markers.marker_set import (
    MarkerSet,
    identify,
    load_marker_set,
    marker_set_names,
)
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.tree_kernels import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.wide_search import FEWEST, unseen_joints
from humans_sim.observation.screening.arrangement import (
    Arrangement,
    ExpectedMarkers,
    Tetrahedra,
    exchanged_labels,
    mean,
    median,
)


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


_SMALLEST, _LARGEST = 0.45, 1.9
"""Sizes of people over that of the model; others are units."""
_UNIT_FACTOR = 1.35
"""Largest factor that a unit leaves, once it is right."""
_OTHER, _NOBODY = 1.12, 1.25
"""Factors from which a recording may be, and is, of somebody else than the model."""
FACTORS = {
    1000.0: "m, not mm",
    100.0: "m, not cm",
    10.0: "cm, not mm",
    25.4: "inches, not mm",
    2.54: "inches, not cm",
    1e-3: "mm, not m",
    1e-2: "cm, not m",
    0.1: "mm, not cm",
    0.0254: "inches, not m",
    1 / 25.4: "mm, not inches",
    1 / 0.0254: "m, not inches",
}
"""Factors that a wrong unit takes, and what it is."""


def screen_scale(
    scale: float, given: bool, height: float | None
) -> tuple[float, list[Finding]]:
    """The factor that positions need, and why.

    The scale is the size of the recording over that of the model, NaN where it is not
    known; a unit that the user gave is not changed. The stature is the model's [m].
    """
    if math.isnan(scale):
        return 1.0, []
    size = f"the recording is {scale:.3g} times as large as the person"
    if 1 / _OTHER < scale < _OTHER:
        return 1.0, []
    if _SMALLEST < scale < _LARGEST:
        stature = "" if height is None else f" {scale * height:.2f}"
        text = f"{size}: give --height{stature}, or calibrate"
        near = 1 / _NOBODY < scale < _NOBODY
        severity = Severity.DOUBT if near else Severity.REFUSAL
        return 1.0, [Finding(Topic.SIZE, text, severity)]
    factor = min(FACTORS, key=lambda each: abs(math.log(each * scale)))
    others = sorted(abs(math.log(each * scale)) for each in FACTORS)
    clear = others[0] < math.log(_UNIT_FACTOR) and others[1] > 2 * others[0]
    if given or not clear:
        hint = f": are positions in {FACTORS[factor]}?" if clear else ""
        return 1.0, [Finding(Topic.UNIT, size + hint, Severity.REFUSAL)]
    text = f"{size}: read as {FACTORS[factor]} (--units confirms it)"
    return factor, [Finding(Topic.UNIT, text, Severity.CORRECTED)]


_HIGH, _LOW = 0.75, 0.2
"""Shares of the markers' heights, standing, above and below which they are top and
bottom."""
_DOWN = -0.5
"""Top above bottom, over that of standing, of who is on his head."""
_LEVEL, _LONG = 0.35, 0.7
"""The same of who lies, and the least length on the ground."""
_UPSIDE_DOWN = 0.5
"""Share of the frames in which somebody is upside down before the file is."""
_ALL = 0.9
"""Share of the frames in which a file that lies has everybody lie."""
_TRAVEL = 0.7
"""Distance over the height of the markers that nobody travels lying or on his hands."""
_BUSY = 0.4
"""Median speed of the feet that who lies hardly has [m/s]."""
_STRAIGHT = 0.9
"""Cosine to an axis that is it."""


def screen_up(
    expected: ExpectedMarkers,
    positions: np.ndarray,
    speeds: np.ndarray,
    file_axis: str,
    given: bool,
) -> tuple[str, list[Finding]]:
    """The axis of a recording that points up, z where it should, and why not.

    It is compared with somebody who stands.

    Args:
        expected: markers of the person.
        positions: in some frames, z up, NaN where not seen (n, m, 3) [m].
        speeds: median of each marker, NaN where not known (m,) [m/s].
        file_axis: axis of the file that was read as z; empty: not known.
        given: whether the user gave it, or moves markers himself: nothing is turned.
    """
    height = expected.standing[:, 2]
    share = (height - height.min()) / max(float(np.ptp(height)), 1e-9)
    top, bottom = share > _HIGH, share < _LOW
    length = float(height[top].mean() - height[bottom].mean())
    bodies = mean(positions[:, top], 1) - mean(positions[:, bottom], 1)
    bodies = bodies[~np.isnan(bodies).any(axis=1)] / max(length, 1e-9)
    if not len(bodies):
        return "z", []
    down = float((bodies[:, 2] < _DOWN).mean())
    along = np.linalg.norm(bodies[:, :2], axis=1)
    level = float(((np.abs(bodies[:, 2]) < _LEVEL) & (along > _LONG)).mean())
    middle = mean(positions, 1)
    middle = middle[~np.isnan(middle).any(axis=1)]
    travels = float(np.linalg.norm(np.ptp(middle, axis=0))) > _TRAVEL * length
    busy = bool((speeds[bottom] > _BUSY).mean() > _UPSIDE_DOWN)
    if down > _UPSIDE_DOWN:
        text = f"the feet are above the head in {100 * down:.0f} % of the frames"
    elif level > _ALL and (travels or (busy and not given)):
        text = f"the person moves, lying, in {100 * level:.0f} % of the frames"
    else:
        return "z", []
    axis, word = nearest_axis(np.median(bodies, axis=0), _STRAIGHT), "another axis"
    if axis and file_axis:  # the axis in the words of the file
        word = f"'{nearest_axis(from_z_up(axis_vector(axis), file_axis), _STRAIGHT)}'"
    if travels and axis and not given:
        text += f": {word} is taken for up (--up confirms it)"
        return axis, [Finding(Topic.UP, text, Severity.CORRECTED)]
    severity = Severity.REFUSAL if travels or down > _UPSIDE_DOWN else Severity.DOUBT
    text += f": is {word} up (--up)?"
    return "z", [Finding(Topic.UP, text, severity)]


LAG = 0.1
"""Time over which a speed is a person's, not a marker's noise [s]."""
_FINE = 3
"""Frames of a lag from which it is longer than a step."""
_SAME_STEP = 0.5
"""Share of the distance over a lag that no step from frame to frame has."""
_PLACES = 40
"""Frames all over a recording, each with the next one and the one a lag later."""


def look_at(trial: MarkerTrial) -> MarkerTrial:
    """Some frames of a trial; every marker that is seen at all is seen in them."""
    if len(trial) <= 3 * _PLACES + len(trial.names):
        return trial
    seen = ~np.isnan(trial.positions[:, :, 0])
    usable = np.flatnonzero(seen.sum(axis=1) >= FEWEST)
    if not len(usable):
        return trial.samples(slice(0, 1))
    count = len(trial)
    first = usable[np.linspace(0, len(usable) - 1, _PLACES).astype(int)]
    lag = max(round(LAG * trial.rate), 1)
    rows = np.concatenate([first, first + 1, first + lag, seen.argmax(axis=0)])
    return trial.samples(np.unique(rows[rows < count]))


def speeds(trial: MarkerTrial, lag: float | None = None) -> np.ndarray:
    """Speeds of markers at some times, NaN where not seen (k, m) [m/s].

    Measured over a lag [s]; None: from one frame to the next.
    """
    nothing = np.full((1, len(trial.names)), np.nan)
    if len(trial) < 2:
        return nothing
    times = trial.times
    period = float(np.diff(times).min())
    lag = period if lag is None else max(lag, period)
    later = np.searchsorted(times, times + lag - 0.5 * period)
    within = np.minimum(later, len(times) - 1)
    pairs = np.flatnonzero(
        (later < len(times)) & (times[within] - times < lag + 0.5 * period)
    )
    if not len(pairs):
        return nothing
    pairs = pairs[np.unique(np.linspace(0, len(pairs) - 1, 2 * _PLACES).astype(int))]
    steps = trial.positions[later[pairs]] - trial.positions[pairs]
    spans = times[later[pairs]] - times[pairs]
    return np.asarray(np.linalg.norm(steps, axis=2) / spans[:, None])


def disorder(trial: MarkerTrial) -> float:
    """Distance from frame to frame, where it is no larger over a lag; else 0 [m].

    Who moves is further away after a tenth of a second than in the next frame, unless
    frames are not in the order of their times.
    """
    if len(trial) < 2 or LAG < _FINE * float(np.diff(trial.times).min()):
        return 0.0
    period = float(np.diff(trial.times).min())
    near = float(median(period * speeds(trial).reshape(-1, 1))[0])
    far = float(median(LAG * speeds(trial, LAG).reshape(-1, 1))[0])
    return near if near > _SAME_STEP * far else 0.0


_OTHER_WAY = 0.45
"""Share of tetrahedra the other way round from which a recording is mirrored."""
_TURNED, _DOUBTFUL = 0.25, 0.12
"""Share from which labels are wrong, and from which they may be."""
_MIXED, _LOOSE = 0.3, 0.1
"""Share of distances that no posture explains from which labels are mixed up, and from
which they may be."""
_FASTEST = 12.0
"""Median speed of a person's markers that nobody exceeds, a sprinter's [m/s]."""
_JUMP = 0.03
"""Distance from frame to frame that noise hardly has [m]."""
_SHAKEN, _SHAKY = 0.04, 0.02
"""Deviation of distances within a segment that markers on skin do not have, and that
they hardly have [m]."""
_LISTED = 8


@dataclass(frozen=True)
class Screening:
    """The screening of a recording.

    Attributes:
        findings: what is not as it should be; empty where all is well.
        factor: that positions are to be multiplied by; 1 where units are right.
        up: axis of the recording that points up; z where it is as it should be.
        scale: size of the recording over that of the model; NaN where unknown.
    """

    findings: tuple[Finding, ...] = ()
    factor: float = 1.0
    up: str = "z"
    scale: float = float("nan")

    @property
    def refused(self) -> bool:
        """Whether no posture is to be sought."""
        return any(f.severity is Severity.REFUSAL for f in self.findings)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why a result is doubtful."""
        return tuple(finding.text for finding in self.findings)

    def about(self, *topics: Topic) -> Screening:
        """Findings on some topics."""
        return replace(
            self, findings=tuple(f for f in self.findings if f.topic in topics)
        )

    def check(self, recording: object) -> None:
        """Refuse a recording that cannot be the person: :class:`ScreeningError`."""
        if self.refused:
            raise ScreeningError(recording, self.findings)

    def corrected(self, trial: MarkerTrial) -> MarkerTrial:
        """A trial with the right unit and axis.

        Force plates are left out where the unit was wrong: that of their moments is
        then not known either.
        """
        if self.factor == 1.0 and self.up == "z":
            return trial
        residuals = trial.camera_residuals
        return replace(
            trial,
            positions=to_z_up(self.factor * trial.positions, self.up),
            camera_residuals=None if residuals is None else self.factor * residuals,
            plates=(),
        )


@dataclass(frozen=True)
class AxesKnown:
    """Axes that the user gave, which are not changed.

    Attributes:
        units: whether the unit is given.
        up: whether the axis is.
        file_axis: axis of the file that was read as z; empty: not known.
    """

    units: bool = False
    up: bool = False
    file_axis: str = ""


def screen(
    model: Model,
    trial: MarkerTrial,
    marker_set: MarkerSet,
    known: AxesKnown | None = None,
) -> Screening:
    """Look at a recording: markers of motions, neither filled nor filtered."""
    known = known or AxesKnown()
    trial = look_at(trial)
    seen = ~trial.occluded
    if not (seen.sum(axis=1) >= FEWEST).any():
        text = f"no frame has {FEWEST} markers of the set {marker_set.name}"
        return Screening((Finding(Topic.EMPTY, text, Severity.REFUSAL),))
    expected, tetrahedra = _expected(model, marker_set, trial.names)
    positions = trial.positions
    look = Arrangement(expected, tetrahedra, positions)
    height = model.parts.parameters.get("h")
    factor, findings = screen_scale(look.scale, known.units, height)
    look = Arrangement(expected, tetrahedra, factor * positions)
    if look.misplaced > _MIXED:
        text = (
            f"{100 * look.misplaced:.0f} % of the distances between markers are those "
            "of no posture: labels stand on other markers"
        )
        # whatever else there is follows from it
        return Screening((Finding(Topic.PLACES, text, Severity.REFUSAL),))
    findings += _screen_places(look)
    findings += _screen_motion(look, factor * speeds(trial), factor * disorder(trial))
    walking = median(factor * speeds(trial, LAG))
    up, up_findings = screen_up(
        expected, look.positions, walking, known.file_axis, known.up
    )
    findings += up_findings
    findings += _screen_sight(model, marker_set, trial.names, seen)
    return Screening(tuple(findings), factor, up, look.scale / factor)


@lru_cache(maxsize=4)
def _expected(
    model: Model, marker_set: MarkerSet, names: tuple[str, ...]
) -> tuple[ExpectedMarkers, Tetrahedra]:
    expected = ExpectedMarkers.of(model, [marker_set[name] for name in names])
    return expected, Tetrahedra.of(expected)


def _screen_places(look: Arrangement) -> list[Finding]:
    """Mirrored, or two labels exchanged."""
    if look.mirrored > _OTHER_WAY:
        text = "left and right labels are exchanged, or the recording is mirrored"
        return [Finding(Topic.SIDES, text, Severity.REFUSAL)]
    pairs = exchanged_labels(look)
    if pairs:
        words = ", ".join(f"{a} and {b}" for a, b in pairs)
        text = f"labels are exchanged: {words}"
        return [Finding(Topic.PLACES, text, Severity.REFUSAL)]
    if look.mirrored > _DOUBTFUL or look.misplaced > _LOOSE:
        corners = look.tetrahedra.corners[look.tetrahedra.agreement(look.positions) < 0]
        count = np.bincount(corners.ravel(), minlength=len(look.expected.names))
        worst = np.argsort(-count, kind="stable")[:4]
        names = ", ".join(look.expected.names[k] for k in worst if count[k])
        text = f"markers do not lie as the set has them{f' ({names})' if names else ''}"
        turned = look.mirrored > _TURNED
        severity = Severity.REFUSAL if turned else Severity.DOUBT
        return [Finding(Topic.PLACES, text, severity)]
    return []


def _screen_motion(look: Arrangement, fast: np.ndarray, jump: float) -> list[Finding]:
    """Faster than anybody, or shaken apart."""
    findings = []
    if look.looseness > _SHAKY:
        spread = f"{100 * look.looseness:.0f} cm (standard deviation)"
        text = f"markers of a segment move against each other by {spread}"
        shaken = look.looseness > _SHAKEN
        severity = Severity.REFUSAL if shaken else Severity.DOUBT
        findings.append(Finding(Topic.MOTION, text, severity))
    speed = float(median(fast.reshape(-1, 1))[0])
    if jump > _JUMP:
        text = (
            f"markers are {100 * jump:.0f} cm further in each frame, and no further "
            "later: frames are not in their order"
        )
        findings.append(Finding(Topic.MOTION, text, Severity.REFUSAL))
    elif speed > _FASTEST:
        text = f"markers move at {speed:.0f} m/s: is the rate wrong (--rate)?"
        findings.append(Finding(Topic.MOTION, text, Severity.REFUSAL))
    return findings


def _screen_sight(
    model: Model, marker_set: MarkerSet, names: tuple[str, ...], seen: np.ndarray
) -> list[Finding]:
    """Joints that the set sees and this recording, seen (n, m), does not."""
    present = {name for name, column in zip(names, seen.T, strict=True) if column.any()}
    if len(present) == len(marker_set.names):
        return []
    body, local = marker_bodies(model, marker_set.markers)
    tree = Tree.of(model)
    here = np.array([name in present for name in marker_set.names])
    lost = unseen_joints(MarkedTree(tree, body[here], local[here]))
    lost &= ~unseen_joints(MarkedTree(tree, body, local))
    if not lost.any():
        return []
    joints = [model.joint_names[k] for k in np.flatnonzero(lost)]
    listed = ", ".join(joints[:_LISTED]) + (", ..." if len(joints) > _LISTED else "")
    text = f"markers are missing that show joints: {listed}"
    return [Finding(Topic.SIGHT, text, Severity.DOUBT)]
