# SPDX-License-Identifier: Apache-2.0
"""Tests of the change from the laboratory's frame to the model's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from plate_files import turned_corners

import humans_sim as hs
from humans_sim.core.yaml_file import parse_yaml
from humans_sim.observation.markers.force_plate import ForcePlate
from humans_sim.observation.markers.pipeline import (
    ANKLES,
    HIPS,
    change_frame,
    read_frame,
    standing_frame,
)
from humans_sim.observation.markers.trial import MarkerTrial


@pytest.fixture(scope="module")
def standing(human: hs.Model) -> MarkerTrial:
    """All tags of a person that stands at the origin, facing x, for 30 samples."""
    tags = human.tags(human.neutral())[:-1]
    positions = np.tile(tags, (30, 1, 1))
    return MarkerTrial(human.tag_names, 0.01 * np.arange(30), positions, np.arange(30))


def away(trial: MarkerTrial, place: pin.SE3) -> MarkerTrial:
    """The same person elsewhere in a laboratory."""
    return change_frame(trial, place)


def test_plates_move_with_the_markers(standing: MarkerTrial) -> None:
    """A force plate stays beneath the feet that stand on it."""
    force, moment = np.full((5, 3), (0.0, 0.0, 700.0)), np.full((5, 3), (70.0, 7.0, 0))
    plate = ForcePlate(
        "plate 1", turned_corners(0.2), np.zeros(3), np.arange(5.0), force, moment
    )
    place = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 1.1), np.array([3.0, -4.0, 0.1]))
    before = replace(standing, plates=(plate,))
    distances = [
        np.linalg.norm(
            trial.positions[0] - trial.plates[0].centre_of_pressure[0], axis=1
        )
        for trial in (before, away(before, place))
    ]
    np.testing.assert_allclose(*distances)


def test_heading_and_place_are_undone(standing: MarkerTrial) -> None:
    """Wherever the person stands and faces, it comes back over the origin."""
    home = change_frame(standing, standing_frame(standing))
    heading = pin.SE3(pin.rpy.rpyToMatrix(0.0, 0.0, 2.5), np.array([3.0, -4.0, 0.0]))
    lab = away(standing, heading)
    back = change_frame(lab, standing_frame(lab))
    assert back.positions == pytest.approx(home.positions, abs=1e-12)
    ankles = back.select(ANKLES).positions[0]
    assert ankles[:, :2].mean(axis=0) == pytest.approx(np.zeros(2), abs=1e-12)
    right, left = back.select(HIPS).positions[0]
    assert left[1] > right[1] and left[0] == pytest.approx(right[0], abs=1e-12)
    # the toes point along x, and heights are the laboratory's
    toes = back.select(["r_digit2", "l_digit2"]).positions[0]
    assert (toes[:, 0] > ankles[:, 0] + 0.05).all()
    assert back.positions[..., 2] == pytest.approx(standing.positions[..., 2])


def test_vertical_from_the_markers(standing: MarkerTrial) -> None:
    """With tilt, ankles and hips are above each other, and heights stay."""
    leaning = pin.SE3(pin.rpy.rpyToMatrix(0.1, -0.2, 1.0), np.array([1.0, 2.0, 0.3]))
    lab = away(standing, leaning)
    back = change_frame(lab, standing_frame(lab, tilt=True, ankle_height=0.08))
    ankle = back.select(ANKLES).positions[0].mean(axis=0)
    hip = back.select(HIPS).positions[0].mean(axis=0)
    assert ankle == pytest.approx([0.0, 0.0, 0.08], abs=1e-12)
    assert hip[:2] == pytest.approx(np.zeros(2), abs=1e-12)
    height = lab.select(ANKLES).positions[0].mean(axis=0)[2]
    kept = change_frame(lab, standing_frame(lab, tilt=True))
    assert kept.select(ANKLES).positions[0].mean(axis=0)[2] == pytest.approx(height)


def test_only_the_first_samples_count(standing: MarkerTrial) -> None:
    """What comes after the standing samples may move; missing ones are passed over."""
    positions = standing.positions.copy()
    positions[20:, :, 0] += 1.0
    positions[:3, standing.names.index(ANKLES[0])] = np.nan
    moved = standing_frame(standing.moved(positions))
    assert moved.isApprox(standing_frame(standing), 1e-9)
    with pytest.raises(
        hs.errors.ParameterError, match="moves by 1.000 m in the first 25"
    ):
        standing_frame(standing.moved(positions), samples=25)


def test_markers_that_cannot_tell(standing: MarkerTrial) -> None:
    """Not there, never seen, in one place, no samples."""
    with pytest.raises(hs.errors.ParameterError, match="no marker is called 'R.Ankle'"):
        standing_frame(standing, ankles=("R.Ankle", "L.Ankle"))
    positions = standing.positions.copy()
    positions[:, standing.names.index(HIPS[1])] = np.nan
    with pytest.raises(hs.errors.ParameterError, match="'l_trochanterion' is not seen"):
        standing_frame(standing.moved(positions))
    with pytest.raises(hs.errors.ParameterError, match="in one place"):
        standing_frame(standing, hips=(HIPS[0], HIPS[0]))
    with pytest.raises(hs.errors.ParameterError, match="0 samples"):
        standing_frame(standing, samples=0)


def test_given_frames() -> None:
    """Translation and angles, or a matrix, say the same."""
    given = read_frame(parse_yaml("translation: [1, 2, 3]\nrpy: [10, 20, 30]"))
    expected = pin.rpy.rpyToMatrix(*np.radians([10.0, 20.0, 30.0]))
    assert given.rotation == pytest.approx(expected)
    rows = [[round(float(x), 6) for x in row] for row in given.homogeneous]
    assert read_frame(parse_yaml(f"matrix: {rows}")).isApprox(given, 1e-5)
    assert read_frame(parse_yaml("translation: [1, 0, 0]")).rotation == pytest.approx(
        np.eye(3)
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("{}", 1, "must be given"),
        ("rpy: [1, 2]", 1, "3 numbers"),
        ("translation: [0, 0, 0]\nturn: 1", 2, "unknown key"),
        ("matrix: [[1, 0, 0, 0]]", 1, "4 rows"),
        ("rpy: [0, 0, 0]\nmatrix: [[1]]", 1, "stands alone"),
        (
            "matrix:\n- [2, 0, 0, 0]\n- [0, 1, 0, 0]\n- [0, 0, 1, 0]\n- [0, 0, 0, 1]",
            2,
            "no rotation",
        ),
        (
            "matrix:\n- [1, 0, 0, 0]\n- [0, 1, 0, 0]\n- [0, 0, -1, 0]\n- [0, 0, 0, 1]",
            2,
            "no rotation",
        ),
        (
            "matrix:\n- [1, 0, 0, 0]\n- [0, 1, 0, 0]\n- [0, 0, 1, 0]\n- [0, 0, 1, 1]",
            5,
            "last row",
        ),
    ],
)
def test_bad_frames(text: str, line: int, message: str) -> None:
    """Faults name their line."""
    with pytest.raises(hs.errors.ModelFileError, match=message) as caught:
        read_frame(parse_yaml(text))
    assert caught.value.line == line
