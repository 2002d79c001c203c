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

import numpy as np

from humans_sim.observation.posture.kernels import advance
from humans_sim.observation.posture.result import MarkerStatus, Reconstruction
from humans_sim.observation.posture.settings import SmootherSettings
from humans_sim.observation.posture.smooth_kernels import (
    MotionGoal,
    motion_cost,
    motion_equations,
    solve_band,
)
from humans_sim.observation.posture.solver import PostureSolver

_FEWEST = 3
"""Frames that an acceleration takes."""
_DAMPING_MOST = 1e6
_FIRM = 1e-12
"""Least damping, for coordinates that nothing holds."""
_IDLE = 0.05
"""A gain not worth a step, in squared deviations of one marker: no motion is likelier
than another by so little."""


def smooth_postures(
    result: Reconstruction, solver: PostureSolver, settings: SmootherSettings
) -> Reconstruction:
    """Smooth a motion that was found frame by frame.

    Args:
        result: the postures to begin with.
        solver: that found them.
        settings: of the smoother.
    """
    q = result.q.copy()
    n = len(q)
    iterations, converged = np.zeros(n, dtype=int), np.zeros(n, dtype=bool)
    begun = time.perf_counter()
    step = max(settings.window - 2 * settings.overlap, 1)
    first = 0
    while first < n:
        last = n if first + settings.window >= n else first + step
        rows = slice(max(first - settings.overlap, 0), min(last + settings.overlap, n))
        piece, count, ended = _smooth(
            result.q[rows],
            result.trial.positions[rows],
            result.trial.times[rows],
            result.status[rows] == MarkerStatus.REJECTED,
            solver,
            settings,
        )
        inner = slice(first - rows.start, last - rows.start)
        q[first:last] = piece[inner]
        iterations[first:last], converged[first:last] = count, ended
        first = last
    postures = [
        solver.explained(posture, positions)
        for posture, positions in zip(q, result.trial.positions, strict=True)
    ]
    seconds = (time.perf_counter() - begun) / n
    status = np.array([posture.status for posture in postures])
    # A marker that was filled in stays so, whatever holds the posture.
    kept = result.trial.filled & (status == MarkerStatus.USED)
    status[kept] = MarkerStatus.INTERPOLATED
    status[result.status == MarkerStatus.REJECTED] = MarkerStatus.REJECTED
    return replace(
        result,
        q=q,
        differences=np.array([posture.differences for posture in postures]),
        status=status,
        converged=converged,
        iterations=result.iterations + iterations,
        solve_times=result.solve_times + seconds,
        mode="smooth",
    )


def _smooth(
    q: np.ndarray,
    positions: np.ndarray,
    times: np.ndarray,
    rejected: np.ndarray,
    solver: PostureSolver,
    settings: SmootherSettings,
) -> tuple[np.ndarray, int, bool]:
    """Gauss-Newton over all frames of a piece.

    Markers that the static search rejected stay so: it knows where they came from.
    """
    if len(q) < _FEWEST:
        return q, 0, True
    y, weight = solver.weighted(np.where(rejected[:, :, None], np.nan, positions))
    tree = solver.tree
    stiffness = np.array(settings.stiffness(len(tree.lower)))
    prior = solver.rest_pull
    goal = MotionGoal(
        y, weight, solver.settings.outlier, prior, solver.rest, times, stiffness
    )
    idle = _IDLE * settings.marker_noise**2
    cost, damping = motion_cost(q, goal, solver.marked), 0.0
    for iteration in range(1, settings.iterations + 1):
        band, vector = motion_equations(q, goal, solver.marked)
        while True:
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
            if damping > _DAMPING_MOST:
                return q, iteration, False
        if gained >= 0.0:
            q, cost = after, cost - gained
        damping = 0.1 * damping if damping > 1e-6 else 0.0
        if size < solver.settings.tolerance or gained < idle:
            return q, iteration, True
    return q, settings.iterations, False
