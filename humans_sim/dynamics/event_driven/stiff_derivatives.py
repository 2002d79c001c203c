# SPDX-License-Identifier: Apache-2.0
"""The stiff part of the derivatives of smooth motion, for implicit integrators."""

from __future__ import annotations

import numpy as np

from humans_sim.dynamics.applied_loads import AppliedLoads
from humans_sim.dynamics.chart import Chart
from humans_sim.dynamics.event_driven.derivative_kernels import assemble_derivatives

_BASE = 6
"""Velocities of a free base, the first ones: others are rates of coordinates."""
_DIFFERENCE = 1e-7
"""Difference for the derivatives of the actuation [m, rad, m/s, rad/s, s]."""


class LoadSlopes:
    """Derivatives of what acts, by state and time; by differences.

    Args:
        loads: what acts.

    Attributes:
        torques: of the torques by the state y (nv, n).
        rates: of the rates of z by the state y (nz, n).
        by_time: of the torques by time (nv,).
    """

    def __init__(
        self, loads: AppliedLoads, chart: Chart, t: float, y: np.ndarray, nv: int
    ) -> None:
        """At a time and a state."""
        n = len(y)
        self._loads, self._chart, self._nv = loads, chart, nv
        self._now, rates = self._at(t, y)
        self.torques, self.rates = np.zeros((nv, n)), np.zeros((n - 2 * nv, n))
        later, _ = self._at(t + _DIFFERENCE, y)
        self.by_time = (later - self._now) / _DIFFERENCE
        if loads.actuation.decoupled:
            for block in (0, nv):
                moved = y.copy()
                moved[block : block + nv] += _DIFFERENCE
                slopes = (self._at(t, moved)[0] - self._now) / _DIFFERENCE
                self.torques[np.arange(nv), np.arange(block, block + nv)] = slopes
            return
        for j in range(n):
            moved = y.copy()
            moved[j] += _DIFFERENCE
            torques, moved_rates = self._at(t, moved)
            self.torques[:, j] = (torques - self._now) / _DIFFERENCE
            self.rates[:, j] = (moved_rates - rates) / _DIFFERENCE

    def _at(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nv = self._nv
        q = self._chart.configuration(y[:nv])
        loads = self._loads.at(t, q, y[nv : 2 * nv], y[2 * nv :])
        return loads.torques, loads.rates


def chart_matrix(chart: Chart, x: np.ndarray) -> np.ndarray:
    """Rates of the coordinates for each velocity (nv, nv)."""
    matrix = np.eye(len(x))
    none = np.zeros(len(x))
    for j in range(min(len(x), _BASE)):
        velocity = none.copy()
        velocity[j] = 1.0
        matrix[:, j] = chart.rates(x, velocity)
    return matrix


def stiff_derivatives(
    slopes: LoadSlopes, turn: np.ndarray, response: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of the rates of coordinates, velocity and z by these, and by time.

    Of the actuation, of friction that follows velocity, and of what pulls drift back;
    left out is how inertia, gravity and contact points change with the posture.

    Args:
        slopes: of the actuation.
        turn: rates of the coordinates for each velocity (nv, nv).
        response: of the acceleration to forces, velocities and positions, by
            :func:`~humans_sim.dynamics.event_driven.creep_kernels.creeping_response`.
    """
    nv, n = slopes.torques.shape
    matrix = assemble_derivatives(
        slopes.torques, slopes.rates, turn, response, min(nv, _BASE)
    )
    by_time = np.zeros(n)
    by_time[nv : 2 * nv] = response[0] @ slopes.by_time
    return matrix, by_time
