"""Servos: speed limit, torque-speed line, dead band, set points."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import IdealTorque, Servo


def torque(servo: Servo, model: hs.Model, angle: float, speed: float) -> float:
    """Torque of the first servo at an angle and a speed, its set point at zero."""
    q, v = model.neutral(), np.zeros(model.nv)
    servo.initialise(0.0, q, v)
    q[7], v[6] = angle, speed
    return float(servo.dynamics(0.0, q, v, np.zeros(0))[0][6])


def test_torque_speed_line(khr1: hs.Model) -> None:
    """Stall torque at rest, none at the no-load speed, none of it beyond."""
    servo = Servo(khr1, viscous=0.0, coulomb=0.0)
    assert torque(servo, khr1, -1.0, 0.0) == pytest.approx(0.85)
    assert torque(servo, khr1, 1.0, 0.0) == pytest.approx(-0.85)
    half = torque(servo, khr1, -1.5, 6.23 / 2)
    assert half == pytest.approx(0.425)
    assert torque(servo, khr1, -3.0, 6.23) == pytest.approx(0.0)
    assert torque(servo, khr1, -3.0, 8.0) <= 0.0
    # braking: never more than at stall
    assert torque(servo, khr1, -3.0, -3.0) == pytest.approx(0.85)


def test_gain_damping_dead_band_friction(khr1: hs.Model) -> None:
    """Inside the limits it is a PD law with a dead band and gear friction."""
    servo = Servo(khr1, gain=10.0, damping=0.2, dead_band=0.01, viscous=0.0, coulomb=0)
    assert torque(servo, khr1, 0.005, 0.0) == 0.0
    assert torque(servo, khr1, 0.03, 0.0) == pytest.approx(-0.2)
    assert torque(servo, khr1, 0.03, 0.5) == pytest.approx(-0.3)
    rough = Servo(khr1, gain=0.0, damping=0.0, viscous=0.1, coulomb=0.05)
    assert torque(rough, khr1, 0.0, 2.0) == pytest.approx(-0.25, abs=1e-6)


def test_set_point_runs_at_its_speed(khr1: hs.Model) -> None:
    """A step of 60 degrees takes 0.168 s; the arrival is an event of its own."""
    servo = Servo(khr1)
    servo.initialise(0.0, khr1.neutral(), np.zeros(khr1.nv))
    target = np.zeros(17)
    target[0], target[1] = math.radians(60), math.radians(-30)
    servo.command(0.1, target)
    point, rate = servo.set_point(0.1 + 0.042)
    assert math.degrees(point[0]) == pytest.approx(15.0, rel=2e-3)
    assert rate[0] == pytest.approx(6.23)
    first = servo.next_time(0.1)
    assert first == pytest.approx(0.1 + math.radians(30) / 6.23)
    servo.handle(first, khr1.neutral(), np.zeros(23), np.zeros(0), np.zeros(0, bool))
    last = servo.next_time(first)
    assert last == pytest.approx(0.1 + math.radians(60) / 6.23)
    point, rate = servo.set_point(last)
    np.testing.assert_allclose(point, target)
    assert not rate.any()


def test_servo_reaches_its_command(khr1: hs.Model) -> None:
    """Commanded arms arrive, by the energy of the servos, without overshoot."""
    target = np.zeros(17)
    head = khr1.joint_names.index("head_yaw")
    target[head] = math.radians(40)
    sim = hs.Simulation(khr1, actuation=Servo(khr1), controller=lambda t, q, v: target)
    run = sim.run(khr1.neutral(), t_end=0.6, sampling_period=0.02)
    angles = np.degrees(run.q[:, 7 + head])
    assert angles[-1] == pytest.approx(40.0, abs=0.3)
    assert angles.max() < 42.0
    assert run.check()


def test_commands_are_checked(khr1: hs.Model) -> None:
    """Wrong length or numbers that are none: refused."""
    for actuation in (Servo(khr1), IdealTorque(khr1)):
        for wrong in (np.zeros(3), np.full(17, np.nan)):
            with pytest.raises(hs.ParameterError, match="17 finite"):
                actuation.command(0.0, wrong)
    with pytest.raises(hs.ParameterError, match="stall_torque"):
        Servo(khr1, stall_torque=0.0)
    with pytest.raises(hs.ParameterError, match="gain"):
        Servo(khr1, gain=-1.0)
