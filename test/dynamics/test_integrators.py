# SPDX-License-Identifier: Apache-2.0
"""Integrators: both give the same motion; the actuation is called when it should be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.dynamics import problems
from humans_sim.dynamics.actuation_interface import Actuation
from humans_sim.dynamics.system import FreeBaseChart
from humans_sim.results.records import Event


def cvode_here() -> bool:
    """Whether scikit-sundae can be imported."""
    try:
        import sksundae  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.study
@pytest.mark.parametrize(
    "implicit",
    [
        "radau",
        pytest.param(
            "cvode",
            marks=[
                pytest.mark.sundials,
                pytest.mark.skipif(
                    not cvode_here(),
                    reason="scikit-sundae is not installed (no wheel for arm64 Linux)",
                ),
            ],
        ),
    ],
)
def test_implicit_integrators_agree_with_dop853(khr1: hs.Model, implicit: str) -> None:
    """The same impact times and the same rest, by another method altogether."""
    ball = problems.bouncing_ball(0.7)
    times = {}
    for integrator in ("dop853", implicit):
        sim = hs.Simulation(ball, integrator=integrator)
        run = sim.run(np.array([1.0]), t_end=2.0)
        assert run.check()
        times[integrator] = [e.time for e in run.events if e.kind == "impact"]
    np.testing.assert_allclose(times[implicit], times["dop853"], atol=1e-6)
    q = khr1.neutral()
    q[2] += 0.01
    ends = []
    for integrator in ("dop853", implicit):
        sim = hs.Simulation(
            khr1, actuation=Servo(khr1, numbers=ServoNumbers()), integrator=integrator
        )
        run = sim.run(q, t_end=0.3)
        assert run.check()
        ends.append(run.q[-1])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


@pytest.mark.study
def test_soles_creep(khr1: hs.Model) -> None:
    """The first step of a walk: as by short time steps, and clean, without a hand-over.

    It begins on both feet, a closed chain that its servos pull at: eight corners slip
    by micrometres a second, which is stiff, and feet rock from edge to edge.
    """

    def walk(**options: Any) -> hs.Run:
        controller = hs.Walk(forward=0.06)
        return hs.Simulation(khr1, Servo(khr1), controller, **options).run(t_end=1.2)

    run = walk(method="event_driven")
    assert run.check()
    assert (run.contacts == 2).any() and (run.contacts == 1).any()
    assert not [event for event in run.events if event.kind == "hand_over"]
    steps = walk(time_step=2e-4)
    assert np.abs(run.q[:, :3] - steps.q[:, :3]).max() < 5e-4
    assert np.abs(run.q[:, 3:7] - steps.q[:, 3:7]).max() < 2e-3


@pytest.mark.study
def test_events_that_jam_are_handed_over(khr1: hs.Model) -> None:
    """Where events take too much work, time steps of the same contact problem go on."""
    q = khr1.neutral()
    q[2] += 0.005
    options = {"max_work": 30, "time_step": 1e-4}
    with pytest.raises(hs.errors.SimulationError, match="max_work"):
        hs.Simulation(khr1, hand_over=False, **options).run(q, t_end=0.1)
    run = hs.Simulation(khr1, **options).run(q, t_end=0.1)
    exact = hs.Simulation(khr1).run(q, t_end=0.1)
    steps = [event for event in run.events if event.kind == "hand_over"]
    assert steps and all("max_work" in str(e.detail["text"]) for e in steps)
    assert run.t[-1] == pytest.approx(0.1)
    np.testing.assert_allclose(run.q[-1], exact.q[-1], atol=2e-3)


@pytest.mark.skipif(cvode_here(), reason="scikit-sundae is installed")
def test_missing_cvode_says_what_to_do() -> None:
    """A clear typed error where the wheel does not exist."""
    sim = hs.Simulation(problems.bouncing_ball(), integrator="cvode")
    with pytest.raises(hs.errors.MissingDependencyError, match="dop853"):
        sim.run(np.array([1.0]))


def test_chart_follows_rotations() -> None:
    """Coordinates and rates agree with the exponential map, far from the centre too."""
    import pinocchio as pin

    rng = np.random.default_rng(5)
    for scale in (1e-6, 1e-3, 0.3, 1.5, 2.5):
        centre = np.concatenate([rng.normal(size=3), rng.normal(size=4), [0.1, 0.2]])
        centre[3:7] /= np.linalg.norm(centre[3:7])
        chart = FreeBaseChart(centre)
        x = rng.normal(size=8)
        x[3:6] *= scale / np.linalg.norm(x[3:6])
        v = rng.normal(size=8)
        q = chart.configuration(x)
        assert np.linalg.norm(q[3:7]) == pytest.approx(1.0, abs=1e-15)
        expected = pin.Quaternion(centre[3:7]).matrix() @ pin.exp3(x[3:6])
        np.testing.assert_allclose(
            pin.Quaternion(q[3:7]).matrix(), expected, atol=1e-13
        )
        step = 1e-6
        ahead = chart.configuration(x + step * chart.rates(x, v))
        behind = chart.configuration(x - step * chart.rates(x, v))
        turn = pin.Quaternion(behind[3:7]).matrix().T
        spin = pin.log3(turn @ pin.Quaternion(ahead[3:7]).matrix()) / 2 / step
        np.testing.assert_allclose(spin, v[3:6], atol=1e-7)
        speed = expected.T @ (ahead[:3] - behind[:3]) / 2 / step
        np.testing.assert_allclose(speed, v[:3], atol=1e-7)
        assert chart.worn(x) == (scale > 1.0)


def test_many_turns_stay_exact(khr1: hs.Model) -> None:
    """A tumbling body over several turns: quaternion of unit length, energy kept."""
    q = khr1.neutral()
    q[2] += 1.0
    v = np.zeros(khr1.nv)
    v[3:6] = [9.0, 0.1, 0.1]
    sim = hs.Simulation(
        khr1, locked=["*"], ground=hs.Ground.empty(), gravity=(0.0, 0.0, 0.0)
    )
    run = sim.run(q, v, t_end=3.0, sampling_period=0.05)
    assert run.check()
    assert np.ptp(run.energy[:, 0]) / run.energy[0, 0] < 1e-8
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max() < 1e-12


class _Recorder(Actuation):
    """One state that grows at unit rate, a clock, a threshold."""

    nz = 1

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._tick = 0.25

    def initialise(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.calls.append("initialise")
        return np.array([0.5])

    def dynamics(self, t, q, v, z):
        return np.zeros(1), np.ones(1)

    def detect(self, t, q, v, z):
        return np.array([z[0] - 0.9])

    def next_time(self, t: float) -> float:
        return self._tick

    def handle(self, t, q, v, z, fired):
        if fired.any():
            self.calls.append("threshold")
            return z, [Event(t, "threshold")]
        self.calls.append("tick")
        self._tick = math.inf
        return z + 0.05, [Event(t, "tick")]

    def reset(self, t, q, v, z):
        self.calls.append("reset")
        return z


def test_the_five_functions_of_an_actuation() -> None:
    """State integrated with the mechanics, clock and threshold events exact."""
    actuation = _Recorder()
    sim = hs.Simulation(problems.bouncing_ball(0.5), actuation=actuation)
    run = sim.run(np.array([1.0]), t_end=0.5)
    times = {event.kind: event.time for event in run.events}
    assert times["tick"] == 0.25
    assert times["threshold"] == pytest.approx(0.35, abs=1e-12)
    assert times["impact"] == pytest.approx(math.sqrt(2 / 9.81), abs=1e-12)
    assert actuation.calls == ["initialise", "tick", "threshold", "reset"]
    np.testing.assert_allclose(
        run.z[:, 0], 0.5 + run.t + 0.05 * (run.t >= 0.25), atol=1e-9
    )


def test_a_controller_without_ears_is_refused() -> None:
    """Commands to an actuation that takes none: a typed error."""
    sim = hs.Simulation(
        problems.bouncing_ball(),
        actuation=_Recorder(),
        controller=lambda t, state: np.zeros(1),
    )
    with pytest.raises(hs.errors.ParameterError, match="_Recorder takes no commands"):
        sim.run(np.array([1.0]))


def test_quiet_samples_keep_the_integrator(khr1: hs.Model) -> None:
    """Samples without events cost no more than one evaluation each, for the forces."""
    q = khr1.neutral()
    sim = hs.Simulation(khr1, actuation=Servo(khr1, numbers=ServoNumbers()))
    evaluations = []
    for count in (10, 200):
        stepper = sim.start(q)
        for k in range(1, count + 1):
            stepper.advance(0.5 * k / count, 0.5)
        evaluations.append(stepper.evaluations)
    # the interpolant of a step costs three more, whatever the number of samples
    assert evaluations[1] < 1.35 * evaluations[0]
