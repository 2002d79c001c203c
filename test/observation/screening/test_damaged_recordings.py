# SPDX-License-Identifier: Apache-2.0
"""Recorded walks, damaged in all ways: refused, corrected or doubtful, none good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.result import Reconstruction
from humans_sim.observation.screening.screen import screen

REFUSED, CORRECTED, DOUBTFUL = "refused", "corrected", "doubtful"


@dataclass(frozen=True, eq=False)
class Walker:
    """A person of the shared recordings, measured from a static one.

    Attributes:
        trial: a walk.
        model: the person.
        markers: where its markers are.
        other_set: a set that it does not wear.
        pair: two markers of one segment.
        treadmill: whether it walks on the spot.
        good: the walk as it is.
    """

    trial: MarkerTrial
    model: hs.Model
    markers: hs.MarkerSet
    other_set: str
    pair: tuple[str, str]
    treadmill: bool
    good: Reconstruction


WALKERS = {
    "rajagopal": (
        ("mocap/static_walk.trc", "mocap/walk.trc"),
        ("gait2354", ("R.TH1", "R.TH3"), False),
    ),
    "gait2354": (
        ("mocap_gait2354/subject01_static.trc", "mocap_gait2354/subject01_walk1.trc"),
        ("plug-in-gait", ("R.Toe.Tip", "R.Heel"), True),
    ),
    "plug-in-gait": (
        ("c3d/vicon_pig_static.c3d", "c3d/vicon_pig_walk.c3d"),
        ("rajagopal", ("LTOE", "LHEE"), False),
    ),
}


MOVED = ("L.TH1", "L.TH2", "L.TH3", "L.TH4")
"""Of a plate that left its place on the thigh between two recordings."""


@pytest.fixture(scope="module", params=WALKERS)
def walker(
    request: pytest.FixtureRequest, human: hs.Model, shared_data: Path
) -> Walker:
    """Each of the people."""
    (static, walk), rest = WALKERS[request.param]
    still = hs.read_markers(shared_data / static)
    subject = hs.calibrate(human, still, request.param).subject
    trial = hs.read_markers(shared_data / walk).samples(slice(0, 120))
    trial = trial.select([name for name in trial.names if name not in MOVED])
    model, markers = subject.model(), subject.marker_set()
    return Walker(trial, model, markers, *rest, hs.reconstruct(model, trial, markers))


def test_a_plate_that_moved_is_noticed(human: hs.Model, shared_data: Path) -> None:
    """The plate on a thigh lies centimetres off where the static trial has it."""
    (static, walk), _ = WALKERS["rajagopal"]
    subject = hs.calibrate(
        human, hs.read_markers(shared_data / static), "rajagopal"
    ).subject
    result = hs.reconstruct(subject.model(), shared_data / walk, subject.marker_set())
    assert result.verdict.grade == DOUBTFUL
    assert any(MOVED[0] in reason for reason in result.verdict.reasons)


def scaled(factor: float) -> Callable[[Walker], MarkerTrial]:
    """In another unit than the file says."""
    return lambda walker: walker.trial.moved(factor * walker.trial.positions)


def turned(axes: list[int], signs: list[int]) -> Callable[[Walker], MarkerTrial]:
    """On other axes than the file says."""
    return lambda w: w.trial.moved(w.trial.positions[..., axes] * signs)


def sides_exchanged(walker: Walker) -> MarkerTrial:
    """Left labels on the right, right ones on the left."""
    other = str.maketrans("LR", "RL")
    names = walker.trial.names
    pairs = {name: name[0].translate(other) + name[1:] for name in names}
    return replace(
        walker.trial, names=tuple(p if p in names else n for n, p in pairs.items())
    )


def pair_exchanged(walker: Walker) -> MarkerTrial:
    """Two labels of a segment on each other's markers."""
    other = {walker.pair[0]: walker.pair[1], walker.pair[1]: walker.pair[0]}
    return replace(
        walker.trial, names=tuple(other.get(name, name) for name in walker.trial.names)
    )


def labels_mixed(walker: Walker) -> MarkerTrial:
    """Labels on markers by chance."""
    used = [name for name in walker.trial.names if name in walker.markers.names]
    trial = walker.trial.select(used)
    order = np.random.default_rng(0).permutation(len(used))
    return replace(trial, names=tuple(used[k] for k in order))


def nothing_seen(walker: Walker) -> MarkerTrial:
    """No marker in any frame."""
    return walker.trial.moved(np.full_like(walker.trial.positions, np.nan))


def half_missing(walker: Walker) -> MarkerTrial:
    """Every other marker of the set was not put on."""
    used = [name for name in walker.trial.names if name in walker.markers.names]
    return walker.trial.select(used[::2])


def half_hidden(walker: Walker) -> MarkerTrial:
    """Every marker is hidden in half of the frames, in a block."""
    positions = walker.trial.positions.copy()
    quarter = len(positions) // 4
    positions[quarter : 3 * quarter, ::2] = np.nan
    positions[:quarter, 1::2] = positions[3 * quarter :, 1::2] = np.nan
    return walker.trial.moved(positions)


def shuffled(walker: Walker) -> MarkerTrial:
    """Frames in another order than their times."""
    order = np.random.default_rng(0).permutation(len(walker.trial))
    return walker.trial.moved(walker.trial.positions[order])


def noisy(walker: Walker) -> MarkerTrial:
    """Positions to 10 cm."""
    rng = np.random.default_rng(0)
    shape = walker.trial.positions.shape
    return walker.trial.moved(walker.trial.positions + 0.1 * rng.normal(size=shape))


TABLE: dict[str, tuple[Callable[[Walker], MarkerTrial], str, str]] = {
    "metres read as millimetres": (scaled(1e-3), CORRECTED, "read as m, not mm"),
    "millimetres read as metres": (scaled(1e3), CORRECTED, "read as mm, not m "),
    "inches read as millimetres": (scaled(1 / 25.4), CORRECTED, "inches, not mm"),
    "three times as large": (scaled(3.0), REFUSED, "times as large"),
    "half as large again": (scaled(1.5), REFUSED, "give --height"),
    "left and right exchanged": (sides_exchanged, REFUSED, "left and right"),
    "mirrored": (turned([0, 1, 2], [1, -1, 1]), REFUSED, "left and right"),
    "mirrored top to bottom": (turned([0, 1, 2], [1, 1, -1]), REFUSED, "mirrored"),
    "upside down": (turned([0, 1, 2], [1, -1, -1]), CORRECTED, "feet are above"),
    "y for z": (turned([0, 2, 1], [1, 1, 1]), REFUSED, "mirrored"),
    "y up, read as z up": (turned([0, 2, 1], [1, -1, 1]), CORRECTED, "lying"),
    "labels by chance": (labels_mixed, REFUSED, "labels"),
    "nothing seen": (nothing_seen, REFUSED, "no frame has"),
    "half of the markers": (half_missing, DOUBTFUL, "only"),
    "half of the samples": (half_hidden, DOUBTFUL, "few markers"),
    "two labels exchanged": (pair_exchanged, REFUSED, "labels are exchanged"),
    "frames shuffled": (shuffled, REFUSED, "frames are not in their order"),
    "noise of 10 cm": (noisy, REFUSED, "move against each other"),
}
ON_A_TREADMILL = {
    "upside down": REFUSED,
    "y up, read as z up": DOUBTFUL,
}
"""What is less sure of somebody who stays in one place."""


@pytest.mark.study
def test_the_recordings_are_good(walker: Walker) -> None:
    """As they are, nothing speaks against them."""
    assert walker.good.verdict.good, walker.good.verdict


@pytest.mark.study
@pytest.mark.parametrize("damage", TABLE)
def test_damaged(walker: Walker, damage: str) -> None:
    """Each damage is refused, corrected or doubtful, with its reason."""
    change, outcome, reason = TABLE[damage]
    if walker.treadmill:
        outcome = ON_A_TREADMILL.get(damage, outcome)
    trial = change(walker)
    if outcome == REFUSED:
        with pytest.raises(hs.errors.ScreeningError, match=reason):
            hs.reconstruct(walker.model, trial, walker.markers, watch=no_solution)
        return
    result = hs.reconstruct(walker.model, trial, walker.markers)
    verdict = result.verdict
    assert verdict.grade != "good"
    assert any(reason in text for text in verdict.reasons), verdict
    if outcome == CORRECTED:
        angles, good = result.q[:, 7:], walker.good.q[:, 7:]
        assert np.abs(angles - good).max() < np.radians(0.5)
        assert result.rms == pytest.approx(walker.good.rms, rel=0.01)


def no_solution(*_: object) -> None:
    """No frame is solved of what is refused."""
    raise AssertionError("a frame was solved")


def test_a_wrong_set(walker: Walker) -> None:
    """A set that it does not wear is refused, and the right one is named."""
    others = hs.load_marker_set(walker.other_set, walker.model)
    with pytest.raises(
        hs.errors.ScreeningError, match="the set .* has .* of these labels"
    ):
        hs.reconstruct(walker.model, walker.trial, others)


@pytest.mark.study
def test_each_pair_of_a_segment(walker: Walker) -> None:
    """Any two labels of a segment on each other's markers: refused, or doubtful."""
    used = walker.markers.moving
    names = [name for name in walker.trial.names if name in used.names]
    trial = walker.trial.select(names).samples(slice(0, 24))
    refused = []
    for first, second in combinations([m for m in used.markers if m.name in names], 2):
        if first.segment != second.segment:
            continue
        pair = (first.name, second.name)
        other = pair_exchanged(replace(walker, trial=trial, pair=pair))
        look = screen(walker.model, other.select(names), used)
        refused.append(look.refused)
        if not look.refused:
            result = hs.reconstruct(walker.model, other, walker.markers)
            assert not result.verdict.good, pair
    assert len(refused) >= 12 and np.mean(refused) > 0.6
