# SPDX-License-Identifier: Apache-2.0
"""Which axis is up: a file whose screen stands on its head is not read so."""

from __future__ import annotations

import numpy as np
import pytest
from plate_files import turned_corners

from humans_sim.observation.markers.assemble import UP_AXES, from_z_up
from humans_sim.observation.markers.c3d_file import find_up

NAMES = ("LFHD", "RFHD", "LKNE", "LTOE", "RTOE")
NONE = np.zeros((0, 4, 3))


def opposite(up: str) -> str:
    """The same axis, the other way."""
    return up[1:] if up.startswith("-") else f"-{up}"


@pytest.fixture
def person(rng: np.random.Generator) -> np.ndarray:
    """Head, knee and feet of somebody who walks away from the origin, z up."""
    heights = np.array([1.7, 1.7, 0.5, 0.05, 0.05])
    positions = rng.normal(0, 0.05, (20, 5, 3)) + np.outer(heights, (0, 0, 1))
    return positions + np.linspace(0, 0.8, 20)[:, None, None] * (1, 0, 0)


@pytest.mark.parametrize("up", UP_AXES)
def test_heads_are_above_feet(up: str, person: np.ndarray) -> None:
    """The axis that the file says, in the direction in which people stand."""
    positions = from_z_up(person, up)
    assert find_up(up, NAMES, positions, NONE) == (up, "")
    shown, note = find_up(opposite(up), NAMES, positions, NONE)
    assert shown == up and "heads are above feet" in note
    assert find_up("", NAMES, positions, NONE)[0] == up


@pytest.mark.parametrize("up", UP_AXES)
def test_plates_show_their_upper_side(up: str, person: np.ndarray) -> None:
    """Corners of force plates have an order: it shows what is above them."""
    corners = from_z_up(turned_corners(0.4), up)[None]
    unknown = tuple("ABCDE")
    positions = from_z_up(person, up)
    shown, note = find_up(opposite(up), unknown, positions, corners)
    assert shown == up and "force plates" in note
    assert find_up("", unknown, positions, corners)[0] == up


def test_another_axis_is_not_taken(person: np.ndarray) -> None:
    """Somebody may lie: the axis stays as the file says, and a note asks."""
    lying = from_z_up(person, "x")
    up, note = find_up("z", NAMES, lying, NONE)
    assert up == "z" and "give up='x'" in note


def test_labels_with_a_subject_and_other_styles(person: np.ndarray) -> None:
    """Labels are known with a subject before them and however they are written."""
    names = ("Anna:LFHD", "Anna:r should", "Anna:x", "Anna:L_Toe", "Anna:R.Heel")
    assert find_up("-z", names, person, NONE)[0] == "z"


def test_markers_above_the_floor(person: np.ndarray) -> None:
    """Without labels and plates, a floor through the origin: nobody hangs below it."""
    unknown = tuple("ABCDE")
    person = np.abs(person)
    assert find_up("-z", unknown, person, NONE)[0] == "z"
    assert find_up("-z", unknown, -person, NONE) == ("-z", "")
    assert find_up("z", unknown, -person, NONE) == ("z", "")
    assert find_up("", unknown, -person, NONE) == ("z", "")


def test_nothing_to_go_by() -> None:
    """Markers that were never seen leave it at what the file says."""
    empty = np.full((3, 5, 3), np.nan)
    assert find_up("-y", NAMES, empty, NONE) == ("-y", "")
    assert find_up("", NAMES, empty, NONE) == ("z", "")
