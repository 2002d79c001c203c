# SPDX-License-Identifier: Apache-2.0
"""Time steps that continue where events jam, and what is said about them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from press import PLATE, press

import humans_sim as hs
from humans_sim.dynamics import problems
from humans_sim.dynamics.simulation import Simulation, SimulationError


def test_a_hand_over_is_counted() -> None:
    """Its events give its duration; the check reports the share, and refuses much."""
    ball = problems.bouncing_ball(0.5)
    options = {"max_work": 300}
    run = Simulation(ball, **options).run(np.array([0.01]), t_end=0.5)
    times = [event for event in run.events if event.kind == "hand_over"]
    assert times and all("max_work" in str(event.detail["text"]) for event in times)
    finding = run.check()["share of time steps in an event-driven run"]
    share = sum(float(event.detail["duration [s]"]) for event in times) / 0.5
    assert finding.value == pytest.approx(share)
    assert finding.ok == (share <= 0.5)
    # At rest from event to event, like the ball that was never handed over.
    assert abs(run.v[-1, 0]) < 1e-9 and run.q[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert run.forces[-1, 0, 0] == pytest.approx(problems.GRAVITY, rel=1e-9)
    plain = Simulation(ball).run(np.array([0.01]), t_end=0.5)
    names = [finding.name for finding in plain.check().findings]
    assert "share of time steps in an event-driven run" not in names


def test_the_samples_of_a_long_hand_over_are_its_own() -> None:
    """Where no work is allowed, time steps go on from sample to sample."""
    block = problems.sliding_block(0.5, 0.1)
    run = Simulation(block, max_work=1).run(np.zeros(block.nq), t_end=0.05)
    check = run.check()
    failed = [finding.name for finding in check.findings if finding.ok is False]
    assert failed == ["share of time steps in an event-driven run"]
    assert run.t[-1] == pytest.approx(0.05)


def test_time_steps_end_too() -> None:
    """Motion without numbers is no motion: the error has the first reason and both."""

    def force(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array([-problems.GRAVITY if q[0] > 0.5 else np.nan])

    ball = replace(problems.bouncing_ball(), force=force)
    with pytest.raises(SimulationError, match="nor do time steps") as info:
        Simulation(ball).run(np.array([1.0]), t_end=1.0)
    assert np.isfinite(info.value.q).all() and np.isfinite(info.value.v).all()


def test_gaps_of_a_sample_are_those_where_it_is(tmp_path: Path) -> None:
    """What was over a box is beside it, and lower: it is not in the box."""
    model = press(tmp_path)
    box = hs.Box((1.0, 1.0, 0.1), (0.0, 0.0, 0.05), name="box")
    ground = hs.Ground(friction=0.5).with_solids(box)
    q = model.neutral()
    q[:3] = 0.5 + 0.3 - 5e-3, 0.0, 0.1 + PLATE / 2 + 5e-4
    stepper = hs.Simulation(model, ground=ground).start(q, np.zeros(model.nv))
    own = [name.startswith("base_link/box") for name in stepper.system.contacts.names]
    assert stepper.sample().gaps[own].min() == pytest.approx(5e-4, abs=1e-9)
    stepper.state.q = q + np.array([6e-3, 0.0, -1e-3] + [0.0] * (model.nq - 3))
    assert stepper.sample().gaps[own].min() > 0.0
