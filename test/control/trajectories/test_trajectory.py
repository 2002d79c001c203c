# SPDX-License-Identifier: Apache-2.0
"""Trajectories: through the points, twice differentiable, no overshoot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import humans_sim as hs
from humans_sim.control.trajectories.trajectory import (
    ContactPhase,
    Trajectory,
    TrajectoryError,
)

TIMES = (0.5, 2.0, 2.4, 5.0)
PHASES = (ContactPhase.DOUBLE, ContactPhase.TRANSITION, ContactPhase.LEFT_FOOT)


def some(rng: np.random.Generator, size: int = 40) -> Trajectory:
    """Three segments through random points, some of them standing still."""
    points = rng.normal(size=(7, size))
    points[1, :4], points[3, 2:6], points[:, 7] = points[0, :4], points[4, 2:6], 1.25
    return Trajectory(points, TIMES, PHASES)


def test_passes_the_points(rng: np.random.Generator) -> None:
    """Stable positions at rest at their times, intermediate ones half-way."""
    path = some(rng)
    at_rest = path.sample(np.array(TIMES))
    np.testing.assert_array_equal(at_rest.value, path.positions[::2])
    assert not at_rest.velocity.any() and not at_rest.acceleration.any()
    middle = (np.array(TIMES[1:]) + np.array(TIMES[:-1])) / 2
    passed = path.sample(middle).value
    np.testing.assert_allclose(passed, path.positions[1::2], atol=1e-14)


def test_derivatives(rng: np.random.Generator) -> None:
    """Velocity and acceleration are the derivatives, without a jump anywhere."""
    path, step = some(rng), 1e-6
    middle = (np.array(TIMES[1:]) + np.array(TIMES[:-1])) / 2
    t = np.concatenate([rng.uniform(0.4, 5.1, 300), TIMES, middle])
    ahead, here, behind = (path.sample(t + d) for d in (step, 0.0, -step))
    slope = (ahead.value - behind.value) / (2 * step)
    np.testing.assert_allclose(here.velocity, slope, atol=1e-6)
    for rate in (here.acceleration, ahead.acceleration, behind.acceleration):
        slope = (ahead.velocity - behind.velocity) / (2 * step)
        scale = 1 + np.abs(here.acceleration).max()
        np.testing.assert_allclose(rate, slope, atol=1e-4 * scale)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=3))
def test_monotone_between_points(points: list[float]) -> None:
    """Whatever the points, the curve goes straight from each to the next."""
    path = Trajectory(np.array(points)[:, None], (0.0, 2.0), PHASES[:1])
    scale = 1e-9 * (1e-300 + np.ptp(points))
    for begin, end, step in ((0, 1, np.diff(points)[0]), (1, 2, np.diff(points)[1])):
        speed = path.sample(np.linspace(begin, end, 201)).velocity[:, 0]
        assert (speed * np.sign(step) >= -scale).all()


@pytest.mark.parametrize("middle", [0.42, 0.5, 0.58, 4.0])
def test_least_jerk(middle: float) -> None:
    """A middle near the centre, or far with equal ends: jerk and its rate are smooth.

    That is the condition for the least integral of the squared jerk.
    """
    last = 1.0 if middle < 1 else 0.0
    path = Trajectory(np.array([[0.0], [middle], [last]]), (0.0, 2.0), PHASES[:1])
    u = np.linspace(0, 1, 20)
    halves = []
    for t in (1 - u, 1 + u):
        acceleration = np.polynomial.Polynomial.fit(
            t, path.sample(t).acceleration[:, 0], 3
        )
        halves.append([acceleration.deriv(k)(1.0) for k in (1, 2)])
    np.testing.assert_allclose(halves[0], halves[1], atol=1e-8)


def test_limits_no_more_than_needed() -> None:
    """Where it was limited, the slope just touches zero."""
    path = Trajectory(np.array([[0.0], [0.2], [1.0]]), (0.0, 2.0), PHASES[:1])
    u = np.linspace(0, 1, 100001)[1:]
    slope = path.sample(u).velocity[:, 0] / u**2
    assert slope.min() == pytest.approx(0.0, abs=1e-4)
    assert path.at(1.0).velocity[0] > 0.2


def test_holds_outside(rng: np.random.Generator) -> None:
    """It waits at its first position and stays at its last."""
    path = some(rng)
    for t, row, phase in ((-3.0, 0, PHASES[0]), (9.0, -1, PHASES[-1])):
        point = path.at(t)
        np.testing.assert_array_equal(point.value, path.positions[row])
        assert not point.velocity.any() and not point.acceleration.any()
        assert point.phase is phase
    assert (path.start, path.end) == (0.5, 5.0)


def test_phases(rng: np.random.Generator) -> None:
    """The phase changes at stable positions, to that of the segment to come."""
    path = some(rng)
    phases = path.sample(np.array([0.5, 1.9, 2.0, 2.4, 5.0])).phase
    assert phases.tolist() == [3, 3, 5, 2, 2]
    assert path.at(2.0).phase is ContactPhase.TRANSITION


def test_one_time_is_a_row_of_many(rng: np.random.Generator) -> None:
    """at(t) and sample(t) agree to round-off."""
    path, t = some(rng), np.linspace(0, 6, 13)
    samples = path.sample(t)
    for i, moment in enumerate(t):
        point = path.at(moment)
        for one, many in zip(point, samples, strict=True):
            np.testing.assert_allclose(one, many[i], rtol=1e-12, atol=1e-12)


def test_data_round_trip(rng: np.random.Generator) -> None:
    """The manual's data vector and the trajectory say the same."""
    path = some(rng)
    assert path.data == (0.5, 3, 2.0, 5, 2.4, 2, 5.0)
    again = Trajectory.from_data(path.positions, path.data)
    assert again.phases == path.phases
    np.testing.assert_array_equal(again.times, path.times)


@pytest.mark.parametrize(
    ("data", "point", "message"),
    [
        ((0, 3, 1, 3), None, "5 positions and 4 numbers"),
        ((0, 3, 0, 3, 1), 2, "does not come after"),
        ((0, 3, np.inf, 3, 1), 2, "finite"),
        ((0, 3, 1, 6, 2), 3, "code is 6"),
        ((0, 2.5, 1, 3, 2), 1, "code is 2.5"),
    ],
)
def test_refusals(data: tuple[float, ...], point: int | None, message: str) -> None:
    """What is wrong is said, with the point."""
    with pytest.raises(TrajectoryError, match=message) as caught:
        Trajectory.from_data(np.zeros((5, 2)), data)
    assert caught.value.point == point


def test_refused_positions() -> None:
    """An even number of positions, one alone, and what is not finite."""
    for shape in ((4, 2), (1, 2), (3,)):
        with pytest.raises(hs.errors.ParameterError, match="odd"):
            Trajectory(np.zeros(shape), (0.0, 1.0), PHASES[:1])
    points = np.zeros((3, 2))
    points[1, 1] = np.nan
    with pytest.raises(TrajectoryError, match="point 2: a coordinate"):
        Trajectory(points, (0.0, 1.0), PHASES[:1])
    with pytest.raises(hs.errors.ParameterError, match="finite"):
        Trajectory(np.zeros((3, 2)), (0.0, 1.0), PHASES[:1]).at(np.nan)
