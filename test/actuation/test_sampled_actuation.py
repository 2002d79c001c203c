# SPDX-License-Identifier: Apache-2.0
"""An actuation that follows samples does what it does inside the simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.actuation import (
    FesMuscles,
    IdealTorque,
    ScrewDriveMotors,
    Servo,
)
from humans_sim.actuation.pulse_trains import PulseTrainMuscles
from humans_sim.actuation.sampled_actuation import JointSample, SampledActuation
from humans_sim.actuation.servo import GEAR_ENGAGED
from humans_sim.core.errors import ConfigurationError, ParameterError
from humans_sim.dynamics.stepper import StepError

NONE = np.zeros(0)


def wave(t: float, joints: int) -> JointSample:
    """Joints that move smoothly, each in its own way."""
    k = np.arange(1, joints + 1)
    return JointSample(t, 0.2 * np.sin(k * t), 0.2 * k * np.cos(k * t))


def test_servos_between_samples(khr1: hs.Model) -> None:
    """Torques are those of the servos at the samples, bit for bit, delay included."""
    followed, servo = SampledActuation(Servo(khr1, delay=0.013)), Servo(khr1)
    followed.begin(wave(0.0, 17))
    servo.initialise(0.0, *wave(0.0, 17).state())
    target = np.linspace(-0.5, 0.5, 17)
    for k in range(1, 60):
        sample = wave(0.005 * k, 17)
        if k == 10:
            followed.command(0.005 * 9, target)
        followed.advance(sample)
        if 0.005 * (k - 1) < 0.045 + 0.013 <= 0.005 * k:
            servo.command(0.045 + 0.013, target)
        while servo.next_time(sample.t) <= sample.t:
            servo.handle(sample.t, *sample.state(), NONE, NONE.astype(bool))
        force = servo.dynamics(sample.t, *sample.state(), NONE)[0]
        np.testing.assert_array_equal(followed.torques(), force[6:])
        assert followed.t == sample.t
    assert not servo.set_point(followed.t)[1].any()


def test_motion_between_samples_is_a_cubic(khr1: hs.Model) -> None:
    """Between samples an actuation sees the cubic of angles and speeds."""
    seen: list[tuple[float, float, float]] = []

    class Watch(IdealTorque):
        nz = 1

        def dynamics(self, t, q, v, z):  # type: ignore[no-untyped-def]
            seen.append((t, q[7], v[6]))
            return np.zeros(len(v)), np.ones(1)

    def cubic(t: float) -> JointSample:
        angle, speed = 1.0 + t - 3 * t**2 + 5 * t**3, 1.0 - 6 * t + 15 * t**2
        return JointSample(t, np.full(17, angle), np.full(17, speed))

    followed = SampledActuation(Watch(khr1))
    followed.begin(cubic(0.1))
    followed.advance(cubic(0.6))
    assert followed.state()[3][0] == pytest.approx(0.5)
    assert sum(0.1 < t < 0.6 for t, _, _ in seen) > 5
    for t, angle, speed in seen:
        expected = cubic(t)
        assert angle == pytest.approx(expected.angles[0], abs=1e-14)
        assert speed == pytest.approx(expected.speeds[0], abs=1e-13)


def test_muscles_follow_the_simulation(human: hs.Model) -> None:
    """States of muscles beside a run come close to those integrated with it.

    The samples are the run's own; what is left is the way between them, and it falls
    with the third power of the sampling period, or faster.
    """
    charge, every = np.array([3e-5, 0.0]), 0.04
    locked = ["base", *(name for name in human.joint_names if name != "r_knee")]
    sim = hs.Simulation(
        human,
        FesMuscles(human, sides=("r",)),
        lambda t, state: charge,
        locked=locked,
        control_period=every,
    )
    q0 = human.neutral()
    q0[2] += 0.3
    q0[7 + human.joint_names.index("r_knee")] = -0.8
    run = sim.run(q0, t_end=0.32, sampling_period=0.01)
    errors = []
    for stride in (2, 1):
        beside = SampledActuation(PulseTrainMuscles(human, sides=("r",)))
        rows = range(0, len(run.t), stride)
        samples = [JointSample(run.t[k], run.q[k, 7:], run.v[k, 6:]) for k in rows]
        beside.begin(samples[0])
        beside.command(0.0, [[3e-5, every], [math.nan, math.nan]])
        z = [beside.state()[3]]
        for sample in samples[1:]:
            beside.advance(sample)
            z.append(beside.state()[3])
        errors.append(np.abs(np.array(z) - run.z[::stride])[:, 2].max())
    assert run.z[:, 2].max() > 80.0  # [N]
    assert errors[1] < 1e-4  # [N]
    assert errors[0] > 8 * errors[1]


def test_play_has_its_events(khr1: hs.Model) -> None:
    """Motors that go through their play arrive on the way between two samples."""
    followed = SampledActuation(Servo(khr1, play=0.02))
    still = np.zeros(17)
    followed.begin(JointSample(0.0, still, still))
    followed.command(0.0, np.full(17, 0.3))
    followed.advance(JointSample(0.1, still, still))
    engaged = [event for event in followed.events if event.kind == GEAR_ENGAGED]
    assert len(engaged) == 17
    assert 0.0 < engaged[0].time < 0.1
    # half the play, at the speed of the set point and the pull of its lead
    gap = followed.state()[3]
    np.testing.assert_allclose(gap, 0.01, atol=1e-12)
    assert (followed.torques() > 0.5).all()


def test_commands_of_other_times(khr1: hs.Model) -> None:
    """A command to come waits, a late one acts from the last sample on and says so."""
    followed = SampledActuation(IdealTorque(khr1))
    still = np.zeros(17)

    def go(t: float) -> float:
        followed.advance(JointSample(t, still, still))
        return float(followed.torques()[0])

    with pytest.raises(ConfigurationError, match="does not continue"):
        go(0.0)
    followed.begin(JointSample(0.0, still, still))
    assert not followed.command(0.25, np.full(17, 1.0))
    assert [go(0.1), go(0.2), go(0.3)] == [0.0, 0.0, 1.0]
    with pytest.raises(ConfigurationError, match="last command"):
        followed.command(0.2, still)
    assert followed.command(0.28, np.full(17, 2.0))
    assert followed.torques()[0] == 2.0
    with pytest.raises(ParameterError):
        followed.command(0.3, np.full(16, 1.0))
    with pytest.raises(ParameterError):
        followed.command(0.3, np.full(17, math.nan))
    assert go(0.4) == 2.0


def test_a_command_between_samples(khr1: hs.Model) -> None:
    """A command acts at its own time: the set point leaves between two samples."""
    followed, still = SampledActuation(Servo(khr1)), np.zeros(17)
    followed.begin(JointSample(0.0, still, still))
    followed.command(0.0125, np.full(17, 0.5))
    followed.advance(JointSample(0.02, still, still))
    point = 6.23 * (0.02 - 0.0125)
    np.testing.assert_allclose(followed.actuation.set_point(0.02)[0], point)


def test_when_it_begins_anew(khr1: hs.Model) -> None:
    """The first sample, time that goes back, a jump at one time, a long silence."""
    followed = SampledActuation(IdealTorque(khr1), longest_gap=0.5)
    still = np.zeros(17)
    first = JointSample(1.0, still, still)
    assert not followed.continues(first)
    followed.begin(first)
    followed.command(1.0, np.full(17, 1.0))
    followed.command(1.4, np.full(17, 2.0))
    assert followed.continues(first)
    followed.advance(first)
    assert followed.torques()[0] == 1.0
    assert followed.continues(JointSample(1.5, still, still))
    assert not followed.continues(JointSample(1.6, still, still))
    assert not followed.continues(JointSample(0.9, still, still))
    assert not followed.continues(JointSample(1.0, still + 0.1, still))
    followed.begin(JointSample(0.0, still, still))
    for t in (0.5, 1.0, 1.5):
        followed.advance(JointSample(t, still, still))
        assert not followed.torques().any()
    assert followed.newest == -math.inf


def test_motors(bip: hs.Model) -> None:
    """Voltages of Bip's motors act on the joints by the ratios of the posture."""
    motors = ScrewDriveMotors(bip, delay=0.01)
    followed, n = SampledActuation(motors), len(bip.joint_names)
    followed.begin(wave(0.0, n))
    followed.advance(wave(0.02, n))
    followed.command(0.02, np.full(n, 5.0))
    for t in (0.029, 0.035):
        sample = wave(t, n)
        followed.advance(sample)
        q, v = sample.state()
        expected = bip.rotors.jacobian(q).T @ motors.rotor_torques(q, v)
        np.testing.assert_allclose(followed.torques(), expected, rtol=1e-12)
        assert motors.voltage[0] == (5.0 if t > 0.03 else 0.0)


def test_endless_work_ends(khr1: hs.Model) -> None:
    """An actuation whose events never end is an error, not a hang."""

    class Busy(IdealTorque):
        def next_time(self, t: float) -> float:
            return t

    with pytest.raises(StepError, match="too much work"):
        SampledActuation(Busy(khr1)).begin(wave(0.0, 17))
