# SPDX-License-Identifier: Apache-2.0
"""Steps of bones with ligaments and contact, on wrists of a few balls."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from humans_sim.anatomy import AnatomyError, BallModel, Ligament, Ligaments
from humans_sim.anatomy.wrist.bone_steps import BoneSteps, StepNumbers
from humans_sim.anatomy.wrist.step_equations import BonePlaces, NearPairs, point_rows
from humans_sim.anatomy.wrist.wrist import Bone, Wrist
from humans_sim.bodies import of_sphere

RADIUS = 5e-3


def bone(name, role, place, balls=None, reach=RADIUS):
    """A bone of one ball, or of balls about its centre."""
    place = np.array(place, dtype=float)
    mesh = trimesh.creation.icosphere(1, RADIUS)
    offsets = np.zeros((1, 3)) if balls is None else np.array(balls, dtype=float)
    model = BallModel(place + offsets, np.full(len(offsets), RADIUS))
    mass = of_sphere(3e-3, reach).moved(np.eye(3), place)
    return Bone(name, role, mesh, model, mass)


def pulled_pair(roles=("free", "free"), gap=1e-3, stiffness=2e4, point=(0, 0, 0)):
    """Two balls with a gap, and a ligament that draws them together."""
    bones = (
        bone("one", roles[0], (0, 0, 0)),
        bone("two", roles[1], (2 * RADIUS + gap, 0, 0)),
    )
    length = 2 * RADIUS + gap
    tie = Ligament("tie", 0, point, 1, (0, 0, 0), 0.7 * length, 1.6 * length, stiffness)
    return Wrist("pair", bones, Ligaments([tie]), (1,), np.zeros(3), True)


def still(wrist):
    """All bones at rest."""
    return BonePlaces(wrist.centres, np.tile(np.eye(3), (len(wrist.bones), 1, 1)))


def test_balls_drawn_together_touch_and_do_not_overlap():
    """They come to rest with the ligament's tension as contact force."""
    wrist = pulled_pair()
    steps = BoneSteps(wrist)
    for _ in range(60):
        record = steps.step(2e-3, still(wrist))
        assert record.depth < 1e-6 and record.settled
    distance = np.linalg.norm(steps.state.x[1] - steps.state.x[0])
    assert distance == pytest.approx(2 * RADIUS, abs=1e-6)
    assert record.forces[0, 0] == pytest.approx(record.tensions[0], rel=1e-6)
    assert record.tensions[0] > 10


def test_momenta_of_free_bones_stay_zero():
    """Ligament and contact act both ways, also beside the centres."""
    wrist = pulled_pair(point=(0, 3e-3, 1e-3))
    steps = BoneSteps(wrist, StepNumbers(friction=0.3, viscosity=0.0))
    for _ in range(40):
        steps.step(1e-3, still(wrist))
        linear, _ = steps.bodies.momentum(steps.state)
        assert np.abs(linear).max() < 1e-12
    assert np.abs(steps.bodies.spins(steps.state)).max() > 0.1


def test_energy_never_grows():
    """Kinetic and stored energy fall, however long the step."""
    for h in (1e-4, 1e-3, 1e-2):
        wrist = pulled_pair(stiffness=1e5, point=(0, 3e-3, 1e-3))
        steps = BoneSteps(wrist, StepNumbers(viscosity=0.0))
        last = wrist.ligaments.energy(steps.moving())
        for _ in range(30):
            steps.step(h, still(wrist))
            moving = steps.moving()
            energy = steps.bodies.kinetic_energy(steps.state).sum()
            energy += wrist.ligaments.energy(moving)
            assert energy <= last * (1 + 1e-9)
            last = energy


def test_free_flight_between_contacts_is_exact():
    """Without ligaments a bone keeps its momentum until it meets another."""
    bones = (bone("one", "free", (0, 0, 0)), bone("two", "fixed", (0.02, 0, 0)))
    wrist = Wrist("flight", bones, Ligaments([]), (), np.zeros(3), True)
    steps = BoneSteps(wrist, StepNumbers(viscosity=0.0))
    steps.state.P[0] = [3e-3 * 0.5, 0, 0]  # 0.5 m/s
    for _ in range(10):
        steps.step(1e-3, still(wrist))
    assert steps.state.x[0, 0] == pytest.approx(0.005, abs=1e-9)
    for _ in range(20):
        record = steps.step(1e-3, still(wrist))
        assert record.depth < 1e-6
    assert steps.state.x[0, 0] == pytest.approx(0.02 - 2 * RADIUS, abs=1e-6)
    assert np.abs(steps.state.P[0]).max() < 1e-9


@pytest.mark.parametrize("mu", [0.05, 0.4])
def test_friction_lies_in_its_cone(mu):
    """A bone dragged over another: on the cone while it slides, against the slip."""
    wrist = pulled_pair(("free", "driven"), gap=0.0)
    steps = BoneSteps(wrist, StepNumbers(friction=mu))
    for k in range(30):
        ends = still(wrist)
        ends.x[1, 2] += 1e-5 * (k + 1)
        record = steps.step(1e-3, ends)
        tangent = np.linalg.norm(record.forces[:, 1:], axis=1)
        assert (tangent <= mu * record.forces[:, 0] * (1 + 1e-6) + 1e-9).all()
        assert record.depth < 1e-6
    assert record.forces[0, 0] > 1


def test_rows_taken_in_are_as_good_as_all():
    """The motion violates no pair, though few are rows."""
    grid = 4e-3 * np.array([(0, i, j) for i in range(-3, 4) for j in range(-3, 4)])
    bones = (
        bone("one", "free", (0, 0, 0), grid, 2e-2),
        bone("two", "fixed", (2 * RADIUS + 2e-4, 0, 0), grid),
    )
    tie = Ligament("tie", 0, (0, 6e-3, 0), 1, (0, 6e-3, 1e-3), 9.5e-3, 2e-2, 1e4)
    wrist = Wrist("plates", bones, Ligaments([tie]), (0,), np.zeros(3), True)
    steps = BoneSteps(wrist)
    for _ in range(40):
        record = steps.step(2e-3, still(wrist))
        assert record.depth < 1e-6
    assert 1 <= len(record.rows) < record.contacts.count
    # the rest is balanced: contact forces sum to the tension, and about its point
    forces = record.forces[:, 0] @ record.contacts.normal[record.rows]
    assert abs(forces[0]) == pytest.approx(record.tensions[0], rel=0.02)


def test_point_rows_are_derivatives():
    """Velocities of points against differences of their places."""
    rng = np.random.default_rng(1)
    columns = np.array([-1, 0, 6])
    bones, arms = np.array([0, 1, 2, 1]), rng.normal(size=(4, 3))
    v = rng.normal(size=12)
    rows = point_rows(columns, bones, arms, 2)
    for n, b in enumerate(bones):
        expected = np.zeros(3)
        if columns[b] >= 0:
            own = v[columns[b] : columns[b] + 6]
            expected = own[:3] + np.cross(own[3:], arms[n])
        assert rows[n] @ v == pytest.approx(expected)


def test_gaps_along_old_normals_are_never_above_the_true_gaps():
    """Why balls that obey their rows do not overlap."""
    wrist = pulled_pair(gap=1e-3)
    detector = wrist.detector()
    rest = still(wrist)
    near = detector.detect(wrist.poses(rest.x, rest.frames), margin=2e-3)
    pairs = NearPairs(near, wrist.balls(), rest, np.array([0, 6]))
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rest.x + 5e-4 * rng.normal(size=rest.x.shape)
        true = np.linalg.norm(x[1] - x[0]) - 2 * RADIUS
        assert pairs.end_gaps(BonePlaces(x, rest.frames))[0] <= true + 1e-12


def test_bad_numbers_are_refused():
    """Typed errors."""
    with pytest.raises(AnatomyError, match="friction"):
        StepNumbers(friction=-1)
    with pytest.raises(AnatomyError, match="step"):
        BoneSteps(pulled_pair()).step(0.0, still(pulled_pair()))
    with pytest.raises(AnatomyError, match="free"):
        pulled_pair(("fixed", "fixed"))
    with pytest.raises(AnatomyError, match="no ligament"):
        pulled_pair().cut("none")
