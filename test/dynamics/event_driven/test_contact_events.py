# SPDX-License-Identifier: Apache-2.0
"""What happens at events of contacts: who takes part, and what ends a run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics import problems
from humans_sim.dynamics.simulation import Simulation, SimulationError


def lying_rod() -> tuple[np.ndarray, np.ndarray]:
    """A rod flat on the floor whose one tip hits it while the other leaves."""
    tips = np.array([-1.0, 0.1])
    return (
        np.array([0.0, 0.0, math.pi / 2]),
        np.array([0.0, tips.mean(), tips[0] - tips[1]]),
    )


@pytest.mark.parametrize("impact", ["inequality", "humans"])
def test_a_contact_that_leaves_takes_part_in_an_impact(impact: str) -> None:
    """The impact of one tip turns the rod onto the other, which touches as well.

    By itself the impact of one tip would give the other 0.1 - 1 / 2 m/s.
    """
    q, v = lying_rod()
    rod = problems.falling_rod(0.0)
    assert rod.gaps(q) == pytest.approx([0.0, 0.0], abs=1e-12)
    run = Simulation(rod, impact=impact, hand_over=False).run(q, v, t_end=0.1)
    check = run.check()
    # Energy is zero from the start on; there is nothing to relate its error to.
    failed = [f.name for f in check.findings if f.ok is False]
    assert set(failed) <= {"largest growth of energy"}
    np.testing.assert_allclose(run.v[0], 0.0, atol=1e-12)
    np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-9)
    assert (run.contacts > 0).all()
    if impact == "inequality":
        hits = [event for event in run.events if event.kind == "impact"]
        assert [hit.subject for hit in hits] == ["corner_0,corner_1"]


def test_a_contact_that_leaves_faster_is_let_go() -> None:
    """Taking part in an impact does not hold what goes on leaving."""
    q, _ = lying_rod()
    v = np.array([0.0, 0.0, -2.0])  # tips at -1 and 1 m/s: the other keeps 1 / 2
    run = Simulation(problems.falling_rod(0.0)).run(q, v, t_end=0.05)
    assert run.check()
    motion = run.v[0, 1] + np.array([0.5, -0.5]) * run.v[0, 2]
    np.testing.assert_allclose(motion, [0.0, 0.5], atol=1e-12)
    assert run.gaps[1, 1] > 1e-3


def test_a_push_decides_the_contacts_anew(khr1: hs.Model) -> None:
    """Where a push begins or ends, no contact pulls: the robot lifts off at once.

    Locked and lifted by twice its weight: all contacts open at the very start. Then
    pressed down as hard: all carry three times the weight up to the end, and the
    weight from there on.
    """
    weight = khr1.mass * problems.GRAVITY
    for sign, at_start, at_end in ((1.0, 0.0, 0.0), (-1.0, 3.0, 1.0)):
        push = hs.Push(
            time=0.05, impulse=(0, 0, sign * 2 * weight * 0.05), duration=0.05
        )
        sim = hs.Simulation(khr1, locked=["*"], pushes=[push])
        run = sim.run(khr1.neutral(), t_end=0.15, sampling_period=0.05)
        check = run.check()
        assert check["least normal force"].ok and check["least gap"].ok
        normal = run.forces[:, :, 0].sum(axis=1) / weight
        np.testing.assert_allclose(normal[:3], [1.0, at_start, at_end], atol=1e-9)


def test_a_singular_mass_matrix_is_a_typed_error() -> None:
    """It keeps the time, the state and what was computed."""
    ball = problems.bouncing_ball()

    def mass(q: np.ndarray) -> np.ndarray:
        return np.array([[1.0 if q[0] > 0.5 else 0.0]])

    with pytest.raises(SimulationError, match="singular") as info:
        Simulation(replace(ball, mass=mass)).run(np.array([1.0]), t_end=1.0)
    assert 0.2 < info.value.time < math.sqrt(1 / problems.GRAVITY) + 1e-4
    assert len(info.value.run.t) > 20
    assert info.value.q[0] >= 0.5 - 1e-3


def test_a_singular_matrix_at_an_event_is_a_typed_error() -> None:
    """What linear algebra raises at an impact becomes an error of the simulation."""
    ball = problems.bouncing_ball()

    def mass(q: np.ndarray) -> np.ndarray:
        return np.array([[1.0 if abs(q[0]) > 1e-9 else 0.0]])

    with pytest.raises(SimulationError, match="cannot be solved") as info:
        Simulation(replace(ball, mass=mass), hand_over=False).run(
            np.array([1.0]), t_end=1.0
        )
    assert info.value.time == pytest.approx(math.sqrt(2 / problems.GRAVITY))


def test_a_missed_contact_is_named() -> None:
    """A gap that jumps inside is an error with its time, and with the right advice."""
    ball = problems.bouncing_ball()

    def gap(q: np.ndarray) -> np.ndarray:
        return np.where(q > 0.5, q, q - 0.6)

    system = replace(ball, gap=gap)
    with pytest.raises(SimulationError, match="missed.*max_step") as info:
        Simulation(system, hand_over=False).run(np.array([1.0]), t_end=1.0)
    assert info.value.time == pytest.approx(math.sqrt(1 / problems.GRAVITY), abs=1e-6)
    assert len(info.value.run.t) > 20


def test_a_bad_start_stays_an_error_of_the_configuration() -> None:
    """Nothing was simulated yet: the advice is to raise the model."""
    with pytest.raises(hs.errors.ConfigurationError, match="raise the model"):
        Simulation(problems.bouncing_ball()).run(np.array([-1.0]), t_end=1.0)


def test_steps_stay_where_the_model_has_equations() -> None:
    """The stages of a step look ahead, beyond a limit that ends the motion."""
    ball = problems.bouncing_ball(0.0)

    def mass(q: np.ndarray) -> np.ndarray:
        if q[0] < -1e-4:
            raise hs.errors.ConfigurationError("there is nothing below the ground")
        return np.eye(1)

    system = replace(ball, mass=mass)
    run = Simulation(system, hand_over=False).run(np.array([1.0]), t_end=1.0)
    assert run.check()
    hit = next(event for event in run.events if event.kind == "impact")
    assert hit.time == pytest.approx(math.sqrt(2 / problems.GRAVITY), abs=1e-9)
