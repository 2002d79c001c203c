# SPDX-License-Identifier: Apache-2.0
"""Standard deviations of joint angles, and joints whose markers are hidden."""

from __future__ import annotations

import numpy as np
import pytest
from strolls import walking

import humans_sim as hs
from humans_sim.observation.markers.marker_set import MarkerSet, load_marker_set
from humans_sim.observation.markers.synthetic import synthetic_trial
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.kernels import factorise
from humans_sim.observation.posture.posterior_kernels import (
    band_variances,
    tree_variances,
)
from humans_sim.observation.posture.reconstruct import solve_postures
from humans_sim.observation.posture.result import MarkerStatus
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.uncertainty import (
    Series,
    acceleration_density,
    bridge,
    noise_correlation,
    trial_noise,
)
from humans_sim.observation.posture.wide_search import normal_matrix
from humans_sim.observation.search_settings import UncertaintySettings

NOISE = 0.005
WITHIN = 1.96
LEG = ("l_thigh", "l_shank", "l_foot")


@pytest.fixture(scope="module")
def markers(human: hs.Model) -> MarkerSet:
    """Markers of a gait laboratory that stay on in motions."""
    whole = load_marker_set("plug-in-gait", human)
    return whole.of(m.name for m in whole.markers if not m.calibration)


def walk(human: hs.Model, markers: MarkerSet, hidden: float) -> MarkerTrial:
    """Two and a half seconds of a walk whose markers are noisy, some hidden."""
    q = walking(human, 250)
    return synthetic_trial(
        human,
        markers,
        lambda t: q[round(100 * t)],
        duration=2.5,
        noise=NOISE,
        dropout=hidden,
        gap=0.25,
        seed=1,
    )


def test_variances_of_a_tree_are_those_of_the_inverse(
    human: hs.Model, markers: MarkerSet, rng: np.random.Generator
) -> None:
    """Without inverting anything."""
    solver = PostureSolver(human, markers)
    matrix = normal_matrix(solver.marked, human.random_configuration(rng))
    matrix += 1e-3 * np.eye(len(matrix))
    factor, variances = np.tril(matrix), np.empty(len(matrix))
    assert factorise(factor, solver.tree.above)
    tree_variances(factor, solver.tree.above, variances)
    np.testing.assert_allclose(variances, np.diag(np.linalg.inv(matrix)), rtol=1e-9)


def test_variances_of_a_band_are_those_of_the_inverse(
    rng: np.random.Generator,
) -> None:
    """With damping; a matrix that is not positive has none."""
    n, width = 40, 7
    matrix = rng.normal(size=(n, n))
    matrix[np.abs(np.subtract.outer(range(n), range(n))) >= width] = 0.0
    matrix = np.tril(matrix) + np.tril(matrix, -1).T + 10.0 * np.eye(n)
    band = np.zeros((n, width))
    for column in range(n):
        below = matrix[column : column + width, column]
        band[column, : len(below)] = below
    exact = np.diag(np.linalg.inv(matrix + 0.5 * np.eye(n)))
    variances, solved = band_variances(band.copy(), 0.5)
    assert solved
    np.testing.assert_allclose(variances, exact, rtol=1e-9)
    assert not band_variances(-band, 0.0)[1]


def test_a_bridge_is_the_conditional_normal_distribution(
    rng: np.random.Generator,
) -> None:
    """The same mean and variance as by the covariances of all samples at once."""
    n, density, spread, rate = 30, 2.0, 0.7, 0.3
    times = np.cumsum(rng.uniform(0.01, 0.05, n))
    values, variances = rng.normal(size=n), rng.uniform(0.001, 0.01, n)
    variances[10:20] = np.inf
    since = times - times[0]
    low, high = np.minimum.outer(since, since), np.maximum.outer(since, since)
    motion = spread + rate * low * high + density * (low**2 * high / 2 - low**3 / 6)
    shown = np.isfinite(variances)
    gain = np.linalg.solve(
        motion[np.ix_(shown, shown)] + np.diag(variances[shown]), motion[shown]
    ).T
    first = values[0]  # it is the mean where nothing is known
    mean, own = bridge(Series(times, values, variances, density, spread, rate))
    np.testing.assert_allclose(mean, first + gain @ (values[shown] - first), atol=1e-8)
    np.testing.assert_allclose(own, np.diag(motion - gain @ motion[shown]), atol=1e-9)


def test_accelerations_are_learnt_from_what_is_shown(rng: np.random.Generator) -> None:
    """White accelerations of a known power, through noise and with gaps."""
    settings, rate, density = UncertaintySettings(), 100.0, 30.0
    n = 20_000
    pushes = rng.normal(0, np.sqrt(density * rate), n)
    angle = np.cumsum(np.cumsum(pushes) / rate) / rate
    variances = np.full(n, 0.01**2)
    variances[5000:6000] = np.inf
    values = angle + rng.normal(0, 0.01, n)
    learnt = acceleration_density(np.arange(n) / rate, values, variances, settings)
    assert learnt == pytest.approx(density, rel=0.2)


def test_noise_comes_from_residuals(rng: np.random.Generator) -> None:
    """By the median of the frames: some that went wrong do not count."""
    freedom = np.full(500, 60.0)
    squares = NOISE**2 * rng.chisquare(60, 500)
    squares[::10] *= 100
    noise = trial_noise(squares, freedom, UncertaintySettings())
    assert noise == pytest.approx(NOISE, rel=0.03)
    none = trial_noise(squares, np.zeros(500), UncertaintySettings())
    assert none == UncertaintySettings().marker_noise


@pytest.mark.parametrize("mode", ["static", "smooth"])
@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_intervals_cover_the_truth(
    human: hs.Model, markers: MarkerSet, mode: str, hidden: float
) -> None:
    """Nineteen of twenty angles, with all markers and with blocks of them hidden."""
    trial = walk(human, markers, hidden)
    result = solve_postures(human, trial, markers, mode=mode)
    truth = walking(human, 250)
    assert result.std is not None and result.noise == pytest.approx(NOISE, rel=0.05)
    error = np.abs(result.q - truth)[:, 7:]
    assert 0.90 <= (error < WITHIN * result.std[:, 6:]).mean() <= 0.985
    base = np.abs(result.q - truth)[:, :3]
    assert 0.85 <= (base < WITHIN * result.std[:, :3]).mean() <= 0.995
    assert result.converged.mean() > 0.95


@pytest.mark.parametrize("mode", ["static", "smooth"])
def test_a_hidden_leg_is_led_through_and_said_to_be(
    human: hs.Model, markers: MarkerSet, mode: str
) -> None:
    """No marker of a leg for 0.3 s: its angles are near, and known to be unsure."""
    trial = walk(human, markers, 0.0)
    positions = trial.positions.copy()
    columns = [k for k, m in enumerate(markers.markers) if m.segment in LEG]
    assert len(columns) >= 5
    positions[100:130, columns] = np.nan
    result = solve_postures(human, trial.moved(positions), markers, mode=mode)
    assert result.bridged is not None and result.std is not None
    knee = human.joint_names.index("l_knee")
    assert result.bridged[101:129, knee].all()
    assert result.bridged[:, knee].sum() <= 34
    error = np.abs(result.q - walking(human, 250))[:, 7 + knee]
    std = result.joint_std("l_knee")
    assert error[100:130].max() < 0.5
    assert (error[100:130] < 3 * std[100:130]).all()
    assert std[115] > 3 * std[60]
    assert std[115] > std[103]


def test_a_leg_that_never_had_markers_is_unsure(
    human: hs.Model, markers: MarkerSet
) -> None:
    """Its joints are somewhere between their limits."""
    others = markers.of(m.name for m in markers.markers if m.segment not in LEG)
    trial = walk(human, others, 0.0).samples(slice(0, 20))
    result = solve_postures(human, trial, others)
    knee = human.joint_names.index("l_knee")
    span = human.upper_limits[knee] - human.lower_limits[knee]
    assert result.joint_std("l_knee") == pytest.approx(span / np.sqrt(12), rel=0.05)
    assert result.bridged is not None and not result.bridged.any()


def test_filtered_noise_lasts(
    human: hs.Model, markers: MarkerSet, rng: np.random.Generator
) -> None:
    """White noise lasts a frame, its running mean over five some five."""
    trial = walk(human, markers, 0.0)
    result = solve_postures(human, trial, markers, uncertainty=False)
    assert result.std is None and np.isnan(result.joint_std("l_knee")).all()
    assert noise_correlation(result, 0.1) < 1.3
    mean = np.apply_along_axis(
        lambda x: np.convolve(x, np.ones(5) / 5, "same"), 0, trial.positions
    )
    inner = trial.moved(mean).samples(slice(5, -5))
    smooth = solve_postures(human, inner, markers, uncertainty=False)
    assert 3.0 < noise_correlation(smooth, 0.1) < 6.0


def test_a_frame_without_any_marker_is_bridged(
    human: hs.Model, markers: MarkerSet
) -> None:
    """The cameras blink for a tenth of a second: the base moves on, less surely."""
    trial = walk(human, markers, 0.0)
    positions = trial.positions.copy()
    positions[100:110] = np.nan
    result = solve_postures(human, trial.moved(positions), markers)
    assert (result.status[100:110] == MarkerStatus.OCCLUDED).all()
    assert not result.converged[100:110].any()
    error = np.abs(result.q - walking(human, 250))[100:110]
    knee = human.joint_names.index("l_knee")
    assert error[:, :3].max() < 0.02 and error[:, 7 + knee].max() < 0.1
    assert result.std is not None
    assert (result.std[105, :3] > 1.4 * result.std[90, :3]).all()
    assert np.isfinite(result.std).all()
