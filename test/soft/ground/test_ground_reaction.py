# SPDX-License-Identifier: Apache-2.0
"""Bipeds on deformable ground: balance, sinkage, energy, friction, both methods."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
import humans_sim.soft as soft

GRAVITY = 9.81
TIME_STEPPING = "time_stepping"


@pytest.fixture(scope="module")
def khr1():
    """A robot of 1.2 kg."""
    return hs.load_model("khr1")


def ground_of(law: str, firmness: float = 3.0, **numbers) -> soft.DeformableGround:
    """A small screen around the robot's feet."""
    usual = {"shape": (32, 32), "origin": (-0.16, -0.16, 0.0)}
    return soft.DeformableGround(law, firmness=firmness, **{**usual, **numbers})


def stand(model, ground, seconds: float, height=0.0, v=None, method=TIME_STEPPING):
    """The robot, all joints locked, let down on a ground."""
    simulation = hs.Simulation(
        model,
        ground=ground.scene(0.5),
        method=method,
        locked=["*"],
        contacts=hs.Contacts(points=model.contact_names),
    )
    q = model.standing(np.zeros(len(model.joint_names)))
    q[2] += height
    return simulation.run(q, v, t_end=seconds, sampling_period=0.01)


def compliance(ground, places) -> np.ndarray:
    """Depth of each point for a unit of force on each, from the static screen."""
    pins, weights = ground.patches(places)
    columns = []
    for own, share in zip(pins, weights, strict=True):
        load = np.zeros(ground.screen.shape)
        np.subtract.at(load.ravel(), own, share)
        shape = soft.static_shape(ground.screen.law, load).ravel()
        columns.append(-(weights * shape[pins]).sum(axis=1))
    return np.array(columns).T + np.eye(len(pins)) / ground.contact.stiffness


def weight_of(model) -> float:
    """[N]."""
    return GRAVITY * sum(body.mass for body in model.pin.inertias)


@pytest.mark.parametrize("law", ["hard", "soil", "viscous"])
def test_stance_is_the_closed_form(khr1, law: str) -> None:
    """Reactions are the weight to 0.1 %; forces and sinkage those of statics."""
    ground = ground_of(law)
    run = stand(khr1, ground, 1.6)
    forces = run.forces[-60:, :8, 0].mean(axis=0)  # it rocks a little for long
    assert forces.sum() == pytest.approx(weight_of(khr1), rel=1e-3)
    places = khr1.contact(run.q[-1])
    com = khr1.tags(run.q[-1])[-1]
    # A rigid body on an elastic ground: depths are a plane that balances the weight.
    plane = np.column_stack([np.ones(8), places[:, :2]])
    stiff = np.linalg.inv(compliance(ground, places))
    tilt = np.linalg.solve(
        plane.T @ stiff @ plane, weight_of(khr1) * np.array([1.0, com[0], com[1]])
    )
    np.testing.assert_allclose(forces, stiff @ plane @ tilt, rtol=0.01)
    depths = -np.mean([khr1.contact(q)[:, 2] for q in run.q[-60:]], axis=0)
    np.testing.assert_allclose(depths, plane @ tilt, rtol=0.01)
    assert run.check().ok, run.check().failed


@pytest.mark.parametrize("law", ["sand", "snow"])
def test_weak_ground_sinks_on_by_its_viscosity(khr1, law: str) -> None:
    """Pins go down by z y' + k y = -F under the weight, which is carried."""
    ground = ground_of(law, 30.0)
    run = stand(khr1, ground, 0.6)
    forces = run.forces[-20:, :8, 0]
    np.testing.assert_allclose(forces.sum(axis=1), weight_of(khr1), rtol=1e-3)
    pins, weights = ground.patches(khr1.contact(run.q[-1]))
    load = np.zeros(ground.screen.shape)
    np.subtract.at(load.ravel(), pins, weights * forces.mean(axis=0)[:, None])
    numbers = ground.screen.law
    before = ground.screen.deviations
    run = stand(khr1, ground, 0.8)
    z, k = numbers.ground_viscosity, numbers.ground_stiffness
    kept = np.exp(-0.2 * k / z)
    pushed = load / z * 0.2 if k == 0.0 else load / k * (1.0 - kept)
    expected = kept * before + pushed
    deep = expected < -1e-4
    sunk = ground.screen.deviations
    np.testing.assert_allclose(sunk[deep], expected[deep], rtol=0.02)
    assert run.check().ok, run.check().failed


def test_action_is_reaction(khr1) -> None:
    """What pins get in a sample is what the body gets, to rounding."""
    ground = ground_of("soil", shape=(40, 40), origin=(-0.2, -0.2, 0.0), patch=0.025)
    simulation = hs.Simulation(khr1, ground=ground.scene(0.5), method=TIME_STEPPING)
    reaction = ground.reaction(simulation.system)
    reaction.start(0.0)
    q = khr1.standing(np.zeros(len(khr1.joint_names)))
    q[2] -= 0.002
    v = np.zeros(khr1.nv)
    v[:3] = 0.1, 0.05, -0.3
    reaction.update(0.0, q, v, np.zeros(khr1.nv))
    law = ground.screen.law
    on_pins = ground.screen.deviations.sum() * law.mass / law.period**2
    assert on_pins < -10.0
    assert abs(on_pins + reaction.forces[:, 0].sum()) < 1e-12 * abs(on_pins)
    assert abs(reaction.held[2] - reaction.forces[:, 0].sum()) < 1e-12 * abs(on_pins)
    along = np.hypot(*reaction.forces[:, 1:].T)
    assert (along <= 0.5 * reaction.forces[:, 0] * (1 + 1e-9)).all() and along.max() > 1


@pytest.mark.parametrize("law", list(soft.PRESETS))
def test_energy_never_grows(khr1, law: str) -> None:
    """A robot that drops and slides only loses energy, the ground's counted in."""
    v = np.zeros(khr1.nv)
    v[0] = 0.1
    run = stand(khr1, ground_of(law), 0.3, height=0.005, v=v)
    total = run.energy.sum(axis=1)
    start = weight_of(khr1) * (khr1.tags(run.q[0])[-1][2] + 0.5 * 0.1**2 / GRAVITY)
    assert total[0] == pytest.approx(start, rel=1e-6)  # nothing is stored yet
    assert total[0] - total[-1] > 0.02
    assert np.diff(total).max() < 1e-5 * (total[0] - total[-1])
    assert run.check()["largest growth of energy"].ok is not None


def test_feet_stick_without_creeping(khr1) -> None:
    """A robot that slid to a stop stays where it is."""
    v = np.zeros(khr1.nv)
    v[0] = 0.1
    run = stand(khr1, ground_of("hard"), 0.6, v=v)
    start, late, end = (khr1.contact(run.q[k])[:, :2] for k in (0, 40, -1))
    assert np.abs(late - start).max() > 1e-4 and 2 in run.contacts
    assert np.abs(end - late).max() < 2e-6


def test_methods_agree(khr1) -> None:
    """Event-driven and time steps move a robot on soil alike."""
    runs = [
        stand(khr1, ground_of("soil"), 0.06, method=method)
        for method in (TIME_STEPPING, "event_driven")
    ]
    assert runs[0].q[-1, 2] < runs[0].q[0, 2] - 5e-4
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    forces = [run.forces[:, :8] for run in runs]
    np.testing.assert_allclose(*forces, atol=0.02)


def test_check_sees_what_is_below_the_surface(khr1) -> None:
    """Feet that sink are right; feet deeper than their forces explain are not."""
    run = stand(khr1, ground_of("sand"), 0.2)
    assert run.q[-1, 2] < run.q[0, 2] - 0.003
    check = run.check()
    assert check.ok and check["deepest in soft ground"].ok
    run.gaps[5, 2] -= 0.002
    finding = run.check()["deepest in soft ground"]
    assert finding.ok is False and "0.05 s" in finding.where


def test_feet_beside_the_screen_end_a_run(khr1) -> None:
    """The error says where; dry joint friction with events is refused."""
    with pytest.raises(hs.HumansError, match="beside the deformable"):
        stand(khr1, ground_of("soil", shape=(8, 32)), 0.1)
    with pytest.raises(soft.SoftError, match="patch"):
        ground_of("soil", patch=0.001)
