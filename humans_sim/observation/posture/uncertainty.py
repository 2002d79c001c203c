# SPDX-License-Identifier: Apache-2.0
r"""Uncertainty of every coordinate of every frame, and joints that no marker shows.

With the normal matrix H of a frame's markers, their noise :math:`\sigma`, and variances
:math:`p_i` of the coordinates' priors, the covariance of the posture is
:math:`(H/\sigma^2 + \mathrm{diag}(1/p_i))^{-1}`. The noise comes from the residuals of
the trial, divided by the degrees of freedom that postures leave.

A coordinate that the markers of a frame show much worse than usual is hidden there. It
is interpolated by its own motion before and after, which gives the mean and the
variance of a prior with which such frames are solved again.

Its acceleration is white noise of the power density d, so that over a time h its angle
and speed gain the covariance :math:`d\,(h^3/3, h^2/2; h^2/2, h)`. A Kalman filter runs
forward over the frames that show it, Rauch, Tung and Striebel's smoother back (Sarkka,
Bayesian Filtering and Smoothing, 2013, section 8.2). In a gap that is a cubic curve,
and a variance that is largest in the middle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from humans_sim.core.arrays import release, row_slices
from humans_sim.core.kernels import kernel
from humans_sim.observation.posture.posterior_kernels import (
    MarkerWeights,
    PostureFrames,
    frame_variances,
)
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.smooth_kernels import rotation_between
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.tree_kernels import BASE
from humans_sim.observation.search_settings import UncertaintySettings


class Series(NamedTuple):
    """A coordinate over time.

    Attributes:
        times: of the frames (n,) [s].
        values: of the coordinate (n,).
        variances: of the values; infinite where there is none (n,).
        density: of the power of its accelerations.
        spread: variance of the coordinate where nothing is known.
        rate: the same of its speed.
    """

    times: np.ndarray
    values: np.ndarray
    variances: np.ndarray
    density: float
    spread: float
    rate: float


@kernel
def bridge(series):
    """Mean and variance of a coordinate in all frames, from all of them (n,), (n,)."""
    n = series.times.size
    density = series.density
    mean, covariance = np.empty((n, 2)), np.empty((n, 3))
    x, v = 0.0, 0.0
    for k in range(n):
        if np.isfinite(series.variances[k]):
            x = series.values[k]
            break
    a, b, c = series.spread, 0.0, series.rate
    for k in range(n):
        if k > 0:
            h = series.times[k] - series.times[k - 1]
            x += h * v
            a += 2.0 * h * b + h * h * c + density * h**3 / 3.0
            b += h * c + density * h * h / 2.0
            c += density * h
        if np.isfinite(series.variances[k]):
            total = a + series.variances[k]
            gain, other = a / total, b / total
            miss = series.values[k] - x
            x += gain * miss
            v += other * miss
            c -= other * b
            b -= other * a
            a -= gain * a
        mean[k, 0], mean[k, 1] = x, v
        covariance[k, 0], covariance[k, 1], covariance[k, 2] = a, b, c
    for k in range(n - 2, -1, -1):
        h = series.times[k + 1] - series.times[k]
        a, b, c = covariance[k, 0], covariance[k, 1], covariance[k, 2]
        # Predicted covariance, and the gain P F^T / predicted.
        pa = a + 2.0 * h * b + h * h * c + density * h**3 / 3.0
        pb = b + h * c + density * h * h / 2.0
        pc = c + density * h
        size = pa * pc - pb * pb
        fa, fb = a + h * b, b + h * c
        g00, g01 = (fa * pc - b * pb) / size, (b * pa - fa * pb) / size
        g10, g11 = (fb * pc - c * pb) / size, (c * pa - fb * pb) / size
        dx = mean[k + 1, 0] - mean[k, 0] - h * mean[k, 1]
        dv = mean[k + 1, 1] - mean[k, 1]
        mean[k, 0] += g00 * dx + g01 * dv
        mean[k, 1] += g10 * dx + g11 * dv
        ma = covariance[k + 1, 0] - pa
        mb = covariance[k + 1, 1] - pb
        mc = covariance[k + 1, 2] - pc
        covariance[k, 0] = a + g00 * g00 * ma + 2.0 * g00 * g01 * mb + g01 * g01 * mc
        covariance[k, 1] = (
            b + g00 * g10 * ma + (g00 * g11 + g01 * g10) * mb + g01 * g11 * mc
        )
        covariance[k, 2] = c + g10 * g10 * ma + 2.0 * g10 * g11 * mb + g11 * g11 * mc
    return mean[:, 0].copy(), covariance[:, 0].copy()


_CHUNK = 512
"""Frames whose variances are worked out at once."""
_FEWEST = 10
"""Frames that show something of a trial."""
_LOOSE = 1e12
"""Variance of a coordinate of the base of which nothing is known."""
_SOME = 10_000
"""Frames of a trial that show what is usual."""
_UNRELATED = 0.05
"""Correlation of residuals that is none."""
_SAMPLE = 1000
"""Frames on each side of the middle of a trial whose residuals are correlated."""
_ROOM = 10.0
"""Standard deviation of the base in a laboratory [m, rad]."""


def with_uncertainty(result: Reconstruction, solver: PostureSolver) -> Reconstruction:
    """Add standard deviations to postures found frame by frame; lead hidden joints."""
    settings = solver.settings.uncertainty
    prior, weights = usual_prior(solver), weights_of(solver, filled_share(result))
    everything = np.arange(len(result.q))
    variances, squares, freedom = _variances(result, solver, weights, everything, prior)
    noise = trial_noise(squares, freedom, settings)
    usual = usual_spreads(variances, settings)
    lasting = noise_correlation(result, settings.correlation)
    for _ in range(settings.rounds):
        starts = priors = np.empty(0)  # those of the round before are gone
        hidden = hidden_coordinates(variances, noise, usual, result.t, solver)
        rows = np.flatnonzero(hidden.any(axis=1))
        if not len(rows):
            break
        starts, priors = _bridged(result, solver, variances, hidden, lasting, noise)
        _solve_again(result, solver, rows, starts, priors)
        del starts
        # What markers alone show, at the better postures.
        variances[rows] = _variances(result, solver, weights, rows, prior)[0]
    if len(rows):
        variances[rows] = _variances(result, solver, weights, rows, priors)[0]
    np.sqrt(variances, out=variances)
    variances *= noise
    return replace(
        result, std=limited(variances, solver), noise=noise, bridged=hidden[:, BASE:]
    )


def weights_of(solver: PostureSolver, filled: float = 1.0) -> MarkerWeights:
    """How the markers of a solver count, and the share of those filled in."""
    rules = solver.rules
    return MarkerWeights(rules.columns, rules.weight, rules.scale, filled)


def filled_share(result: Reconstruction) -> float:
    """Weight of markers that were filled in against those seen, by residuals."""
    if not (result.status == MarkerStatus.INTERPOLATED).any():
        return 1.0
    means = []
    for kind in (MarkerStatus.USED, MarkerStatus.INTERPOLATED):
        total, count = 0.0, 0
        for rows in row_slices(len(result.q)):
            chosen = result.status[rows] == kind
            total += float((result.differences[rows][chosen] ** 2).sum())
            count += int(chosen.sum())
        release(result.differences)
        means.append(total / max(count, 1))
    return min(means[0] / means[1], 1.0) if means[1] > 0.0 else 1.0


def usual_prior(solver: PostureSolver) -> np.ndarray:
    """Prior variances of coordinates without markers (nv,) [m^2].

    Joints that no marker ever sees are somewhere between their limits.
    """
    prior = np.full(solver.model.nv, 1.0 / _LOOSE)
    noise = solver.settings.uncertainty.marker_noise
    rules = solver.rules
    anywhere = noise**2 / full_range(solver) ** 2
    prior[BASE:] = np.where(rules.tracked, rules.pull, anywhere)
    return prior


def full_range(solver: PostureSolver) -> np.ndarray:
    """Standard deviation of joints that are anywhere within their limits [rad]."""
    tree = solver.tree
    span: np.ndarray = np.minimum(tree.upper - tree.lower, 2 * np.pi) / np.sqrt(12.0)
    return np.maximum(span, 1e-6)


def limited(std: np.ndarray, solver: PostureSolver) -> np.ndarray:
    """Standard deviations of joints within what their limits leave."""
    std[:, BASE:] = np.minimum(std[:, BASE:], full_range(solver))
    return std


def trial_noise(
    squares: np.ndarray, freedom: np.ndarray, settings: UncertaintySettings
) -> float:
    """Standard deviation of a marker of weight 1 [m], by the median of the frames.

    Of weighted squares of the distances of each frame (n,) [m^2] and their degrees of
    freedom (n,); the noise of the settings where there are too few.
    """
    enough = freedom >= 1.0
    if not enough.any():
        return settings.marker_noise
    # The median of chi squared, by Wilson and Hilferty.
    middle = freedom[enough] * (1.0 - 2.0 / (9.0 * freedom[enough])) ** 3
    noise = float(np.sqrt(np.median(squares[enough] / middle)))
    return max(noise, settings.least_noise)


def usual_spreads(variances: np.ndarray, settings: UncertaintySettings) -> np.ndarray:
    """Standard deviations for unit noise of coordinates that are shown (nv,)."""
    some = variances[:: max(1, len(variances) // _SOME)]
    return np.asarray(np.sqrt(np.quantile(some, settings.usual, axis=0)))


def hidden_coordinates(
    variances: np.ndarray,
    noise: float,
    usual: np.ndarray,
    times: np.ndarray,
    solver: PostureSolver,
) -> np.ndarray:
    """Coordinates that the markers of a frame show much worse than usual (n, nv).

    A coordinate that is shown for a moment between two such frames is hidden there,
    too: its posture was found from others that are not shown.
    """
    settings = solver.settings.uncertainty
    bounds = np.maximum(settings.hidden, settings.times_usual * noise * usual)
    hidden: np.ndarray = variances > (bounds / noise).astype(np.float32) ** 2
    hidden[:, BASE:] &= solver.rules.tracked
    for i in np.flatnonzero(hidden.any(axis=0)):
        rows = np.flatnonzero(hidden[:, i])
        for a, b in zip(rows[:-1], rows[1:], strict=True):
            if b > a + 1 and times[b] - times[a + 1] < settings.moment:
                hidden[a:b, i] = True
    # One that is always hidden cannot be interpolated.
    hidden[:, (~hidden).sum(axis=0) < _FEWEST] = False
    return hidden


def _variances(
    result: Reconstruction,
    solver: PostureSolver,
    weights: MarkerWeights,
    rows: np.ndarray,
    priors: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of some frames, what :func:`frame_variances` gives; one prior or one for each."""
    n = len(rows)
    variances = np.empty((n, solver.model.nv), dtype=np.float32)
    squares, freedom = np.empty(n), np.empty(n)
    for first in range(0, n, _CHUNK):
        part = slice(first, first + _CHUNK)
        own = priors if priors.ndim == 1 else priors[part]
        frames = PostureFrames(
            np.ascontiguousarray(result.q[rows[part]]),
            np.ascontiguousarray(result.trial.positions[rows[part]], dtype=float),
            np.ascontiguousarray(result.status[rows[part]]),
            np.ascontiguousarray(np.broadcast_to(own, variances[part].shape)),
        )
        variances[part], squares[part], freedom[part] = frame_variances(
            frames, weights, solver.marked
        )
        release(result.trial.positions)
    return variances, squares, freedom


def _bridged(
    result: Reconstruction,
    solver: PostureSolver,
    variances: np.ndarray,
    hidden: np.ndarray,
    lasting: float,
    noise: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Postures (k, nq) with hidden coordinates interpolated, and their priors.

    Of variances (n, nv) for unit noise and hidden coordinates (n, nv); the noise of a
    marker [m] lasts so many frames. The priors (k, nv) [m^2] say how strongly the
    coordinates are known.
    """
    rows = np.flatnonzero(hidden.any(axis=1))
    starts, priors = result.q[rows], np.tile(usual_prior(solver), (len(rows), 1))
    for i in np.flatnonzero(hidden.any(axis=0)):
        seen = np.where(hidden[:, i], np.inf, lasting * noise**2 * variances[:, i])
        mean, spread = led_through(result, solver, int(i), seen)
        at = hidden[rows, i]
        priors[at, i] = noise**2 / spread[rows[at]]
        if not 3 <= i < BASE:
            starts[at, i if i < 3 else i + 1] = mean[rows[at]]
    _turn_base(result, rows, hidden, starts)
    return starts, priors


def led_through(
    result: Reconstruction, solver: PostureSolver, i: int, variances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance (n,) of coordinate ``i`` by its own motion.

    The variances of its values (n,) are infinite where nothing shows it.
    """
    settings, times = solver.settings.uncertainty, result.t
    values = _coordinate(result.q, i)
    density = acceleration_density(times, values, variances, settings)
    spread = float(full_range(solver)[i - BASE] ** 2) if i >= BASE else _ROOM**2
    rate = usual_speed(times, values, np.isfinite(variances), settings) ** 2
    mean, own = bridge(Series(times, values, variances, density, spread, rate))
    return mean, np.minimum(own, spread)


def acceleration_density(
    times: np.ndarray,
    values: np.ndarray,
    variances: np.ndarray,
    settings: UncertaintySettings,
) -> float:
    """Power density of the accelerations of a coordinate, from what shows it.

    Second differences over a lag h have the mean square 2/3 d h^3, and the noise of
    the values.
    """
    n = len(times)
    if n < 3:
        return settings.usual_density
    period = float(np.median(np.diff(times)))
    lag = max(round(settings.lag / period), 1)
    if n <= 2 * lag:
        return settings.usual_density
    before, middle, after = (
        slice(0, n - 2 * lag),
        slice(lag, n - lag),
        slice(2 * lag, n),
    )
    noise = variances[before] + 4.0 * variances[middle] + variances[after]
    shown = np.isfinite(noise)
    if shown.sum() < _FEWEST:
        return settings.usual_density
    bend = (values[before] - 2.0 * values[middle] + values[after])[shown]
    power, part = float(np.mean(bend**2)), float(np.mean(noise[shown]))
    # Variances are not known so well that nothing of the power would be motion.
    power = max(power - part, settings.least_motion * power)
    return max(1.5 * power / (lag * period) ** 3, settings.least_density)


def usual_speed(
    times: np.ndarray,
    values: np.ndarray,
    shown: np.ndarray,
    settings: UncertaintySettings,
) -> float:
    """Root mean square speed of a coordinate over the lag, from what shows it."""
    lag = max(round(settings.lag / float(np.median(np.diff(times)))), 1)
    both = shown[lag:] & shown[:-lag]
    if both.sum() < _FEWEST:
        return settings.speed
    rates = ((values[lag:] - values[:-lag]) / (times[lag:] - times[:-lag]))[both]
    return max(float(np.sqrt(np.mean(rates**2))), settings.least_speed)


def noise_correlation(result: Reconstruction, longest: float) -> float:
    r"""How much longer the noise of markers lasts than a frame.

    :math:`1 + 2\sum_k \rho_k` with the correlations of residuals k frames apart, up to
    the longest time [s]: slower than that, residuals and motions cannot be
    distinguished.
    """
    if len(result.q) < _FEWEST:
        return 1.0
    middle = len(result.q) // 2
    rows = slice(max(middle - _SAMPLE, 0), middle + _SAMPLE)
    used = result.used[rows]
    residuals = np.where(used[:, :, None], result.differences[rows], 0.0)
    total = float((residuals**2).sum()) / max(float(used.sum()), 1.0)
    period = float(np.median(np.diff(result.t)))
    factor = 1.0
    for lag in range(1, min(round(longest / period), len(residuals) - 1) + 1):
        both = float((used[lag:] & used[:-lag]).sum())
        product = float((residuals[lag:] * residuals[:-lag]).sum())
        share = product / max(both, 1.0) / total if total > 0.0 else 0.0
        if share < _UNRELATED:
            break
        factor += 2.0 * share
    return factor


def _coordinate(q: np.ndarray, i: int) -> np.ndarray:
    """A coordinate over time; turns of the base are added up from frame to frame."""
    if i < 3:
        return np.ascontiguousarray(q[:, i])
    if i >= BASE:
        return np.ascontiguousarray(q[:, i + 1])
    pairs = zip(q[:-1], q[1:], strict=True)
    turns = [rotation_between(a[3:7], b[3:7])[i - 3] for a, b in pairs]
    return np.concatenate([[0.0], np.cumsum(turns)])


def _solve_again(
    result: Reconstruction,
    solver: PostureSolver,
    rows: np.ndarray,
    starts: np.ndarray,
    priors: np.ndarray,
) -> None:
    """Frames with hidden coordinates, from their bridges and with their priors.

    The arrays of the result are this search's own until it is over: they are changed,
    not copied.
    """
    status = result.status
    for place, (row, start) in enumerate(zip(rows, starts, strict=True)):
        posture = solver.solve_from(
            start,
            result.trial.positions[row],
            priors[place, BASE:],
            status[row] == MarkerStatus.REJECTED,
        )
        result.q[row], result.differences[row] = posture.q, posture.differences
        status[row], result.converged[row] = posture.status, posture.converged
        if place % _CHUNK == 0:
            release(result.differences, result.trial.positions)
    status[result.trial.filled & (status == MarkerStatus.USED)] = (
        MarkerStatus.INTERPOLATED
    )


def _turn_base(
    result: Reconstruction, rows: np.ndarray, hidden: np.ndarray, starts: np.ndarray
) -> None:
    """Turn the base of postures evenly through frames that do not show it."""
    lost: np.ndarray = np.any(hidden[:, 3:BASE], axis=1)
    shown = np.flatnonzero(~lost)
    if not lost.any() or len(shown) < 2:
        return
    t, at = result.t, lost[rows]
    turn = Slerp(t[shown], Rotation.from_quat(result.q[shown, 3:7]))
    inside = np.clip(t[rows[at]], t[shown[0]], t[shown[-1]])
    starts[at, 3:7] = turn(inside).as_quat()
