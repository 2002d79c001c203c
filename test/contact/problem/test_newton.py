# SPDX-License-Identifier: Apache-2.0
"""Newton's method and interior points on contact problems that are hard."""

from __future__ import annotations

import math

import numpy as np
import pytest
from contact_law import law_error, random_problem

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


def heap(seed: int, bodies: int):
    """W, b and friction of a heap: up to four points wherever two bodies are near."""
    rng = np.random.default_rng(seed)
    side = math.ceil(bodies ** (1 / 3))
    grid = [(i % side, i // side % side, i // side**2) for i in range(bodies)]
    place = np.array(grid) + rng.uniform(-0.12, 0.12, (bodies, 3))
    rows = []
    for i in range(bodies):
        for j in range(i):
            apart = place[i] - place[j]
            if np.linalg.norm(apart) > 1.15:
                continue
            normal = apart / np.linalg.norm(apart)
            frame = np.linalg.svd(normal[None])[2]
            frame[0] = normal
            for angle in np.arange(4) * np.pi / 2 if rng.random() < 0.8 else [0.0]:
                point = 0.5 * (place[i] + place[j])
                point = (
                    point + 0.25 * np.array([0, np.cos(angle), np.sin(angle)]) @ frame
                )
                block = np.zeros((3, 6 * bodies))
                for body, sign in ((i, 1.0), (j, -1.0)):
                    arm = np.cross(np.tile(point - place[body], (3, 1)), frame)
                    block[:, 6 * body : 6 * body + 6] = sign * np.hstack([frame, arm])
                rows.append(block)
    flat = np.concatenate(rows)
    mass = np.repeat(10.0 ** rng.uniform(-1, 1, bodies), 6)
    mass.reshape(-1, 6)[:, 3:] *= 0.1
    motion = np.tile([0.0, 0.0, -STEP * 9.81, 0.0, 0.0, 0.0], bodies)
    motion[2] = STEP * 9.81
    motion += 1e-3 * rng.normal(size=6 * bodies)
    friction = rng.uniform(0.2, 1.0, len(rows))
    return (flat / mass) @ flat.T, (flat @ motion).reshape(-1, 3), friction


def test_heaps() -> None:
    """Bodies that press on each other at some hundred redundant points, from cold."""
    for seed in range(4):
        w, b, friction = heap(seed, 18)
        two = np.full(len(friction), 2)
        assert len(friction) > 60
        forces = solve_contact(w, b, two, friction).forces
        assert law_error(w, b, friction, forces) < ACCEPTED


def test_islands_are_solved_one_by_one() -> None:
    """Robots that know nothing of each other have the forces that each has alone."""
    rng = np.random.default_rng(9)
    parts = [random_problem(rng) for _ in range(6)]
    friction = [np.full(len(b), 0.4) for _, b in parts]
    motion = np.concatenate([b for _, b in parts])
    k = len(motion)
    whole, first = np.zeros((3 * k, 3 * k)), 0
    for w, _ in parts:
        whole[first : first + len(w), first : first + len(w)] = w
        first += len(w)
    mixed = rng.permutation(k)
    rows = (3 * mixed[:, None] + np.arange(3)).ravel()
    forces, residual = solve_near(
        whole[np.ix_(rows, rows)],
        motion[mixed],
        np.full(k, 2),
        np.concatenate(friction)[mixed],
        np.zeros((k, 3)),
        ACCEPTED,
    )
    assert residual < ACCEPTED
    ordered, first = np.empty((k, 3)), 0
    ordered[mixed] = forces
    for (w, b), mu in zip(parts, friction, strict=True):
        own = ordered[first : first + len(b)]
        assert law_error(w, b, mu, own) < 1e-7
        first += len(b)
