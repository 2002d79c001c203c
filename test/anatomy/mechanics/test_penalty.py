# SPDX-License-Identifier: Apache-2.0
"""The penalty law against the mechanics of two balls, a block, a wheel and a top."""

from __future__ import annotations

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.anatomy import BallModel, ContactDetector, Contacts, PenaltyLaw, Poses
from humans_sim.bodies import RigidBodies, move, of_sphere
from humans_sim.bodies.loads import Moving
from humans_sim.bodies.rigid_bodies import BodyState

G = 9.81


def floor(x: np.ndarray, radius: float) -> Contacts:
    """Contact of ball 0 with a floor, which is body 1 without a motion."""
    depth = np.array([radius - x[2]])
    point = np.array([[x[0], x[1], x[2] - radius + depth[0] / 2]])
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    normal = np.array([[0.0, 0.0, 1.0]])
    return Contacts(zero, zero, one, zero, depth, normal, point, one - depth / radius)


def on_floor(law: PenaltyLaw, slope: float, state: BodyState, t_end: float) -> object:
    """A ball of 1 kg and 10 cm on an inclined floor, from a given state."""
    bodies = RigidBodies([of_sphere(1.0, 0.1)])
    gravity = G * np.array([np.sin(slope), 0.0, -np.cos(slope)])

    def forces(t: float, now: BodyState) -> tuple[np.ndarray, np.ndarray]:
        both = Moving(
            np.vstack([now.x, np.zeros(3)]),
            np.tile(np.eye(3), (2, 1, 1)),
            np.vstack([bodies.velocities(now), np.zeros(3)]),
            np.vstack([bodies.spins(now), np.zeros(3)]),
        )
        force, torque = np.zeros((2, 3)), np.zeros((2, 3))
        law.add(floor(now.x[0], 0.1), both, force, torque)
        force[0] += gravity
        force[0, 2] -= 200.0 * both.v[0, 2]  # lands without a bounce
        return force[:1], torque[:1]

    motion = move(bodies, state, t_end, forces=forces, method="rk4", step=1e-4)
    return bodies, motion


def at_rest(slope: float, **motion: np.ndarray) -> BodyState:
    """The ball where its weight and the floor's force are equal."""
    bodies = RigidBodies([of_sphere(1.0, 0.1)])
    depth = G * np.cos(slope) / 1e5
    return bodies.state(np.array([[0.0, 0.0, 0.1 - depth]]), **motion)


def test_two_balls_collide_as_a_spring_between_them() -> None:
    """Depth v sqrt(m_r/K), duration pi sqrt(m_r/K), velocities exchanged."""
    law = PenaltyLaw(stiffness=100.0)
    masses, v = np.array([1.0, 2.0]), 0.1
    bodies = RigidBodies([of_sphere(1.0, 0.5), of_sphere(2.0, 0.5)])
    models = [BallModel(np.zeros((1, 3)), np.array([0.5]))] * 2
    detector = ContactDetector(models)
    depths = []

    def forces(t: float, now: BodyState) -> tuple[np.ndarray, np.ndarray]:
        moving = Moving(now.x, now.R, bodies.velocities(now), bodies.spins(now))
        force, torque = np.zeros((2, 3)), np.zeros((2, 3))
        contacts = detector.detect(Poses(now.R, now.x))
        law.add(contacts, moving, force, torque)
        depths.extend(contacts.depth)
        return force, torque

    start = bodies.state(
        np.array([[0.0, 0, 0], [1.0, 0, 0]]),
        velocities=np.array([[v, 0, 0], [0.0, 0, 0]]),
    )
    reduced = masses.prod() / masses.sum()
    duration = np.pi * np.sqrt(reduced / law.stiffness)
    motion = move(
        bodies, start, 1.05 * duration, forces=forces, method="rk4", step=1e-3
    )
    assert max(depths) == pytest.approx(v * np.sqrt(reduced / 100.0), rel=1e-3)
    assert motion.P[-1, :, 0] / masses == pytest.approx([-v / 3, 2 * v / 3], rel=1e-3)
    assert np.abs(motion.P.sum(axis=1) - [0.1, 0, 0]).max() < 1e-9
    before = move(
        bodies, start, 0.95 * duration, forces=forces, method="rk4", step=1e-3
    )
    assert before.P[-1, 1, 0] / 2 < 2 * v / 3 * 0.999  # still in contact


def test_action_is_reaction() -> None:
    """Forces and moments of an isolated pair sum to zero, with all frictions."""
    chance = np.random.default_rng(2)
    model = BallModel(chance.normal(0, 4e-3, (40, 3)), chance.uniform(2e-3, 4e-3, 40))
    law = PenaltyLaw(2e4, friction=0.3, rolling=1e-4, pivoting=2e-4)
    detector = ContactDetector([model, model])
    x = np.array([[0.0, 0, 0], [0.012, 0.002, 0.0]])
    frames = np.tile(np.eye(3), (2, 1, 1))
    contacts = detector.detect(Poses(frames, x))
    moving = Moving(x, frames, chance.normal(size=(2, 3)), chance.normal(size=(2, 3)))
    force, torque = np.zeros((2, 3)), np.zeros((2, 3))
    law.add(contacts, moving, force, torque)
    assert contacts.count > 10 and np.abs(force).max() > 1
    assert np.abs(force.sum(axis=0)).max() < 1e-9
    assert np.abs((torque + np.cross(x, force)).sum(axis=0)).max() < 1e-9


def test_sliding_on_a_slope() -> None:
    """A body that cannot roll slides iff tan(slope) > f, with g (sin - f cos)."""
    bodies, reference = RigidBodies([of_sphere(1.0, 0.1)]), 0.3
    for slope in (0.25, 0.6):
        law = PenaltyLaw(1e5, friction=reference, slip_speed=1e-5)

        def pushed(
            now: BodyState, law: PenaltyLaw = law, slope: float = slope
        ) -> np.ndarray:
            both = Moving(
                np.vstack([now.x, np.zeros(3)]),
                np.tile(np.eye(3), (2, 1, 1)),
                np.vstack([bodies.velocities(now), np.zeros(3)]),
                np.zeros((2, 3)),
            )
            force, torque = np.zeros((2, 3)), np.zeros((2, 3))
            law.add(floor(now.x[0], 0.1), both, force, torque)
            return force[0] + G * np.array([np.sin(slope), 0, -np.cos(slope)])

        moving = at_rest(slope, velocities=np.array([[0.02, 0.0, 0.0]]))
        slides = pushed(moving)[0]
        held = pushed(at_rest(slope, velocities=np.array([[1e-5, 0.0, 0.0]])))[0]
        exact = G * (np.sin(slope) - reference * np.cos(slope))
        assert slides == pytest.approx(exact, rel=1e-6)
        assert (held > 0) == (np.tan(slope) > reference)


def test_a_sliding_ball_ends_rolling() -> None:
    """Launched without spin, it rolls at 5/7 of its speed."""
    law = PenaltyLaw(1e5, friction=0.3, slip_speed=1e-4)
    launch = at_rest(0.0, velocities=np.array([[0.2, 0.0, 0.0]]))
    bodies, motion = on_floor(law, 0.0, launch, 0.05)
    state = motion.state(-1)
    assert bodies.velocities(state)[0, 0] == pytest.approx(0.2 * 5 / 7, rel=2e-3)
    assert bodies.spins(state)[0, 1] == pytest.approx(0.2 * 5 / 7 / 0.1, rel=1e-2)


def test_pivoting_decays_linearly() -> None:
    """The spin about the normal falls by f_p N / I a second."""
    law = PenaltyLaw(1e5, pivoting=1e-3, slip_spin=1e-4)
    launch = at_rest(0.0, spins=np.array([[0.0, 0.0, 0.5]]))
    bodies, motion = on_floor(law, 0.0, launch, 0.1)
    spin = bodies.spins(motion.state(-1))[0, 2]
    assert 0.5 - spin == pytest.approx(1e-3 * G / (0.4 * 0.01) * 0.1, rel=1e-3)


def test_rolling_decays_linearly() -> None:
    """Without friction against sliding, a spin across the normal by f_r N / I."""
    law = PenaltyLaw(1e5, rolling=1e-3, slip_spin=1e-4)
    launch = at_rest(0.0, spins=np.array([[0.3, 0.4, 0.0]]))
    bodies, motion = on_floor(law, 0.0, launch, 0.1)
    spin = bodies.spins(motion.state(-1))[0]
    left = 0.5 - 1e-3 * G / (0.4 * 0.01) * 0.1
    assert spin == pytest.approx([0.6 * left, 0.8 * left, 0.0], abs=1e-4)
    assert np.abs(bodies.velocities(motion.state(-1))).max() < 1e-9


def test_refuses_numbers_that_make_no_sense() -> None:
    """Negative or missing stiffness, friction and speeds are refused."""
    for numbers in ({"stiffness": 0}, {"friction": -1}, {"slip_speed": 0.0}):
        with pytest.raises(hs.errors.AnatomyError):
            PenaltyLaw(**numbers)
