"""The time-stepping method against the event-driven one and analytic answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.dynamics import problems

G = problems.GRAVITY


def test_converges_at_first_order() -> None:
    """The landing of a block: the error halves with the step."""
    block = problems.rocking_block(0.5, 0.0)
    q = problems.rocking_block_start()
    exact = hs.Simulation(block).run(q, t_end=0.9).q[-1]
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        sim = hs.Simulation(block, method="time_stepping", time_step=step)
        run = sim.run(q, t_end=0.9)
        assert run.check()["least gap"].ok
        errors.append(np.abs(run.q[-1] - exact).max())
    assert errors[0] < 0.02
    assert errors[1] < 0.65 * errors[0]
    assert errors[2] < 0.65 * errors[1]


def test_block_slides_and_sticks() -> None:
    """Friction is right to the order of the step; at rest it is exact."""
    angle, mu = 0.3, 0.2
    sim = hs.Simulation(problems.sliding_block(angle, mu), method="time_stepping")
    run = sim.run(np.zeros(2), t_end=1.0)
    a = G * (math.sin(angle) - mu * math.cos(angle))
    assert run.q[-1, 0] == pytest.approx(0.5 * a, rel=2e-3)
    sim = hs.Simulation(problems.sliding_block(angle, 0.5), method="time_stepping")
    run = sim.run(np.zeros(2), t_end=1.0)
    assert np.abs(run.q).max() < 1e-12


def test_ball_bounces() -> None:
    """Restitution: the first bounce rises to e^2 of the height, nearly."""
    sim = hs.Simulation(
        problems.bouncing_ball(0.8), method="time_stepping", time_step=1e-4
    )
    run = sim.run(np.array([1.0]), t_end=1.0)
    top = run.q[(run.t > 0.5)].max()
    assert top == pytest.approx(0.64, abs=5e-3)


def test_khr1_drop(khr1: hs.Model) -> None:
    """With servos: comes to rest on eight corners, nothing penetrates."""
    q = khr1.neutral()
    q[2] += 0.01
    sim = hs.Simulation(khr1, actuation=Servo(khr1), method="time_stepping")
    run = sim.run(q, t_end=0.5)
    check = run.check()
    assert check["least gap"].ok
    assert check["largest force outside its cone"].ok
    assert run.forces[-1, :8, 0].sum() == pytest.approx(khr1.mass * G, rel=1e-3)
    assert np.abs(run.v[-1]).max() < 1e-2


def test_same_result_in_pieces(khr1: hs.Model) -> None:
    """Advancing by hand gives what the run gives."""
    q = khr1.neutral()
    q[2] += 0.01
    sim = hs.Simulation(khr1, locked=["*"], method="time_stepping")
    run = sim.run(q, t_end=0.1, sampling_period=0.02)
    stepper = sim.start(q)
    for t in run.t[1:]:
        stepper.advance(t)
    assert np.array_equal(stepper.q, run.q[-1])
