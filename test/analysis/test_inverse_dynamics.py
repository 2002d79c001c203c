# SPDX-License-Identifier: Apache-2.0
"""Torques and ground reaction: momentum, equilibrium, and a real walk."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from compliant_stance import Stance, compliant_stance
from strolls import known, walking

import humans_sim as hs
from humans_sim.analysis.inverse_dynamics import inverse_dynamics, rates
from humans_sim.core.errors import ParameterError
from humans_sim.observation.markers.force_plate import GroundReaction

GRAVITY = 9.81


def test_rates_are_derivatives(human: hs.Model, rng: np.random.Generator) -> None:
    """Of a motion of constant velocity and acceleration on the manifold."""
    q0, v, a = human.random_configuration(rng), rng.normal(size=42), rng.normal(size=42)
    t = np.array([-1e-3, 0.0, 1.5e-3])
    q = np.array([human.integrate(q0, v * s + 0.5 * a * s * s) for s in t])
    speeds = rates(human, t, q)
    np.testing.assert_allclose(speeds[0][1], v, atol=1e-5)
    np.testing.assert_allclose(speeds[1][1], a, atol=1e-5)


def test_standing_bears_the_weight(human: hs.Model) -> None:
    """Still: the ground carries the weight under the centre of mass."""
    q = human.neutral()
    q[7 + human.joint_names.index("r_shoulder_roll")] = 0.8
    forces = inverse_dynamics(known(human, np.tile(q, (10, 1))))
    force = forces.ground[5]
    np.testing.assert_allclose(force[:2], 0.0, atol=1.0)
    assert force[2] == pytest.approx(human.mass * GRAVITY, rel=2e-3)
    np.testing.assert_allclose(forces.pressure_centre[5], human.com(q)[:2], atol=2e-3)
    # The raised arm is held by its shoulder alone: its weight at its lever.
    data = human.data()
    pin.computeGeneralizedGravity(human.pin, data, q)
    lifted = human.joint_names.index("r_shoulder_roll")
    assert forces.torques[5, lifted] == pytest.approx(data.g[6 + lifted], abs=1e-6)


def test_forces_change_the_momentum(human: hs.Model) -> None:
    """Ground and residual together are the rate of the whole momentum."""
    q = walking(human, 60)
    forces = inverse_dynamics(known(human, q), cutoff=0.0)
    data = human.data()
    momenta = np.array(
        [
            pin.computeCentroidalMomentum(human.pin, data, row, speed).vector.copy()
            for row, speed in zip(forces.q, forces.v, strict=True)
        ]
    )
    rate = (momenta[2:, :3] - momenta[:-2, :3]) / 0.02
    pulled = forces.ground[1:-1, :3] + forces.residual[1:-1, :3]
    weight = np.array([0.0, 0.0, -GRAVITY * human.mass])
    inner = slice(3, -3)
    np.testing.assert_allclose((pulled + weight)[inner], rate[inner], atol=3.0)
    assert np.ptp(rate[inner], axis=0).max() > 50.0


def test_feet_push_and_never_pull(human: hs.Model) -> None:
    """Inside the friction cone, at each foot."""
    forces = inverse_dynamics(known(human, walking(human, 60)), friction=0.5)
    for foot in forces.feet.values():
        assert (foot[:, 2] >= 0.0).all()
        assert (np.hypot(foot[:, 0], foot[:, 1]) <= 0.5 * foot[:, 2] + 1e-9).all()


def test_bad_arguments(human: hs.Model) -> None:
    """Short motions, odd filters."""
    q = walking(human, 30)
    with pytest.raises(ParameterError, match="frames"):
        inverse_dynamics(known(human, q[:3]))
    with pytest.raises(ParameterError, match="cut-off|cutoff"):
        inverse_dynamics(known(human, q), cutoff=80.0)
    with pytest.raises(ParameterError, match="friction"):
        inverse_dynamics(known(human, q), friction=0.0)
    with pytest.raises(ParameterError, match="mass"):
        inverse_dynamics(known(human, q), mass=0.0)


@pytest.fixture(scope="module")
def stance(human: hs.Model) -> Stance:
    """A person who moves on springs, by forward dynamics."""
    return compliant_stance(human, 0.2, 0.002)


def plates_of(stance: Stance) -> list[GroundReaction]:
    """Force plates that measure exactly what the springs did."""
    plates = []
    for name, wrench in stance.wrenches.items():
        point = np.stack([-wrench[:, 4], wrench[:, 3], 0.0 * wrench[:, 2]], axis=1)
        point = point / wrench[:, 2:3]
        torque = wrench[:, 3:] - np.cross(point, wrench[:, :3])
        plates.append(
            GroundReaction(f"under {name}", stance.t, wrench[:, :3], point, torque)
        )
    return plates


def test_torques_of_a_simulation_come_back(human: hs.Model, stance: Stance) -> None:
    """From its postures and the loads on its plates alone, with hardly a residual."""
    motion = known(human, stance.q, 500.0)
    forces = inverse_dynamics(motion, plates_of(stance), cutoff=0.0, mass=human.mass)
    inner = slice(2, -2)
    assert forces.measured.all()
    assert forces.loads is not None
    assert [step.sole for step in forces.loads.steps] == ["l_sole", "r_sole"]
    assert np.ptp(stance.torques, axis=0).max() > 50.0
    np.testing.assert_allclose(forces.torques[inner], stance.torques[inner], atol=0.7)
    assert np.abs(forces.residual[inner]).max() < 1.5
    for sole, wrench in stance.wrenches.items():
        np.testing.assert_allclose(forces.feet[sole], wrench, atol=1e-6)


def test_the_body_pushes_the_plates_as_they_push_it(
    human: hs.Model, stance: Stance
) -> None:
    """Without the plates' loads, the residual is what they did, moment and all."""
    motion = known(human, stance.q, 500.0)
    plates = plates_of(stance)
    absent = [
        GroundReaction(p.name, p.times, 0.0 * p.force, np.nan * p.point, 0.0 * p.torque)
        for p in plates
    ]
    both = inverse_dynamics(motion, plates, cutoff=0.0, mass=human.mass)
    total = sum(wrench for wrench in stance.wrenches.values())
    alone = inverse_dynamics(motion, (), cutoff=0.0)
    needed = alone.ground + 0.0
    needed[:, :3] += alone.residual[:, :3]
    np.testing.assert_allclose(needed[2:-2, :3], total[2:-2, :3], atol=1.5)
    assert both.ground == pytest.approx(total, abs=1e-6)
    # Plates that nobody loads do not hide that the feet stand somewhere else.
    beside = inverse_dynamics(motion, absent, cutoff=0.0)
    assert not beside.measured.any()
    assert any("no frame" in note for note in beside.notes)


def test_moments_turn_the_body(human: hs.Model) -> None:
    """Ground and residual about the centre of mass are the rate of its spin."""
    q = walking(human, 60)
    forces = inverse_dynamics(known(human, q), cutoff=0.0)
    data = human.data()
    rows = zip(forces.q, forces.v, strict=True)
    spin = np.array(
        [
            pin.computeCentroidalMomentum(human.pin, data, row, speed).angular.copy()
            for row, speed in rows
        ]
    )
    rate = (spin[2:] - spin[:-2]) / 0.02
    com = np.array([human.com(row) for row in forces.q])
    ground, left = forces.ground, forces.residual
    moment = ground[:, 3:] - np.cross(com, ground[:, :3])
    moment += left[:, 3:] + np.cross(forces.q[:, :3] - com, left[:, :3])
    inner = slice(3, -3)
    np.testing.assert_allclose(moment[1:-1][inner], rate[inner], atol=0.5)
    assert np.ptp(rate[inner], axis=0).max() > 10.0


def test_plates_weigh_the_person(human: hs.Model) -> None:
    """The mass is that of the plates, unless it is given; a note says so."""
    q = human.standing(np.zeros(human.nq - 7))
    result = known(human, np.tile(q, (100, 1)))
    alone = inverse_dynamics(result, ())
    assert alone.mass == human.mass
    plates = [alone.reaction(sole) for sole in alone.feet]
    heavier = [
        GroundReaction(p.name, p.times, 1.1 * p.force, p.point, 1.1 * p.torque)
        for p in plates
    ]
    forces = inverse_dynamics(result, heavier)
    assert forces.mass == pytest.approx(1.1 * human.mass, rel=1e-3)
    assert len(forces.notes) == 1 and "kg" in forces.notes[0]
    np.testing.assert_allclose(forces.torques, 1.1 * alone.torques, atol=0.2)
    absurd = [
        GroundReaction(p.name, p.times, 3.0 * p.force, p.point, 3.0 * p.torque)
        for p in plates
    ]
    assert inverse_dynamics(result, absurd).mass == human.mass
    given = inverse_dynamics(result, heavier, mass=human.mass)
    assert given.mass == human.mass
    lifted = given.residual[given.measured, 2] / (human.mass * GRAVITY)
    np.testing.assert_allclose(lifted, -0.1, atol=2e-3)


def test_a_small_shift_takes_the_residual_force(
    human: hs.Model, stance: Stance
) -> None:
    """Markers that shake by a millimetre leave forces that a shift removes."""
    motion = known(human, stance.q.copy(), 500.0)
    motion.q[:, 1] += 0.001 * np.sin(2 * np.pi * 5.0 * stance.t)
    shaken, shifted = (
        inverse_dynamics(
            motion, plates_of(stance), cutoff=0.0, mass=human.mass, reduce_residual=way
        )
        for way in (False, True)
    )
    inner = slice(10, -10)
    before = np.abs(shaken.residual[inner, 1]).max()
    assert before > 60.0
    assert np.abs(shifted.residual[inner, 1]).max() < 0.1 * before
    assert 0.0 < np.abs(shifted.shift).max() < 0.003
    assert not shaken.shift.any()
