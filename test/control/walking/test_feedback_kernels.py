# SPDX-License-Identifier: Apache-2.0
"""Kernels of the feedback give what their formulas give in plain numpy."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

from humans_sim.control.walking.feedback_kernels import (
    BalanceNumbers,
    about_vertical,
    are_finite,
    balance_correction,
    body_over_soles,
    filtered,
    level_turn,
    placed_sole,
    product,
    rotation_of,
    tilt_against,
    zmp_of_wrenches,
)


@pytest.fixture(params=range(5))
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Numbers by chance."""
    return np.random.default_rng(request.param)


def pose(rng: np.random.Generator) -> pin.SE3:
    """A pose by chance."""
    return pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))


def poses(rng: np.random.Generator) -> np.ndarray:
    """Two of them (2, 4, 4)."""
    return np.array([pose(rng).homogeneous for _ in range(2)])


def wrenches(rng: np.random.Generator, loads: tuple[float, float]) -> np.ndarray:
    """Wrenches with loads [N] whose pressure is within some centimetres (4, 3)."""
    made = rng.normal(size=(4, 3)) * 0.3
    made[::2, 2] = loads
    return made


def test_rotations(rng: np.random.Generator) -> None:
    """Those of pinocchio: about an axis, of a vector, of a quaternion, a product."""
    a, b = pose(rng).rotation, pose(rng).rotation
    angle, (x, y) = rng.uniform(-3.0, 3.0), rng.normal(size=2)
    np.testing.assert_allclose(
        about_vertical(angle), pin.utils.rotate("z", angle), atol=1e-15
    )
    np.testing.assert_allclose(rotation_of(pin.Quaternion(a).coeffs()), a, atol=1e-14)
    np.testing.assert_allclose(product(a, b), a @ b, atol=1e-15)
    for scale in (1.0, 1e-3, 1e-9, 0.0):
        vector = scale * np.array([x, y, 0.0])
        np.testing.assert_allclose(
            level_turn(*vector[:2]), pin.exp3(vector), atol=1e-15
        )


@pytest.mark.parametrize("loads", [(8.0, 4.0), (8.0, 0.1), (0.1, 4.0), (0.1, 0.1)])
def test_body_over_soles(rng: np.random.Generator, loads: tuple[float, float]) -> None:
    """Each sole that is loaded sees the body above its centre of pressure."""
    body, motions = rng.normal(size=(2, 3)), rng.normal(size=(2, 6))
    soles, planned, yaws = poses(rng), poses(rng), tuple(rng.normal(size=2).tolist())
    felt, half = wrenches(rng, loads), np.array([0.05, 0.02])
    edges, least = np.array([[-half, half]] * 2), 0.5
    seen, turn = body_over_soles(
        body, (soles, least, edges), motions, felt, (planned, yaws)
    )
    rows, turns, counted = [], [], [load for load in loads if load >= least]
    for s in range(2):
        load, moment = felt[2 * s, 2], felt[2 * s + 1]
        if load < least:
            continue
        pressed = np.clip([-moment[1] / load, moment[0] / load], -half, half)
        local = np.append(pressed, 0.0)
        arm = soles[s, :3, :3] @ local
        moving = motions[s, :3] + np.cross(motions[s, 3:], arm)
        turned = yaws[s] - math.atan2(soles[s, 1, 0], soles[s, 0, 0])
        level = pin.utils.rotate("z", turned)
        place = planned[s, :3, :3] @ local + planned[s, :3, 3]
        base = place - level @ (soles[s, :3, 3] + arm)
        com, velocity = base + level @ body[0], level @ (body[1] - moving)
        rows.append([com, velocity, place, base, -level @ moving])
        turns.append(turned)
    if not counted:
        assert not seen.any() and turn == 0.0
        return
    np.testing.assert_allclose(
        seen, np.average(rows, axis=0, weights=counted), atol=1e-13
    )
    assert turn == pytest.approx(float(np.average(turns, weights=counted)))


def test_filtered(rng: np.random.Generator) -> None:
    """The state before moves on; shares of what is measured besides are added."""
    before, seen, acceleration = rng.normal(size=(3, 2, 3))
    after = filtered(before[:, :2], seen, acceleration[0], 0.02, (0.8, 0.15))
    place = before[0, :2] + 0.02 * before[1, :2]
    speed = before[1, :2] + 0.02 * acceleration[0, :2]
    expected = [0.2 * place + 0.8 * seen[0, :2], 0.85 * speed + 0.15 * seen[1, :2]]
    np.testing.assert_allclose(after, expected, atol=1e-14)


def test_tilt(rng: np.random.Generator) -> None:
    """The least turn that brings one vertical onto the other, in the plan's world."""
    planned = pose(rng).rotation
    about = np.append(rng.uniform(-2.0, 2.0, size=2), 0.0)
    seen = pin.utils.rotate("z", 2.0) @ pin.exp3(about) @ planned
    np.testing.assert_allclose(
        tilt_against(np.ascontiguousarray(seen), np.ascontiguousarray(planned)),
        about,
        atol=1e-12,
    )


@pytest.mark.parametrize("loads", [(8.0, 4.0), (8.0, 0.1), (0.1, 0.1)])
def test_zmp(rng: np.random.Generator, loads: tuple[float, float]) -> None:
    """The centre of the pressures, by their loads, at the height of the plan."""
    felt, soles = wrenches(rng, loads), poses(rng)
    zmp, points, counted = zmp_of_wrenches(felt, soles, 0.3, 0.5), [], []
    for s in range(2):
        load = felt[2 * s, 2]
        if load >= 0.5:
            local = np.array([-felt[2 * s + 1, 1], felt[2 * s + 1, 0], 0.0]) / load
            points.append(soles[s, :3, :3] @ local + soles[s, :3, 3])
            counted.append(load)
    if not counted:
        assert np.isnan(zmp).all()
        return
    place = np.average(points, axis=0, weights=counted)
    np.testing.assert_allclose(zmp, [*place[:2], 0.3], atol=1e-13)


@pytest.mark.parametrize("size", [0.01, 10.0])
def test_balance(rng: np.random.Generator, size: float) -> None:
    """Lean, giving way and ankles by the three feedbacks' equations, within limits."""
    numbers = BalanceNumbers(0.1, 0.2, 0.25, 0.02, 0.7, 0.4, 0.02, 1.3, 0.05, 0.3)
    state = np.array([rng.uniform(-0.2, 0.2, 2), rng.uniform(-0.02, 0.02, 2)])
    tilt, tilting, pressure = size * rng.normal(size=(3, 2))
    pressure[0] = math.nan
    lean = np.clip(state[0] + 0.1 * (tilt - state[0]), -0.2, 0.2)
    pull = np.array([0.0, pressure[1]])
    giving = np.clip(state[1] + 0.02 * (0.7 * pull - state[1] / 0.4), -0.02, 0.02)
    ankles = np.clip(1.3 * (tilt - lean) + 0.05 * tilting, -0.3, 0.3)
    shift, attitude, soles = balance_correction(
        tuple(numbers), state, tilt, tilting, pressure
    )
    np.testing.assert_allclose(state, [lean, giving], atol=1e-15)
    upright = 0.25 * np.array([-lean[1], lean[0]])
    np.testing.assert_allclose(shift, [*(upright + giving), 0.0], atol=1e-15)
    np.testing.assert_allclose(attitude, pin.exp3(np.append(-lean, 0.0)), atol=1e-14)
    np.testing.assert_allclose(soles, pin.exp3(np.append(ankles, 0.0)), atol=1e-14)


def test_placed_sole(rng: np.random.Generator) -> None:
    """Moved and turned in its own frame, then turned in the world where it is."""
    sole, turn = pose(rng), pose(rng).rotation
    apart = 0.1 * rng.normal(size=4)
    moved = sole * pin.SE3(
        pin.exp3(np.append(apart[2:], 0.0)), np.append(apart[:2], 0.0)
    )
    moved.rotation = turn @ moved.rotation
    placed = placed_sole(sole.homogeneous, turn, apart)
    np.testing.assert_allclose(placed, moved.homogeneous, atol=1e-14)


def test_finite(rng: np.random.Generator) -> None:
    """Any number that is none is seen; joints may be unknown."""
    parts = [rng.normal(size=size) for size in ((3, 3), 3, (4, 3), 5, 5)]
    assert are_finite(*parts) and are_finite(*parts[:3], None, None)
    for k, part in enumerate(parts):
        bad = part.copy()
        bad.flat[rng.integers(part.size)] = math.inf if k % 2 else math.nan
        assert not are_finite(*parts[:k], bad, *parts[k + 1 :])
