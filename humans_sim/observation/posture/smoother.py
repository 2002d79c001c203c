# SPDX-License-Identifier: Apache-2.0
r"""A whole motion at once: markers, and accelerations that are not too large.

The postures :math:`q_k` of all frames minimise

.. math:: \sum_k \sum_m w_m\,\rho(|y_{km} - x_m(q_k)|)
   + \sum_i s_i \int \ddot q_i^2\,dt

with the loss of the static search. That is what a Kalman smoother with white
accelerations finds, its linearisation repeated until nothing changes. The normal
equations are banded, three frames wide.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from humans_sim.observation.posture.kernels import advance
from humans_sim.observation.posture.posterior_kernels import band_variances
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.settings import SmootherSettings
from humans_sim.observation.posture.smooth_kernels import (
    MotionGoal,
    motion_cost,
    motion_equations,
    solve_band,
)
from humans_sim.observation.posture.solver import PostureSolver
from humans_sim.observation.posture.tree_kernels import BASE
from humans_sim.observation.posture.uncertainty import (
    filled_share,
    led_through,
    limited,
    noise_correlation,
)

_FEWEST = 3
"""Frames that an acceleration takes."""
_DAMPING_MOST = 1e6
_FIRM = 1e-12
"""Least damping, for coordinates that nothing holds."""
_LEAST_NOISE = 1e-4
"""Residuals below this show no noise: the markers are exact [m]."""
_STILL = 0.1
"""A step below this share of its standard deviation does not move a coordinate."""
_LITTLE = 0.1
"""Share by which stiffness is varied, and noise correlated before it matters."""
_WEAK = 0.1
"""Standard deviation above which frames alone do not show a joint [rad]."""
_IDLE = 0.05
"""A gain not worth a step, in squared deviations of one marker: no motion is likelier
than another by so little."""


class _Piece(NamedTuple):
    """What a piece of a motion became.

    Attributes:
        q: postures (n, nq).
        iterations: it took.
        converged: frames that stay where they are (n,).
        variances: of the coordinates (n, nv); empty where nobody asks.
    """

    q: np.ndarray
    iterations: int
    converged: np.ndarray
    variances: np.ndarray


def smooth_postures(
    result: Reconstruction, solver: PostureSolver, settings: SmootherSettings
) -> Reconstruction:
    """Smooth a motion that was found frame by frame.

    Standard deviations are those of the smooth motion if the result has any.

    Args:
        result: the postures to begin with.
        solver: that found them.
        settings: of the smoother.
    """
    q, std = result.q.copy(), None if result.std is None else result.std.copy()
    n = len(q)
    iterations, converged = np.zeros(n, dtype=int), np.zeros(n, dtype=bool)
    begun = time.perf_counter()
    settings = _with_noise(result, solver, settings)
    share = filled_share(result)
    result = _calmed(result, solver)
    correlation = (
        1.0
        if std is None
        else noise_correlation(result, solver.settings.uncertainty.correlation)
    )
    step = max(settings.window - 2 * settings.overlap, 1)
    first = 0
    while first < n:
        last = n if first + settings.window >= n else first + step
        rows = slice(max(first - settings.overlap, 0), min(last + settings.overlap, n))
        piece = _smooth(result, rows, solver, settings, correlation, share)
        inner = slice(first - rows.start, last - rows.start)
        q[first:last] = piece.q[inner]
        iterations[first:last] = piece.iterations
        converged[first:last] = piece.converged[inner]
        if std is not None:
            # A motion is known at least as well as its frames, each on its own.
            own = np.sqrt(piece.variances[inner])
            shown = np.ones(own.shape, dtype=bool)
            if result.bridged is not None:
                shown[:, BASE:] = ~result.bridged[first:last]
            least = np.minimum(own, std[first:last])
            std[first:last] = np.where(shown, least, own)
        first = last
    q, differences, status = _explained(q, result, solver)
    seconds = (time.perf_counter() - begun) / n
    return replace(
        result,
        q=q,
        differences=differences,
        status=status,
        converged=converged,
        iterations=result.iterations + iterations,
        solve_times=result.solve_times + seconds,
        mode="smooth",
        std=None if std is None else limited(std, solver),
    )


def _explained(
    q: np.ndarray, result: Reconstruction, solver: PostureSolver
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Postures, and the differences and status of their markers."""
    differences = np.empty_like(result.differences)
    status = np.empty_like(result.status)
    for row, posture in enumerate(q):
        fit = solver.explained(posture, result.trial.positions[row])
        differences[row], status[row] = fit.differences, fit.status
    # A marker that was filled in stays so, whatever holds the posture.
    kept = result.trial.filled & (status == MarkerStatus.USED)
    status[kept] = MarkerStatus.INTERPOLATED
    status[result.status == MarkerStatus.REJECTED] = MarkerStatus.REJECTED
    return q, differences, status


def _calmed(result: Reconstruction, solver: PostureSolver) -> Reconstruction:
    """The result with joints that frames hardly show led by their own motion.

    They rush from limit to limit, frame by frame, which no smooth motion begins with.
    """
    if result.std is None or len(result.q) < _FEWEST:
        return result
    usual = np.median(result.std[:, BASE:], axis=0)
    weak = np.flatnonzero((usual > _WEAK) & solver.rules.tracked)
    q = result.q.copy()
    for joint in weak:
        variances = result.std[:, BASE + joint].astype(float) ** 2
        q[:, 7 + joint], _ = led_through(result, solver, BASE + int(joint), variances)
    q[:, 7:] = np.clip(q[:, 7:], solver.tree.lower, solver.tree.upper)
    return replace(result, q=q)


def _with_noise(
    result: Reconstruction, solver: PostureSolver, settings: SmootherSettings
) -> SmootherSettings:
    """The settings with a noise: their own, or that of the residuals."""
    if settings.marker_noise is not None:
        return settings
    known = np.isfinite(result.noise) and result.noise > _LEAST_NOISE
    usual = solver.settings.uncertainty.marker_noise
    return replace(settings, marker_noise=result.noise if known else usual)


def _smooth(
    result: Reconstruction,
    rows: slice,
    solver: PostureSolver,
    settings: SmootherSettings,
    correlation: float,
    share: float,
) -> _Piece:
    """Gauss-Newton over all frames of a piece.

    Markers that the static search rejected stay so: it knows where they came from.
    """
    q, nv = result.q[rows], solver.model.nv
    if len(q) < _FEWEST:
        spread = np.zeros((len(q), nv)) if result.std is None else result.std[rows] ** 2
        return _Piece(q, 0, np.ones(len(q), dtype=bool), spread)
    rejected = result.status[rows] == MarkerStatus.REJECTED
    positions = np.where(rejected[:, :, None], np.nan, result.trial.positions[rows])
    y, weight = solver.weighted(positions)
    filled = result.status[rows] == MarkerStatus.INTERPOLATED
    weight[filled[:, solver.rules.columns]] *= share
    tree = solver.tree
    stiffness = np.array(settings.stiffness(len(tree.lower)))
    prior = solver.rest_pull
    goal = MotionGoal(
        y,
        weight,
        solver.settings.outlier,
        prior,
        solver.rest,
        result.t[rows],
        stiffness,
    )
    assert settings.marker_noise is not None
    noise = settings.marker_noise**2
    cost, damping, ended = motion_cost(q, goal, solver.marked), 0.0, False
    moves = np.zeros((len(q), nv))
    iteration = 0
    while not ended and iteration < settings.iterations:
        iteration += 1
        band, vector = motion_equations(q, goal, solver.marked)
        while damping <= _DAMPING_MOST:
            step, solved = solve_band(band, damping + _FIRM, vector)
            if solved:
                moves = step.reshape(len(q), -1)
                after = np.empty_like(q)
                for row, move in enumerate(moves):
                    advance(q[row], move, tree.lower, tree.upper, after[row])
                gained = cost - motion_cost(after, goal, solver.marked)
                size = float(np.abs(step).max())
                if gained >= 0.0 or size < solver.settings.tolerance:
                    break
            damping = max(10.0 * damping, 1e-6)
        else:
            break
        if gained >= 0.0:
            q, cost = after, cost - gained
        damping = 0.1 * damping if damping > 1e-6 else 0.0
        ended = size < solver.settings.tolerance or gained < _IDLE * noise
    del band
    variances = np.zeros((0, nv))
    if result.std is not None:
        variances = noise * _variances(q, goal, solver, correlation)
    still = np.full(len(q), ended)
    if not ended and len(variances):
        # The last step may concern a few frames only: the others are where they stay.
        still = np.all(np.abs(moves) < _STILL * np.sqrt(variances), axis=1)
    return _Piece(q, iteration, still, variances)


def _variances(
    q: np.ndarray, goal: MotionGoal, solver: PostureSolver, correlation: float
) -> np.ndarray:
    r"""Diagonal of the covariance of a motion for markers of unit noise (n, nv).

    White noise gives the inverse of the matrix A of the normal equations. Noise that
    lasts over frames has a density larger by the factor c, of which the motion has
    :math:`A^{-1} + (c - 1) A^{-1} H A^{-1}`; with the share S of accelerations in
    :math:`A = H + S` the last product is what :math:`A^{-1}` gains where S grows.
    """
    shape = (len(q), solver.model.nv)
    band, _ = motion_equations(q, goal, solver.marked)
    white, solved = band_variances(band, _FIRM)
    if not solved:
        return np.full(shape, np.inf)
    if correlation > 1.0 + _LITTLE:
        more = 1.0 + _LITTLE
        stiffer = goal._replace(stiffness=more * goal.stiffness)
        band, _ = motion_equations(q, stiffer, solver.marked)
        other, solved = band_variances(band, _FIRM)
        markers = np.clip(white + (other - white) / _LITTLE, 0.0, white)
        white = white + (correlation - 1.0) * markers
    return white.reshape(shape)
