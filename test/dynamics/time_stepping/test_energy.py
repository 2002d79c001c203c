# SPDX-License-Identifier: Apache-2.0
"""Time steps add no energy, and lose none in free flight."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.dynamics import problems
from humans_sim.dynamics.time_stepping.step import ImpulseSteps
from humans_sim.dynamics.time_stepping.time_stepper import TimeStepper


def thrown(
    model: hs.Model, seed: int, speed: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """A random posture at a random attitude, its joints turning."""
    rng = np.random.default_rng(seed)
    q, low, high = model.neutral(), model.lower_limits, model.upper_limits
    q[7:] += rng.uniform(0.1, 0.9) * (rng.uniform(low, high) - q[7:])
    q[3:7] = pin.Quaternion(pin.exp3(0.5 * rng.normal(size=3))).coeffs()
    return q, speed * rng.normal(size=model.nv)


@pytest.mark.parametrize("name", ["khr1", "bip", "human36"])
@pytest.mark.parametrize("locked", [(), ("*",)])
def test_nothing_gains_energy(name: str, locked: tuple[str, ...]) -> None:
    """Limp or rigid, a model falls on its feet and its joint limits."""
    model = hs.load_model(name)
    q, v = thrown(model, seed=9)
    if locked:
        v[6:] = 0.0
    sim = hs.Simulation(model, locked=locked, method="time_stepping")
    q[2] += 0.01 - sim.system.gaps(q)[: len(model.contact_names)].min()
    check = sim.run(q, v, t_end=0.25).check()
    assert check, [finding for finding in check.findings if not finding.ok]


def test_free_flight_keeps_energy_and_momentum(human: hs.Model) -> None:
    """A limp body without ground: its centre of mass flies a parabola."""
    q, v = thrown(human, seed=2, speed=2.0)
    sim = hs.Simulation(
        human,
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(limits=False, self_collision=False),
        method="time_stepping",
    )
    run = sim.run(q, v, t_end=0.2)
    data = human.pin.createData()
    com = np.array([pin.centerOfMass(human.pin, data, row).copy() for row in run.q])
    pin.centerOfMass(human.pin, data, q, v)
    t = run.t[:, None]
    parabola = com[0] + t * data.vcom[0] - [0.0, 0.0, 0.5 * 9.81] * t**2
    assert np.abs(com - parabola).max() < 1e-5
    total = run.energy.sum(axis=1)
    assert np.abs(total - total[0]).max() < 1e-9 * run.energy[:, 0].max()


def test_impact_does_not_depend_on_the_phase_of_the_step() -> None:
    """A rod with friction comes down plastically: one impact, in one step."""
    rod = problems.falling_rod(friction=0.4, restitution=0.0)
    speeds = []
    for share in np.linspace(0.0, 0.9, 7):
        q = np.array([0.0, 0.5 * np.cos(0.6) + share * 2e-3, 0.6])
        stepper = hs.Simulation(rod, method="time_stepping").start(
            q, np.array([0.3, -2.0, 0.0])
        )
        while not stepper.mode.any():
            stepper.advance(stepper.t + 1e-3)
        speeds.append(stepper.v.copy())
    spread = np.ptp(speeds, axis=0)
    assert (spread < 0.02 * np.abs(speeds).max(axis=0) + 0.02).all(), spread


def test_restitution_keeps_energy() -> None:
    """An elastic ball comes back as high as it fell from, many times."""
    sim = hs.Simulation(problems.bouncing_ball(1.0), method="time_stepping")
    run = sim.run(np.array([0.3]), t_end=5.0)
    total = run.energy.sum(axis=1)
    assert np.abs(total - total[0]).max() < 1e-7 * total[0]


@pytest.mark.parametrize(
    ("damping", "friction", "within"),
    [(0.0, 0.0, 1e-8), (0.002, 0.0, 1e-8), (0.002, 0.005, 1e-5)],
)
def test_compiled_step_is_the_general_one(
    khr1: hs.Model, damping: float, friction: float, within: float
) -> None:
    """A limp robot falls on its soles: both kinds of steps end at the same place.

    Solids that turn into each other are put apart in another order by each.
    """
    q, v = thrown(khr1, seed=4)
    feet = hs.Contacts(
        whole_body=False,
        self_collision=False,
        joint_damping=dict.fromkeys(khr1.joint_names, damping),
        joint_friction=dict.fromkeys(khr1.joint_names, friction),
    )
    sim = hs.Simulation(khr1, method="time_stepping", contacts=feet)
    q[2] += 0.004 - sim.system.gaps(q)[:8].min()
    other = hs.Simulation(khr1, method="time_stepping", contacts=feet)
    compiled, general = sim.start(q, v), other.start(q, v)
    assert isinstance(compiled, TimeStepper)
    assert isinstance(general, TimeStepper)
    general.steps._compiled = None
    for k in range(40):
        compiled.advance((k + 1) * 1e-3)
        general.advance((k + 1) * 1e-3)
        np.testing.assert_allclose(compiled.q, general.q, atol=within)
        np.testing.assert_array_equal(compiled.mode, general.mode)
    assert compiled.mode.any()


@pytest.mark.study
def test_fast_steps_are_halved(human: hs.Model) -> None:
    """Where the energy of a long step is far off, it is made in parts."""
    q, v = thrown(human, seed=5, speed=6.0)
    sim = hs.Simulation(
        human, ground=hs.Ground.empty(), method="time_stepping", time_step=0.02
    )
    stepper = sim.start(q, v)
    energy = sum(sim.system.energies(stepper.q, stepper.v))
    stepper.advance(0.2)
    assert isinstance(stepper, TimeStepper)
    steps: ImpulseSteps = stepper.steps
    assert steps.halved_steps > 0
    after = sum(sim.system.energies(stepper.q, stepper.v))
    assert after <= energy * (1 + 1e-8)


def test_stiff_torques_end_with_advice(human: hs.Model) -> None:
    """Gains that a step is too long for: an error with time, state and what to do."""

    class Stiff(hs.Actuation):
        def dynamics(
            self, t: float, q: np.ndarray, v: np.ndarray, z: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            force = np.zeros(len(v))
            force[6:] = -3e4 * q[7:] - 3e3 * v[6:]
            return force, z

    sim = hs.Simulation(human, Stiff(), method="time_stepping")
    with pytest.raises(hs.errors.SimulationError, match="time_step") as error:
        sim.run(human.neutral(), 0.01 * np.ones(human.nv), t_end=0.5)
    assert 0.0 < error.value.time < 0.5
    assert np.isfinite(error.value.q).all()
    assert len(error.value.run.t) >= 1


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_singular_mass_is_a_typed_error(method: str, human: hs.Model) -> None:
    """Two joints of a shoulder on one axis can turn without inertia."""
    q = human.neutral()
    names = human.joint_names
    q[7 + names.index("r_shoulder_yaw")] = np.pi / 2
    limits = {"r_shoulder_yaw": (-2.0, 2.0)}
    sim = hs.Simulation(
        human,
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(limits=limits),
        method=method,
    )
    with pytest.raises(hs.errors.SimulationError, match="singular"):
        sim.run(q, t_end=0.1)


def test_shoulders_stop_before_their_axes_meet(human: hs.Model) -> None:
    """Within its limits no posture of an arm is singular."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        q = human.neutral()
        q[7:] = rng.uniform(human.lower_limits, human.upper_limits)
        for side in "rl":
            j = human.joint_names.index(f"{side}_shoulder_yaw")
            q[7 + j] = human.upper_limits[j]
        mass = human.inertia(q)
        scale = 1 / np.sqrt(np.diag(mass))
        assert np.linalg.eigvalsh(scale[:, None] * mass * scale)[0] > 1e-5
