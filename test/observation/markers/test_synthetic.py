# SPDX-License-Identifier: Apache-2.0
"""Markers of known motions."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.synthetic import (
    marker_positions,
    swapped,
    swaying,
    synthetic_trial,
)


def test_markers_of_the_canonical_set_are_the_tags(human: hs.Model) -> None:
    """Positions are the tags of the motion, to rounding."""
    trial = synthetic_trial(human, duration=0.5, rate=50.0)
    assert len(trial) == 25
    assert trial.rate == pytest.approx(50.0)
    assert trial.names == human.tag_names
    motion = swaying(human)
    for row in (0, 13, 24):
        wanted = human.tags(motion(trial.times[row]))[:-1]
        np.testing.assert_allclose(trial.positions[row], wanted, atol=1e-12)


def test_markers_of_a_laboratory(human: hs.Model) -> None:
    """Any marker set may be worn."""
    marker_set = load_marker_set("rajagopal", human)
    positions = marker_positions(human, marker_set, human.neutral()[None])
    assert positions.shape == (1, len(marker_set.markers), 3)
    # A person stands: from the floor to the top of the head.
    assert -0.05 < positions[0, :, 2].min() < 0.15
    assert 1.4 < positions[0, :, 2].max() < 2.0


def test_noise_has_the_deviation_asked_for_and_a_seed(human: hs.Model) -> None:
    """The same seed gives the same noise, another one another."""
    clean = synthetic_trial(human, duration=2.0)
    noisy = synthetic_trial(human, duration=2.0, noise=0.005, seed=3)
    again = synthetic_trial(human, duration=2.0, noise=0.005, seed=3)
    other = synthetic_trial(human, duration=2.0, noise=0.005, seed=4)
    error = noisy.positions - clean.positions
    assert error.std() == pytest.approx(0.005, rel=0.03)
    np.testing.assert_array_equal(noisy.positions, again.positions)
    assert not np.array_equal(noisy.positions, other.positions)


@pytest.mark.parametrize("gap", [0.0, 0.1])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_occlusions_have_the_share_and_length_asked_for(
    human: hs.Model, gap: float, share: float
) -> None:
    """The share of lost samples, and the mean length of gaps."""
    trial = synthetic_trial(
        human, motion=lambda t: human.neutral(), duration=40.0, dropout=share, gap=gap
    )
    lost = trial.occluded
    assert lost.mean() == pytest.approx(share, rel=0.15)
    begins = (lost[1:] & ~lost[:-1]).sum()
    mean = lost.sum() / begins
    wanted = max(gap * 100.0, 1.0 / (1.0 - share))
    assert mean == pytest.approx(wanted, rel=0.15)


def test_two_markers_swapped_for_a_while(human: hs.Model) -> None:
    """Two columns change places, for so long and nowhere else."""
    trial = synthetic_trial(human, duration=0.5)
    a, b = human.tag_names[2], human.tag_names[9]
    wrong = swapped(trial, (a, b), 0.1, 0.2)
    inside = (trial.times >= 0.1) & (trial.times <= 0.2)
    np.testing.assert_array_equal(
        wrong.select([a]).positions[inside], trial.select([b]).positions[inside]
    )
    np.testing.assert_array_equal(
        wrong.select([b]).positions[inside], trial.select([a]).positions[inside]
    )
    np.testing.assert_array_equal(wrong.positions[~inside], trial.positions[~inside])
    rest = [name for name in trial.names if name not in (a, b)]
    np.testing.assert_array_equal(
        wrong.select(rest).positions, trial.select(rest).positions
    )
    with pytest.raises(hs.errors.ParameterError, match="no marker is called 'no'"):
        swapped(trial, (a, "no"), 0.1, 0.2)


@pytest.mark.parametrize(
    "option",
    [
        {"duration": 0.0},
        {"duration": float("nan")},
        {"rate": -1.0},
        {"rate": float("inf")},
        {"duration": 1e9},
        {"noise": -0.1},
        {"noise": float("nan")},
        {"dropout": 1.0},
        {"dropout": float("nan")},
        {"gap": -1.0},
    ],
)
def test_numbers_out_of_range(human: hs.Model, option: dict[str, float]) -> None:
    """The error names the number."""
    with pytest.raises(hs.errors.ParameterError, match=next(iter(option))[:4]):
        synthetic_trial(human, **option)  # type: ignore[arg-type]
