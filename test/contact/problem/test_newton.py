# SPDX-License-Identifier: Apache-2.0
"""Newton's method and interior points on contact problems that are hard."""

from __future__ import annotations

import math

import numpy as np
import pytest

import humans_sim as hs
from humans_sim.contact.geometry.ground import Ground
from humans_sim.contact.problem.block_matrix import elimination_of
from humans_sim.contact.problem.contact_problem import solve_contact
from humans_sim.contact.problem.interior_point import in_one_cone, path_step
from humans_sim.contact.problem.law import ContactProblem, residual_of
from humans_sim.contact.problem.newton import contacts_of, solve_near
from humans_sim.dynamics.model_system import ModelSystem

ACCEPTED, TOLERATED = 1e-8, 1e-5
STEP, ROTOR = 1e-3, 1.5e-3
FEET = np.arange(8)


def double_support(khr1: hs.Model, rng: np.random.Generator):
    """W and the Jacobian of both feet on the ground, knees bent at random.

    The two legs have no hip yaw: together with the ground they are a loop that forces
    turn next to nothing.
    """
    armature = np.concatenate([np.zeros(6), np.full(len(khr1.joint_names), ROTOR)])
    system = ModelSystem(khr1, Ground(), armature=armature)
    bend = rng.uniform(0.1, 0.6)
    joints = np.zeros(len(khr1.joint_names))
    for side in ("r", "l"):
        for name, share in (("hip_pitch", -0.5), ("knee", 1.0), ("ankle_pitch", -0.5)):
            index = khr1.joint_names.index(f"{side}_{name}")
            low, high = khr1.lower_limits[index], khr1.upper_limits[index]
            joints[index] = np.clip(share * bend, low, high)
    terms = system.terms(khr1.standing(joints), np.zeros(khr1.nv), FEET)
    flat = terms.jacobian.reshape(24, -1)
    return flat @ np.linalg.solve(terms.mass, flat.T), flat


@pytest.mark.parametrize("mu", [0.3, 0.7, 1.0])
def test_double_support(khr1: hs.Model, mu: float) -> None:
    """Hundreds of random motions of eight corners, warm and cold: none fails."""
    rng = np.random.default_rng(11)
    two, friction, none = np.full(8, 2), np.full(8, mu), np.zeros((8, 2))
    residuals = []
    for _ in range(8):
        w, flat = double_support(khr1, rng)
        forces = np.zeros((8, 3))
        for k in range(25):
            v = rng.normal(size=khr1.nv) * 10.0 ** rng.uniform(-5, -1)
            v[2] -= 9.81 * STEP
            b = (flat @ v).reshape(8, 3)
            start = forces if k % 2 else np.zeros((8, 3))
            forces, residual = solve_near(w, b, two, friction, start, ACCEPTED)
            residuals.append(residual)
            along = np.hypot(forces[:, 1], forces[:, 2])
            assert (along <= mu * forces[:, 0] * (1 + 1e-12)).all()
            # The same judgement on the problem as it was given, in its own scale.
            scale = 1 / np.sqrt(np.diag(w)[::3])
            rows = np.repeat(scale, 3)
            scaled = ContactProblem(
                rows[:, None] * w * rows, scale[:, None] * b, two, friction, none
            )
            again = residual_of(scaled, forces / scale[:, None])
            assert again == pytest.approx(residual, rel=1e-2, abs=1e-12)
    residuals = np.array(residuals)
    assert residuals.max() < TOLERATED
    assert np.mean(residuals < ACCEPTED) > 0.95


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.7, math.inf])
def test_random_problems(mu: float) -> None:
    """Random problems of points, planar points and limits: the motion is the known one.

    Without redundancy the motion is what Gauss-Seidel finds.
    """
    rng = np.random.default_rng(5)
    for _ in range(100):
        k = int(rng.integers(1, 6))
        nv = 3 * k + int(rng.integers(0, 4))
        tangents = rng.integers(0, 3, k)
        rows = rng.normal(size=(k, 3, nv))
        for c in range(k):
            rows[c, 1 + tangents[c] :] = 0.0
        rows = rows.reshape(3 * k, nv)
        root = rng.normal(size=(nv, nv))
        w = rows @ np.linalg.solve(root @ root.T + nv * np.eye(nv), rows.T)
        b = (rows @ rng.normal(size=nv)).reshape(k, 3)
        friction = np.full(k, mu)
        forces, residual = solve_near(
            w, b, tangents, friction, np.zeros((k, 3)), ACCEPTED
        )
        assert residual < ACCEPTED
        motion = b + (w @ forces.ravel()).reshape(k, 3)
        known = solve_contact(w, b, tangents, friction)
        np.testing.assert_allclose(motion, known.motion, atol=1e-6 * np.abs(b).max())


def followed_path(w: np.ndarray, b: np.ndarray, mu: float, softness: float):
    """Forces at the end of the path of interior points."""
    problem = (w, b, np.array([2]), np.array([mu]))
    contacts, size = contacts_of(problem, np.ones(1))
    matrix, free, factor = in_one_cone(contacts)
    x, y = np.array([[[size, 0.0, 0.0]], [[size, 0.0, 0.0]]])
    solver, share = (elimination_of(matrix), np.empty((1, 3, 3))), 1.0
    for _ in range(60):
        share = path_step((matrix, free), contacts[2:], solver, (x, y), softness, share)
        if share == 0.0:
            break
    return factor * y


@pytest.mark.parametrize("mu", [0.0, 0.5, math.inf])
def test_interior_points_come_near(mu: float) -> None:
    """Without Newton's method the answer is near; a lone contact's is known."""
    w, b = np.eye(3), np.array([[-2.0, 3.0, 4.0]])
    forces = followed_path(w, b, mu, 0.0)
    along = 5.0 if math.isinf(mu) else 2.0 * mu
    np.testing.assert_allclose(forces, [[2.0, -0.6 * along, -0.8 * along]], atol=1e-5)
    assert np.abs(followed_path(w, -b, min(mu, 9.0), 0.01)).max() < 1e-5


def test_nothing_moves() -> None:
    """No free motion, no forces, whatever the start."""
    forces, residual = solve_near(
        np.eye(3),
        np.zeros((1, 3)),
        np.array([2]),
        np.array([0.5]),
        np.ones((1, 3)),
        ACCEPTED,
    )
    np.testing.assert_array_equal(forces, 0.0)
    assert residual == 0.0
