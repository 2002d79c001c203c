# SPDX-License-Identifier: Apache-2.0
"""Tasks: derivatives, rotations, stacks, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.control.task.task_functions import (
    CentreOfMass,
    FrameOrientation,
    FramePose,
    FramePosition,
    JointTask,
    Stacked,
    Task,
)

STEP = 1e-6
KINDS: dict[str, Callable[[hs.Model], Task]] = {
    "pose": lambda model: FramePose(model, "l_sole"),
    "position": lambda model: FramePosition(model, "r_sole"),
    "orientation": lambda model: FrameOrientation(model, "gaze"),
    "com": CentreOfMass,
    "some joints": lambda model: JointTask(model, ["r_knee", "l_knee"]),
    "stack": lambda model: Stacked(
        [CentreOfMass(model), FramePose(model, "r_sole"), JointTask(model)]
    ),
}


@pytest.fixture(params=KINDS)
def task(request: pytest.FixtureRequest, model: hs.Model) -> Task:
    """Each kind of task on each model."""
    return KINDS[request.param](model)


def test_jacobian(task: Task, rng: np.random.Generator) -> None:
    """J v is the rate of the value, rotations measured in the world."""
    model, q = task.model, task.model.random_configuration(rng)
    columns = []
    for i in range(model.nv):
        step = np.zeros(model.nv)
        step[i] = STEP
        ahead, behind = model.integrate(q, step), model.integrate(q, -step)
        columns.append(task.error(behind, task.value(ahead)) / (2 * STEP))
    np.testing.assert_allclose(task.jacobian(q), np.transpose(columns), atol=1e-7)


def test_joints_are_read_by_their_names(
    human: hs.Model, rng: np.random.Generator
) -> None:
    """In the order in which they are named, whatever the model's is."""
    q = human.random_configuration(rng)
    angles = dict(zip(human.joint_names, q[7:], strict=True))
    names = ["r_knee", "l_elbow_pitch", "l_knee"]
    value = JointTask(human, names).value(q)
    assert value.tolist() == [angles[name] for name in names]


def test_drift(task: Task, rng: np.random.Generator) -> None:
    """The drift is the rate of J v at constant v."""
    model = task.model
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)

    def rate(t: float) -> np.ndarray:
        return task.jacobian(model.integrate(q, t * v)) @ v

    expected = (rate(STEP) - rate(-STEP)) / (2 * STEP)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(task.drift(q, v), expected, atol=1e-6 * scale)


def test_terms_are_value_jacobian_drift(task: Task, rng: np.random.Generator) -> None:
    """One pass gives what three calls give, and keeps it when the model moves on."""
    model = task.model
    q, v = model.random_configuration(rng), rng.normal(size=model.nv)
    terms = task.terms(q, v)
    task.terms(model.random_configuration(rng), v)
    np.testing.assert_allclose(terms.value, task.value(q), atol=1e-14)
    np.testing.assert_allclose(terms.jacobian, task.jacobian(q), atol=1e-14)
    np.testing.assert_allclose(terms.drift, task.drift(q, v), atol=1e-12)
    assert len(task.names) == task.size == len(terms.value)


def test_newton_reaches_a_pose(human: hs.Model, rng: np.random.Generator) -> None:
    """Steps J v = error bring a frame to a target turned by almost half a turn."""
    task = FramePose(human, "base_link")
    turn = 3.1 * np.array([0.6, 0.0, 0.8])
    pose = pin.SE3(pin.exp3(turn), np.array([0.3, -0.2, 1.5]))
    target, q = FramePose.target(pose), human.neutral()
    for _ in range(20):
        step = np.linalg.lstsq(task.jacobian(q), task.error(q, target), rcond=None)[0]
        step *= min(1.0, 0.5 / np.linalg.norm(step))
        q = human.integrate(q, step)
    reached = human.frame_pose(q, "base_link")
    np.testing.assert_allclose(reached.homogeneous, pose.homogeneous, atol=1e-9)


def test_rotation_error_has_no_jump(human: hs.Model) -> None:
    """Past half a turn the rotation vector jumps; the error to a near target not."""
    task, q = FrameOrientation(human, "base_link"), human.neutral()
    q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, 0.0, np.pi - 0.01]))).coeffs()
    target = np.array([0.0, 0.0, np.pi + 0.01])
    np.testing.assert_allclose(task.error(q, target), [0, 0, 0.02], atol=1e-9)


def test_refusals(human: hs.Model, khr1: hs.Model) -> None:
    """Unknown names, mixed models and wrong targets are named."""
    with pytest.raises(hs.errors.ParameterError, match="no frame called 'tail'"):
        FramePose(human, "tail")
    with pytest.raises(hs.errors.ParameterError, match="no joint called 'tail'"):
        JointTask(human, ["tail"])
    with pytest.raises(hs.errors.ParameterError, match="one at least"):
        Stacked([])
    with pytest.raises(hs.errors.ParameterError, match="one model"):
        Stacked([CentreOfMass(human), CentreOfMass(khr1)])
    with pytest.raises(hs.errors.ConfigurationError, match=r"3 entries \(com_x"):
        CentreOfMass(human).error(human.neutral(), np.zeros(2))
    with pytest.raises(hs.errors.ConfigurationError, match="finite"):
        CentreOfMass(human).value(np.full(human.nq, np.nan))
