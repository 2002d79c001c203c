# SPDX-License-Identifier: Apache-2.0
"""Time steps in one compiled call between two commands."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.dynamics.time_stepping.step import ImpulseSteps
from humans_sim.dynamics.time_stepping.time_stepper import TimeStepper

STEP = 2.0**-10
"""Length of a step [s]; times are multiples of it without rounding."""


def landing(model: hs.Model, actuation: hs.Servo | hs.IdealTorque) -> TimeStepper:
    """A stepper of a robot just above the floor."""
    sim = hs.Simulation(model, actuation, method="time_stepping", time_step=STEP)
    q = model.neutral()
    q[2] += 5e-4
    q[3:7] = 0.002, 0.001, 0.0, 1.0  # it lands on corners, one after the other
    q[3:7] /= np.linalg.norm(q[3:7])
    stepper = sim.start(q)
    assert isinstance(stepper, TimeStepper)
    return stepper


@pytest.mark.parametrize("kind", [hs.Servo, hs.IdealTorque])
def test_a_series_is_its_steps_one_by_one(
    kind: type[hs.Servo] | type[hs.IdealTorque],
    khr1: hs.Model,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same motion, forces and events; a series of steps is really made."""
    ends = []
    for several in (True, False):
        alone = []
        one = ImpulseSteps.take
        with monkeypatch.context() as patch:
            if not several:
                patch.setattr(ImpulseSteps, "take_until", lambda *_: False)

            def counted(steps: ImpulseSteps, h: float) -> np.ndarray:
                alone.append(h)  # noqa: B023
                return one(steps, h)  # noqa: B023

            patch.setattr(ImpulseSteps, "take", counted)
            stepper = landing(khr1, kind(khr1))
            if kind is hs.Servo:
                bent = 0.05 * np.sin(np.arange(len(khr1.joint_names)))
                stepper.command(np.clip(bent, khr1.lower_limits, khr1.upper_limits))
            stepper.advance(40.3 * STEP)
        share = len(alone) / stepper.evaluations
        assert share < 0.8 if several else share == 1.0
        ends.append(stepper)
    one, other = ends
    assert one.evaluations == other.evaluations >= 40
    assert one.t == other.t
    np.testing.assert_allclose(one.q, other.q, atol=1e-9)
    np.testing.assert_allclose(one.v, other.v, atol=1e-6)
    events = [[(e.time, e.kind, e.subject) for e in end.events] for end in ends]
    assert len(events[0]) > 4
    assert events[0] == events[1]
    np.testing.assert_array_equal(one.mode, other.mode)
    assert one.steps.energy_taken == pytest.approx(other.steps.energy_taken, abs=1e-9)
    kinetic, potential = one.steps.energies()
    assert one.system.energies(one.q, one.v) == pytest.approx((kinetic, potential))


def test_a_series_does_not_depend_on_where_it_is_cut(khr1: hs.Model) -> None:
    """Who asks for the state in between gets the same run, bit for bit."""
    whole, cut = landing(khr1, hs.Servo(khr1)), landing(khr1, hs.Servo(khr1))
    whole.advance(30 * STEP)
    for k in range(1, 11):
        cut.advance(3 * k * STEP)
    np.testing.assert_array_equal(whole.q, cut.q)
    np.testing.assert_array_equal(whole.v, cut.v)
    assert whole.events == cut.events


def test_a_push_is_made_step_by_step(khr1: hs.Model) -> None:
    """What is no table of drives acts in a series' place: a robot in the air moves."""
    stepper = landing(khr1, hs.Servo(khr1))
    before = stepper.q[0]
    stepper.push("", np.zeros(3), np.array([0.2, 0.0, 0.0]), duration=0.005)
    stepper.advance(0.02)
    assert stepper.q[0] - before > 1e-3


def test_steps_are_halved_in_a_series_as_one_by_one(
    khr1: hs.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limp joints that whirl: parts, energies and motion are those of single steps."""
    v = 12.0 * np.random.default_rng(5).normal(size=khr1.nv)
    ends = []
    for several in (True, False):
        sim = hs.Simulation(
            khr1, ground=hs.Ground.empty(), method="time_stepping", time_step=8 * STEP
        )
        with monkeypatch.context() as patch:
            if not several:
                patch.setattr(ImpulseSteps, "take_until", lambda *_: False)
            stepper = sim.start(khr1.neutral(), v)
            stepper.advance(160 * STEP)
        assert isinstance(stepper, TimeStepper)
        ends.append(stepper)
    one, other = ends
    assert one.steps.halved_steps == other.steps.halved_steps > 2
    np.testing.assert_allclose(one.q, other.q, atol=1e-9)
    np.testing.assert_allclose(one.v, other.v, atol=1e-6)
    np.testing.assert_array_equal(one.mode, other.mode)
    assert one.steps.energy_taken == pytest.approx(other.steps.energy_taken, abs=1e-9)
    worst = one.steps.worst_energy_error
    assert worst == pytest.approx(other.steps.worst_energy_error, rel=1e-6)


def test_a_signal_in_a_series_is_raised_as_it_is() -> None:
    """What a handler raises while steps are made ends them, by its own type."""

    class RungError(Exception):
        pass

    def ring(number: int, frame: object) -> None:
        raise RungError

    model = hs.load_model("khr1")
    contacts = hs.Contacts(whole_body=False, self_collision=False)
    simulation = hs.Simulation(
        model, hs.Servo(model), method="time_stepping", contacts=contacts
    )
    stepper = simulation.start(model.neutral())
    stepper.advance(0.01)  # compiles
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        with pytest.raises(RungError):
            stepper.advance(1e3)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
