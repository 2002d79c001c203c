# SPDX-License-Identifier: Apache-2.0
"""Control from sensors and observer: laws see what is measured, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.applications.control_sections import FEEDBACKS
from humans_sim.applications.scenarios import read_scenario
from humans_sim.cli.options import Feedback
from humans_sim.core.resources import named_file
from humans_sim.observation.base.feedback import MeasuredState, ObserverFeedback

PERIOD, STEP = 0.01, 0.002


def sensors_of(
    model: hs.Model, speed: bool = True, delay: float = 0.0, **errors: Any
) -> list[hs.Sensor]:
    """Encoders and feet, read at the control period."""
    measured = hs.SignalErrors() if speed else None
    angle = hs.SignalErrors(**errors)
    feet = [hs.FootSensor(sole.name, PERIOD) for sole in model.soles]
    return [hs.JointEncoders(PERIOD, delay, angle, measured), *feet]


class Law(hs.Controller):
    """Bends the knees, and notes what it sees."""

    period = PERIOD

    def __init__(self, model: hs.Model) -> None:
        self.model, self.seen = model, dict[float, MeasuredState]()

    def __call__(self, t: float, state: hs.ControlState) -> np.ndarray:
        """Angles of all joints [rad]."""
        assert isinstance(state, MeasuredState)
        self.seen[round(t, 9)] = state
        joints = np.zeros(len(self.model.joint_names))
        for name, share in (("hip_pitch", -1.0), ("knee", 2.0), ("ankle_pitch", -1.0)):
            for side in "lr":
                joints[self.model.joint_names.index(f"{side}_{name}")] = share * t
        return joints


def bent(
    model: hs.Model, sensors: Sequence[hs.Sensor], t_end: float = 0.1
) -> tuple[Law, hs.Run, hs.Simulation]:
    """A KHR-1 that bends its knees by what its sensors say."""
    law = Law(model)
    feedback = ObserverFeedback.of_sensors(law, model, sensors)
    simulation = hs.Simulation(
        model,
        hs.Servo(model, gain=4.0, damping=0.25),
        feedback,
        hs.Ground(friction=0.7),
        "time_stepping",
        sensors=sensors,
    )
    run = simulation.run(
        model.neutral(), t_end=t_end, sampling_period=PERIOD, progress=False
    )
    return law, run, simulation


def test_without_errors_the_measured_state_is_the_true_one(khr1: hs.Model) -> None:
    """Base by the observer, joints by the encoders; the feet carry the weight."""
    law, run, _ = bent(khr1, sensors_of(khr1))
    assert np.abs(run.v[-1]).max() > 0.05
    for k, t in enumerate(run.t):
        state = law.seen[round(float(t), 9)]
        np.testing.assert_allclose(state.q, run.q[k], atol=2e-5)
        np.testing.assert_array_equal(state.q[7:], run.q[k, 7:])
        np.testing.assert_array_equal(state.v[6:], run.v[k, 6:])
    total = sum(force[2] for force in state.sole_forces.values())
    assert total == pytest.approx(9.81 * khr1.mass, rel=0.1)
    assert set(state.estimate.feet) == set(state.sole_forces) == {"l_sole", "r_sole"}
    with pytest.raises(hs.errors.ParameterError, match="no contacts and forces"):
        _ = state.sample
    for k, axis in enumerate("xyz"):
        seen = run.signal(f"observer/position_{axis}")
        np.testing.assert_allclose(seen, run.q[:, k], atol=2e-5)


def test_law_sees_rounded_angles_and_their_differences(khr1: hs.Model) -> None:
    """Multiples of the step; speeds of one call to the next, not the true ones."""
    law, run, _ = bent(khr1, sensors_of(khr1, speed=False, resolution=STEP))
    times = sorted(law.seen)
    angles = np.array([law.seen[t].q[7:] for t in times])
    speeds = np.array([law.seen[t].v[6:] for t in times])
    np.testing.assert_allclose(angles / STEP, np.round(angles / STEP), atol=1e-9)
    assert np.abs(angles - run.q[:, 7:]).max() > STEP / 10
    np.testing.assert_allclose(speeds[1:], np.diff(angles, axis=0) / PERIOD, atol=1e-9)


def test_nothing_is_commanded_before_it_is_measured(khr1: hs.Model) -> None:
    """Readings that are late keep the law waiting; then it sees what is old."""
    law, run, _ = bent(khr1, sensors_of(khr1, delay=0.025))
    assert min(law.seen) == pytest.approx(0.03)
    last = law.seen[max(law.seen)]
    np.testing.assert_array_equal(last.q[7:], run.q[-4, 7:])
    assert np.isnan(run.signal("observer/mismatch")[2])


def test_each_run_starts_anew(khr1: hs.Model) -> None:
    """The observer forgets the run before."""
    _, run, simulation = bent(khr1, sensors_of(khr1))
    q = khr1.neutral()
    q[0] += 0.5
    again = simulation.run(q, t_end=0.1, sampling_period=PERIOD, progress=False)
    moved = again.signal("observer/position_x") - run.signal("observer/position_x")
    np.testing.assert_allclose(moved, 0.5, atol=1e-6)


def test_missing_sensors_are_named(khr1: hs.Model) -> None:
    """Encoders once, a sensor for each sole, and all of them in the simulation."""
    sensors, law = sensors_of(khr1), Law(khr1)
    for given, match in ((sensors[1:], "joint encoders"), (sensors[:2], "r_sole")):
        with pytest.raises(hs.errors.ParameterError, match=match):
            ObserverFeedback.of_sensors(law, khr1, given)
    feedback = ObserverFeedback.of_sensors(law, khr1, sensors)
    simulation = hs.Simulation(khr1, hs.Servo(khr1), feedback, sensors=sensors[:1])
    with pytest.raises(hs.errors.ParameterError, match="no sensor 'l_sole'|'r_sole'"):
        simulation.run(khr1.neutral(), t_end=0.01)


def test_scenarios_choose_what_their_laws_see(tmp_path: Path) -> None:
    """Bip's laws see sensors; true_state gives them the state; others are refused."""
    for name in ("bip-one-step", "bip-stand"):
        measured = read_scenario(name).prepare()[0]
        assert isinstance(measured.controller, ObserverFeedback)
        assert measured.control_period == 0.005
        true = read_scenario(name).with_changes(feedback="true_state").prepare()[0]
        assert not isinstance(true.controller, ObserverFeedback)
    assert tuple(Feedback) == FEEDBACKS
    with pytest.raises(hs.errors.ParameterError, match="guess"):
        read_scenario("bip-stand").with_changes(feedback="guess").prepare()
    text = named_file("scenarios", "bip-stand", "scenario").read_text()
    path = tmp_path / "own.yaml"
    for feedback, match in (
        ("feedback: sixth_sense", "sixth_sense"),
        ("feedback: {observer: {use: none}}", "first, all, oldest"),
        ("feedback: {observer: {nose: 1}}", "nose"),
    ):
        path.write_text(text.replace("feedback: observer", feedback))
        with pytest.raises(hs.errors.ModelFileError, match=match):
            read_scenario(str(path)).prepare()
    path.write_text(
        text.replace("encoders, rate: 200, angle", "imu, rate: 200, gyroscope")
    )
    with pytest.raises(hs.errors.ModelFileError, match="joint encoders"):
        read_scenario(str(path)).prepare()
