# SPDX-License-Identifier: Apache-2.0
"""A person adjusted to a recording by hand: what is set, and what is left."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.adjustment import (
    CORRESPONDENCE_FILE,
    PARAMETERS_FILE,
    SUBJECT_FILE,
    Adjustment,
    mirrored,
    open_adjustment,
)
from humans_sim.applications.example_recordings import example_file
from humans_sim.applications.person import Person
from humans_sim.observation.markers import read_markers, write_trc
from humans_sim.observation.markers.pipeline import PipelineSettings

TALL = 1.80
"""Stature of a person who is 1.741 m in the recording [m]."""


@pytest.fixture
def adjustment() -> Adjustment:
    """The recording of the package with a person who is too tall."""
    person = hs.load_model("human36", height=TALL)
    return Adjustment.of_set(read_markers(example_file()), person, "canonical")


def distances(adjustment: Adjustment) -> dict[str, float]:
    """Distances of a frame by tag [m]."""
    return {row.tag: row.distance for row in adjustment.residuals}


def test_lengths_by_hand_lower_the_residual(adjustment: Adjustment) -> None:
    """A person of the right stature fits; the posture held, it does not yet."""
    tall = adjustment.rms
    assert 0.01 < tall < 0.02
    adjustment.set_stature(1.741)
    held = adjustment.rms
    adjustment.solve_frame(anew=False)
    assert adjustment.rms < 0.0015 < 0.004 < held
    adjustment.set_length("r_ytibia", 0.5, both=True)
    assert adjustment.subject.lengths["l_ytibia"] == 0.5
    adjustment.set_length("r_ytibia", 0.45)
    assert adjustment.subject.lengths["l_ytibia"] == 0.5
    assert adjustment.model.lengths["r_ytibia"] == pytest.approx(0.45)


def test_tags_of_a_set_follow_the_lengths(adjustment: Adjustment) -> None:
    """The malleolus stays at the end of a longer shank, as far off as it was put."""
    tag, shank = "r_lateral_malleolus", adjustment.subject.lengths["r_ytibia"]
    before = adjustment.marker_set[tag].at
    adjustment.place_tag(tag, before + [0.01, 0.0, 0.0])
    adjustment.set_length("r_ytibia", shank + 0.02)
    after = adjustment.marker_set[tag].at
    assert after - before == pytest.approx([0.01, -0.02, 0.0], abs=1e-9)
    own = Adjustment(adjustment.recording, adjustment.subject)
    own.set_length("r_ytibia", shank)
    assert own.marker_set[tag].at == pytest.approx(after)


def test_a_moved_tag_is_off_by_its_way(adjustment: Adjustment) -> None:
    """With the posture held, the tag and its mirror move in the world as they do on it.

    Distances between measured and modelled change by the vector of the way.
    """
    places = adjustment.tag_places
    at = adjustment.marker_set["r_trochanterion"].at
    adjustment.place_tag("r_trochanterion", at + [0.0, 0.03, 0.0], both=True)
    for tag, place in adjustment.tag_places.items():
        way = 0.03 if "trochanterion" in tag else 0.0
        assert np.linalg.norm(place - places[tag]) == pytest.approx(way, abs=1e-9)


def test_labels_are_assigned_and_taken(adjustment: Adjustment) -> None:
    """A recorded marker stands for one tag; exchanged ones are far off."""
    right = distances(adjustment)
    adjustment.assign("r_acromion", "l_acromion")
    assert adjustment.labels["r_acromion"] is None
    assert adjustment.tag_of("l_acromion") is None
    adjustment.assign("l_acromion", "r_acromion")
    adjustment.solve_frame()
    wrong = distances(adjustment)
    assert wrong["l_acromion"] > 0.1 > right["l_acromion"]
    adjustment.assign("l_acromion", None)
    adjustment.assign("r_acromion", "r_acromion")
    adjustment.assign("l_acromion", "l_acromion")
    adjustment.solve_frame()
    assert distances(adjustment) == pytest.approx(right, abs=1e-5, nan_ok=True)


def test_too_few_labels_are_said_and_shown(adjustment: Adjustment) -> None:
    """Without three markers there is no posture; the measured ones are still there."""
    for label in adjustment.recording.names[:-2]:
        adjustment.assign(label, None)
    assert not adjustment.enough
    assert np.isnan(adjustment.rms)
    assert len(adjustment.residuals) == len(adjustment.recording.names)
    with pytest.raises(hs.errors.ParameterError, match="2 of the markers"):
        adjustment.solve_frame()
    adjustment.revert()
    assert adjustment.enough


@pytest.mark.study
@pytest.mark.parametrize("of_set", [True, False])
def test_calibrate_measures_from_what_is_set(
    adjustment: Adjustment, of_set: bool
) -> None:
    """Sizes and tags are found, of a marker set and of a subject's own places."""
    used = adjustment
    if not of_set:
        used = Adjustment(adjustment.recording, adjustment.subject)
    found = used.calibrate()
    used.solve_frame()
    assert found.rms < 0.001 and used.rms < 0.0015
    legs = [used.subject.lengths[f"{side}_ytibia"] for side in "rl"]
    assert legs == pytest.approx([0.434, 0.434], abs=0.02)
    assert used.subject.mass == adjustment.subject.mass
    assert set(used.marker_set.names) == set(adjustment.marker_set.names)


@pytest.mark.study
def test_what_is_saved_reconstructs_the_same(
    adjustment: Adjustment, tmp_path: Path
) -> None:
    """Subject and labels of the page give the postures of the page."""
    names = {name: f"led{k}" for k, name in enumerate(adjustment.recording.names)}
    renamed = tmp_path / "leds.trc"
    write_trc(replace(adjustment.recording, names=tuple(names.values())), renamed)
    person = Person(marker_set="canonical", height=1.741)
    opened = open_adjustment(renamed, person)
    assert not opened.enough
    for tag, label in names.items():
        opened.assign(label, tag)
    opened.set_length("r_ytibia", 0.44, both=True)
    result = opened.solve_all()
    paths = opened.save(tmp_path / "saved", "07")
    assert [path.name for path in paths] == [
        SUBJECT_FILE,
        CORRESPONDENCE_FILE,
        PARAMETERS_FILE,
    ]
    again = hs.reconstruct(
        renamed,
        subject=tmp_path / "saved" / SUBJECT_FILE,
        preparation=PipelineSettings(correspondence=paths[1]),
        uncertainty=False,
    )
    assert again.rms == pytest.approx(result.rms, rel=1e-3)
    assert again.q == pytest.approx(result.q, abs=1e-3)


@pytest.mark.study
def test_each_save_is_a_column(adjustment: Adjustment, tmp_path: Path) -> None:
    """A number that stands in the file becomes the next test of that subject."""
    adjustment.save(tmp_path)
    adjustment.set_stature(1.70)
    adjustment.save(tmp_path)
    known = hs.read_reconstruction_parameters(tmp_path / PARAMETERS_FILE)
    assert list(known) == ["01", "0101"]
    lengths = [known[number].lengths["r_ytibia"] for number in known]
    assert lengths[1] / lengths[0] == pytest.approx(1.70 / TALL)


def test_impossible_values_are_refused(adjustment: Adjustment) -> None:
    """Names that are not there and lengths that are none raise."""
    for call in (
        lambda: adjustment.set_length("r_tail", 0.2),
        lambda: adjustment.set_length("r_ytibia", -0.2),
        lambda: adjustment.set_stature(float("nan")),
        lambda: adjustment.place_tag("r_digit2", np.array([0.0, np.nan, 0.0])),
        lambda: adjustment.place_tag("r_tail", np.zeros(3)),
        lambda: adjustment.assign("led99", "vertex"),
        lambda: adjustment.assign("vertex", "r_tail"),
    ):
        with pytest.raises(hs.errors.ParameterError):
            call()


def test_other_sides() -> None:
    """Names of the manual and of laboratories; those without sides stay."""
    assert [mirrored(n) for n in ("r_ytibia", "LASI", "R.Heel", "vertex", "lips")] == [
        "l_ytibia",
        "RASI",
        "L.Heel",
        "vertex",
        "lips",
    ]
