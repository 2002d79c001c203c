# SPDX-License-Identifier: Apache-2.0
"""Whether a recording can be a person with these markers, before postures are sought.

Some frames are looked at; nothing is solved, so that it takes a fraction of a second
however long the recording is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from humans_sim.models.model import Model
from humans_sim.observation.markers.axes import to_z_up
from humans_sim.observation.markers.marker_set import MarkerSet
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.sight import unseen_joints
from humans_sim.observation.posture.tree import MarkedTree, Tree, marker_bodies
from humans_sim.observation.posture.wide_search import FEWEST
from humans_sim.observation.screening.arrangement import Arrangement, median
from humans_sim.observation.screening.exchanges import exchanged_labels
from humans_sim.observation.screening.expected import ExpectedMarkers
from humans_sim.observation.screening.findings import (
    Finding,
    ScreeningError,
    Severity,
    Topic,
)
from humans_sim.observation.screening.frames import LAG, disorder, look_at, speeds
from humans_sim.observation.screening.handedness import Tetrahedra
from humans_sim.observation.screening.scale import screen_scale
from humans_sim.observation.screening.upright import screen_up

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
    """What a look at a recording shows.

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
        """What it shows of some topics."""
        return replace(
            self, findings=tuple(f for f in self.findings if f.topic in topics)
        )

    def check(self, recording: object) -> None:
        """Refuse a recording that cannot be the person.

        Raises:
            ScreeningError: it cannot.
        """
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
    """What the user gave, which is not changed.

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
    """Look at a recording.

    Args:
        model: the person.
        trial: markers in the names of the set, neither filled nor filtered.
        marker_set: markers of the set that are used on motions.
        known: what the user gave.
    """
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
        return Screening((_mixed(look),))  # whatever else there is follows from it
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


def _mixed(look: Arrangement) -> Finding:
    text = (
        f"{100 * look.misplaced:.0f} % of the distances between markers are those of "
        "no posture: labels stand on other markers"
    )
    return Finding(Topic.PLACES, text, Severity.REFUSAL)


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
