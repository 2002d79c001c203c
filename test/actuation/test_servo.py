# SPDX-License-Identifier: Apache-2.0
"""Servos: speed limit, torque-speed line, dead band, set points, play."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import CommandKind, IdealTorque, Servo
from humans_sim.actuation.servo import GEAR_ENGAGED, GEAR_FREE
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.core.constants import SPEED_STEPS

NONE = np.zeros(0)


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
    servo.handle(last, khr1.neutral(), np.zeros(23), np.zeros(0), np.zeros(0, bool))
    point, rate = servo.set_point(last + 1.0)
    np.testing.assert_array_equal(point, target)
    assert not rate.any()
    assert servo.next_time(last) == math.inf


@pytest.mark.study
def test_torques_jump_in_events_alone(khr1: hs.Model) -> None:
    """A set point that arrives jumps where its event is handled, not before.

    Else a foot that slips by that jump would slip before it, again and again.
    """
    target = np.zeros(17)
    target[khr1.joint_names.index("l_knee")] = 0.05
    target[khr1.joint_names.index("r_elbow")] = 0.5
    q = khr1.neutral()
    q[2] += 0.01
    soft = Servo(khr1, numbers=ServoNumbers())
    run = hs.Simulation(khr1, soft, lambda t, state: target * (t > 0.1)).run(
        q, t_end=0.3
    )
    assert run.check()
    servo = Servo(khr1, numbers=ServoNumbers())
    servo.initialise(0.0, q, np.zeros(23))
    servo.command(0.0, target)
    arrival = servo.next_time(0.0)
    before = servo.dynamics(arrival * (1 - 1e-15), q, np.zeros(23), np.zeros(0))[0]
    at = servo.dynamics(arrival, q, np.zeros(23), np.zeros(0))[0]
    np.testing.assert_allclose(at, before, atol=1e-12)


def test_servo_reaches_its_command(khr1: hs.Model) -> None:
    """Commanded arms arrive, by the energy of the servos, without overshoot."""
    target = np.zeros(17)
    head = khr1.joint_names.index("head_yaw")
    target[head] = math.radians(40)
    sim = hs.Simulation(khr1, actuation=Servo(khr1), controller=lambda t, state: target)
    run = sim.run(khr1.neutral(), t_end=0.6, sampling_period=0.02)
    angles = np.degrees(run.q[:, 7 + head])
    assert angles[-1] == pytest.approx(40.0, abs=0.3)
    assert angles.max() < 42.0
    assert run.check()


def test_commands_are_checked(khr1: hs.Model) -> None:
    """Wrong length or numbers that are none: refused."""
    for actuation in (Servo(khr1), IdealTorque(khr1)):
        for wrong in (np.zeros(3), np.full(17, np.nan)):
            with pytest.raises(hs.errors.ParameterError, match="17 finite"):
                actuation.command(0.0, wrong)
    with pytest.raises(hs.errors.ParameterError, match="stall_torque"):
        Servo(khr1, stall_torque=0.0)
    with pytest.raises(hs.errors.ParameterError, match="gain"):
        Servo(khr1, gain=-1.0)
    for step in (8, -1, 0.5):
        with pytest.raises(hs.errors.ParameterError, match="0 to 7"):
            Servo(khr1, speed_step=step)  # type: ignore[arg-type]
    with pytest.raises(hs.errors.ParameterError, match="not both"):
        Servo(khr1, speed_step=2, speed=1.0)
    with pytest.raises(hs.errors.ParameterError, match="damping"):
        Servo(khr1, damping=0.0, play=0.01)


@pytest.mark.parametrize("step", range(8))
def test_speed_steps_of_the_board(khr1: hs.Model, step: int) -> None:
    """Thirty degrees take thirty times the seconds a degree of the step."""
    servo = Servo(khr1, speed_step=step)
    servo.initialise(0.0, khr1.neutral(), np.zeros(khr1.nv))
    servo.command(0.0, np.full(17, math.radians(30)))
    assert servo.next_time(0.0) == pytest.approx(30 * SPEED_STEPS[step], rel=1e-12)


def test_period_and_delay(khr1: hs.Model) -> None:
    """Commands come at multiples of the period and act after the delay, to the bit."""
    acted = []

    class Watched(Servo):
        def apply(self, t: float, command: np.ndarray) -> None:
            acted.append(t)
            super().apply(t, command)

    sim = hs.Simulation(
        khr1,
        Watched(khr1, delay=0.013),
        lambda t, state: np.zeros(17),
        ground=hs.Ground.empty(),
        control_period=0.02,
    )
    sim.run(khr1.neutral(), t_end=0.06, sampling_period=0.01)
    assert acted == [0.0 + 0.013, 0.02 + 0.013, 0.04 + 0.013]


def test_states(khr1: hs.Model) -> None:
    """Command, set point, angle, torque; limits are reported."""
    servo = Servo(khr1, delay=0.01)
    q, v = khr1.neutral(), np.zeros(khr1.nv)
    servo.initialise(0.0, q, v)
    servo.apply(0.0, np.full(17, 0.5))
    servo.command(0.04, np.full(17, 0.6))
    q[7], v[7] = 0.25, 1.0
    first, second = servo.states(0.04, q, v)[:2]
    assert first.kind is CommandKind.POSITION and first.name == khr1.joint_names[0]
    assert (first.command, first.position, second.velocity) == (0.6, 0.25, 1.0)
    assert first.applied == pytest.approx(0.04 * 6.23)
    assert first.torque == servo.dynamics(0.04, q, v, NONE)[0][6]
    assert first.saturated  # the set point is on its way
    servo.apply(0.2, np.full(17, 0.5))
    q[7:] = 0.5
    assert not servo.states(0.4, q, np.zeros(khr1.nv))[0].saturated
    q[7] = -0.5
    assert servo.states(0.4, q, np.zeros(khr1.nv))[0].saturated


def test_no_play_no_states(khr1: hs.Model) -> None:
    """Without play there is nothing to integrate and nothing to detect."""
    servo = Servo(khr1)
    q, v = khr1.neutral(), np.zeros(khr1.nv)
    assert servo.nz == 0 and servo.initialise(0.0, q, v).size == 0
    assert servo.detect(0.0, q, v, NONE).size == 0


def test_motor_crosses_the_play_in_its_time(khr1: hs.Model) -> None:
    """A joint that is held: the motor arrives when the closed formula says."""
    play, target, speed, rate = 0.01, 0.002, 5.0, 22.0 / 0.5
    servo = Servo(khr1, play=play, speed=speed, gain=22.0, damping=0.5)
    sim = hs.Simulation(
        khr1,
        servo,
        controller=lambda t, state: np.full(17, target),
        ground=hs.Ground.empty(),
        locked=["*"],
    )
    run = sim.run(khr1.neutral(), t_end=0.1)
    ramp = target / speed
    rest = 0.5 * play - target - rate * target * ramp / 2
    times = [e.time for e in run.events if e.kind == GEAR_ENGAGED]
    np.testing.assert_allclose(times, ramp + rest / (rate * target), rtol=1e-8)
    assert len(times) == 17
    np.testing.assert_allclose(run.z[-1], 0.5 * play, rtol=1e-15)
    # At the end of the gap the torque is that of a servo without play.
    force, rates = servo.dynamics(run.t[-1], run.q[-1], run.v[-1], run.z[-1])
    np.testing.assert_allclose(force[6:], 22.0 * target, rtol=1e-12)
    assert not rates.any()


class Metered(Servo):
    """Servos that count the work on the joints, as one more state."""

    def __init__(self, model: hs.Model, play: float, **parameters: float) -> None:
        """As a servo with play."""
        super().__init__(model, play=play, **parameters)  # type: ignore[arg-type]
        self.nz, self.z_names = self.nz + 1, (*self.z_names, "work")

    def detect(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> np.ndarray:
        """The signals of the servos."""
        return super().detect(t, q, v, z[:-1])

    def handle(self, t, q, v, z, fired):  # type: ignore[no-untyped-def]
        """The events of the servos."""
        own, events = super().handle(t, q, v, z[:-1], fired)
        return np.append(own, z[-1]), events

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same, and the power."""
        force, rates = super().dynamics(t, q, v, z[:-1])
        return force, np.append(rates, force @ v)


def shake(t: float, state: hs.ControlState) -> np.ndarray:
    """Commands that turn round five times a second."""
    return np.full(17, 0.1 if math.sin(10 * math.pi * t) > 0 else -0.1)


def test_play_pushes_and_never_pulls(khr1: hs.Model) -> None:
    """Shaken in the air: the laws of the gap hold, and no energy comes from it."""
    play, quiet = 0.02, {"viscous": 0.0, "coulomb": 0.0}
    servo = Metered(khr1, play, **quiet)
    sim = hs.Simulation(
        khr1,
        servo,
        controller=shake,
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(limits=False),
        hand_over=False,
        max_work=100_000,
    )
    run = sim.run(khr1.neutral(), t_end=0.25, sampling_period=0.0025)
    place, work = run.z[:, :-1], run.z[:, -1]
    torque = run.torques[:, 6:]
    assert np.abs(place).max() <= 0.5 * play * (1 + 1e-8)
    ends = np.abs(place) > 0.5 * play * (1 - 1e-8)
    assert not torque[~ends].any()
    assert (torque * place >= 0.0).all()
    assert 0.1 < ends.mean() < 0.9
    # Every joint goes from end to end, leaving and arriving in turn.
    for name in khr1.joint_names:
        kinds = [e.kind for e in run.events if e.subject == name]
        assert kinds[:3] == [GEAR_ENGAGED, GEAR_FREE, GEAR_ENGAGED]
        assert all(a != b for a, b in zip(kinds[:-1], kinds[1:], strict=True))
    energy = run.energy.sum(axis=1)
    np.testing.assert_allclose(energy - energy[0], work, rtol=0, atol=1e-9)
    assert np.ptp(work) > 1e-3


def test_play_by_both_methods(khr1: hs.Model) -> None:
    """Time stepping, which finds no events, comes to the same motion by its order."""

    def end(play: float, **options: object) -> np.ndarray:
        sim = hs.Simulation(
            khr1,
            Servo(khr1, gain=12.0, damping=0.25, play=play),
            controller=shake,
            ground=hs.Ground.empty(),
            contacts=hs.Contacts(limits=False),
            **options,  # type: ignore[arg-type]
        )
        return sim.run(khr1.neutral(), t_end=0.14).q[-1][7:]

    exact = end(0.02)
    assert np.abs(end(0.0) - exact).max() > 5e-3  # the play is felt
    for step in (4e-4, 1e-4):
        coarse = end(0.02, method="time_stepping", time_step=step)
        assert np.abs(coarse - exact).max() < 4.0 * step


def test_impact_throws_a_joint_off_its_motor(khr1: hs.Model) -> None:
    """A joint that jumps away from its motor is free at once."""
    servo = Servo(khr1, play=0.01)
    q, v = khr1.neutral(), np.zeros(khr1.nv)
    z = servo.initialise(0.0, q, v)
    q[7] = -0.1  # pulled forward
    z[0] = 0.005 * (1 + 2e-9)
    fired = servo.detect(0.0, q, v, z) < 0
    z, events = servo.handle(0.0, q, v, z, fired)
    assert [e.subject for e in events] == [khr1.joint_names[0]] and z[0] == 0.005
    assert servo.dynamics(0.0, q, v, z)[0][6] == pytest.approx(0.85)
    v[6] = 7.0  # faster than the motor can follow
    servo.reset(0.0, q, v, z)
    force, rates = servo.dynamics(0.0, q, v, z)
    friction = servo.numbers.viscous * 7.0 + servo.numbers.coulomb
    assert force[6] == pytest.approx(-friction) and rates[0] < 0.0


def test_command_turns_a_motor_round(khr1: hs.Model) -> None:
    """A command the other way frees the joint at its own time, not one event later."""
    servo = Servo(khr1, play=0.01)
    q, v = khr1.neutral(), np.zeros(khr1.nv)
    z = servo.initialise(0.0, q, v)
    none = np.zeros(17, dtype=bool)
    servo.command(0.0, np.full(17, 0.1))
    z, events = servo.handle(0.0, q, v, np.full(17, 0.005 * (1 + 2e-9)), ~none)
    assert [e.kind for e in events] == [GEAR_ENGAGED] * 17
    later = servo.next_time(0.0)
    servo.handle(later, q, v, z, none)
    assert servo.next_time(0.05) == math.inf
    servo.command(0.05, np.full(17, -0.1))
    assert servo.next_time(0.05) == 0.05
    z, events = servo.handle(0.05, q, v, z, none)
    # The set point is still in front of the joint, but runs back fast.
    assert {e.kind for e in events} == {GEAR_FREE} and len(events) == 17
    assert servo.next_time(0.05) > 0.05


@pytest.mark.parametrize(
    "command", ["up", [[1.0], [2.0, 3.0]], None, [float("nan")] * 17]
)
def test_commands_are_numbers(khr1: hs.Model, command: object) -> None:
    """Whatever is no vector of finite numbers is refused by a typed error."""
    for actuation in (Servo(khr1), IdealTorque(khr1)):
        with pytest.raises(hs.errors.ParameterError):
            actuation.command(0.0, command)


def test_the_next_command_finds_set_points_moving(khr1: hs.Model) -> None:
    """A stream of commands: none of them stops by rounding before the next comes."""
    period = 0.02
    servo = Servo(khr1, command_period=period)
    servo.initialise(0.0, khr1.neutral(), np.zeros(khr1.nv))
    angles = khr1.neutral()[7:]
    for k in range(1, 300):
        servo.command(k * period, angles + 1e-3 * (k % 7))
        servo.handle(k * period, khr1.neutral(), np.zeros(khr1.nv), NONE, NONE)
        if k % 7:
            assert servo.next_time(k * period) > (k + 1) * period
