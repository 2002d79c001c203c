# SPDX-License-Identifier: Apache-2.0
"""Contacts in the world and the loads on the soles."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest

import humans_sim as hs
from humans_sim.actuation import Servo
from humans_sim.actuation.servo_set import ServoNumbers
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.soles import Soles, square_to_floor
from humans_sim.results.records import Sample

GRAVITY = 9.81


def settled(
    model: hs.Model, ground: hs.Ground, time: float = 0.4
) -> tuple[ModelSystem, Sample]:
    """A robot on its servos after some time."""
    sim = hs.Simulation(
        model, actuation=Servo(model, numbers=ServoNumbers()), ground=ground
    )
    q = square_to_floor(model.standing(model.neutral()[7:]), ground)
    q[2] += 0.002
    stepper = sim.start(q)
    stepper.advance(time)
    assert isinstance(sim.system, ModelSystem)
    return sim.system, stepper.sample()


@pytest.mark.parametrize("degrees", [0.0, 5.0])
def test_standing_robot(khr1: hs.Model, degrees: float) -> None:
    """The soles carry the weight, each inside its own outline."""
    angle = math.radians(degrees)
    system, sample = settled(khr1, hs.Ground.slope(angle))
    soles = Soles(system)
    points = soles.points(sample)
    loads = soles.loads(sample, points)
    weight = khr1.mass * GRAVITY
    assert soles.names[:8] == khr1.contact_names  # those of the body follow
    assert "ground" in soles.surfaces
    assert soles.links[0] == "r_foot"
    assert points.force.sum(axis=0) == pytest.approx([0, 0, weight], abs=0.01 * weight)
    normal = [-math.sin(angle), 0.0, math.cos(angle)]
    np.testing.assert_allclose(points.normal[:8], np.tile(normal, (8, 1)), atol=1e-15)
    places = points.position[:8]
    np.testing.assert_allclose(places, khr1.contact(sample.q), atol=1e-15)
    np.testing.assert_allclose(points.velocity[:8], 0.0, atol=1e-7)

    total = np.zeros(3)
    for load, sole in zip(loads, khr1.soles, strict=True):
        pose = khr1.frame_pose(sample.q, sole.name)
        total += pose.rotation @ load.force
        assert (load.name, load.mode, load.closed) == (sole.name, 1, 4)
        # The wrench is one force at the centre of pressure and a moment about z.
        x, y, z = load.centre_of_pressure
        rest = load.moment - np.cross(load.centre_of_pressure, load.force)
        assert z == 0.0
        assert rest[:2] == pytest.approx([0.0, 0.0], abs=1e-12)
        outline = np.array(
            [
                pose.actInv(place)
                for name, place in zip(khr1.contact_names, places, strict=True)
                if name in sole.contacts
            ]
        )
        assert (outline[:, :2].min(axis=0) < [x, y]).all()
        assert ([x, y] < outline[:, :2].max(axis=0)).all()
    assert total == pytest.approx(points.force.sum(axis=0), abs=1e-12)
    assert loads[0].force[2] == pytest.approx(loads[1].force[2], rel=0.05)


def test_power_of_the_contacts(khr1: hs.Model) -> None:
    """Forces and velocities belong together: their power is that of J^T f."""
    rng = np.random.default_rng(1)
    ground = hs.Ground(solids=(hs.HalfSpace((0.1, -0.2, 1.0)), hs.Box((1, 1, 0.1))))
    radii = {"l_foot_heel_left": 0.004}
    system = ModelSystem(khr1, ground, radii=radii)
    q, v = khr1.random_configuration(rng), rng.normal(size=khr1.nv)
    n = len(system.contacts)
    pairs = 2 * len(khr1.contact_names)
    forces = np.zeros((n, 3))
    forces[:pairs] = rng.normal(size=(pairs, 3))
    none = np.zeros(0)
    modes = np.ones(n, dtype=np.int64)
    sample = Sample(0.0, q, v, none, none, modes, forces, system.gaps(q), 0.0, 0.0)
    soles = Soles(system)
    points = soles.points(sample)
    rows = system.terms(q, v, np.arange(pairs)).jacobian
    power = np.einsum("cij,ci->j", rows, forces[:pairs]) @ v
    assert (points.force * points.velocity).sum() == pytest.approx(power, rel=1e-10)
    assert soles.names[:2] == tuple(
        f"r_foot_heel_right/{s}" for s in soles.surfaces[:2]
    )
    # A ball is touched one radius below its middle.
    ball = soles.names.index("l_foot_heel_left/ground")
    middle = khr1.contact(q)[khr1.contact_names.index("l_foot_heel_left")]
    assert np.linalg.norm(points.position[ball] - middle) == pytest.approx(0.004)

    # Soles: the same wrench, summed by pinocchio at the world's origin.
    for load, sole in zip(soles.loads(sample, points), khr1.soles, strict=True):
        wrench = pin.Force.Zero()
        names = [soles.names[row] for row in points.rows]
        for name, place, force in zip(
            names, points.position, points.force, strict=True
        ):
            if name.split("/")[0] in sole.contacts:
                wrench += pin.Force(force, np.cross(place, force))
        local = khr1.frame_pose(q, sole.name).actInv(wrench)
        np.testing.assert_allclose(load.force, local.linear, atol=1e-12)
        np.testing.assert_allclose(load.moment, local.angular, atol=1e-12)


def test_in_the_air(khr1: hs.Model) -> None:
    """Without contact there is no load and no centre of pressure."""
    system, sample = settled(khr1, hs.Ground(), time=1e-3)
    soles = Soles(system)
    for load in soles.loads(sample, soles.points(sample)):
        assert (load.mode, load.closed) == (0, 0)
        assert not load.force.any()
        assert np.isnan(load.centre_of_pressure).all()


@pytest.mark.parametrize("angle", [0.0, 0.05, -0.3])
def test_a_start_on_a_slope(khr1: hs.Model, angle: float) -> None:
    """Every contact is as far from the slope as it was from the level floor."""
    q = khr1.standing(khr1.neutral()[7:])
    moved = square_to_floor(q, hs.Ground.slope(angle))
    level, sloped = hs.Ground(), hs.Ground.slope(angle)
    before, after = (
        ModelSystem(khr1, ground=ground).gaps(start)
        for ground, start in ((level, q), (sloped, moved))
    )
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
    if angle == 0.0:
        np.testing.assert_array_equal(moved, q)


def test_a_start_without_a_floor_stays(khr1: hs.Model) -> None:
    """Nothing is there to be put on."""
    q = khr1.standing(khr1.neutral()[7:])
    np.testing.assert_array_equal(square_to_floor(q, hs.Ground.empty()), q)
