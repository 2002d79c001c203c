# SPDX-License-Identifier: Apache-2.0
"""When readings are known, to whom, and what a run keeps of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pendulum import pendulum

import humans_sim as hs
from humans_sim.actuation import IdealTorque
from humans_sim.core.errors import ModelFileError
from humans_sim.dynamics import problems
from humans_sim.dynamics.scene_bodies import SceneBody
from humans_sim.dynamics.scenes.scene_system import SceneSystem
from humans_sim.dynamics.sensors import read_sensors

METHODS = ("event_driven", "time_stepping")


@pytest.mark.parametrize("method", METHODS)
def test_rate_and_delay(tmp_path: Path, method: str) -> None:
    """A reading of t is known at t + delay, at its own rate, whoever asks."""
    model = pendulum(tmp_path)
    seen: list[tuple[float, float | None]] = []

    def control(t: float, state: hs.ControlState) -> np.ndarray:
        reading = state.sensors["joints"]
        seen.append((t, None if reading is None else reading.t))
        return np.zeros(1)

    sim = hs.Simulation(
        model,
        IdealTorque(model),
        control,
        locked=["base"],
        ground=hs.Ground.empty(),
        method=method,
        control_period=0.01,
        sensors=[hs.JointEncoders(period=0.02, delay=0.015)],
    )
    sim.run(t_end=0.1)
    for t, measured in seen[2:]:
        newest = 0.02 * np.floor((t - 0.015) / 0.02 + 1e-9)
        assert measured == pytest.approx(newest, abs=1e-12)
    assert seen[0][1] is None and seen[1][1] is None


@pytest.mark.parametrize("dynamics", ["", '<dynamics friction="0.05"/>'])
def test_encoders_round(tmp_path: Path, dynamics: str) -> None:
    """Angles are multiples of the step, half a step off at most; speeds differences."""
    model = pendulum(tmp_path, dynamics)
    step = 0.01
    sim = hs.Simulation(
        model,
        locked=["base"],
        ground=hs.Ground.empty(),
        sensors=[hs.JointEncoders(angle=hs.SignalErrors(resolution=step))],
    )
    q = model.neutral()
    q[7] = 0.5
    run = sim.run(q, t_end=0.4)
    angle, speed = run.signal("joints/hinge/angle"), run.signal("joints/hinge/speed")
    np.testing.assert_allclose(angle / step, np.round(angle / step), atol=1e-9)
    assert np.abs(angle - run.q[:, 7]).max() <= step / 2 + 1e-12
    np.testing.assert_allclose(speed[1:], np.diff(angle) / 0.01, atol=1e-9)
    assert len(np.unique(angle)) > 10


def test_tachometers_measure_speeds(tmp_path: Path) -> None:
    """With errors of their own, by a file too; the angles are rounded all the same."""
    model, path = pendulum(tmp_path, ""), tmp_path / "sensors.yaml"
    path.write_text(
        "joints: {kind: encoders, rate: 100, angle: {resolution: 0.01},"
        " speed: {resolution: 0.001}}\n"
    )
    q = model.neutral()
    q[7] = 0.5
    run = hs.Simulation(
        model, locked=["base"], ground=hs.Ground.empty(), sensors=read_sensors(path)
    ).run(q, t_end=0.2)
    speed = run.signal("joints/hinge/speed")
    np.testing.assert_allclose(speed / 1e-3, np.round(speed / 1e-3), atol=1e-9)
    assert np.abs(speed - run.v[:, 6]).max() <= 5e-4 + 1e-12
    assert np.abs(speed).max() > 0.5


def test_sensors_change_nothing(khr1: hs.Model) -> None:
    """A robot that is measured moves as one that is not."""
    q = khr1.neutral()
    q[2] += 0.005
    ways = []
    for sensors in ((), (hs.Imu(), hs.FootSensor("l_sole"))):
        sim = hs.Simulation(khr1, locked=["*"], sensors=sensors)
        ways.append(sim.run(q, t_end=0.1).q)
    np.testing.assert_allclose(ways[0], ways[1], atol=1e-8)


def test_kept_in_the_run_file(khr1: hs.Model, tmp_path: Path) -> None:
    """Signals, names and units are there again; a run without sensors has none."""
    sim = hs.Simulation(khr1, locked=["*"], sensors=[hs.Imu(delay=0.015)])
    run = sim.run(khr1.neutral(), t_end=0.05, save=tmp_path / "run.npz")
    again = hs.load_run(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.signals, run.signals)
    assert np.isnan(run.signal("imu/angular_rate_x")[0])
    assert again.info["signal_units"][0] == "m/s^2"
    assert again[2:4].signals.shape == (2, 9)
    with pytest.raises(hs.errors.ParameterError, match="imu/specific_force_x"):
        again.signal("nose")
    bare = hs.Simulation(khr1, locked=["*"]).run(khr1.neutral(), t_end=0.02)
    bare.save(tmp_path / "bare.npz")
    assert hs.load_run(tmp_path / "bare.npz").signals.shape == (3, 0)


def test_same_seed_same_noise(khr1: hs.Model) -> None:
    """Runs of one seed agree, of another they do not."""

    def noise(seed: int) -> np.ndarray:
        imu = hs.Imu(accelerometer=hs.SignalErrors(noise=0.01), seed=seed)
        sim = hs.Simulation(khr1, locked=["*"], ground=hs.Ground.empty(), sensors=[imu])
        first = sim.run(t_end=0.05).signals
        np.testing.assert_array_equal(first, sim.run(t_end=0.05).signals)
        return first

    assert not np.array_equal(noise(1), noise(2))


def test_of_a_file(khr1: hs.Model, tmp_path: Path) -> None:
    """A file describes sensors; what is wrong in it is named with its line."""
    path = tmp_path / "sensors.yaml"
    path.write_text(
        "imu: {kind: imu, frame: base_link, rate: 200, delay: 0.005, seed: 3,\n"
        "      accelerometer: {noise: 0.002, bias: 0.05}, gyroscope: {range: 35}}\n"
        "l_foot: {kind: foot, sole: l_sole, rate: 100, force: {resolution: 0.1}}\n"
        "joints: {kind: encoders, rate: 100, angle: {resolution: 0.0015}}\n"
    )
    imu, foot, joints = read_sensors(path)
    assert (imu.name, imu.period, imu.delay, imu.seed) == ("imu", 0.005, 0.005, 3)
    assert imu.accelerometer == hs.SignalErrors(noise=0.002, bias=0.05)
    assert foot.sole == "l_sole" and joints.period == 0.01
    hs.Simulation(khr1, sensors=[imu, foot, joints])
    for text, match in (
        ("a: {kind: nose, rate: 1}", "nose"),
        ("a: {rate: 1}", "kind"),
        ("a: {kind: imu, rate: 0}", "rate"),
        ("a: {kind: imu, rate: 1, seed: 0.5}", "whole number"),
        ("a: {kind: imu, rate: 1, gyroscope: {noise: -1}}", "0 or more"),
        ("a: {kind: foot, rate: 1}", "sole"),
    ):
        path.write_text(text)
        with pytest.raises(ModelFileError, match=match):
            read_sensors(path)


def test_refusals(khr1: hs.Model) -> None:
    """Names that stand twice, periods of zero, systems without a model."""
    for make in (
        lambda: hs.Simulation(khr1, sensors=[hs.Imu(), hs.Imu()]),
        lambda: hs.Imu(period=0.0),
        lambda: hs.Imu(delay=-1.0),
        lambda: hs.Simulation(problems.bouncing_ball(), sensors=[hs.Imu()]),
        lambda: hs.Simulation(khr1, sensors=[hs.FootSensor("nose")]),
    ):
        with pytest.raises(hs.errors.ParameterError):
            make()


def test_among_free_bodies(khr1: hs.Model) -> None:
    """A robot that falls beside a box feels nothing; its joints are its own."""
    box = SceneBody.box("box", 1.0, (0.1, 0.1, 0.1))
    scene = SceneSystem([box], hs.Ground.empty(), robot=khr1)
    sensors = [hs.Imu(), hs.JointEncoders(), hs.FootSensor("l_sole")]
    sim = hs.Simulation(scene, method="time_stepping", sensors=sensors)
    q = scene.configuration({"box": (1.0, 0.0, 1.0)}, khr1.neutral())
    run = sim.run(q, t_end=0.03)
    assert abs(run.signal("imu/specific_force_z")[-1]) < 1e-8
    assert run.signals.shape[1] == 18 + 2 * len(khr1.joint_names)
    assert run.signal("l_sole/force_z")[-1] == 0.0
    with pytest.raises(hs.errors.ParameterError, match="without a robot"):
        hs.Simulation(SceneSystem([box]), method="time_stepping", sensors=[hs.Imu()])
