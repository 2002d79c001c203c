# SPDX-License-Identifier: Apache-2.0
"""The task law: errors decay as chosen; singular Jacobians are damped and said."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import humans_sim as hs
from humans_sim.control.bip.task import BipTask
from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FramePose,
    JointTask,
    Stacked,
)
from humans_sim.control.task.task_law import TaskLaw

KP, KV = 100.0, 20.0


def bent() -> np.ndarray:
    """Bip with bent knees, where the task function is regular."""
    q = np.zeros(21)
    q[[1, 5]], q[[2, 6]], q[[3, 7]] = -0.3, 0.6, -0.3
    return q


@pytest.fixture(scope="module")
def task(bip: hs.Model) -> BipTask:
    """Bip's task function."""
    return BipTask(bip)


def test_assigns_the_second_derivative(task: BipTask, rng: np.random.Generator) -> None:
    """H a + h is what the gains ask for."""
    law = TaskLaw(task, KP, KV)
    q, v = bent() + 0.05 * rng.normal(size=21), rng.normal(size=21)
    target, rate, acceleration = rng.normal(size=(3, 21))
    solution = law.solve(q, v, target, rate, acceleration)
    jacobian = task.jacobian(q)
    expected = acceleration + KP * (target - task.value(q)) + KV * (rate - jacobian @ v)
    got = jacobian @ solution.acceleration + task.drift(q, v)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
    assert not solution.damped
    assert solution.condition == pytest.approx(np.linalg.cond(jacobian))


def test_error_decays_critically(task: BipTask, rng: np.random.Generator) -> None:
    """Integrated, the error is (1 + 10 t) exp(-10 t) of its start, in every row."""
    law, start = TaskLaw(task, KP, KV), bent()
    target = task.value(start + 0.02 * rng.normal(size=21))

    def rates(_: float, x: np.ndarray) -> np.ndarray:
        return np.r_[x[21:], law.solve(x[:21], x[21:], target).acceleration]

    t = 0.3
    solved = solve_ivp(rates, (0, t), np.r_[start, np.zeros(21)], "DOP853", rtol=1e-9)
    left = target - task.value(solved.y[:21, -1])
    expected = (1 + 10 * t) * np.exp(-10 * t) * (target - task.value(start))
    np.testing.assert_allclose(left, expected, atol=1e-7)


def test_straight_legs_are_damped(task: BipTask) -> None:
    """Where H is singular the accelerations are bounded, and the solution says so."""
    law, fold = TaskLaw(task, KP, KV), bent()
    # the trunk pitched by 90 degrees from the right foot
    fold[1] = np.pi / 2 - fold[2] - fold[3]
    jacobian = task.jacobian(fold)
    assert np.linalg.cond(jacobian) > 1e6
    target = task.value(fold)
    target[8] += 0.1
    damped = law.solve(fold, np.zeros(21), target)
    assert damped.damped and damped.condition > 1e6
    acceleration = KP * (target - task.value(fold))
    bound = np.linalg.norm(acceleration) / (2 * law.damping)
    assert np.linalg.norm(damped.acceleration) <= bound
    fair = law.accelerations(jacobian, jacobian @ np.ones(21))
    np.testing.assert_allclose(
        jacobian @ fair.acceleration, jacobian @ np.ones(21), atol=1e-2
    )


def test_damping_begins_smoothly(task: BipTask) -> None:
    """Across the bound the accelerations do not jump."""
    law = TaskLaw(task, KP, KV)
    acceleration, solutions = np.array([1.0, 1.0]), []
    for low in (1 - 1e-9, 1 + 1e-9):
        jacobian = np.diag([1.0, low * law.smallest])
        solutions.append(law.accelerations(jacobian, acceleration))
    assert [solution.damped for solution in solutions] == [True, False]
    np.testing.assert_allclose(
        solutions[0].acceleration, solutions[1].acceleration, rtol=1e-6
    )


def test_general_tasks(human: hs.Model, rng: np.random.Generator) -> None:
    """The same law on a stack with rotations, in pinocchio's velocities."""
    stack = Stacked(
        [CentreOfMass(human), FramePose(human, "l_sole"), JointTask(human, ["r_knee"])]
    )
    q, v = human.random_configuration(rng), rng.normal(size=human.nv)
    target = stack.value(human.random_configuration(rng))
    solution = TaskLaw(stack, KP, KV).solve(q, v, target)
    terms = stack.terms(q, v)
    got = terms.jacobian @ solution.acceleration + terms.drift
    expected = KP * stack.error(q, target) - KV * terms.jacobian @ v
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-8)


def test_refusals(task: BipTask) -> None:
    """Gains of a wrong size or sign."""
    for gains in ((0.0, 1.0), (1.0, -1.0), (np.ones(3), 1.0)):
        with pytest.raises(
            hs.errors.ParameterError, match="positive, one number or 21"
        ):
            TaskLaw(task, *gains)
    with pytest.raises(hs.errors.ParameterError, match="damping"):
        TaskLaw(task, 1.0, 1.0, damping=0.0)
