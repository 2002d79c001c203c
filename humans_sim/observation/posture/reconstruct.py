# SPDX-License-Identifier: Apache-2.0
r"""Postures of a trial whose markers are prepared, frame by frame or all at once.

*All at once*: markers, and accelerations that are not too large. The postures
:math:`q_k` of all frames minimise

.. math:: \sum_k \sum_m w_m\,\rho(|y_{km} - x_m(q_k)|)
   + \sum_i s_i \int \ddot q_i^2\,dt

with the loss of the static search. That is what a Kalman smoother with white
accelerations finds, its linearisation repeated until nothing changes. The normal
equations are banded, three frames wide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from humans_sim.core.arrays import ROWS, new_array, release
from humans_sim.core.errors import ParameterError
from humans_sim.models.model import Model
from humans_sim.observation.markers.filters import ROUNDING, fill_gaps, joined_rows
from humans_sim.observation.markers.marker_set import (
    CANONICAL,
    MarkerSet,
    load_marker_set,
)
from humans_sim.observation.markers.trial import MarkerTrial
from humans_sim.observation.posture.kernels import advance
from humans_sim.observation.posture.posterior_kernels import band_variances
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.smooth_kernels import (
    MotionGoal,
    motion_cost,
    motion_equations,
    solve_band,
)
from humans_sim.observation.posture.solver import USUAL_STEP, Posture, PostureSolver
from humans_sim.observation.posture.tree_kernels import BASE
from humans_sim.observation.posture.uncertainty import (
    filled_share,
    led_through,
    limited,
    noise_correlation,
    with_uncertainty,
)
from humans_sim.observation.reconstruction_options import MODES, SMOOTH, STATIC
from humans_sim.observation.search_settings import SmootherSettings, SolverSettings

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
    """The result of a piece of a motion.

    Attributes:
        q: postures (n, nq).
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
    """
    q, std = result.q.copy(), None if result.std is None else result.std.copy()
    n = len(q)
    iterations, converged = np.zeros(n, dtype=int), np.zeros(n, dtype=bool)
    begun = time.perf_counter()
    if settings.marker_noise is None:  # that of the residuals, where they show it
        known = np.isfinite(result.noise) and result.noise > _LEAST_NOISE
        usual = solver.settings.uncertainty.marker_noise
        settings = replace(settings, marker_noise=result.noise if known else usual)
    share = filled_share(result)
    result = _calmed(result, solver)
    correlation, longest = 1.0, solver.settings.uncertainty.correlation
    if std is not None:
        correlation = noise_correlation(result, longest)
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
    differences, status = _explained(q, result, solver)
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
) -> tuple[np.ndarray, np.ndarray]:
    """Differences and status of the markers of postures."""
    differences = np.empty_like(result.differences)
    status = np.empty_like(result.status)
    for row, posture in enumerate(q):
        fit = solver.explained(posture, result.trial.positions[row])
        differences[row], status[row] = fit.differences, fit.status
    # A marker that was filled in stays so, whatever holds the posture.
    kept = result.trial.filled & (status == MarkerStatus.USED)
    status[kept] = MarkerStatus.INTERPOLATED
    status[result.status == MarkerStatus.REJECTED] = MarkerStatus.REJECTED
    return differences, status


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
    scale, times = solver.settings.outlier, result.t[rows]
    goal = MotionGoal(y, weight, scale, prior, solver.rest, times, stiffness)
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


_AT_ONCE = 16
"""Frames between two words of progress."""

_AROUND = 2.0
"""Time on each side of the first frame whose samples bridge its gaps [s]."""

Progress = Callable[[int, int], None]
"""Called with how many frames are done, and of how many."""
Watch = Callable[[MarkerTrial, int, Posture], None]
"""Given the prepared markers, the row of a frame and its posture, frame by frame."""


def solve_postures(
    model: Model,
    markers: MarkerTrial,
    marker_set: MarkerSet | str | Path = CANONICAL,
    *,
    mode: str = STATIC,
    settings: SolverSettings | None = None,
    smoothing: SmootherSettings | None = None,
    rest: np.ndarray | None = None,
    uncertainty: bool = True,
    progress: Progress | None = None,
    watch: Watch | None = None,
) -> Reconstruction:
    """Postures that explain markers as they are given, in the labels of their set.

    The last step of :func:`humans_sim.applications.reconstruction.reconstruct`, which
    reads and prepares a recording first (:func:`humans_sim.observation.markers.prepare`
    renames, fills and filters markers) and has the same arguments.

    Raises:
        ParameterError: the mode is unknown, or too few markers are in the set.
    """
    if mode not in MODES:
        raise ParameterError(f"mode is one of {', '.join(MODES)}, not '{mode}'")
    if not isinstance(marker_set, MarkerSet):
        marker_set = load_marker_set(marker_set, model)
    moving = marker_set.moving
    solver = PostureSolver(model, moving, markers.names, settings=settings, rest=rest)
    result = _static(solver, markers, progress, watch)
    if uncertainty:
        result = with_uncertainty(result, solver)
    if mode == SMOOTH:
        result = smooth_postures(result, solver, smoothing or SmootherSettings())
    return result


def _static(
    solver: PostureSolver,
    trial: MarkerTrial,
    progress: Progress | None,
    watch: Watch | None,
) -> Reconstruction:
    n, m = len(trial), len(trial.names)
    q = np.empty((n, solver.model.nq))
    differences = new_array((n, m, 3))
    status = np.empty((n, m), dtype=np.uint8)
    converged = np.empty(n, dtype=bool)
    iterations = np.empty(n, dtype=np.int32)
    seconds = np.empty(n)
    # From the frame with most markers on, then back from there: it is found best.
    first, start = _first_posture(solver, trial)
    solver.resume(start)
    steps = np.diff(trial.times)
    forward = np.concatenate([[USUAL_STEP], steps])
    backward = np.concatenate([steps, [USUAL_STEP]])
    done = 0
    for rows in _batches(first, n):
        if rows[0] == first - 1:
            solver.resume(q[first])
        begun = time.perf_counter()
        before = forward if rows[0] >= first else backward
        postures = solver.track(trial.positions[rows], before[rows])
        seconds[rows] = (time.perf_counter() - begun) / len(rows)
        for row, posture in zip(rows, postures, strict=True):
            q[row], differences[row] = posture.q, posture.differences
            status[row] = posture.status
            converged[row], iterations[row] = posture.converged, posture.iterations
            if watch is not None:
                watch(trial, row, posture)
        done += len(rows)
        if done // ROWS > (done - len(rows)) // ROWS:
            release(differences, trial.positions)
        if progress is not None:
            progress(done, n)
    status[trial.filled & (status == MarkerStatus.USED)] = MarkerStatus.INTERPOLATED
    return Reconstruction(
        model=solver.model,
        trial=trial,
        q=q,
        differences=differences,
        status=status,
        converged=converged,
        iterations=iterations,
        solve_times=seconds,
        unobservable=solver.unobservable,
        mode=STATIC,
    )


def _batches(first: int, n: int) -> Iterator[list[int]]:
    """Rows from ``first`` to the end, then back from it, a few at a time."""
    for order in (range(first, n), range(first - 1, -1, -1)):
        for k in range(0, len(order), _AT_ONCE):
            yield list(order[k : k + _AT_ONCE])


def _first_posture(solver: PostureSolver, trial: MarkerTrial) -> tuple[int, np.ndarray]:
    """The row to begin with, and its posture.

    Short gaps are bridged for this one: a limb that misses a marker may fit bent
    another way round, and the frames after it would follow.
    """
    bridge = solver.settings.start.bridge
    occluded = trial.occluded
    # Where all markers are seen nothing is to be bridged.
    missing = occluded.sum(axis=1)
    if missing.min() > 0:
        short = np.zeros_like(occluded)  # in gaps that are short enough to be filled
        for column in np.flatnonzero(occluded.any(axis=0)):
            seen = np.flatnonzero(~occluded[:, column])
            for stretch in joined_rows(trial.times, seen, bridge + ROUNDING):
                short[stretch[0] : stretch[-1] + 1, column] = True
        missing = (occluded & ~short).sum(axis=1) + occluded.mean(axis=1)
    row = int(np.argmin(missing))
    near = np.abs(trial.times - trial.times[row]) <= _AROUND
    part = fill_gaps(trial.samples(near), bridge)
    solver.reset()
    at = row - int(np.argmax(near))
    return row, solver.solve(part.positions[at]).q
