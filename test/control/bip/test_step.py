# SPDX-License-Identifier: Apache-2.0
"""Bip's step and its control law: balance, feet that stay, forces by the phases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import humans_sim as hs
from humans_sim.actuation import ScrewDriveMotors
from humans_sim.control.bip.control import BipControl
from humans_sim.control.bip.task import (
    BipPoses,
    BipTask,
    StepShape,
    UnreachableError,
    one_step,
    standing,
    start_of,
)
from humans_sim.control.trajectories.trajectory import (
    ContactPhase,
    Trajectory,
    read_traj3,
    write_traj3,
)

SHAPE = StepShape()
DOUBLE, TRANSITION, RIGHT = (
    ContactPhase.DOUBLE,
    ContactPhase.TRANSITION,
    ContactPhase.RIGHT_FOOT,
)


@pytest.fixture(scope="module")
def task(bip: hs.Model) -> BipTask:
    """Bip's task function."""
    return BipTask(bip)


@pytest.fixture(scope="module")
def poses(task: BipTask) -> BipPoses:
    """Positions and configurations."""
    return BipPoses(task)


@pytest.fixture(scope="module")
def step(task: BipTask) -> Trajectory:
    """One step."""
    return one_step(task)


def corners(model: hs.Model, q: np.ndarray, side: str) -> np.ndarray:
    """Corners of a foot in the world (4, 3)."""
    sole = next(sole for sole in model.soles if sole.name[0] == side)
    names = list(model.contact_names)
    return model.contact(q)[[names.index(name) for name in sole.contacts]]


def inside(point: np.ndarray, polygon: np.ndarray) -> float:
    """How far inside a convex polygon a point of the plane is [m]."""
    faces = ConvexHull(polygon).equations
    return float(-(faces[:, :2] @ point + faces[:, 2]).max())


def loaded_feet(step: Trajectory, stable: int) -> str:
    """Loaded feet on both sides of a stable position."""
    phases = step.phases[max(stable - 1, 0) : stable + 1]
    return "r" if RIGHT in phases else "rl"


def test_phases_in_order(step: Trajectory) -> None:
    """Stand, shift, unload, swing, load, shift; durations as the shape says."""
    assert step.phases == (DOUBLE, DOUBLE, TRANSITION, RIGHT, TRANSITION, DOUBLE)
    s = SHAPE
    expected = [s.rest, s.shift, s.load, s.swing, s.load, s.shift]
    np.testing.assert_allclose(np.diff(step.times), expected)
    assert step.start == 0.0


def test_stable_positions_are_balanced(
    bip: hs.Model, poses: BipPoses, step: Trajectory
) -> None:
    """The centre of mass is 2 cm or more inside the support; feet lie on the ground."""
    for k, position in enumerate(step.positions[::2]):
        q = poses.configuration(position)
        feet = np.vstack([corners(bip, q, side) for side in loaded_feet(step, k)])
        np.testing.assert_allclose(feet[:, 2], 0.0, atol=1e-6)
        assert inside(bip.com(q)[:2], feet[:, :2]) > 0.02


def test_loaded_feet_stay(bip: hs.Model, poses: BipPoses, step: Trajectory) -> None:
    """Both in double support, 0.1 mm and together; the right one in the swing, 4 mm.

    The base's own rows are interpolated, too, and agree with the others at the given
    positions only.
    """
    times = np.linspace(step.start, step.end, 41)
    here = [poses.configuration(step.at(t).value) for t in times]
    first = {side: corners(bip, here[0], side) for side in "rl"}
    lift_off, touch_down = step.times[3], step.times[4]
    for t, q in zip(times, here, strict=True):
        right, left = (corners(bip, q, side) - first[side] for side in "rl")
        in_the_air = lift_off < t < touch_down
        assert np.abs(right).max() < (4e-3 if in_the_air else 1e-4)
        if in_the_air:
            assert left[:, 2].min() > 0.0
            continue
        distance = [SHAPE.length if t >= touch_down else 0.0, 0.0, 0.0]
        np.testing.assert_allclose(left - right, np.tile(distance, (4, 1)), atol=1e-9)
    middle = poses.configuration(step.at(0.5 * (lift_off + touch_down)).value)
    lifted = corners(bip, middle, "l")
    np.testing.assert_allclose(lifted[:, 2], SHAPE.lift, atol=1e-6)


def test_starts_and_ends_standing(
    bip: hs.Model, task: BipTask, poses: BipPoses, step: Trajectory
) -> None:
    """The start is ``standing``; at the end the CoM is midway between the feet."""
    np.testing.assert_allclose(step.positions[0], standing(task), atol=1e-9)
    np.testing.assert_array_equal(
        start_of(task, step), poses.configuration(step.positions[0])
    )
    q = poses.configuration(step.positions[-1])
    right, left = (corners(bip, q, side) for side in "rl")
    first = poses.configuration(step.positions[0])
    before = np.vstack([corners(bip, first, side) for side in "rl"]).mean(axis=0)
    after = np.vstack([right, left]).mean(axis=0)
    moved = bip.com(q) - bip.com(first)
    np.testing.assert_allclose(moved, [SHAPE.length / 2, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(after - before, moved, atol=1e-6)


def test_shape_counts(bip: hs.Model, task: BipTask, poses: BipPoses) -> None:
    """Crouch, forward and inward are where the centre of mass is."""
    shape = StepShape(crouch=0.06, forward=0.01, inward=0.02)
    q = poses.configuration(standing(task, shape))
    right, left = poses.ankles["r"], poses.ankles["l"]
    expected = [right[0] + 0.01, 0.5 * (right[1] + left[1]), poses.height - 0.06]
    np.testing.assert_allclose(bip.com(q), expected, atol=1e-6)
    over = poses.configuration(one_step(task, shape).positions[4])
    assert bip.com(over)[1] == pytest.approx(right[1] + 0.02, abs=1e-6)


def test_refusals(task: BipTask, step: Trajectory) -> None:
    """No step: times or heights below zero, too long, other coordinates, no ground."""
    for name in ("lift", "crouch", "shift", "load", "swing", "rest"):
        for value in (0.0, -1.0, np.nan):
            with pytest.raises(hs.errors.ParameterError, match=f"{name} of a step"):
                StepShape(**{name: value})
    with pytest.raises(UnreachableError):
        one_step(task, StepShape(length=2.0))
    with pytest.raises(hs.errors.ParameterError, match="3 coordinates, not 21"):
        BipControl(task, Trajectory(np.zeros((3, 3)), [0.0, 1.0], [DOUBLE]))
    for margin in (-0.1, 1.0):
        with pytest.raises(hs.errors.ParameterError, match="margin"):
            BipControl(task, step, margin=margin)


def left_over(
    model: hs.Model, q: np.ndarray, torques: np.ndarray, sides: str
) -> tuple[float, np.ndarray]:
    """What forces of some feet miss of the static equations, and these forces."""
    rows = []
    for sole in model.soles:
        if sole.name[0] in sides:
            for name in sole.contacts:
                k = model.contact_names.index(name)
                rows.append(model.contact_jacobian(q)[k])
    jacobian = np.vstack(rows)
    load = model.nl_effects(q, np.zeros(model.nv)) - np.r_[np.zeros(6), torques]
    forces = np.linalg.lstsq(jacobian.T, load, rcond=1e-9)[0]
    return float(np.abs(jacobian.T @ forces - load).max()), forces.reshape(-1, 3)


def test_at_rest_torques_are_the_static_ones(
    bip: hs.Model, task: BipTask, poses: BipPoses, step: Trajectory
) -> None:
    """Gravity and forces of the feet, which add up to the weight; left like right."""
    law, q = BipControl(task, step), poses.configuration(step.positions[0])
    torques = law.torques(0.0, bip.humans.from_pin(q)[0], np.zeros(21))
    missing, forces = left_over(bip, q, torques, "rl")
    assert missing < 1e-3
    total = forces.sum(axis=0)
    np.testing.assert_allclose(total, [0, 0, bip.mass * 9.81], atol=1e-3)
    # Bip's trunk is a little heavier on one side, so its rolls differ.
    for part in ("hip_pitch", "knee", "ankle_pitch"):
        left, right = (torques[bip.joint_names.index(f"{s}_{part}")] for s in "lr")
        assert left == pytest.approx(right, abs=1e-3)
    assert np.abs(torques).max() > 10.0
    # The voltages are those of these torques at rest.
    expected = ScrewDriveMotors(bip).voltages(q, np.zeros(bip.nv), torques)
    got = law(0.0, hs.ControlState(q, np.zeros(bip.nv)))
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_load_on_the_feet_follows_the_phases(
    bip: hs.Model, task: BipTask, poses: BipPoses, step: Trajectory
) -> None:
    """One foot alone in its phase, both before; no jump from phase to phase."""
    law = BipControl(task, step)

    def missed(t: float, position: np.ndarray) -> tuple[float, np.ndarray]:
        q = poses.configuration(position)
        torques = law.torques(t, bip.humans.from_pin(q)[0], np.zeros(21))
        return left_over(bip, q, torques, "r")[0], torques

    over = step.positions[6]
    lift_off, touch_down = step.times[3], step.times[4]
    alone, single = missed(lift_off + 1e-9, over)
    both, _ = missed(step.times[2] - 1e-9, step.positions[4])
    assert alone < 1e-3 and both > 10.0
    # A bare foot costs so much that it carries next to nothing.
    before, bare = missed(lift_off - 1e-9, over)
    assert before < 5.0
    np.testing.assert_allclose(bare, single, atol=2.0)
    landed = step.positions[8]
    after, loaded = missed(touch_down + 1e-9, landed)
    np.testing.assert_allclose(loaded, missed(touch_down - 1e-9, landed)[1], atol=2.0)
    # Half way the foot carries a share, at the end as much as in the next phase.
    half, _ = missed(0.5 * (touch_down + step.times[5]), step.positions[10])
    assert half > after
    ends = [missed(step.times[5] + dt, step.positions[10])[1] for dt in (-1e-9, 1e-9)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-3)


def test_margin_spares_the_edges(
    bip: hs.Model, task: BipTask, poses: BipPoses, step: Trajectory
) -> None:
    """Far from the target the force goes to the edge of what the margin leaves."""
    t, aside = step.times[3] + 1e-9, step.positions[6].copy()
    aside[[0, 3]] -= 0.1
    q_h = bip.humans.from_pin(poses.configuration(aside))[0]
    ankle = bip.joint_names.index("r_ankle_pitch")
    torques = [
        BipControl(task, step, margin=margin).torques(t, q_h, np.zeros(21))[ankle]
        for margin in (0.0, 0.5, 0.9)
    ]
    assert torques[0] < torques[1] - 3.0 < torques[2] - 30.0


def test_horizon_foresees_the_state(
    bip: hs.Model, task: BipTask, poses: BipPoses, step: Trajectory
) -> None:
    """On the trajectory the voltages are those that are due the horizon later."""
    ahead, t = 0.004, 1.0

    def state(at: float) -> hs.ControlState:
        goal = step.at(at)
        q_h = bip.humans.from_pin(poses.configuration(goal.value))[0]
        rate = np.linalg.solve(task.jacobian(q_h), goal.velocity)
        return hs.ControlState(*bip.humans.to_pin(q_h, rate))

    later = BipControl(task, step)(t + ahead, state(t + ahead))
    foreseen = BipControl(task, step, horizon=ahead)(t, state(t))
    now = BipControl(task, step)(t, state(t))
    assert np.abs(foreseen - later).max() < 0.1 * np.abs(now - later).max()


def test_trajectory_file_gives_the_same_control(
    tmp_path: Path, bip: hs.Model, task: BipTask, poses: BipPoses, step: Trajectory
) -> None:
    """Written, read, and followed: to the last bit."""
    again = read_traj3(write_traj3(tmp_path / "OneStep.traj3", step), task.size)
    q, v = poses.configuration(step.positions[4]), np.zeros(bip.nv)
    v[6:] = 0.01
    for t in (0.5, 2.0, 3.0):
        one, other = (
            BipControl(task, x)(t, hs.ControlState(q, v)) for x in (step, again)
        )
        np.testing.assert_array_equal(one, other)
