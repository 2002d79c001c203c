# SPDX-License-Identifier: Apache-2.0
"""The preview: an exact pendulum, a bounded motion, constraints, an oracle."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import humans_sim as hs
from humans_sim.control.walking import WalkSettings
from humans_sim.control.walking.preview import Pendulum, Preview

OMEGA = 7.0


@pytest.fixture(scope="module")
def settings(khr1: hs.Model) -> WalkSettings:
    """Those of the KHR-1."""
    return WalkSettings.of_model(khr1)


def box(count: int, half: float, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Half-planes of the same square at each knot, in eight rows."""
    normals, bounds = np.zeros((count, 8, 2)), np.full((count, 8), np.inf)
    normals[:, :4] = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    bounds[:, :4] = normals[:, :4] @ centre + half
    return normals, bounds


def test_pendulum_is_exact() -> None:
    """The formula solves the equation of motion with a moving zero-moment point."""
    state = Pendulum(np.array([0.1, 0.0]), np.array([0.0, 0.3]), np.array([0.05, 0.1]))
    rate = np.array([0.4, -1.0])

    def motion(t: float, y: np.ndarray) -> np.ndarray:
        return np.r_[y[2:], OMEGA**2 * (y[:2] - state.zmp - rate * t)]

    start = np.r_[state.com, state.velocity]
    expected = solve_ivp(motion, (0.0, 0.3), start, rtol=1e-11, atol=1e-12).y[:, -1]
    after = state.after(0.3, rate, OMEGA)
    np.testing.assert_allclose(np.r_[after.com, after.velocity], expected, atol=1e-8)
    np.testing.assert_allclose(
        after.acceleration(OMEGA), OMEGA**2 * (after.com - after.zmp)
    )


def test_rest_stays_rest(settings: WalkSettings) -> None:
    """Where it stands well, far from the origin too, nothing moves."""
    preview, place = Preview(settings, OMEGA), np.array([50.0, -30.0])
    normals, bounds = box(preview.knots, 0.05, place)
    preferred = np.tile(place, (2 * preview.knots, 1))
    state = Pendulum(place, np.zeros(2), place)
    knots = preview.solve(state, preferred, normals, bounds)
    np.testing.assert_allclose(knots, preferred[: preview.knots], atol=1e-7)


def test_push_is_caught(settings: WalkSettings) -> None:
    """After a push the centre of mass comes back, the ZMP within its bounds."""
    preview, place = Preview(settings, OMEGA), np.zeros(2)
    normals, bounds = box(preview.knots, 0.03, place)
    preferred = np.zeros((2 * preview.knots, 2))
    state = Pendulum(place, np.array([0.15, -0.1]), place)
    for _ in range(60):
        knots = preview.solve(state, preferred, normals, bounds)
        assert np.abs(knots).max() < 0.03 + 1e-5
        rate = (knots[0] - state.zmp) / settings.mpc_period
        state = state.after(settings.mpc_period, rate, OMEGA)
    assert np.abs(np.r_[state.com, state.velocity]).max() < 1e-4


def test_optimum_is_that_of_scipy(settings: WalkSettings) -> None:
    """Cost and bounds as written, minimised by SLSQP along one axis."""
    short = dataclasses.replace(settings, mpc_horizon=0.48, capture_weight=100.0)
    preview = Preview(short, OMEGA)
    n, period, unit = preview.knots, short.mpc_period, short.com_height
    normals, bounds = box(n, 0.02, np.zeros(2))
    steps = np.where(np.arange(2 * n) < n // 2, -0.015, 0.018)
    preferred = np.column_stack([steps, np.zeros(2 * n)])
    state = Pendulum(np.array([0.004, 0.0]), np.array([-0.05, 0.0]), np.zeros(2))
    zmp = preview.solve(state, preferred, normals, bounds)[:, 0]

    fine = np.linspace(0.0, 2 * n * period, 20 * 2 * n + 1)
    grid = period * np.arange(2 * n + 1)

    def missing(z: np.ndarray) -> float:
        """What the integral of exp(-w t) z(t) lacks, by quadrature."""
        path = np.interp(fine, grid, np.r_[0.0, z, steps[n:]])
        # Beyond the horizon the plan stands in, from its own value at the last knot.
        path[fine > grid[n]] = np.interp(fine[fine > grid[n]], grid[n:], steps[n - 1 :])
        later = math.exp(-OMEGA * fine[-1]) * steps[-1]
        integral = np.trapezoid(OMEGA * np.exp(-OMEGA * fine) * path, fine) + later
        return float(state.capture_point(OMEGA)[0] - integral)

    def cost(z: np.ndarray) -> float:
        rates = np.diff(np.r_[0.0, z]) / period
        return (
            float(
                short.zmp_weight * ((z - steps[:n]) ** 2).sum()
                + short.zmp_rate_weight * (rates**2).sum()
                + short.capture_weight * missing(z) ** 2
            )
            / unit**2
        )

    oracle = minimize(
        cost,
        np.zeros(n),
        method="SLSQP",
        bounds=[(-0.02, 0.02)] * n,
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert cost(zmp) <= cost(oracle.x) * (1.0 + 1e-3)
    np.testing.assert_allclose(zmp, oracle.x, atol=2e-4)
    assert preview.missing[0] == pytest.approx(missing(zmp), abs=1e-5)
