# SPDX-License-Identifier: Apache-2.0
"""Marker sets proposed from recordings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.draft.draft_marker import Certainty
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial

TALL = 1.84


@pytest.fixture(scope="module")
def person() -> hs.Model:
    """Taller than the model that drafts begin with."""
    return hs.load_model("human36", height=TALL)


def standing(
    model: hs.Model, marker_set: MarkerSet, rng: np.random.Generator
) -> MarkerTrial:
    """The person stands with its arms a little away, somewhere, looking somewhere.

    Markers are a centimetre beside their places.
    """
    q = model.neutral().copy()
    q[3:7] = [0.0, 0.0, np.sin(1.1), np.cos(1.1)]
    q[:2] = [2.0, -1.0]
    for side in "rl":
        q[7 + model.joint_names.index(f"{side}_shoulder_roll")] = 0.3
        q[7 + model.joint_names.index(f"{side}_elbow_pitch")] = 0.4
    trial = synthetic_trial(model, marker_set, lambda t: q, duration=0.05)
    beside = rng.normal(scale=0.006, size=(1, len(trial.names), 3))
    return trial.moved(trial.positions + beside)


def without_names(
    trial: MarkerTrial, rng: np.random.Generator
) -> tuple[MarkerTrial, dict[str, str]]:
    """The same markers as M0, M1, ... in another order, and what they are."""
    order = rng.permutation(len(trial.names))
    mixed = trial.select([trial.names[k] for k in order])
    labels = tuple(f"M{k}" for k in range(len(order)))
    return replace(mixed, names=labels), dict(zip(labels, mixed.names, strict=True))


@pytest.mark.parametrize("name", ["gait2354", "cast-ior"])
def test_by_place_alone(
    name: str, person: hs.Model, human: hs.Model, rng: np.random.Generator
) -> None:
    """Markers without names are on their segments, whoever it is and looks where."""
    real = load_marker_set(name, person)
    trial, names = without_names(standing(person, real, rng), rng)
    draft = hs.draft_marker_set(human, trial)
    right = [
        entry.marker is not None
        and entry.marker.segment == real[names[entry.name]].segment
        for entry in draft.markers
    ]
    assert np.mean(right) > 0.94
    for entry, good in zip(draft.markers, right, strict=True):
        assert good or entry.certainty is not Certainty.SURE, names[entry.name]
    if name != "cast-ior":  # legs alone show the stature less
        assert draft.model.height == pytest.approx(TALL, rel=0.04)


def test_names_say_it(
    person: hs.Model, human: hs.Model, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Known labels and words give a set that the file holds and the search can use."""
    real = load_marker_set("plug-in-gait", person)
    trial = standing(person, real, rng)
    other = {"RKNE": "Right_Knee_Lat", "LTHI": "Thigh 2 L", "STRN": "xiphoid"}
    labels = tuple(other.get(name, name) for name in trial.names)
    extra = np.concatenate(
        [trial.positions, trial.positions[:, :2] + [[2.0], [50.0]]], axis=1
    )
    trial = replace(
        trial, names=(*labels, "LFEO", "ghost"), positions=extra,
        filled=np.zeros(extra.shape[:2], dtype=bool),
    )  # fmt: skip
    draft = hs.draft_marker_set(human, trial, title='a "draft": {1}')
    entries = {entry.name: entry for entry in draft.markers}
    assert set(entries) == set(trial.names)
    for name, label in zip(real.names, labels, strict=True):
        marker, known = entries[label].marker, label == name
        assert marker is not None and marker.segment == real[name].segment
        assert entries[label].reason == "name"
        assert entries[label].certainty is (
            Certainty.SURE if known else Certainty.LIKELY
        )
        assert marker.calibration == (known and real[name].calibration)
    for label in ("LFEO", "ghost"):
        assert entries[label].marker is None
        assert entries[label].certainty is Certainty.LEFT_OUT

    path = draft.save(tmp_path / "draft.yaml")
    loaded = load_marker_set(path, draft.model)
    assert loaded.title == 'a "draft": {1}'
    for marker in draft.marker_set().markers:
        np.testing.assert_allclose(loaded[marker.name].at, marker.at, atol=2e-4)
        np.testing.assert_allclose(loaded[marker.name].spread, marker.spread)
        assert loaded[marker.name].calibration == marker.calibration
    result = hs.reconstruct(draft.model, trial, loaded)
    assert result.rms < 0.025 and set(result.ignored) >= {"LFEO", "ghost"}


def test_motions(person: hs.Model, human: hs.Model, rng: np.random.Generator) -> None:
    """What motions lack is for static trials; what only they have is known by name."""
    real = load_marker_set("plug-in-gait", person)
    trial = standing(person, real, rng)
    moving = synthetic_trial(person, real, duration=1.0, rate=50.0)
    moving = moving.select([n for n in moving.names if n != "RKNM"])
    trial = trial.select([name for name in trial.names if name != "LTOE"])
    labels = tuple("side" if name == "RTHI" else name for name in trial.names)
    trial = replace(trial, names=labels)
    moving = replace(
        moving, names=tuple("side" if n == "RTHI" else n for n in moving.names)
    )
    draft = hs.draft_marker_set(human, trial, [moving])
    entries = {entry.name: entry for entry in draft.markers}
    static = entries["RKNM"].marker
    assert static is not None and static.calibration
    late = entries["LTOE"].marker
    assert late is not None and late.segment == "l_foot"
    assert "not seen in the static trial" in entries["LTOE"].comment
    thigh = entries["side"].marker
    assert thigh is not None and thigh.segment == "r_thigh" and not thigh.calibration


AWKWARD = ['a"b', "k: {v}", "# x", "- y", "null", "{side}Q", "1e5", "é", "[", "'"]


def test_labels_that_yaml_reads_otherwise(
    person: hs.Model, human: hs.Model, rng: np.random.Generator, tmp_path: Path
) -> None:
    """Any label comes back as it was; one that a set cannot have is left out."""
    real = load_marker_set("cast-ior", person)
    trial = standing(person, real, rng)
    trial = replace(trial, names=(*AWKWARD, *trial.names[len(AWKWARD) :]))
    draft = hs.draft_marker_set(human, trial)
    loaded = load_marker_set(draft.save(tmp_path / "draft.yaml"), draft.model)
    assert set(loaded.names) == {e.name for e in draft.markers if e.marker is not None}
    assert {e.name for e in draft.markers if e.marker is None} >= {"{side}Q"}


@pytest.mark.study
def test_nobody_stands_there(
    person: hs.Model, human: hs.Model, rng: np.random.Generator
) -> None:
    """Too few markers, or markers that are no person, are one error."""
    real = load_marker_set("plug-in-gait", person)
    trial, _ = without_names(standing(person, real, rng), rng)
    with pytest.raises(hs.errors.MarkerSetDraftError, match="a person needs 6"):
        hs.draft_marker_set(human, trial.select(trial.names[:5]))
    for trouble in (1e-3, 1e3):  # units
        with pytest.raises(hs.errors.MarkerSetDraftError, match="check units"):
            hs.draft_marker_set(human, trial.moved(trouble * trial.positions))
    scattered = rng.uniform(-2.0, 2.0, size=(1, len(trial.names), 3)) / 2
    anywhere = trial.moved(np.tile(scattered, (len(trial), 1, 1)))
    with pytest.raises(hs.errors.MarkerSetDraftError, match="standing person"):
        hs.draft_marker_set(human, anywhere)
