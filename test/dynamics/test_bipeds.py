# SPDX-License-Identifier: Apache-2.0
"""Bipeds in their scenes: drops, free flight, slopes, steps, spheres, limits."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from whole_body_contacts import whole_body_contacts

import humans_sim as hs
from humans_sim.actuation import IdealTorque, Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.applications.scenarios import read_scenario
from humans_sim.results.run import Run

G = 9.81


def sound(run: Run) -> Run:
    """The run, once its check has passed."""
    check = run.check()
    assert check, [finding for finding in check.findings if not finding.ok]
    return run


def test_locked_drop(model: hs.Model) -> None:
    """Dropped flat from 2 cm: all soles land at once, then the weight to 1e-6."""
    q = model.neutral()
    q[2] += 0.02
    run = sound(hs.Simulation(model, locked=["*"]).run(q, t_end=1.0))
    landing = math.sqrt(2 * 0.02 / G)
    impacts = [event for event in run.events if event.kind == "impact"]
    assert [event.time for event in impacts] == pytest.approx([landing], abs=1e-10)
    assert impacts[0].detail["energy_after [J]"] < 1e-20
    soles = run.forces[-1, : len(model.contact_names), 0]
    assert soles.sum() == pytest.approx(model.mass * G, rel=1e-6)
    assert (soles >= 0).all()
    assert np.abs(run.v[-1]).max() < 1e-9
    assert run.gaps.min() > -1e-9
    # It did not slide: the base is where it was.
    np.testing.assert_allclose(run.q[-1, :2], q[:2], atol=1e-10)


def test_servo_drop(khr1: hs.Model) -> None:
    """The KHR-1 with its servos on, from 1 cm: rests on its soles, posture held."""
    q = khr1.neutral()
    q[2] += 0.01
    run = sound(
        hs.Simulation(khr1, actuation=Servo(khr1, numbers=ServoNumbers())).run(
            q, t_end=1.5
        )
    )
    assert run.forces[-1, :8, 0].sum() == pytest.approx(khr1.mass * G, rel=1e-6)
    assert (run.contacts[-1, :8] == 1).all()
    assert np.abs(run.q[-1, 7:]).max() < math.radians(1.0)
    assert np.abs(run.v[-1]).max() < 1e-4


def test_tilted_drop_comes_to_rest(khr1: hs.Model) -> None:
    """On one edge first: it rocks over corner after corner and settles."""
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.06, 0.03, 0.0)).coeffs()
    q[2] += 0.01 - khr1.contact(q)[:, 2].min()
    run = sound(hs.Simulation(khr1, locked=["*"]).run(q, t_end=4.0))
    assert len([e for e in run.events if e.kind == "impact"]) > 4
    assert np.abs(run.v[-1]).max() < 1e-6
    assert run.forces[-1, :8, 0].sum() == pytest.approx(khr1.mass * G, rel=1e-6)


@pytest.mark.parametrize("law", ["coulomb", "sticking"])
def test_standing_by_torques(khr1: hs.Model, law: str) -> None:
    """Torques of gravity hold the posture; eight corners share the weight."""
    torque = IdealTorque(khr1)
    q = khr1.standing(np.zeros(17))
    arms = ("head", "shoulder", "elbow")
    locked = [name for name in khr1.joint_names if any(arm in name for arm in arms)]

    def hold(t: float, state: hs.ControlState) -> np.ndarray:
        return -4.0 * (state.q[7:] - q[7:]) - 0.02 * state.v[6:]

    ground = hs.Ground(friction=0.7, law=law)
    sim = hs.Simulation(khr1, torque, hold, ground=ground, locked=locked)
    run = sound(sim.run(q, t_end=0.3, sampling_period=0.002))
    assert (run.contacts[-1, :8] > 0).any()
    lateral = run.forces[-1, :8, 0].sum()
    assert lateral == pytest.approx(khr1.mass * G, rel=0.05)
    feet = np.array([khr1.contact(row) for row in run.q[[0, -1]]])
    np.testing.assert_allclose(feet[0], feet[1], atol=2e-4)


def test_free_flight_keeps_momentum(human: hs.Model) -> None:
    """No ground, no gravity: momentum and centre of mass exact, limits included."""
    scenario = read_scenario("free-flight")
    run = sound(scenario.run())
    data = human.data()
    momenta = []
    for q, v in zip(run.q, run.v, strict=True):
        pin.computeCentroidalMomentum(human.pin, data, q, v)
        momenta.append(data.hg.vector.copy())
    spread = np.ptp(np.array(momenta), axis=0)
    assert spread.max() < 1e-7, spread
    assert np.abs(momenta[0]).max() > 1.0
    coms = np.array([human.com(q) for q in run.q])
    straight = coms[0] + run.t[:, None] * np.array(momenta[0][:3]) / human.mass
    np.testing.assert_allclose(coms, straight, atol=1e-8)
    assert np.abs(np.linalg.norm(run.q[:, 3:7], axis=1) - 1).max() < 1e-12
    assert np.ptp(run.q[:, 7:], axis=0).max() > 1.0


def test_free_fall_under_gravity(khr1: hs.Model) -> None:
    """The centre of mass falls on its parabola."""
    q = khr1.neutral()
    q[2] += 1.0
    v = np.zeros(khr1.nv)
    v[:6] = [0.1, 0.2, 0.3, 1.0, -0.5, 0.7]
    sim = hs.Simulation(khr1, locked=["*"], ground=hs.Ground.empty())
    run = sound(sim.run(q, v, t_end=0.4))
    coms = np.array([khr1.com(row) for row in run.q])
    data = khr1.data()
    pin.centerOfMass(khr1.pin, data, q, v)
    fall = np.array([0.0, 0.0, -G])
    exact = coms[0] + run.t[:, None] * data.vcom[0] + run.t[:, None] ** 2 / 2 * fall
    np.testing.assert_allclose(coms, exact, atol=1e-10)


@pytest.mark.parametrize(("friction", "slides"), [(0.5, False), (0.1, True)])
def test_on_a_slope(khr1: hs.Model, friction: float, slides: bool) -> None:
    """Standing along a slope of 10 degrees: sticks, or slides with g (sin - mu cos)."""
    angle = math.radians(10.0)
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.utils.rotate("y", -angle)).coeffs()
    normal = np.array([-math.sin(angle), 0.0, math.cos(angle)])
    q[:3] -= (khr1.contact(q) @ normal).min() * normal
    sim = hs.Simulation(khr1, locked=["*"], ground=hs.Ground.slope(angle, friction))
    run = sound(sim.run(q, t_end=0.5))
    downhill = np.array([-math.cos(angle), 0.0, -math.sin(angle)])
    distance = (run.q[:, :3] - q[:3]) @ downhill
    if slides:
        a = G * (math.sin(angle) - friction * math.cos(angle))
        np.testing.assert_allclose(distance, 0.5 * a * run.t**2, atol=1e-8)
        assert (run.contacts[-1, :8] == 2).all()
    else:
        assert np.abs(distance).max() < 1e-10
    load = khr1.mass * G * math.cos(angle)
    assert run.forces[-1, :8, 0].sum() == pytest.approx(load, rel=1e-6)


def test_falls_on_a_step(khr1: hs.Model) -> None:
    """One step under the left toes: contact names say what is touched."""
    ground = hs.Ground(friction=0.8).with_solids(
        hs.Box((0.2, 0.4, 0.01), (0.13, 0.2, 0.005), name="plank")
    )
    q = khr1.neutral()
    q[2] += 0.02
    run = sound(hs.Simulation(khr1, locked=["*"], ground=ground).run(q, t_end=0.3))
    touched = {event.subject for event in run.events if event.kind == "contact_closed"}
    assert any("/plank" in name for name in touched)
    assert any("/ground" in name for name in touched)
    assert run.gaps.min() > -1e-8


def test_spheres_roll(khr1: hs.Model) -> None:
    """Balls under the corners: the robot stands higher by their radius."""
    radius = 0.005
    q = khr1.neutral()
    q[2] += radius + 0.005
    radii = dict.fromkeys(khr1.contact_names, radius)
    run = sound(
        hs.Simulation(khr1, locked=["*"], contacts=hs.Contacts(radii=radii)).run(
            q, t_end=0.5
        )
    )
    assert run.q[-1, 2] == pytest.approx(khr1.neutral()[2] + radius, abs=1e-9)
    assert run.forces[-1, :8, 0].sum() == pytest.approx(khr1.mass * G, rel=1e-6)


def test_lies_down_on_its_body(khr1: hs.Model) -> None:
    """A robot of one piece that falls over ends lying, nothing of it in the floor."""
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.6, 0.0)).coeffs()
    q[2] -= khr1.contact(q)[:, 2].min()
    run = sound(
        hs.Simulation(khr1, locked=["*"]).run(q, t_end=1.0, sampling_period=0.05)
    )
    assert min(khr1.tags(row)[:-1, 2].min() for row in run.q) > -1e-8
    assert run.q[-1, 2] < 0.1
    closed = np.flatnonzero(run.contacts[-1])
    assert len(closed) >= 3
    assert any(run.table.names[k] in run.info["features"] for k in closed)


def test_limit_reached_while_a_foot_lands(khr1: hs.Model) -> None:
    """A knee meets its limit just before, at, and just after a foot touches down."""
    knee = khr1.joint_names.index("l_knee")
    locked = [name for name in khr1.joint_names if name != "l_knee"]
    q = khr1.neutral()
    v = np.zeros(khr1.nv)
    v[6 + knee] = -2.0
    flight = hs.Simulation(khr1, locked=locked, ground=hs.Ground.empty()).start(q, v)
    while not flight.events:
        flight.advance(flight.t + 0.001)
    meets = flight.events[0].time
    flight = hs.Simulation(
        khr1,
        locked=locked,
        ground=hs.Ground.empty(),
        contacts=hs.Contacts(limits=False),
    ).start(q, v)
    flight.advance(meets)
    lowest = khr1.contact(flight.q)[:, 2].min()
    for late in (-1e-4, 0.0, 1e-4):
        start = q.copy()
        start[2] += late - lowest
        run = sound(
            hs.Simulation(khr1, locked=locked).run(start, v, t_end=meets + 0.05)
        )
        impacts = [event for event in run.events if event.kind == "impact"]
        assert run.q[:, 7 + knee].min() >= khr1.lower_limits[knee] - 1e-9
        # Both at once are one impact: there the foot pushes the knee off its limit.
        assert impacts[0].time <= meets + 1e-12
        assert ("foot" in impacts[0].subject) == (late <= 0.0)
        assert ("l_knee/lower" in impacts[0].subject) == (late > 0.0)
        assert (impacts[0].time > meets - 1e-9) == (late >= 0.0)


def test_humans_impact_law(khr1: hs.Model) -> None:
    """The manual's law (1.8): every touching contact comes to rest, none opens."""
    q = khr1.neutral()
    q[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.05, 0.0)).coeffs()
    q[2] += 0.005 - khr1.contact(q)[:, 2].min()
    sim = hs.Simulation(
        khr1, locked=["*"], impact="humans", ground=hs.Ground(law="sticking")
    )
    run = sim.run(q, t_end=0.08, sampling_period=0.001)
    assert run.check()
    (first,) = [e for e in run.events if e.kind == "impact"][:1]
    closed = [e.subject for e in run.events if e.kind == "contact_closed"]
    for name in first.subject.split(","):
        assert name in closed


def test_push_is_an_impulse(khr1: hs.Model) -> None:
    """In free flight a push changes the momentum by exactly its impulse."""
    q = khr1.neutral()
    q[2] += 1.0
    impulse = np.array([0.03, -0.02, 0.01])
    for duration in (0.0, 0.05):
        sim = hs.Simulation(
            khr1, locked=["*"], ground=hs.Ground.empty(), gravity=(0.0, 0.0, 0.0)
        )
        stepper = sim.start(q)
        stepper.advance(0.1)
        stepper.push("torso", np.zeros(3), impulse, duration)
        stepper.advance(0.3)
        data = khr1.data()
        pin.computeCentroidalMomentum(khr1.pin, data, stepper.q, stepper.v)
        np.testing.assert_allclose(data.hg.linear, impulse, atol=1e-9)


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_set_state(khr1: hs.Model, method: str) -> None:
    """A new state is taken whole; a refused one leaves everything as it was."""
    stepper = hs.Simulation(khr1, locked=["*"], method=method).start(khr1.neutral())
    stepper.advance(0.05)
    sunk = khr1.neutral()
    sunk[2] -= 0.01
    with pytest.raises(hs.errors.ConfigurationError, match="inside"):
        stepper.set_state(0.0, sunk, np.zeros(khr1.nv))
    assert stepper.t == 0.05
    stepper.advance(0.1)
    raised = khr1.neutral()
    raised[2] += 0.02
    stepper.set_state(0.0, raised, np.zeros(khr1.nv))
    assert stepper.t == 0.0
    assert not stepper.mode.any()
    stepper.advance(0.2)
    kinds = [event.kind for event in stepper.events]
    assert "contact_closed" in kinds[kinds.index("reset") :]
    assert stepper.q[2] == pytest.approx(khr1.neutral()[2], abs=1e-8)


def test_pushed_robot_rocks_and_stands(khr1: hs.Model) -> None:
    """A side push of 0.03 N s: one foot lifts, lands, and the robot rests again."""
    sim = hs.Simulation(khr1, actuation=Servo(khr1, numbers=ServoNumbers()))
    stepper = sim.start(khr1.neutral())
    stepper.advance(0.1)
    stepper.push("torso", np.zeros(3), np.array([0.0, 0.03, 0.0]))
    samples = []
    for t in np.arange(0.11, 1.0, 0.01):
        stepper.advance(t)
        samples.append(stepper.sample())
    kinds = [event.kind for event in stepper.events]
    assert "push" in kinds
    assert kinds.count("contact_opened") >= 4
    run = Run.of_samples(stepper.system, samples, stepper.events, {})
    sound(run)
    assert run.forces[-1, :8, 0].sum() == pytest.approx(khr1.mass * G, rel=1e-4)
    assert np.abs(run.v[-1]).max() < 1e-3
    assert (run.contacts[-1, :8] == 1).all()


def test_steps_do_not_depend_on_samples(khr1: hs.Model) -> None:
    """Sampling finer changes nothing but the samples."""
    q = khr1.neutral()
    q[2] += 0.01
    sim = hs.Simulation(khr1, actuation=Servo(khr1, numbers=ServoNumbers()))
    fine = sim.run(q, t_end=0.2, sampling_period=0.001)
    coarse = sim.run(q, t_end=0.2, sampling_period=0.1)
    assert np.array_equal(fine.q[-1], coarse.q[-1])
    assert np.array_equal(fine.v[-1], coarse.v[-1])
    assert [e.time for e in fine.events] == [e.time for e in coarse.events]


def test_bad_starts_are_refused(khr1: hs.Model) -> None:
    """In the floor, beyond a limit, wrong sizes, numbers that are none."""
    q = khr1.neutral()
    sunk = q.copy()
    sunk[2] -= 0.001
    sim = hs.Simulation(khr1, locked=["*"])
    with pytest.raises(hs.errors.ConfigurationError, match="foot.* is 0.001 m inside"):
        sim.run(sunk)
    with pytest.raises(hs.errors.ConfigurationError, match="entries"):
        sim.run(q[:-1])
    bent = q.copy()
    knee = khr1.joint_names.index("l_knee")
    bent[7 + knee] = khr1.upper_limits[knee] + 0.1
    bent[2] += 0.5
    with pytest.raises(hs.errors.ConfigurationError, match="l_knee/upper is 0.1 rad"):
        hs.Simulation(khr1).run(bent)
    nan = q.copy()
    nan[0] = math.nan
    with pytest.raises(hs.errors.ConfigurationError, match="finite"):
        sim.run(nan)
    for wrong in (
        {"method": "magic"},
        {"integrator": "euler"},
        {"impact": "soft"},
        {"locked": ["tail"]},
        {"contacts": hs.Contacts(radii={"tail": 0.1})},
        {"contacts": hs.Contacts(points=["tail"])},
        {"rtol": -1.0},
        {"colour": 1},
        {"controller": lambda t, state: state.v},
        {"control_period": 0.01},
    ):
        with pytest.raises(hs.errors.ParameterError):
            hs.Simulation(khr1, **wrong)
    for period, end in ((0.0, 1.0), (math.nan, 1.0), (0.01, -1.0)):
        with pytest.raises(hs.errors.ParameterError):
            sim.run(q, t_end=end, sampling_period=period)


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_locks_carry_torques(khr1: hs.Model, method: str) -> None:
    """Torques on a locked joint, and gravity on a locked base, move nothing."""
    torques = np.zeros(17)
    torques[3], torques[5] = 0.1, 1e-4
    free = khr1.joint_names[5]
    simulation = hs.Simulation(
        khr1,
        IdealTorque(khr1),
        lambda t, state: torques,
        hs.Ground.empty(),
        method,
        locked=["base", *(j for j in khr1.joint_names if j != free)],
        gravity=[0, 0, 0],
        contacts=hs.Contacts(limits=False),
    )
    run = simulation.run(khr1.neutral(), t_end=0.1)
    moved = run.q[-1] - run.q[0]
    inertia = khr1.inertia(khr1.neutral())[11, 11]
    assert moved[12] == pytest.approx(0.5 * 1e-4 * 0.1**2 / inertia, rel=1e-2)
    assert np.count_nonzero(np.delete(moved, 12)) == 0
    assert run.torques[-1][9] == 0.0


@pytest.mark.parametrize("method", ["event_driven", "time_stepping"])
def test_planned_pushes(khr1: hs.Model, method: str) -> None:
    """Pushes come at their times, between samples too, and give their impulses."""
    simulation = hs.Simulation(
        khr1,
        ground=hs.Ground.empty(),
        method=method,
        locked=["*"],
        gravity=[0, 0, 0],
        pushes=[
            hs.Push(0.0525, (0.0, 0.2, 0.0), duration=0.02),
            hs.Push(0.0325, (0.1, 0.0, 0.0)),
        ],
    )
    run = simulation.run(khr1.neutral(), t_end=0.1)
    times = [e.time for e in run.events if e.kind == "push"]
    assert times == pytest.approx([0.0325, 0.0525], abs=1e-15)
    mass_centre = [khr1.com(q) for q in run.q]
    speed = (mass_centre[-1] - mass_centre[-2]) / 0.01
    exact = np.array([0.1, 0.2, 0.0]) / khr1.mass
    error = 1e-9 if method == "event_driven" else 1e-4
    assert speed == pytest.approx(exact, abs=error)
    with pytest.raises(hs.errors.ParameterError, match="a push wants"):
        hs.Push(0.0, (0.0, float("nan"), 0.0))


def test_nothing_passes_through_thin_solids(khr1: hs.Model) -> None:
    """Feet that fall far in one step land on the stairs, not below."""
    stairs = hs.Ground().with_steps(3, rise=0.02, depth=0.15, start=0.1)
    q = khr1.neutral()
    q[0], q[2] = 0.3, q[2] + 0.1
    run = hs.Simulation(khr1, ground=stairs, locked=["*"]).run(q, t_end=0.4)
    assert run.check()
    assert run.gaps.min() > -1e-9


def test_a_fallen_robot_lies_on_the_floor(khr1: hs.Model) -> None:
    """With balls at its tags a body that tips over comes to rest on them."""
    touching = whole_body_contacts(khr1, 0.015)
    assert set(khr1.contact_names) < set(touching["contacts"])
    q = khr1.standing(khr1.neutral()[7:])
    push = hs.Push(0.0, (0.0, 1.0, 0.0), point=(0.0, 0.0, 0.1))
    simulation = hs.Simulation(
        khr1,
        Servo(khr1, numbers=ServoNumbers()),
        method="time_stepping",
        time_step=2e-3,
        pushes=[push],
        contacts=hs.Contacts(points=touching["contacts"], radii=touching["radii"]),
    )
    run = simulation.run(q, t_end=2.0, sampling_period=0.02)
    check = run.check()
    assert [f.name for f in check.failed] in ([], ["deepest overlap of solids"])
    assert khr1.tags(run.q[-1])[:, 2].min() > -1e-8
    assert run.q[-1, 2] < 0.1
    assert np.abs(run.v[-1]).max() < 1e-2
    with pytest.raises(hs.errors.ParameterError, match="above 0 m"):
        whole_body_contacts(khr1, 0.0)
