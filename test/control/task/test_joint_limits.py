# SPDX-License-Identifier: Apache-2.0
"""Limits of joints in whole-body control: kept where they bind, reported beyond."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.ground import Ground
from humans_sim.control.task.task_functions import JointTask
from humans_sim.control.task.whole_body import (
    FADE,
    ControlError,
    GuardedWholeBody,
    JointLimits,
    WeightedTask,
    WholeBody,
)
from humans_sim.control.walking import WalkPattern
from humans_sim.dynamics.model_system import ModelSystem


@pytest.fixture(scope="module")
def system(khr1: hs.Model) -> ModelSystem:
    """A KHR-1 on the floor."""
    corners = [name for sole in khr1.soles for name in sole.contacts]
    return ModelSystem(khr1, Ground(), contacts=corners)


@pytest.fixture(scope="module")
def standing(khr1: hs.Model) -> np.ndarray:
    """Knees bent."""
    return WalkPattern(khr1).standing()


@pytest.fixture
def free(khr1: hs.Model) -> JointLimits:
    """No limits at all."""
    count = len(khr1.joint_names)
    none = np.full(count, np.inf)
    return JointLimits(tuple(khr1.joint_names), -none, none, none, none)


def raised(model: hs.Model, q: np.ndarray, by: float) -> list[WeightedTask]:
    """All joints stay, the left elbow goes up."""
    goal, rest = q[7:].copy(), np.zeros(len(q) - 7)
    goal[model.joint_names.index("l_elbow")] += by
    return [WeightedTask(JointTask(model), lambda t: (goal, rest, rest))]


def changed(limits: JointLimits, label: str, place: int, value: float) -> JointLimits:
    """Limits with one other number."""
    values = getattr(limits, label).copy()
    values[place] = value
    return replace(limits, **{label: values})


def test_torque_limit_binds_and_is_kept(
    khr1: hs.Model, system: ModelSystem, standing: np.ndarray, free: JointLimits
) -> None:
    """A knee that carries gets no more than its limit; the motion obeys physics."""
    v = np.zeros(khr1.nv)
    tasks, contacts = raised(khr1, standing, 0.0), np.arange(8)
    knee = khr1.joint_names.index("l_knee")
    loose = WholeBody(system, limits=free).solve(0.0, standing, v, tasks, contacts)
    assert loose.at_limit == ()
    most = 0.7 * abs(loose.torques[knee])
    assert most > 1e-3
    body = WholeBody(system, limits=changed(free, "torque", knee, most))
    solution = body.solve(0.0, standing, v, tasks, contacts)
    assert abs(solution.torques[knee]) == pytest.approx(most, rel=1e-6)
    assert solution.at_limit == ("l_knee",) and solution.beyond == ()
    terms = system.terms(standing, v, contacts)
    missing = terms.mass @ solution.acceleration + terms.bias
    missing -= terms.jacobian.reshape(24, -1).T @ solution.forces.ravel()
    np.testing.assert_allclose(missing[:6], 0.0, atol=1e-6)
    np.testing.assert_allclose(missing[6:], solution.torques, atol=1e-6)


def test_joint_stops_before_the_end_of_its_range(
    khr1: hs.Model, system: ModelSystem, standing: np.ndarray, free: JointLimits
) -> None:
    """Driven beyond its end, an elbow approaches it and never goes through it."""
    place = khr1.joint_names.index("l_elbow")
    end, step = standing[7 + place] + 0.2, 1e-3
    kept = changed(changed(free, "upper", place, end), "speed", place, 1.5)
    body = WholeBody(system, limits=kept)
    q, v, held = standing.copy(), np.zeros(khr1.nv), 0
    tasks = raised(khr1, standing, 2.0)
    for _ in range(600):
        solution = body.solve(0.0, q, v, tasks, np.arange(8))
        v[6 + place] += step * solution.acceleration[6 + place]
        q[7 + place] += step * v[6 + place]
        held += "l_elbow" in solution.at_limit
        assert q[7 + place] <= end and v[6 + place] <= 1.5 + 1e-9
    assert q[7 + place] > end - 0.01 and held > 100


def test_range_that_cannot_be_kept_is_reported(
    khr1: hs.Model, system: ModelSystem, standing: np.ndarray, free: JointLimits
) -> None:
    """Feet on the ground and both knees far beyond an end: the answer says so."""
    limits = free
    for name in ("l_knee", "r_knee", "l_hip_pitch", "l_ankle_pitch"):
        place = khr1.joint_names.index(name)
        limits = changed(limits, "upper", place, standing[7 + place] - 0.5)
    limits = replace(limits, torque=np.full(len(limits.names), 2.0))
    body = WholeBody(system, limits=limits)
    tasks, v = raised(khr1, standing, 0.0), np.zeros(khr1.nv)
    solution = body.solve(0.0, standing, v, tasks, np.arange(8))
    assert set(solution.beyond) & {"l_knee", "r_knee", "l_hip_pitch", "l_ankle_pitch"}
    assert (np.abs(solution.torques) <= 2.0 + 1e-9).all()


def test_last_answer_fades_where_there_is_none(
    khr1: hs.Model, system: ModelSystem, standing: np.ndarray, free: JointLimits
) -> None:
    """Too weak to move as the contacts say: counted, damped, within limits."""
    period, v = 0.01, np.zeros(khr1.nv)
    tasks, contacts = raised(khr1, standing, 0.0), np.arange(8)
    guarded = GuardedWholeBody(WholeBody(system, limits=free), period)
    last = guarded.solve(0.0, standing, v, tasks, contacts)
    assert guarded.failures == 0
    weak = replace(free, torque=np.full(len(free.names), 1e-3))
    fast = np.r_[np.zeros(6), np.full(khr1.nv - 6, 30.0)]
    with pytest.raises(ControlError):
        WholeBody(system, limits=weak).solve(0.0, standing, fast, tasks, contacts)
    guarded.body.limits = weak
    clipped = guarded.solve(period, standing, fast, tasks, contacts)
    assert (np.abs(clipped) <= 1e-3).all()
    assert (guarded.failures, guarded.first_failure) == (1, period)
    assert "no torques" in guarded.reason
    guarded.body.limits = replace(weak, torque=np.full(len(free.names), 1e3))
    faded = guarded._damped(FADE, standing, v)
    np.testing.assert_allclose(faded, np.exp(-1.0) * last, rtol=1e-9)
    # A joint braked for one period, alone, loses speed and does not turn round.
    braked = guarded._damped(1e3, standing, fast)
    for j in range(len(braked)):
        push = np.zeros(khr1.nv)
        push[6 + j] = braked[j]
        change = period * np.linalg.solve(khr1.inertia(standing), push)[6 + j]
        assert change == pytest.approx(-0.2 * 30.0, rel=1e-6)


def test_limits_of_the_file(khr1: hs.Model) -> None:
    """Those of the model; wrong ones are refused."""
    limits = JointLimits.of_model(khr1, {"l_knee": 0.5})
    np.testing.assert_array_equal(limits.lower, khr1.lower_limits)
    assert limits.torque[khr1.joint_names.index("l_knee")] == 0.5
    with pytest.raises(hs.errors.ParameterError, match="no joint"):
        JointLimits.of_model(khr1, {"tail": 0.5})
    with pytest.raises(hs.errors.ParameterError, match="above its upper"):
        replace(limits, lower=limits.upper + 1.0)
    with pytest.raises(hs.errors.ParameterError, match="above zero"):
        replace(limits, torque=0.0 * limits.torque)
