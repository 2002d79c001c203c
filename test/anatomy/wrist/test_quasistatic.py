# SPDX-License-Identifier: Apache-2.0
"""Bones at rest: gradients against differences, balls in a box, no forces left."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from humans_sim.anatomy import (
    AnatomyError,
    BallModel,
    Bone,
    HandMotion,
    Ligament,
    Ligaments,
    PenaltyLaw,
    Wrist,
    move_by_penalty,
    move_quasistatic,
)
from humans_sim.anatomy.wrist.penalty_run import WristPotential
from humans_sim.bodies import of_sphere
from humans_sim.bodies.loads import Moving

RADIUS = 5e-3
STIFFNESS = 1e5


def bone(name, role, place, balls=((0.0, 0.0, 0.0),)):
    """Balls about a centre of mass."""
    offsets = np.array(balls, dtype=float)
    model = BallModel(np.array(place) + offsets, np.full(len(offsets), RADIUS))
    mesh = trimesh.creation.icosphere(1, RADIUS)
    mass = of_sphere(3e-3, RADIUS).moved(np.eye(3), np.array(place, dtype=float))
    return Bone(name, role, mesh, model, mass)


def chain():
    """Three bones of three balls that overlap, and ligaments beside the centres."""
    balls = [(-4e-3, 0, 0), (0, 1e-3, 0), (4e-3, 0, 1e-3)]
    bones = (
        bone("one", "free", (0, 0, 0), balls),
        bone("two", "free", (1e-3, 9.2e-3, 0), balls),
        bone("three", "driven", (0, 1.9e-2, 2e-3), balls),
    )
    ties = Ligaments(
        [
            Ligament("a", 0, (2e-3, 3e-3, 0), 1, (0, -2e-3, 3e-3), 3e-3, 3e-2, 2e4),
            Ligament("b", 1, (2e-3, 3e-3, 0), 2, (0, -2e-3, 3e-3), 3e-3, 3e-2, 2e4),
        ]
    )
    return Wrist("chain", bones, ties, (0, 0), np.zeros(3), True)


def box():
    """Two balls pushed into each other in a box of large balls."""
    far = 1.0
    walls = [
        sign * (far + 1.2e-2) * np.eye(3)[axis] for axis in range(3) for sign in (1, -1)
    ]
    walls = [
        Bone(
            f"wall{n}",
            "fixed",
            trimesh.creation.icosphere(1, RADIUS),
            BallModel(np.array([place]), np.array([far])),
            of_sphere(1.0, far).moved(np.eye(3), place),
        )
        for n, place in enumerate(walls)
    ]
    balls = (bone("one", "free", (0, 0, 0)), bone("two", "free", (3e-3, 1e-3, 0)))
    return Wrist("box", (*balls, *walls), Ligaments([]), (), np.zeros(3), True)


def at_rest(wrist):
    """All bones where they begin."""
    state, still = wrist.rest(), np.zeros((len(wrist.bones), 3))
    return Moving(state.x, state.R, still, still)


def test_gradient_is_the_derivative():
    """Against central differences, at turned and shifted places: below 1e-6."""
    wrist = chain()
    potential, start = WristPotential(wrist, STIFFNESS), at_rest(wrist)
    chance = np.random.default_rng(0)
    for size in (0.0, 0.1, 2.0):
        place = size * chance.normal(size=potential.size)
        _, gradient = potential.value(start, place)
        h = 1e-5
        differences = np.array(
            [
                potential.value(start, place + h * e)[0]
                - potential.value(start, place - h * e)[0]
                for e in np.eye(potential.size)
            ]
        ) / (2 * h)
        error = np.abs(gradient - differences).max()
        assert error < 1e-6 * max(1.0, np.abs(gradient).max())
        assert np.abs(gradient).max() > 1e-3


def test_balls_pushed_in_a_box_end_without_overlap():
    """Nothing presses them: the least potential is zero."""
    wrist = box()
    potential = WristPotential(wrist, STIFFNESS)
    rest = potential.rest(at_rest(wrist))
    distance = np.linalg.norm(rest.moving.x[0] - rest.moving.x[1])
    assert rest.potentials[0] > 0.5 and rest.potentials[-1] < 1e-10
    assert distance > 2 * RADIUS - 1e-7
    assert rest.settled
    inside = np.abs(rest.moving.x[:2]).max() + RADIUS
    assert inside < 1.2e-2 + 1e-7


def test_potential_never_grows():
    """From point to point of a descent."""
    for wrist in (chain(), box()):
        rest = WristPotential(wrist, STIFFNESS).rest(at_rest(wrist))
        assert len(rest.potentials) > 2
        assert (np.diff(rest.potentials) <= 1e-15).all()
        assert rest.potentials[-1] < 0.9 * rest.potentials[0]


def test_rest_has_no_forces_of_the_penalty_law():
    """Forces of overlaps and of ligaments, by their own laws, sum to nothing."""
    wrist = chain()
    rest = WristPotential(wrist, STIFFNESS).rest(at_rest(wrist))
    moving = rest.moving
    contacts = wrist.detector().detect(wrist.poses(moving.x, moving.frames))
    assert contacts.count
    force, torque = np.zeros((3, 3)), np.zeros((3, 3))
    PenaltyLaw(STIFFNESS).add(contacts, moving, force, torque)
    pressed = np.abs(force[:2]).max()
    wrist.ligaments.add(0.0, moving, force, torque)
    assert pressed > 1
    assert np.abs(force[:2]).max() < 1e-3
    assert np.abs(torque[:2]).max() < 1e-5


@pytest.mark.study
def test_damped_motion_ends_where_the_potential_is_least():
    """The thesis' equations of motion lead to the same rest, with other code."""
    wrist = chain()
    rest = WristPotential(wrist, STIFFNESS).rest(at_rest(wrist))
    motion = HandMotion(angle=0.0, duration=0.15, settling=0.0, holding=0.0)
    run = move_by_penalty(wrist, motion, PenaltyLaw(STIFFNESS, viscosity=400.0))
    assert run.energy[-1].sum() == pytest.approx(rest.potentials[-1], rel=1e-3)
    gaps = np.linalg.norm(np.diff(run.x[-1], axis=0), axis=1)
    expected = np.linalg.norm(np.diff(rest.moving.x, axis=0), axis=1)
    assert gaps == pytest.approx(expected, abs=2e-5)


@pytest.mark.study
def test_continuation_follows_the_hand():
    """The chain turns with its driven bone, at rest in every place."""
    wrist = chain()
    motion = HandMotion("adduction", 0.4)
    run = move_quasistatic(wrist, motion, STIFFNESS, samples=9)
    assert run.method == "quasistatic" and run.unsettled == 0
    assert np.diff(run.angles) == pytest.approx(0.05, abs=1e-3)
    # Nothing else holds the chain: in the hand's frame it does not move.
    turned = run.frames[:, 2].transpose(0, 2, 1)
    seen = np.einsum("nij,nbj->nbi", turned, run.x)
    assert np.abs(seen - seen[0]).max() < 2e-5
    assert run.energy.shape == (9, 2) and (run.energy[:, 0] == 0).all()
    assert np.ptp(run.energy.sum(axis=1)) < 1e-6


def test_bad_numbers_are_refused():
    """Typed errors."""
    with pytest.raises(AnatomyError, match="samples"):
        move_quasistatic(chain(), samples=1)
    with pytest.raises(AnatomyError, match="stiffness"):
        move_quasistatic(chain(), stiffness=-1.0)
