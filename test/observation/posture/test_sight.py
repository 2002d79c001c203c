# SPDX-License-Identifier: Apache-2.0
"""Joints that markers see, hardly see, and do not see."""

from __future__ import annotations

import numpy as np
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.wide_search import weakly_seen_joints

ROLLS = {"l_ankle_roll", "r_ankle_roll"}


def motion_part(model: hs.Model, name: str) -> MarkerSet:
    """The set without what only static trials have."""
    whole = load_marker_set(name, model)
    return whole.of(m.name for m in whole.markers if not m.calibration)


def hardly_seen(model: hs.Model, markers: MarkerSet) -> set[str]:
    """Joints that are seen, but hardly."""
    solver = PostureSolver(model, markers)
    weak = weakly_seen_joints(solver.marked, model.joint_names)
    chosen = {n for n, w in zip(model.joint_names, weak, strict=True) if w}
    return chosen - set(solver.unobservable)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plug-in-gait", ROLLS),
        ("helen-hayes", ROLLS),
        *((name, set()) for name in ("gait2354", "rajagopal", "cmu", "cast-ior")),
        ("canonical", set()),
    ],
)
def test_a_line_of_markers_hardly_sees_the_roll(
    name: str, expected: set[str], human: hs.Model
) -> None:
    """Heel and toe alone do not show the foot's roll; a third marker beside does."""
    assert hardly_seen(human, motion_part(human, name)) == expected


def test_sides_are_treated_alike(human: hs.Model) -> None:
    """A left foot with a third marker is held as the right one without."""
    markers = motion_part(human, "cmu")
    one_sided = markers.of(n for n in markers.names if n != "RMT5")
    assert hardly_seen(human, markers) == set()
    assert hardly_seen(human, one_sided) == ROLLS


def test_noise_does_not_roll_the_foot_over(human: hs.Model) -> None:
    """5 mm on heel and toe leave the roll within 5 degrees, and the ankle's pitch."""
    q = walking(human, 60)
    trial = synthetic_trial(
        human,
        motion_part(human, "plug-in-gait"),
        lambda t: q[min(round(100 * t), 59)],
        duration=0.6,
        noise=0.005,
    )
    result = solve_postures(human, trial, "plug-in-gait")
    for side in "rl":
        roll = np.degrees(result.joint(f"{side}_ankle_roll"))
        assert np.abs(roll).max() < 5.0
        place = human.joint_names.index(f"{side}_ankle_pitch")
        pitch = np.degrees(result.joint(f"{side}_ankle_pitch") - q[:, 7 + place])
        assert np.sqrt((pitch**2).mean()) < 3.0
