# SPDX-License-Identifier: Apache-2.0
"""The inverse of Bip's task function: reachable, singular, unreachable targets."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.bip.task import (
    BipTask,
    InverseTaskFunction,
    UnreachableError,
    inverse_task,
)


@pytest.fixture(scope="module")
def inverse(bip: hs.Model) -> InverseTaskFunction:
    """The inverse, ready for many targets."""
    return InverseTaskFunction(BipTask(bip))


def posture(bip: hs.Model, rng: np.random.Generator) -> np.ndarray:
    """HuMAnS coordinates anywhere inside the joint limits."""
    joints = [bip.joint_names.index(n) for n in bip.humans.coordinate_names[:15]]
    low, high = bip.lower_limits[joints], bip.upper_limits[joints]
    return np.r_[rng.uniform(low, high), rng.uniform(-1, 1, 6)]


def assert_solved(inverse: InverseTaskFunction, target: np.ndarray, start=None) -> None:
    """An answer, checked with the task function itself, inside the limits."""
    solution = inverse.solve(target, start)
    assert solution.converged and solution.within_limits, solution
    np.testing.assert_allclose(inverse.task.value(solution.q_h), target, atol=1e-10)
    np.testing.assert_array_equal(solution.q_h[12:], target[12:])
    joints = [
        inverse.task.model.joint_names.index(n)
        for n in inverse.task.model.humans.coordinate_names[:12]
    ]
    assert (solution.q_h[:12] >= inverse.task.model.lower_limits[joints] - 2e-5).all()
    assert (solution.q_h[:12] <= inverse.task.model.upper_limits[joints] + 2e-5).all()


def test_any_reachable_target(
    bip: hs.Model, inverse: InverseTaskFunction, rng: np.random.Generator
) -> None:
    """Targets of random postures are all reached, inside the joint limits."""
    for _ in range(1000):
        assert_solved(inverse, inverse.task.value(posture(bip, rng)))


@pytest.mark.parametrize("flexion", [0.0, 1e-5, 1e-3, 1e-2])
def test_straight_knees(
    bip: hs.Model,
    inverse: InverseTaskFunction,
    rng: np.random.Generator,
    flexion: float,
) -> None:
    """Straight and almost straight legs, where the Jacobian is singular."""
    for knees in ([2], [6], [2, 6]):
        for _ in range(50):
            q = posture(bip, rng)
            q[knees] = flexion * rng.uniform(0, 1, len(knees))
            assert_solved(inverse, inverse.task.value(q))


def test_upright(inverse: InverseTaskFunction) -> None:
    """Standing straight is reached to what its singularity leaves of the digits."""
    solution = inverse.solve(inverse.task.value(np.zeros(21)))
    assert solution.converged and solution.within_limits
    np.testing.assert_allclose(solution.q_h, 0.0, atol=0.02)


def test_pitched_by_a_right_angle(
    bip: hs.Model, inverse: InverseTaskFunction, rng: np.random.Generator
) -> None:
    """The trunk at 90 degrees from a foot is singular too, and reached."""
    for offset in (0.0, 1e-6, -1e-3):
        q = posture(bip, rng)
        q[14], q[[2, 3]] = 0.0, [1.4, -0.3]
        q[1] = np.pi / 2 + offset - q[2] - q[3]
        assert_solved(inverse, inverse.task.value(q))


def test_from_any_start(
    bip: hs.Model, inverse: InverseTaskFunction, rng: np.random.Generator
) -> None:
    """A start never hurts, inside the limits or far out."""
    for _ in range(100):
        target = inverse.task.value(posture(bip, rng))
        assert_solved(inverse, target, posture(bip, rng))
        assert_solved(inverse, target, rng.uniform(-3, 3, 21))


def test_start_near_the_answer(
    bip: hs.Model, inverse: InverseTaskFunction, rng: np.random.Generator
) -> None:
    """With a start beside it, the posture itself comes back."""
    for _ in range(50):
        q = posture(bip, rng)
        q[[2, 6]] = rng.uniform(0.4, 1.2, 2)
        q[[1, 5]], q[[3, 7]] = 0.0, -0.5 * q[[2, 6]]
        solution = inverse.solve(inverse.task.value(q), q + 1e-3 * rng.normal(size=21))
        np.testing.assert_allclose(solution.q_h, q, atol=1e-8)


@pytest.mark.parametrize(
    ("row", "change", "reason"),
    [
        (1, 0.3, "too short"),
        (6, 0.3, "no orientation"),
        (11, -0.7, "no orientation"),
    ],
)
def test_unreachable(
    inverse: InverseTaskFunction, row: int, change: float, reason: str
) -> None:
    """What cannot be reached is said, with the smallest residual found."""
    q = np.zeros(21)
    q[[1, 5]], q[[2, 6]], q[[3, 7]] = -0.3, 0.6, -0.3
    target = inverse.task.value(q)
    target[row] += change
    solution = inverse.solve(target)
    assert not solution.converged
    assert reason in solution.reason
    missed = np.abs(inverse.task.value(solution.q_h) - target).max()
    assert solution.residual == pytest.approx(missed)
    assert 1e-3 < solution.residual < abs(change)
    with pytest.raises(UnreachableError, match=reason) as caught:
        inverse.posture(target)
    assert caught.value.solution.residual == solution.residual


def test_never_a_wrong_answer(
    inverse: InverseTaskFunction, rng: np.random.Generator
) -> None:
    """Random numbers as targets: whatever is called an answer is one."""
    for _ in range(100):
        target = rng.normal(scale=0.3, size=21)
        solution = inverse.solve(target)
        missed = np.abs(inverse.task.value(solution.q_h) - target).max()
        assert solution.residual == pytest.approx(missed, abs=1e-15)
        assert solution.converged == (missed < 1e-10)
        assert solution.converged or solution.reason


def test_one_call_and_refusals(inverse: InverseTaskFunction) -> None:
    """The function for one target; targets of a wrong size or not finite."""
    q = np.zeros(21)
    q[[2, 6]] = 0.5
    target = inverse.task.value(q)
    np.testing.assert_allclose(inverse_task(inverse.task, target).q_h, q, atol=1e-9)
    np.testing.assert_allclose(inverse.posture(target), q, atol=1e-9)
    for bad in (np.zeros(20), np.full(21, np.inf)):
        with pytest.raises(hs.errors.ConfigurationError, match="21 finite entries"):
            inverse.solve(bad)
        with pytest.raises(hs.errors.ConfigurationError, match="a start"):
            inverse.solve(target, bad)
