# SPDX-License-Identifier: Apache-2.0
"""The time-stepping method against the event-driven one and analytic answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.control.walking import WalkPattern
from humans_sim.dynamics import problems
from humans_sim.dynamics.stepper import project_out_of_penetration

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
    sim = hs.Simulation(
        khr1, actuation=Servo(khr1, numbers=ServoNumbers()), method="time_stepping"
    )
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


def rolled(model: hs.Model, height: float, angle: float = 1.2) -> np.ndarray:
    """Posture of a robot turned about a slanted axis, its lowest corner over ground."""
    q = model.neutral()
    q[3:6] = math.sin(angle / 2) * np.array([0.8, 0.6, 0.0])
    q[6] = math.cos(angle / 2)
    lowest = hs.Simulation(model).system.gaps(q)[:8].min()
    q[2] += height - lowest
    return q


@pytest.mark.parametrize("angle", [0.0, 1.2, 2.5])
def test_lifts_out_whatever_the_attitude(khr1: hs.Model, angle: float) -> None:
    """The base's velocity is in its own frame: corrections turn with it."""
    system = hs.Simulation(
        khr1, locked=["*"], contacts=hs.Contacts(whole_body=False)
    ).system
    q = rolled(khr1, -1e-3, angle)
    wrong = np.flatnonzero(system.gaps(q) < 0)
    gap = system.gaps(project_out_of_penetration(system, q, wrong, deep=True))
    assert np.abs(gap[wrong]).max() < 1e-12


@pytest.mark.parametrize("locked", [["*"], []])
def test_falls_without_gaining_energy(khr1: hs.Model, locked: list[str]) -> None:
    """Rigid or limp, a robot falls: gaps, forces and cones hold, energy is lost."""
    sim = hs.Simulation(khr1, locked=locked, method="time_stepping")
    run = sim.run(rolled(khr1, 0.02), t_end=0.4)
    failed = [finding for finding in run.check().findings if finding.ok is False]
    assert [finding for finding in failed if finding.name != "stays up"] == []
    assert run.forces[:, :8, 0].max() > 1.0


def test_khr1_walks(khr1: hs.Model) -> None:
    """The first steps of a walk, both feet on the ground between them, hold."""
    pattern, period, asked = WalkPattern(khr1), 0.02, []
    posture = pattern.tick(0.0).joints

    def walk(t: float, state: hs.ControlState) -> np.ndarray:
        if t >= 0.1 and not asked:
            asked.append(pattern.command(0.05, 0.0, 0.0))
        return pattern.tick(t + period).joints

    sim = hs.Simulation(
        khr1,
        Servo(khr1, numbers=ServoNumbers(), gain=22.0, damping=0.5),
        walk,
        ground=hs.Ground(friction=0.7),
        method="time_stepping",
        control_period=period,
    )
    run = sim.run(khr1.standing(posture), t_end=1.5, sampling_period=period)
    assert run.check()
    lifted = (run.gaps[:, :8].reshape(-1, 2, 4).min(axis=2) > 5e-3).any(axis=0)
    assert lifted.all()


def test_events_at_one_time_are_no_steps(khr1: hs.Model) -> None:
    """Times that differ by rounding alone: nothing is divided by their difference."""

    class Twice(Servo):
        def next_time(self, t: float) -> float:
            return min(0.1 if t < 0.1 else math.inf, 0.1 + 1e-15 if t <= 0.1 else 1.0)

    sim = hs.Simulation(khr1, actuation=Twice(khr1), method="time_stepping")
    stepper = sim.start(khr1.standing(np.zeros(len(khr1.joint_names))))
    stepper.advance(0.1 + 1e-14)
    assert stepper.t == 0.1 + 1e-14
    assert stepper.evaluations == 100


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_torques_are_those_of_the_sample(method: str) -> None:
    """A spring with a command: its force belongs to the sample's own state."""

    class Spring(hs.Actuation):
        centre = 0.0

        def command(self, t: float, command: float) -> None:
            self.centre = command

        def dynamics(
            self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            return 40.0 * (self.centre - q), z

    def controller(t: float, state: hs.ControlState) -> float:
        return 1.0 + t

    sim = hs.Simulation(
        problems.bouncing_ball(0.8), Spring(), controller, method=method
    )
    run = sim.run(np.array([1.0]), t_end=0.2)
    expected = 40.0 * (1.0 + run.t[:, None] - run.q)
    np.testing.assert_allclose(run.torques, expected, rtol=1e-12)
