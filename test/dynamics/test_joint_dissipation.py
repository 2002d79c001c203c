# SPDX-License-Identifier: Apache-2.0
"""Damping and dry friction of joints, against analytic motions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from pendulum import INERTIA, REACH, WEIGHT, pendulum

import humans_sim as hs
from humans_sim.actuation import IdealTorque, Servo
from humans_sim.core.errors import ModelFileError
from humans_sim.dynamics.joints import JointDissipation, dissipation_text
from humans_sim.results.run import Run

METHODS = ("event_driven", "time_stepping")
DAMPED = '<dynamics damping="0.3"/>'
DRY = '<dynamics friction="0.2"/>'
C = 0.2


def swing(
    model: hs.Model,
    angle: float,
    speed: float = 0.0,
    damping: bool | dict[str, float] = True,
    **rest: object,
) -> Run:
    """A run of the pendulum from an angle [rad] and a speed [rad/s]."""
    end = rest.pop("t_end", 3.0)
    sim = hs.Simulation(
        model,
        locked=["base"],
        contacts=hs.Contacts(limits=False, joint_damping=damping),
        ground=hs.Ground.empty(),
        **rest,
    )
    q, v = model.neutral(), np.zeros(model.nv)
    q[7], v[6] = angle, speed
    run = sim.run(q, v, t_end=end)
    assert run.check().ok
    return run


@pytest.mark.parametrize(
    ("method", "error"), [("event_driven", 1e-8), (METHODS[1], 2e-5)]
)
def test_damped_swing(tmp_path: Path, method: str, error: float) -> None:
    """A small swing decays as the damped oscillator does."""
    small = 1e-3
    run = swing(pendulum(tmp_path, DAMPED), small, method=method)
    decay = 0.3 / (2 * INERTIA)
    rate = math.sqrt(WEIGHT / INERTIA - decay**2)
    t = run.t
    exact = np.exp(-decay * t) * (np.cos(rate * t) + decay / rate * np.sin(rate * t))
    np.testing.assert_allclose(run.q[:, 7] / small, exact, atol=max(error, small**2))


def test_strong_damping_is_stable(tmp_path: Path) -> None:
    """Damping a thousand times too stiff for explicit steps takes energy out."""
    model = pendulum(tmp_path)
    run = swing(
        model,
        1.0,
        method="time_stepping",
        time_step=0.01,
        damping={"hinge": 1e6},
    )
    assert abs(run.q[-1, 7] - 1.0) < 1e-3


@pytest.mark.parametrize(
    ("method", "error"), [("event_driven", 1e-7), ("time_stepping", 1e-3)]
)
def test_decrement_of_each_half_swing(
    tmp_path: Path, method: str, error: float
) -> None:
    """Between two turns gravity gives what friction takes: c times the angle swept."""
    run = swing(pendulum(tmp_path, DRY), 0.5, method=method, t_end=5.0)
    speed, angle = run.v[:, 6], run.q[:, 7]
    turns = np.flatnonzero(speed[1:-1] * speed[2:] < 0) + 1
    extremes = [0.5]
    for k in turns:  # between two samples, by the parabola through them
        share = speed[k] / (speed[k] - speed[k + 1])
        extremes.append(angle[k] + 0.5 * speed[k] * share * (run.t[k + 1] - run.t[k]))
    assert len(extremes) > 4
    for before, after in zip(extremes[:-1], extremes[1:], strict=True):
        given = WEIGHT * (math.cos(after) - math.cos(before))
        assert given == pytest.approx(C * abs(before - after), rel=2e-3)
    energy = run.energy.sum(axis=1)
    steady = np.flatnonzero(speed[:-1] * speed[1:] > 0)
    taken = C * np.abs(np.diff(angle))[steady]
    np.testing.assert_allclose(-np.diff(energy)[steady], taken, atol=error * C)


def test_events_of_a_swing_are_exact(tmp_path: Path) -> None:
    """Turns come at the zeros of the speed: the linear half period, corrected."""
    run = swing(pendulum(tmp_path, DRY), 0.3, t_end=7.0)
    kinds = [event.kind for event in run.events]
    assert kinds[-1] == "stick" and set(kinds[:-1]) == {"slip"}
    assert all(event.subject == "hinge/friction" for event in run.events)
    stop = float(run.q[-1, 7])
    assert np.abs(run.v[run.t > run.events[-1].time + 1e-6, 6]).max() < 1e-12
    assert WEIGHT * abs(math.sin(stop)) < C
    # Dry friction shifts the centre of each half swing, it does not change its period.
    first = run.events[0].time
    pulled = math.asin(C / WEIGHT)
    amplitude = 0.3 - pulled
    rate = math.sqrt(WEIGHT * math.cos(pulled) / INERTIA)
    assert first == pytest.approx(math.pi / rate * (1 + amplitude**2 / 16), rel=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_stops_and_stays(tmp_path: Path, method: str) -> None:
    """Without gravity it stops after I v / c, at I v^2 / 2c, and stays."""
    run = swing(
        pendulum(tmp_path, DRY), 0.0, 1.0, method=method, gravity=(0, 0, 0), t_end=4.0
    )
    moving = run.t < INERTIA / C - 1e-9
    np.testing.assert_allclose(
        run.v[moving, 6], 1.0 - C / INERTIA * run.t[moving], atol=1e-9
    )
    assert np.abs(run.v[run.t > INERTIA / C + 2e-3, 6]).max() < 1e-9
    assert run.q[-1, 7] == pytest.approx(0.5 * INERTIA / C, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_holds_up_to_its_bound(tmp_path: Path, method: str) -> None:
    """Just below the angle where gravity wins it stays, just above it moves."""
    angle = math.asin(C / WEIGHT)
    model = pendulum(tmp_path, DRY)
    still = swing(model, 0.999 * angle, method=method, t_end=0.5)
    assert np.abs(still.q[:, 7] - 0.999 * angle).max() < 1e-9
    moves = swing(model, 1.001 * angle, method=method, t_end=0.5)
    assert moves.q[-1, 7] < 1.001 * angle - 1e-6


def test_no_impulse_of_friction_in_an_impact(tmp_path: Path) -> None:
    """A blow turns a resting joint as if it had no friction."""
    model = pendulum(tmp_path, DRY)
    sim = hs.Simulation(model, locked=["base"], ground=hs.Ground.empty())
    stepper = sim.start(model.neutral())
    point = np.array([0.0, 0.0, -REACH])
    stepper.push("rod", point, np.array([-0.6, 0.0, 0.0]))
    assert stepper.v[6] == pytest.approx(0.6 * REACH / INERTIA, rel=1e-12)
    stepper.advance(0.05)
    assert stepper.v[6] < 0.6 * REACH / INERTIA - 0.9 * C / INERTIA * 0.05
    assert stepper.mode.shape == (2,) and stepper.q.shape == (8,)


def test_controller_sees_the_model_alone(tmp_path: Path) -> None:
    """Shapes of what a controller gets do not depend on friction."""
    model = pendulum(tmp_path, DRY)
    seen = []

    def control(t: float, state: object) -> np.ndarray:
        seen.append((state.q.shape, state.v.shape, state.sample.forces.shape))
        return np.array([0.0 if t < 0.1 else 2 * C])

    sim = hs.Simulation(
        model,
        IdealTorque(model),
        control,
        locked=["base"],
        gravity=(0, 0, 0),
        ground=hs.Ground.empty(),
        control_period=0.05,
    )
    run = sim.run(t_end=0.3)
    assert set(seen) == {((8,), (7,), (2, 3))}
    assert run.v[-1, 6] == pytest.approx(C / INERTIA * 0.2, rel=1e-6)


def test_drives_with_friction_take_its_place(tmp_path: Path) -> None:
    """The model's friction acts beside torques, not beside servos with their own."""
    model = pendulum(tmp_path, '<dynamics damping="0.3" friction="0.2"/>')
    beside = JointDissipation.of(model, IdealTorque(model))
    assert (beside.damping[6], beside.friction[6]) == (0.3, 0.2)
    servo = hs.Simulation(model, Servo(model))
    assert not servo.system.dissipation.friction.any()
    info = servo.run(t_end=0.01).info
    assert info["joint_friction_left_out"] == ["hinge"]
    assert "left out" in dissipation_text(info)
    smooth = Servo(model, coulomb=0.0, viscous=0.0)
    assert JointDissipation.of(model, smooth).friction[6] == 0.2
    given = JointDissipation.of(model, Servo(model), friction={"hinge": 0.7})
    assert given.friction[6] == 0.7 and given.damping[6] == 0.0
    assert not given.left_out
    assert not JointDissipation.of(model, None, False, False).friction.any()


def test_what_acts_is_recorded(tmp_path: Path) -> None:
    """A run says which joints dissipate, and how much."""
    run = swing(pendulum(tmp_path, DRY), 0.1, damping={"hinge": 0.5}, t_end=0.02)
    assert run.info["joint_friction"] == {"hinge": 0.2}
    assert run.info["joint_damping"] == {"hinge": 0.5}
    damping, friction = dissipation_text(run.info).split("; ")
    assert damping == "damping of 1 joint (0.5 N m s/rad)"
    assert friction == "dry friction of 1 joint (0.2 N m)"


def test_file_beside_the_urdf(tmp_path: Path) -> None:
    """The YAML file takes the place of the URDF's numbers, and is written again."""
    (tmp_path / "pendulum.yaml").write_text("dynamics: {hinge: {friction: 0.4}}\n")
    model = pendulum(tmp_path, '<dynamics damping="0.3" friction="0.2"/>')
    assert (model.joint_damping[0], model.joint_friction[0]) == (0.3, 0.4)
    model.save(tmp_path / "copy.urdf")
    again = hs.load_model(tmp_path / "copy.urdf")
    assert (again.joint_damping[0], again.joint_friction[0]) == (0.3, 0.4)


def test_refusals(tmp_path: Path) -> None:
    """Negative numbers and unknown joints are refused where they stand."""
    with pytest.raises(ModelFileError, match="friction -0.2 is negative"):
        pendulum(tmp_path, '<dynamics friction="-0.2"/>')
    (tmp_path / "pendulum.yaml").write_text("dynamics: {knee: {friction: 0.4}}\n")
    with pytest.raises(ModelFileError, match="no moving joint 'knee'"):
        pendulum(tmp_path)
    (tmp_path / "pendulum.yaml").unlink()
    model = pendulum(tmp_path)
    for given in ({"knee": 1.0}, {"hinge": -1.0}, {"hinge": math.nan}):
        with pytest.raises(hs.errors.ParameterError):
            hs.Simulation(model, contacts=hs.Contacts(joint_friction=given))


def test_a_limp_robot_stands_by_friction(khr1: hs.Model) -> None:
    """Dropped without actuation, friction in its joints alone keeps it standing."""
    sim = hs.Simulation(
        khr1,
        method="time_stepping",
        contacts=hs.Contacts(joint_friction=dict.fromkeys(khr1.joint_names, 0.2)),
    )
    q = khr1.neutral()
    q[2] += 0.01
    stepper = sim.start(q)
    stepper.advance(0.25)
    assert stepper.steps.rough_steps == 0
    assert np.abs(stepper.v).max() < 1e-8
    assert np.abs(stepper.q[7:]).max() < 1e-2
    sample = stepper.sample()
    assert sample.forces[:8, 0].sum() == pytest.approx(khr1.mass * 9.81, rel=1e-6)
    held = stepper.steps.bounded.forces[6 : khr1.nv]
    assert 1e-3 < np.abs(held).max() <= 0.2 * (1 + 1e-9)
