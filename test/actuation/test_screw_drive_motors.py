# SPDX-License-Identifier: Apache-2.0
"""Motors of Bip: closed formulas, gear ratios, delay, limits, balance of energy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import humans_sim as hs
from humans_sim.actuation import CommandKind, DCMotor, IdealTorque, ScrewDriveMotors
from humans_sim.dynamics.controller import ControlFunction
from humans_sim.models.rotors import Rotors

NONE = np.zeros(0)
MOTOR = DCMotor(resistance=0.4, viscous=2e-5)


def rotors_of(model: hs.Model) -> Rotors:
    """The rotors of a model that has some."""
    assert model.rotors is not None
    return model.rotors


def bent(model: hs.Model) -> np.ndarray:
    """Bip in the air, its knees bent."""
    q = model.neutral()
    for side in "rl":
        for joint, angle in (("knee", 0.6), ("ankle_pitch", -0.3), ("hip_pitch", -0.3)):
            q[7 + model.joint_names.index(f"{side}_{joint}")] = angle
    return q


def crouch(model: hs.Model, start: np.ndarray, end: np.ndarray) -> ControlFunction:
    """Voltages in proportion to the rotors' errors; their back EMF is the damping."""
    rotors = rotors_of(model)

    def controller(t: float, state: hs.ControlState) -> np.ndarray:
        share = 0.5 - 0.5 * math.cos(math.pi * t / 0.4)
        target = rotors.angles(start + share * (end - start))
        return 0.5 * (target - rotors.angles(state.q))

    return controller


def test_stall_torque_and_no_load_speed() -> None:
    """The ends of the torque-speed line, with friction."""
    assert MOTOR.torque(0.0) == pytest.approx(0.05 * 48 / 0.4, rel=1e-15)
    assert MOTOR.stall_torque == pytest.approx(MOTOR.torque(0.0), rel=1e-15)
    assert MOTOR.torque(MOTOR.no_load_speed) == pytest.approx(0.0, abs=1e-12)
    assert MOTOR.no_load_speed == pytest.approx(48 / (0.05 + 0.4 * 2e-5 / 0.05))
    dry = DCMotor(resistance=0.4, viscous=0.0, coulomb=0.03)
    assert dry.torque(dry.no_load_speed) == pytest.approx(0.0, abs=1e-12)
    free = DCMotor(resistance=0.4, viscous=0.0)
    assert free.no_load_speed == pytest.approx(48 / 0.05, rel=1e-15)


@pytest.mark.parametrize(("viscous", "coulomb"), [(2e-5, 0.0), (1e-4, 0.02), (0, 0.02)])
def test_maximum_efficiency(viscous: float, coulomb: float) -> None:
    """The closed formula is the top of power out over power in."""
    motor = DCMotor(resistance=0.4, viscous=viscous, coulomb=coulomb)

    def loss(speed: float) -> float:
        return -motor.torque(speed) * speed / (48 * motor.current(speed))

    span = (1.0, motor.no_load_speed)
    best = minimize_scalar(loss, bounds=span, method="bounded", options={"xatol": 1e-7})
    assert motor.max_efficiency == pytest.approx(-best.fun, abs=1e-12)


def test_efficiency_without_friction() -> None:
    """One minus torque over stall torque, on the whole line."""
    motor = DCMotor(resistance=0.4, viscous=0.0)
    for speed in np.linspace(1.0, 950.0, 7):
        share = motor.torque(speed) * speed / (48 * motor.current(speed))
        expected = 1 - motor.torque(speed) / motor.stall_torque
        assert share == pytest.approx(expected, rel=1e-12)
    assert motor.max_efficiency == 1.0


def test_torque_on_the_joints_is_that_of_the_motors(bip: hs.Model) -> None:
    """Jr^T times the torque of each motor at its speed, motor by motor."""
    rng = np.random.default_rng(3)
    own = [DCMotor.of_rotor(i) for i in (3.5e-5, 7e-5)] + [DCMotor(0.5, coulomb=0.02)]
    drive = ScrewDriveMotors(bip, motors=[*own] * 5)
    q, v, u = bent(bip), rng.normal(size=bip.nv), rng.uniform(-48, 48, 15)
    drive.initialise(0.0, q, v)
    drive.command(0.0, u)
    ratios = rotors_of(bip).jacobian(q)
    speeds = ratios @ v[6:]
    torques = [m.torque(w, x) for m, w, x in zip(drive.motors, speeds, u, strict=True)]
    force, rates = drive.dynamics(0.0, q, v, NONE)
    np.testing.assert_allclose(force[6:], ratios.T @ torques, rtol=1e-12)
    np.testing.assert_allclose(drive.rotor_torques(q, v), torques, rtol=1e-12)
    assert not force[:6].any() and rates.size == 0


def test_voltages_are_the_inverse(bip: hs.Model) -> None:
    """Asked for joint torques, the voltages give just these, at any speed."""
    rng = np.random.default_rng(4)
    drive = ScrewDriveMotors(bip, motors=DCMotor(0.4, coulomb=0.03, max_voltage=1e4))
    for _ in range(10):
        q, v = bip.neutral(), rng.normal(size=bip.nv)
        q[7:] = rng.uniform(bip.lower_limits, bip.upper_limits)
        goal_torques = 100 * rng.normal(size=15)
        drive.initialise(0.0, q, v)
        drive.command(0.0, drive.voltages(q, v, goal_torques))
        force = drive.dynamics(0.0, q, v, NONE)[0]
        np.testing.assert_allclose(force[6:], goal_torques, rtol=1e-12, atol=1e-10)


WALKING = {
    "knee": 150.0,
    "hip_pitch": 100.0,
    "hip_roll": 100.0,
    "hip_yaw": 50.0,
    "ankle_pitch": 100.0,
    "ankle_roll": 50.0,
    "trunk_pitch": 100.0,
    "trunk_roll": 50.0,
    "trunk_yaw": 50.0,
}
"""Torques of walking [N m]; the motors are chosen to give them at 3 rad/s."""


def test_walking_fits_the_supply(bip: hs.Model) -> None:
    """Each joint alone has its torque at 3 rad/s, driving and braking."""
    drive, q = ScrewDriveMotors(bip), bent(bip)
    for j, name in enumerate(bip.joint_names):
        torque = np.zeros(15)
        torque[j] = WALKING[name.removeprefix("r_").removeprefix("l_")]
        for speed in (3.0, -3.0):
            v = np.zeros(bip.nv)
            v[6 + j] = speed
            assert np.abs(drive.voltages(q, v, torque)).max() < 48.0, name


def test_frozen_ratio(bip: hs.Model) -> None:
    """It agrees with the true one where it was taken, and only there."""
    start, v = bent(bip), np.zeros(bip.nv)
    true, frozen = ScrewDriveMotors(bip), ScrewDriveMotors(bip, frozen_ratio=True)
    forces = []
    knee = 7 + bip.joint_names.index("r_knee")
    straight = start.copy()
    straight[knee] = 0.05
    for drive in (true, frozen):
        drive.initialise(0.0, start, v)
        drive.command(0.0, np.full(15, 5.0))
        forces.append([drive.dynamics(0.0, q, v, NONE)[0] for q in (start, straight)])
    np.testing.assert_allclose(forces[0][0], forces[1][0], rtol=1e-12)
    np.testing.assert_array_equal(forces[1][0], forces[1][1])
    rotors = rotors_of(bip)
    ratio, torque = rotors.jacobian(straight)[2], true.motors[2].torque(0.0, 5.0)
    assert forces[0][1][knee - 1] == pytest.approx(ratio[knee - 7] * torque)
    assert abs(forces[0][1][knee - 1]) < 0.7 * abs(forces[1][1][knee - 1])
    # The rotor of the frozen drive stands where its ratio says.
    angle = frozen.states(0.0, straight, v)[2].position
    there = rotors.angles(start)[2] + rotors.jacobian(start)[2, knee - 7] * (
        straight[knee] - start[knee]
    )
    assert angle == pytest.approx(there, rel=1e-12)


def test_delay_is_exact(bip: hs.Model) -> None:
    """Period 5 ms, delay 12 ms: up to three commands wait; each acts on the dot."""
    asked: list[tuple[float, float]] = []
    acted: list[tuple[float, float]] = []
    waiting: list[int] = []

    class Watched(ScrewDriveMotors):
        def apply(self, t: float, command: np.ndarray) -> None:
            acted.append((t, command[0]))
            super().apply(t, command)

    def controller(t: float, state: hs.ControlState) -> np.ndarray:
        waiting.append(len(drive.pending))
        asked.append((t, 0.1 + 0.01 * len(asked)))
        return np.full(15, asked[-1][1])

    drive = Watched(bip, delay=0.012)
    sim = hs.Simulation(
        bip,
        drive,
        controller,
        ground=hs.Ground.empty(),
        control_period=0.005,
        rtol=1e-6,
        atol=1e-9,
    )
    sim.run(bent(bip), t_start=0.25, t_end=0.3, sampling_period=0.01)
    assert [t for t, _ in asked] == [0.25 + k * 0.005 for k in range(len(asked))]
    assert acted[0] == asked[0]  # the manual: at the start without a delay
    after = [(t + 0.012, u) for t, u in asked[1:]]
    assert acted[1:] == [due for due in after if due[0] <= 0.3] and len(acted) == 8
    assert max(waiting) == 2  # and the one that is computed makes three


def test_first_command_of_a_controller_acts_at_once(bip: hs.Model) -> None:
    """The manual's ControlDelay begins with the second command."""
    drive = ScrewDriveMotors(bip, delay=0.012)
    q, v = bent(bip), np.zeros(bip.nv)
    for start in (0.0, 1.0):
        drive.initialise(start, q, v)
        drive.command(start, np.full(15, 1.0))
        assert drive.voltage[0] == 1.0 and not drive.pending
        drive.command(start, np.full(15, 2.0))
        assert drive.voltage[0] == 1.0 and drive.pending[0][0] == start + 0.012


def test_supply_limits_the_voltage(bip: hs.Model) -> None:
    """Beyond the supply the voltage stays there, and the state says so."""
    drive = ScrewDriveMotors(bip)
    q, v = bent(bip), np.zeros(bip.nv)
    drive.initialise(0.0, q, v)
    command = np.zeros(15)
    command[:3] = (100.0, -60.0, 47.0)
    drive.command(0.0, command)
    np.testing.assert_array_equal(drive.voltage[:4], [48.0, -48.0, 47.0, 0.0])
    states = drive.states(0.0, q, v)
    assert [s.saturated for s in states[:4]] == [True, True, False, False]
    assert (states[0].command, states[0].applied) == (100.0, 48.0)
    np.testing.assert_allclose(
        drive.rotor_torques(q, v)[0], drive.motors[0].stall_torque, rtol=1e-15
    )


def test_states(bip: hs.Model) -> None:
    """Every figure of every motor, against the model's own functions."""
    rng = np.random.default_rng(5)
    drive = ScrewDriveMotors(bip, delay=0.01)
    q, v = bent(bip), rng.normal(size=bip.nv)
    drive.initialise(0.0, q, v)
    drive.command(0.0, np.full(15, 3.0))
    drive.command(0.0, np.full(15, 4.0))
    rotors, power = rotors_of(bip), drive.power(q, v)
    states = drive.states(0.0, q, v)
    assert tuple(s.name for s in states) == rotors.names
    np.testing.assert_allclose([s.position for s in states], rotors.angles(q))
    speeds = rotors.jacobian(q) @ v[6:]
    np.testing.assert_allclose([s.velocity for s in states], speeds)
    np.testing.assert_allclose([s.torque for s in states], drive.rotor_torques(q, v))
    np.testing.assert_allclose(
        [s.electrical_power for s in states], power.electrical, rtol=1e-12
    )
    for s in states:
        assert s.kind is CommandKind.VOLTAGE
        assert (s.command, s.applied, s.voltage) == (4.0, 3.0, 3.0)
        assert math.isnan(s.gear_ratio) == s.name.endswith(
            ("outer", "inner", "left", "right")
        )
    assert states[8].gear_ratio == 271.16
    # An ideal torque source reports its state in the same form.
    ideal = IdealTorque(bip)
    ideal.initialise(0.0, q, v)
    ideal.command(0.0, np.arange(15.0))
    torque_state = ideal.states(0.0, q, v)[3]
    assert (torque_state.name, torque_state.kind) == (
        bip.joint_names[3],
        CommandKind.TORQUE,
    )
    assert (torque_state.torque, torque_state.position, torque_state.velocity) == (
        3.0,
        q[10],
        v[9],
    )
    assert math.isnan(torque_state.current) and torque_state.gear_ratio == 1.0


def test_power_parts(bip: hs.Model) -> None:
    """Electrical power is heat, friction and what reaches the joints."""
    rng = np.random.default_rng(6)
    drive = ScrewDriveMotors(bip, motors=DCMotor(0.4, coulomb=0.02))
    q, v = bent(bip), rng.normal(size=bip.nv)
    drive.initialise(0.0, q, v)
    drive.command(0.0, rng.uniform(-48, 48, 15))
    p = drive.power(q, v)
    np.testing.assert_allclose(p.electrical, p.heat + p.friction + p.mechanical)
    force = drive.dynamics(0.0, q, v, NONE)[0]
    assert p.mechanical.sum() == pytest.approx(force @ v, rel=1e-12)
    assert (p.heat >= 0).all() and (p.friction >= 0).all()


class Metered(ScrewDriveMotors):
    """Motors with meters: the energies are states, integrated with the mechanics."""

    nz = 3
    z_names = ("supply", "heat", "friction")

    def dynamics(
        self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same force, and the powers."""
        p = self.power(q, v)
        rates = np.array([p.electrical.sum(), p.heat.sum(), p.friction.sum()])
        return super().dynamics(t, q, v, NONE)[0], rates


@pytest.mark.parametrize("floor", [False, True])
def test_balance_of_energy(bip: hs.Model, floor: bool) -> None:
    """What the supply gives is heat, friction and mechanical energy, to 1e-9.

    Bip crouches by commands with a delay, in free flight, and on its feet.
    """
    end = bent(bip)
    start = bip.standing(0.3 * end[7:])
    drive = Metered(bip, delay=0.007)
    # Feet that stick and stay on the ground do no work.
    ground = hs.Ground(law="sticking") if floor else hs.Ground.empty()
    sim = hs.Simulation(
        bip,
        drive,
        crouch(bip, start, end),
        ground=ground,
        contacts=hs.Contacts(limits=False),
        control_period=0.005,
    )
    run = sim.run(start, t_end=0.3, sampling_period=0.03)
    supply, heat, friction = run.z.T
    energy = run.energy.sum(axis=1)
    used = heat + friction + energy - energy[0]
    np.testing.assert_allclose(supply, used, rtol=0, atol=1e-9 * np.abs(supply).max())
    assert heat[-1] > 0.1 and friction[-1] > 0.1 and np.ptp(energy) > 2.0
    assert supply[-1] < -5.0 if floor else supply[-1] > 2.0  # braked, driven
    if floor:
        assert not any(e.kind == "impact" for e in run.events)
        assert (run.contacts[1:, :8] != 0).all()


def test_bad_input(bip: hs.Model, khr1: hs.Model) -> None:
    """Refused, with what is wanted."""
    with pytest.raises(hs.errors.ParameterError, match="khr1 has no rotors"):
        ScrewDriveMotors(khr1)
    with pytest.raises(hs.errors.ParameterError, match="15 motors"):
        ScrewDriveMotors(bip, motors=[MOTOR] * 3)
    drive = ScrewDriveMotors(bip)
    for wrong in (np.zeros(3), np.full(15, np.nan)):
        with pytest.raises(
            hs.errors.ParameterError, match=r"15 finite motor voltages \[V\]"
        ):
            drive.command(0.0, wrong)
    with pytest.raises(hs.errors.ParameterError, match="15 joint torques"):
        drive.voltages(bip.neutral(), np.zeros(21), np.zeros(21))
    with pytest.raises(hs.errors.ParameterError, match="resistance"):
        DCMotor(resistance=0.0)
    with pytest.raises(hs.errors.ParameterError, match="viscous"):
        DCMotor(resistance=1.0, viscous=-1.0)
    with pytest.raises(hs.errors.ParameterError, match="inertia"):
        DCMotor.of_rotor(0.0)
