# SPDX-License-Identifier: Apache-2.0
"""Contacts that creep: Coulomb's law as a function of velocity, without modes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.contact.problem.law import SLIDE, idle_forces
from humans_sim.dynamics import problems
from humans_sim.dynamics.event_driven.creep_kernels import (
    CreepingContacts,
    creeping_acceleration,
)
from humans_sim.dynamics.event_driven.event_stepper import EventStepper
from humans_sim.dynamics.stepper import SOLES


def test_a_block_on_a_slope_creeps_by_a_known_speed() -> None:
    """Friction holds the load at the speed at which the law gives it."""
    angle, friction, speed = 0.3, 0.5, 1e-4
    block = problems.sliding_block(angle, friction)
    sim = hs.Simulation(
        block, integrator="radau", creep_speed=speed, rtol=1e-7, atol=1e-10
    )
    run = sim.run(np.zeros(2), t_end=0.2)
    assert run.check()
    load = math.tan(angle) / friction
    expected = speed * load / math.sqrt(1 - load**2)
    assert run.v[-1, 0] == pytest.approx(expected, rel=1e-6)
    assert (run.contacts[1:] == 1).all()


@pytest.mark.parametrize("integrator", ["radau", "rosenbrock"])
def test_fast_sliding_is_coulombs(integrator: str) -> None:
    """Far above the creep speed nothing of it is left, and sliding is seen."""
    angle, friction = 0.5, 0.3
    block = problems.sliding_block(angle, friction)
    run = hs.Simulation(block, integrator=integrator, creep_speed=1e-7).run(
        np.zeros(2), np.array([0.1, 0.0]), t_end=0.2
    )
    assert run.check()
    pull = problems.GRAVITY * (math.sin(angle) - friction * math.cos(angle))
    assert run.v[-1, 0] == pytest.approx(0.1 + 0.2 * pull, rel=1e-4)
    assert (run.contacts[:, 0] == 2).all()


def loads_of_a_plate(x: float, y: float) -> np.ndarray:
    """Loads at the corners of a square plate that is pressed on at (x, y) [N]."""
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    mass = np.diag([2.0, 2.0, 2.0, 0.5, 0.6, 1.0])
    rows = np.zeros((4, 3, 6))
    for c, (a, b) in enumerate(corners):
        rows[c, 0] = [0, 0, 1, b, -a, 0]
        rows[c, 1] = [1, 0, 0, 0, 0, -b]
        rows[c, 2] = [0, 1, 0, 0, 0, a]
    mode, tangents = np.full(4, SLIDE), np.full(4, 2)
    creep = CreepingContacts(
        mode,
        tangents,
        np.zeros(4),
        idle_forces(mass, rows, mode, tangents),
        0.0,
        1e-6,
    )
    force = -10.0 * np.array([0.0, 0.0, 1.0, y, -x, 0.0])
    contacts = np.zeros(4), rows, np.zeros((4, 3))
    _, forces, residual, *_ = creeping_acceleration(
        mass, force, np.zeros(6), contacts, tuple(creep)
    )
    assert residual < 1e-10
    loads: np.ndarray = forces[:, 0]
    return loads


def test_loads_of_a_sole_are_even_continuous_and_never_negative() -> None:
    """Affine in the middle; one corner idle near an edge; the plate tips beyond it."""
    np.testing.assert_allclose(loads_of_a_plate(0.0, 0.0), 2.5)
    np.testing.assert_allclose(
        loads_of_a_plate(0.3, 0.2), 2.5 * np.array([1.5, 0.9, 0.5, 1.1])
    )
    # Beyond the diagonal the opposite corner has no load, and three hold the plate.
    np.testing.assert_allclose(
        loads_of_a_plate(0.7, 0.6), [6.5, 1.5, 0.0, 2.0], atol=1e-9
    )
    edge = [loads_of_a_plate(x, 0.4) for x in (0.6 - 1e-9, 0.6 + 1e-9)]
    np.testing.assert_allclose(edge[0], edge[1], atol=1e-7)
    for x in np.linspace(-1.5, 1.5, 7):
        for y in np.linspace(-1.5, 1.5, 7):
            loads = loads_of_a_plate(x, y)
            assert (loads >= 0.0).all()
            if max(abs(x), abs(y)) <= 1.0:
                assert loads.sum() == pytest.approx(10.0)
            else:
                # It turns over the edge: two corners are free.
                assert (loads == 0.0).sum() >= 2


def test_derivatives_are_those_of_the_right_hand_side(khr1: hs.Model) -> None:
    """Of friction and servos, against differences; the rest is far smaller."""
    walk = hs.Walk(forward=0.06)
    sim = hs.Simulation(khr1, hs.Servo(khr1), walk, method="event_driven")
    assert sim.options.integrator == "rosenbrock"
    assert sim.options.creep_speed == SOLES["creep_speed"]
    stepper = sim.start(walk.start())
    assert isinstance(stepper, EventStepper)
    stepper.advance(0.05)
    motion, state, nv = stepper.motion, stepper.state, khr1.nv
    chart = sim.system.chart(state.q)
    y = np.concatenate([np.zeros(nv), state.v])
    matrix, _ = motion.derivatives(chart, state.t, y)
    step = 1e-8
    for j in range(2 * nv):
        ends = []
        for sign in (1.0, -1.0):
            moved = y.copy()
            moved[j] += sign * step
            ends.append(motion.derivative(chart, state.t, moved))
        column = (ends[0] - ends[1]) / (2 * step)
        error = np.abs(column - matrix[:, j]).max()
        # By velocities there is nothing else; by positions, the posture's part.
        share = 1e-2 if j < nv else 1e-5
        assert error < share * np.abs(matrix).max(), j


@pytest.mark.study
def test_servos_move_on_both_feet(khr1: hs.Model) -> None:
    """A closed chain that is pulled at for 5 s: no jam, and soles that hardly move.

    Without a hip yaw joint no motion of the legs but a few keeps both soles where they
    are: all others make them slip, or lift an edge.
    """
    start = hs.Walk(forward=0.0).start(khr1)
    legs = ["hip" in name or "ankle" in name for name in khr1.joint_names]

    def sway(t: float, state: object) -> np.ndarray:
        phases = 3.0 * t + 0.7 * np.arange(len(legs))
        command: np.ndarray = start[7:] + 0.01 * np.where(legs, np.sin(phases), 0.0)
        return command

    ends = []
    for options in (
        {"method": "event_driven", "integrator": "rosenbrock"},
        {"method": "time_stepping"},
    ):
        sim = hs.Simulation(khr1, hs.Servo(khr1), sway, control_period=0.1, **options)
        run = sim.run(start, t_end=5.0, sampling_period=0.1)
        assert run.check()
        kinds = [event.kind for event in run.events]
        assert "hand_over" not in kinds and "failure" not in kinds
        ends.append(run.q[-1])
    assert np.linalg.norm(ends[0][:2] - ends[1][:2]) < 1e-3
    np.testing.assert_allclose(ends[0][3:7], ends[1][3:7], atol=4e-3)
