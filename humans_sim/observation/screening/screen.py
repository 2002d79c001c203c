# SPDX-License-Identifier: Apache-2.0
"""Screening: can a recording be a person with these markers?

Some frames are looked at; nothing is solved, so that it takes a fraction of a second
however long the recording is.

Looked at are its units, which way up the person is (heads are above feet, or people lie
down), and how fast markers are.

*Exchanged labels.* Two are exchanged where the recording is far more probable with the
two exchanged: distances that then fit count by their logarithmic probabilities,
tetrahedra that then lie the right way round one each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.axes import from_z_up, to_z_up
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.tree_kernels import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.wide_search import FEWEST, unseen_joints
from humans_sim.observation.screening.arrangement import (
    Arrangement,
    ExpectedMarkers,
    Tetrahedra,
    mean,
    median,
)
from humans_sim.observation.screening.findings import (
    Finding,
    ScreeningError,
    Severity,
    Topic,
)

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
    if _SMALLEST < scale < _LARGEST:
        return 1.0, _another_person(size, scale, height)
    factor = min(FACTORS, key=lambda each: abs(math.log(each * scale)))
    others = sorted(abs(math.log(each * scale)) for each in FACTORS)
    clear = others[0] < math.log(_UNIT_FACTOR) and others[1] > 2 * others[0]
    if given or not clear:
        hint = f": are positions in {FACTORS[factor]}?" if clear else ""
        return 1.0, [Finding(Topic.UNIT, size + hint, Severity.REFUSAL)]
    text = f"{size}: read as {FACTORS[factor]} (--units confirms it)"
    return factor, [Finding(Topic.UNIT, text, Severity.CORRECTED)]


def _another_person(size: str, scale: float, height: float | None) -> list[Finding]:
    if 1 / _OTHER < scale < _OTHER:
        return []
    stature = "" if height is None else f" {scale * height:.2f}"
    text = f"{size}: give --height{stature}, or calibrate"
    near = 1 / _NOBODY < scale < _NOBODY
    return [Finding(Topic.SIZE, text, Severity.DOUBT if near else Severity.REFUSAL)]


_CERTAIN = 8.0
"""Gain in logarithmic probability of an exchange that is sure."""
_HOPEFUL = -2.0
"""Gain in distances below which an exchange is not looked at further."""
_MOST_EXCHANGES = 4
"""Exchanges that are looked for; where there are more, all labels are in doubt."""
_WORST = 25.0
"""Largest squared error that counts, in variances."""


def exchanged_labels(arrangement: Arrangement) -> tuple[tuple[str, str], ...]:
    """Pairs of labels that are exchanged, the surest first; empty where none are."""
    names = arrangement.expected.names
    order = np.arange(len(names))
    pairs: list[tuple[str, str]] = []
    while len(pairs) < _MOST_EXCHANGES and arrangement.scale > 0:
        gain, a, b = _best(arrangement, order)
        if gain < _CERTAIN:
            break
        pairs.append((names[a], names[b]))
        order[[a, b]] = order[[b, a]]
    return tuple(pairs)


def _best(arrangement: Arrangement, order: np.ndarray) -> tuple[float, int, int]:
    """The gain of the best exchange, and which it is."""
    gains = _distance_gains(arrangement, order)
    positions, tetrahedra = arrangement.positions[:, order], arrangement.tetrahedra
    before = tetrahedra.contradicted(positions)
    involved = np.zeros(len(gains), dtype=bool)
    involved[tetrahedra.corners[before]] = True
    # A tetrahedron can only change its sign by one of its corners.
    candidates = np.triu(gains > _HOPEFUL, 1) & (involved[:, None] | involved)
    for a, b in np.argwhere(candidates).tolist():
        swapped = positions.copy()
        swapped[:, [a, b]] = swapped[:, [b, a]]
        after = tetrahedra.contradicted(swapped)
        gains[a, b] += float(before.sum()) - float(after.sum())
    gains = np.where(np.triu(np.ones_like(gains, dtype=bool), 1), gains, -np.inf)
    first, second = divmod(int(np.argmax(gains)), len(gains))
    return float(gains[first, second]), first, second


def _distance_gains(arrangement: Arrangement, order: np.ndarray) -> np.ndarray:
    """Gains of each exchange by the stiff distances (m, m)."""
    expected, rows = arrangement.expected, np.arange(len(order))
    measured = arrangement.distances[np.ix_(order, order)] / arrangement.scale
    stiff = arrangement.stiff
    spread = np.where(stiff, expected.spread, 1.0)
    # cost[a, b, j]: of label a on the marker of b, by its distance to the marker of j
    error = (measured[None] - expected.distance[:, None]) / spread[:, None]
    cost = np.where(stiff[:, None], np.minimum(error**2, _WORST) / 2, 0.0)
    own = np.nan_to_num(cost[rows, rows])
    cost = np.where(np.isnan(cost), own[:, None], cost)  # no gain by what is not seen
    between = cost[:, rows, rows] - own  # of the two, which an exchange does not change
    gain = own.sum(axis=1)[:, None] - cost.sum(axis=2) + between
    return np.asarray(gain + gain.T)


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


@dataclass(frozen=True)
class Upright:
    """Which way up.

    Attributes:
        up: axis of the recording that points up; z where it is as it should be.
        findings: why not.
    """

    up: str = "z"
    findings: tuple[Finding, ...] = ()


def screen_up(
    expected: ExpectedMarkers,
    positions: np.ndarray,
    speeds: np.ndarray,
    file_axis: str,
    given: bool,
) -> Upright:
    """Compare a recording with somebody who stands.

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
        return Upright()
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
        return Upright()
    axis = _axis(bodies)
    word = f"'{_in_file(axis, file_axis)}'" if axis and file_axis else "another axis"
    if travels and axis and not given:
        text += f": {word} is taken for up (--up confirms it)"
        return Upright(axis, (Finding(Topic.UP, text, Severity.CORRECTED),))
    severity = Severity.REFUSAL if travels or down > _UPSIDE_DOWN else Severity.DOUBT
    text += f": is {word} up (--up)?"
    return Upright(findings=(Finding(Topic.UP, text, severity),))


def _axis(bodies: np.ndarray) -> str:
    """The axis from bottom to top; empty where it is none of them."""
    direction = np.median(bodies, axis=0)
    direction = direction / max(float(np.linalg.norm(direction)), 1e-9)
    k = int(np.argmax(np.abs(direction)))
    if abs(direction[k]) < _STRAIGHT:
        return ""
    return ("-" if direction[k] < 0 else "") + "xyz"[k]


def _in_file(axis: str, file_axis: str) -> str:
    """An axis of the recording, z up, in the words of its file."""
    vector = np.zeros(3)
    vector["xyz".index(axis[-1])] = -1.0 if axis.startswith("-") else 1.0
    return _axis(from_z_up(vector, file_axis)[None])


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
    findings += _screen_labels(look)
    findings += _screen_motion(look, factor * speeds(trial), factor * disorder(trial))
    walking = median(factor * speeds(trial, LAG))
    upright = screen_up(expected, look.positions, walking, known.file_axis, known.up)
    findings += upright.findings
    findings += _screen_sight(model, marker_set, trial.names, seen)
    return Screening(tuple(findings), factor, upright.up, look.scale / factor)


@lru_cache(maxsize=4)
def _expected(
    model: Model, marker_set: MarkerSet, names: tuple[str, ...]
) -> tuple[ExpectedMarkers, Tetrahedra]:
    expected = ExpectedMarkers.of(model, [marker_set[name] for name in names])
    return expected, Tetrahedra.of(expected)


def _screen_labels(look: Arrangement) -> list[Finding]:
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
        text = (
            "markers of a segment move against each other by "
            f"{100 * look.looseness:.0f} cm (standard deviation)"
        )
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
