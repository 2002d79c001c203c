# SPDX-License-Identifier: Apache-2.0
"""Bip's task function: table 8.1, exact derivatives, singular postures."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.control.bip.task import BipTask
from humans_sim.control.task.task_functions import CentreOfMass, FramePosition
from humans_sim.core.yaml_file import read_yaml
from humans_sim.models.files.denavit_hartenberg import transform, zero_position
from humans_sim.models.points import to_humans

STEP = 1e-6


@pytest.fixture(scope="module")
def task(bip: hs.Model) -> BipTask:
    """The task function."""
    return BipTask(bip)


def frame_axes(bip: hs.Model, q: np.ndarray) -> dict[int, np.ndarray]:
    """Axes of the frames of the model file's own table at q, columns on HuMAnS axes.

    Frame 6 is placed by the base angles: yaw, then pitch, then roll (rows 4 to 6).
    """
    table = read_yaml(bip.parts.source).mapping()["denavit_hartenberg"]
    names = bip.humans.coordinate_names
    base = {4: q[19], 5: q[20], 6: q[18]}
    poses = {0: np.eye(4)}
    for number, frame in zero_position(table).items():
        row = frame.row.mapping()
        r, lam, alpha, theta = (
            row[key].number({"pi": np.pi}) for key in ("r", "lambda", "alpha", "theta")
        )
        theta += base.get(number, 0.0)
        if "joint" in row:
            theta += row["sense"].number() * q[names.index(row["joint"].text())]
        poses[number] = poses[frame.ref] @ transform(r, lam, alpha, theta)
    return {number: pose[:3, :3] for number, pose in poses.items()}


def test_is_table_8_1(bip: hs.Model, task: BipTask, rng: np.random.Generator) -> None:
    """Rows from tags in the world and the frames of the Denavit-Hartenberg table."""
    for _ in range(5):
        q = rng.uniform(-0.8, 0.8, 21)
        axes = frame_axes(bip, q)
        tags = bip.humans.tags(q)
        (p, right, left) = (tags @ axes[k] for k in (6, 12, 19))
        g, expected = p[-1], []
        for tag in (5, 10):
            a = p[tag - 1]
            expected += [g[2] - a[2], a[1] - g[1], g[0] - a[0]]
        for x in (right, left):
            t16, t17, t18 = x[15], x[16], x[17]
            expected += [t16[0] - t17[0], t17[2] - t16[2], t18[2] - t16[2]]
        np.testing.assert_allclose(task.value(q), [*expected, *q[12:]], atol=1e-13)


def test_meaning_of_the_rows(bip: hs.Model, task: BipTask) -> None:
    """Upright, the rows are forward, up and right of the ankles, and no turn."""
    value = task.value(np.zeros(21))
    com, tags = bip.com(bip.neutral()), bip.tags(bip.neutral())
    for rows, tag in ((value[:3], 5), (value[3:6], 10)):
        expected = to_humans(com - tags[tag - 1])
        np.testing.assert_allclose(rows, expected, atol=1e-14)
    np.testing.assert_allclose(value[6:12], 0.0, atol=1e-14)
    lean = np.zeros(21)
    lean[[1, 5]] = 0.1
    pitched = task.value(lean)[[8, 11]]
    np.testing.assert_allclose(np.abs(pitched), 0.66 * np.sin(0.1), atol=1e-14)
    assert len(task.names) == 21
    assert task.names[0] == "com_forward_from_r_ankle"
    assert task.names[20] == "base_rz"


def test_jacobian(task: BipTask, rng: np.random.Generator) -> None:
    """H is the derivative of Q."""
    q = rng.uniform(-0.8, 0.8, 21)
    columns = [
        (task.value(q + d) - task.value(q - d)) / (2 * STEP) for d in STEP * np.eye(21)
    ]
    np.testing.assert_allclose(task.jacobian(q), np.transpose(columns), atol=1e-9)


def test_drift(task: BipTask, rng: np.random.Generator) -> None:
    """The drift is the rate of H along the motion, times the rates."""
    q, qdot = rng.uniform(-0.8, 0.8, 21), rng.normal(size=21)
    change = task.jacobian(q + STEP * qdot) - task.jacobian(q - STEP * qdot)
    expected = change @ qdot / (2 * STEP)
    np.testing.assert_allclose(task.drift(q, qdot), expected, atol=1e-8)
    assert np.abs(expected).max() > 0.5


def test_from_pinocchio(bip: hs.Model, task: BipTask, rng: np.random.Generator) -> None:
    """H and h of rows 1..6 against pinocchio's, the base upright and at rest."""
    q, qdot = rng.uniform(-0.8, 0.8, (2, 21))
    q[15:], qdot[15:] = 0.0, 0.0
    q_pin, v = bip.humans.to_pin(q, qdot)
    centre = CentreOfMass(bip).terms(q_pin, v)
    for rows, link in ((slice(0, 3), "r_cardan"), (slice(3, 6), "l_cardan")):
        ankle = FramePosition(bip, link).terms(q_pin, v)
        for computed, com, tag in (
            (task.value(q), centre.value, ankle.value),
            (task.jacobian(q) @ qdot, centre.jacobian @ v, ankle.jacobian @ v),
            (task.drift(q, qdot), centre.drift, ankle.drift),
        ):
            np.testing.assert_allclose(computed[rows], to_humans(com - tag), atol=1e-13)


def test_does_not_see_the_base(task: BipTask, rng: np.random.Generator) -> None:
    """Rows 1..12 are relative: the base neither moves nor accelerates them."""
    q, qdot = rng.uniform(-0.8, 0.8, (2, 21))
    moved, faster = q.copy(), qdot.copy()
    moved[15:], faster[15:] = 0.7, 3.0
    np.testing.assert_array_equal(task.value(q)[:12], task.value(moved)[:12])
    np.testing.assert_array_equal(task.drift(q, qdot), task.drift(moved, faster))
    assert not task.jacobian(q)[:12, 15:].any()
    np.testing.assert_array_equal(task.jacobian(q)[12:], np.eye(21)[12:])


def test_refusals(human: hs.Model, task: BipTask) -> None:
    """Another model, a wrong size, a number that is none."""
    with pytest.raises(hs.errors.ParameterError, match="is Bip's; human36 has no"):
        BipTask(human)
    with pytest.raises(hs.errors.ConfigurationError, match="21 HuMAnS coordinates"):
        task.value(np.zeros(22))
    with pytest.raises(hs.errors.ConfigurationError, match="qdot is not a finite"):
        task.drift(np.zeros(21), np.full(21, np.nan))
