# SPDX-License-Identifier: Apache-2.0
"""The smoother: its equations, what it gains, and pieces of long trials."""

from __future__ import annotations

import numpy as np
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.marker_set import load_marker_set
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.posture.kernels import advance
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.smooth_kernels import (
    MotionGoal,
    motion_cost,
    motion_equations,
)
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.search_settings import SmootherSettings


@pytest.fixture(scope="module")
def noisy(human: hs.Model) -> tuple[np.ndarray, object]:
    """A walk, and its 41 markers with 5 mm noise."""
    q = walking(human, 150)
    trial = synthetic_trial(
        human,
        "rajagopal",
        lambda t: q[min(round(100 * t), len(q) - 1)],
        duration=1.5,
        noise=0.005,
    )
    return q, trial


def test_gradient_is_that_of_the_cost(
    human: hs.Model, rng: np.random.Generator
) -> None:
    """By differences, on times that are not even, with a base that turns."""
    tags = load_marker_set("canonical", human)
    solver = PostureSolver(human, tags)
    n = 6
    q = np.array([human.random_configuration(rng)] * n)
    for k in range(1, n):
        q[k] = human.integrate(q[k - 1], rng.normal(0, 0.3, human.nv))
    y = np.array([human.tags(row)[:-1] for row in q]) + rng.normal(0, 0.02, (n, 28, 3))
    weight = rng.uniform(0.5, 1.5, (n, 28))
    times = np.cumsum(rng.uniform(0.5, 1.5, n))
    stiffness = np.repeat([0.3, 0.2, 0.1], [3, 3, 36])
    wide = np.full(36, 100.0)
    tree = solver.tree._replace(lower=-wide, upper=wide)
    marked = solver.marked._replace(tree=tree)
    goal = MotionGoal(y, weight, 0.5, np.full(36, 0.01), solver.rest, times, stiffness)
    _, vector = motion_equations(q, goal, marked)

    def cost_after(step: np.ndarray) -> float:
        moved = np.empty_like(q)
        for row, part in enumerate(step.reshape(n, -1)):
            advance(q[row], part, -wide, wide, moved[row])
        return float(motion_cost(moved, goal, marked))

    for _ in range(20):
        direction = rng.normal(size=n * human.nv)
        eps = 1e-6
        slope = (cost_after(eps * direction) - cost_after(-eps * direction)) / (2 * eps)
        assert -2 * vector @ direction == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_smooth_is_nearer_the_truth(human: hs.Model, noisy: tuple) -> None:
    """Less error and far less shaking than frame by frame."""
    truth, trial = noisy
    errors, shakes = {}, {}
    for mode in ("static", "smooth"):
        result = solve_postures(human, trial, "rajagopal", mode=mode)
        assert result.mode == mode and result.converged.mean() > 0.95
        seen = [
            i for i, n in enumerate(human.joint_names) if n not in result.unobservable
        ]
        errors[mode] = np.sqrt(((result.q - truth)[:, 7:][:, seen] ** 2).mean())
        shakes[mode] = np.abs(np.diff(result.q[:, 7:], 2, axis=0)).mean()
    assert errors["smooth"] < 0.7 * errors["static"]
    assert shakes["smooth"] < 0.2 * shakes["static"]


def test_pieces_make_the_same_whole(human: hs.Model, noisy: tuple) -> None:
    """A long trial is cut; the seams do not show."""
    _, trial = noisy
    whole = solve_postures(human, trial, "rajagopal", mode="smooth")
    pieces = solve_postures(
        human,
        trial,
        "rajagopal",
        mode="smooth",
        smoothing=SmootherSettings(window=90, overlap=30),
    )
    assert np.abs(whole.q - pieces.q).max() < 2e-3


def test_too_short_to_smooth(human: hs.Model, noisy: tuple) -> None:
    """Two frames have no acceleration."""
    _, trial = noisy
    short = solve_postures(
        human, trial.samples(slice(0, 2)), "rajagopal", mode="smooth"
    )
    assert len(short.q) == 2 and np.isfinite(short.q).all()


def test_bad_settings() -> None:
    """Nothing may be zero."""
    with pytest.raises(ParameterError, match="memory"):
        SmootherSettings(memory=0.0)
