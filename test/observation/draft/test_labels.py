# SPDX-License-Identifier: Apache-2.0
"""What labels say about places."""

from __future__ import annotations

import pytest

import humans_sim as hs
from humans_sim.observation.draft.landmarks import Landmarks, landmarks, read_labels
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    load_marker_set,
    marker_set_names,
)


@pytest.fixture(scope="module")
def known() -> Landmarks:
    """The places of all sets."""
    return landmarks(hs.load_model("human36"), tuple(marker_set_names()))


WORDS = {
    "KneeLat_R": ("r_thigh", "RKNE"),
    "R_KNEE_INNER": ("r_thigh", "RKNM"),
    "LMedMall": ("l_shank", "LMED"),
    "RightAnkleLateral": ("r_shank", "RANK"),
    "left thigh 3": ("l_thigh", None),
    "lshank2": ("l_shank", None),
    "HeelR": ("r_foot", "RHEE"),
    "L5MT": ("l_foot", "LVM"),
    "R.Wrist.Rad": ("r_forearm", "RWRA"),
    "L_ELB_MED": ("l_arm", "L.MElbow"),
    "LUA1": ("l_arm", None),
    "Ann:R_ACR": ("r_scapula", "RSHO"),
    "T8": ("torso", None),
    "Jugular": ("torso", "CLAV"),
    "leftHeadFront": ("head", "LFHD"),
    "M12": ("", None),
    "Marker3": ("", None),
    "thigh1": ("", None),
}


@pytest.mark.parametrize("label", WORDS)
def test_words_of_labels(label: str, known: Landmarks) -> None:
    """A side and a word are a place; a word of a limb without a side is none."""
    meaning = read_labels([label], known)[label]
    segment, landmark = WORDS[label]
    assert meaning.segment == segment
    assert (meaning.landmark[1] if meaning.landmark else None) == landmark


@pytest.mark.parametrize("name", [n for n in marker_set_names() if n != CANONICAL])
def test_labels_of_the_sets(name: str, known: Landmarks, human: hs.Model) -> None:
    """All labels of a set mean the segments that the set has, in small letters too."""
    markers = load_marker_set(name, human)
    meanings = read_labels([label.lower() for label in markers.names], known)
    for marker in markers.markers:
        meaning = meanings[marker.name.lower()]
        assert meaning.known and meaning.segment == marker.segment, marker.name


@pytest.mark.parametrize("label", ["*12", "LFEO", "PELA", "MidASIS", "R.KneeJC", "CoM"])
def test_computed_points(label: str, known: Landmarks) -> None:
    """Points that programs compute are no markers."""
    assert read_labels([label], known)[label].computed


def test_one_landmark_for_two_labels(known: Landmarks) -> None:
    """The second marker with the label of a landmark is elsewhere on the segment."""
    meanings = read_labels(["RKNE", "RKNE_2", "R knee 3"], known)
    assert meanings["RKNE"].known and meanings["RKNE"].landmark is not None
    for label in ("RKNE_2", "R knee 3"):
        assert meanings[label].segment == "r_thigh" and meanings[label].landmark is None
