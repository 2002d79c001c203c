# SPDX-License-Identifier: Apache-2.0
"""Contacts that slide in known directions: Newton's method, and jumps without it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from humans_sim.contact.problem.contact_problem import (
    by_newton_along_slides,
    by_sweeps,
    solve_contact,
)
from humans_sim.contact.problem.impact import impact_without_collision
from humans_sim.contact.problem.law import ContactProblem
from humans_sim.dynamics import problems


def random_problem(seed: int) -> ContactProblem:
    """Six contacts of a body with nine coordinates, half of which slide."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(18, 9))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    slides = rng.random(6) < 0.5
    direction = rng.normal(size=(6, 2)) * slides[:, None]
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    direction = np.divide(direction, length, out=direction, where=length > 0)
    return ContactProblem(
        rows @ rows.T + 1e-3 * np.eye(18),
        rng.normal(size=(6, 3)),
        np.full(6, 2),
        np.full(6, 0.3),
        direction,
    )


def test_newton_solves_with_known_directions() -> None:
    """Where it arrives, forces obey the law, and are those of the sweeps."""
    arrived = 0
    for seed in range(20):
        problem = random_problem(seed)
        forces, residual = by_newton_along_slides(tuple(problem))
        if not residual <= 1e-8:
            continue
        arrived += 1
        slides = problem.sliding.any(axis=1)
        assert (forces[:, 0] >= -1e-9).all()
        friction = -0.3 * forces[slides, :1] * problem.sliding[slides]
        np.testing.assert_allclose(forces[slides, 1:], friction, atol=1e-12)
        motion = problem.free + (problem.delassus @ forces.ravel()).reshape(-1, 3)
        assert motion[:, 0].min() > -1e-7
        assert np.abs(motion[:, 0] * forces[:, 0]).max() < 1e-6
        known = solve_contact(*problem)
        np.testing.assert_allclose(known.motion, motion, atol=1e-5)
    assert arrived >= 15


@pytest.mark.parametrize("seed", [40, 46])
def test_boxes_that_sweeps_do_not_solve(seed: int) -> None:
    """On four corners, of which some slide: Newton's method finds what they miss."""
    rng = np.random.default_rng(seed)
    inertia, speed = rng.uniform(1e-3, 1, 6), rng.normal(size=6)
    half = rng.uniform(0.02, 0.3, 3)
    rows, sliding = np.empty((4, 3, 6)), np.empty((4, 2))
    for c, signs in enumerate([(-1, -1, -1), (-1, 1, -1), (1, -1, -1), (1, 1, -1)]):
        x, y, z = half * signs
        arm = np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
        rows[c] = np.hstack([np.eye(3), arm])[[2, 0, 1]]
        slip = (rows[c] @ speed)[1:]
        sliding[c] = slip / np.linalg.norm(slip) * (rng.random() < 0.7)
    flat = rows.reshape(12, 6)
    free = (flat @ rng.normal(size=6)).reshape(4, 3)
    free[:, 0] -= rng.uniform(0, 10)
    friction = np.full(4, rng.uniform(0.1, 0.9))
    delassus = (flat / inertia) @ flat.T
    problem = ContactProblem(delassus, free, np.full(4, 2), friction, sliding)
    assert by_sweeps(tuple(problem))[1] > 1e-6
    solution = solve_contact(*problem)
    forces, motion = solution.forces, solution.motion
    scale = np.abs(free).max()
    assert (forces[:, 0] >= 0.0).all() and motion[:, 0].min() > -1e-9 * scale
    assert np.abs(forces[:, 0] * motion[:, 0]).max() < 1e-9 * scale
    slides = sliding.any(axis=1)
    along = -friction[slides, None] * forces[slides, :1] * sliding[slides]
    np.testing.assert_allclose(forces[slides, 1:], along, atol=1e-12)
    inside = np.linalg.norm(forces[:, 1:], axis=1) - friction * forces[:, 0]
    assert inside.max() < 1e-9


def test_newton_leaves_paradoxes_to_others() -> None:
    """Friction that pulls a contact in as it presses: it is not tried."""
    w = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.0]])
    problem = (
        w,
        np.array([[-1.0, 0.0, 0.0]]),
        np.array([1]),
        np.array([1.5]),
        np.array([[1.0, 0.0]]),
    )
    assert by_newton_along_slides(problem)[1] == math.inf


@pytest.mark.parametrize("slow", [1.0, 1e-3, 1e-5])
def test_a_slow_contact_jumps_beside_a_fast_one(slow: float) -> None:
    """A jump is seen however slowly its contact slides; the other one stays.

    Two rods that know nothing of each other: one slides into its friction, the other
    one away from it.
    """
    rod, angle = problems.falling_rod(2.5), -1.0
    q = np.array([0.0, 0.5 * math.cos(angle), angle])
    mass, rows = np.zeros((6, 6)), np.zeros((2, 3, 6))
    acceleration = np.zeros((2, 3))
    for k in range(2):
        terms = rod.terms(q, np.zeros(3), np.array([0]))
        part = slice(3 * k, 3 * k + 3)
        mass[part, part], rows[k, :, part] = terms.mass, terms.jacobian[0]
        free = np.linalg.solve(terms.mass, -terms.bias)
        acceleration[k] = terms.jacobian[0] @ free
    velocity = np.array([-slow, 0.0, 0.0, 1.0, 0.0, 0.0])
    friction, tangents = np.full(2, 2.5), np.ones(2, dtype=np.int64)
    jump = impact_without_collision(
        mass, rows, velocity, acceleration, tangents, friction
    )
    assert jump is not None
    np.testing.assert_allclose(jump.after[0], 0.0, atol=1e-9)
    np.testing.assert_allclose(jump.after[1], [0.0, 1.0, 0.0], atol=1e-9)
    assert jump.work < 0.0
