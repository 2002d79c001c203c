# SPDX-License-Identifier: Apache-2.0
"""Time steps of what is at rest are spared, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import humans_sim as hs

EDGE, HEIGHT = 0.1, 0.4
"""A tall block [m]."""


def block(tilt: float = 0.0) -> tuple[hs.Simulation, np.ndarray]:
    """A block on a floor, tilted about its lower edge y from the balance on it."""
    body = hs.SceneBody.box("block", 1.0, (EDGE, EDGE, HEIGHT))
    scene = hs.SceneSystem([body], hs.Ground(friction=0.6))
    angle, place = 0.0, np.array([0.0, 0.0, 0.5 * HEIGHT])
    if tilt:
        angle = np.arctan2(EDGE, HEIGHT) + tilt
        to_edge = np.array([0.5 * EDGE, 0.0, -0.5 * HEIGHT])
        c, s = np.cos(angle), np.sin(angle)
        place = -np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]) @ to_edge
    half = 0.5 * angle
    q = np.concatenate([place, [0.0, np.sin(half), 0.0, np.cos(half)]])
    return hs.Simulation(scene, method="time_stepping"), q


def advanced(stepper: Any, times: np.ndarray) -> np.ndarray:
    """Configurations at some times."""
    out = []
    for time in times:
        stepper.advance(time)
        out.append(stepper.q)
    return np.array(out)


def test_a_block_at_rest_costs_nothing_and_stays() -> None:
    """Nine of ten steps are spared; step by step none is, and the two agree."""
    simulation, q = block()
    tens, single = simulation.start(q), simulation.start(q)
    times = 0.01 * np.arange(1, 101)
    sparing = advanced(tens, times)
    computed = advanced(single, 0.001 * np.arange(1, 1001))[9::10]
    assert tens.steps.count == single.steps.count == 1000
    assert tens.steps.spared_steps > 750 and single.steps.spared_steps == 0
    np.testing.assert_allclose(sparing, computed, rtol=0.0, atol=1e-10)
    assert tens.t == single.t
    np.testing.assert_allclose(tens.steps.forces.sum(axis=0)[0], 9.81, rtol=1e-9)


def test_a_push_is_felt() -> None:
    """What lay at rest moves as what was never at rest does."""
    simulation, q = block()
    rested, fresh = simulation.start(q), simulation.start(q)
    rested.advance(1.0)
    assert rested.steps.spared_steps > 750
    advanced(fresh, 0.001 * np.arange(1, 1001))
    for stepper in (rested, fresh):
        stepper.push("block", np.zeros(3), np.array([0.3, 0.0, 0.0]))
        stepper.advance(1.05)
    assert rested.q[0] > 0.004
    np.testing.assert_allclose(rested.q, fresh.q, rtol=0.0, atol=1e-7)


def test_commands_are_felt_at_once() -> None:
    """A standing robot at rest follows its servos."""
    robot = hs.load_model("khr1")
    contacts = hs.Contacts(whole_body=False, self_collision=False)
    simulation = hs.Simulation(
        robot, hs.Servo(robot), method="time_stepping", contacts=contacts
    )
    stepper = simulation.start(robot.neutral())
    stepper.advance(4.0)
    spared, still = stepper.steps.spared_steps, stepper.q
    assert spared > 500
    bent = np.zeros(len(robot.joint_names))
    bent[list(robot.joint_names).index("r_shoulder_pitch")] = 0.3
    stepper.command(bent)
    stepper.advance(4.3)
    assert stepper.steps.spared_steps == spared
    assert np.abs(stepper.q - still)[7:].max() > 0.05


@pytest.mark.parametrize("lean", [1e-3, 1e-9, -1e-9])
def test_what_leaves_an_unstable_balance_is_not_held(lean: float) -> None:
    """A block on its edge falls to the side that it leans to, however little."""
    simulation, q = block(lean)
    stepper = simulation.start(q)
    stepper.advance(3.0)
    assert np.sign(lean) * stepper.q[0] > 1e-3
