# SPDX-License-Identifier: Apache-2.0
"""The contact problem on its own: known answers, redundancy, random problems."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from contact_law import law_error, random_problem

from humans_sim.contact.problem import contact_problem
from humans_sim.contact.problem.contact_problem import (
    ContactProblemError,
    solve_contact,
)
from humans_sim.contact.problem.force_distribution import best_split, margins
from humans_sim.contact.problem.impact import solve_impact
from humans_sim.contact.problem.law import ContactProblem, residual_of
from humans_sim.core.errors import ParameterError

DATA = Path(__file__).parents[2] / "data"


def solve(w: np.ndarray, b: np.ndarray, mu: float | list[float], tangents: int = 2):
    """Solve with one friction and tangent count for all."""
    k = len(b)
    return solve_contact(
        w, b, np.full(k, tangents), np.broadcast_to(np.array(mu, float), (k,))
    )


def test_one_point_opens_sticks_slips() -> None:
    """A unit mass: the three modes and their forces."""
    w = np.eye(3)
    up = solve(w, np.array([[1.0, 0.3, 0.0]]), 0.5)
    np.testing.assert_array_equal(up.forces, 0.0)
    stick = solve(w, np.array([[-2.0, 0.6, 0.3]]), 0.5)
    np.testing.assert_allclose(stick.forces, [[2.0, -0.6, -0.3]])
    np.testing.assert_allclose(stick.motion, 0.0, atol=1e-14)
    slip = solve(w, np.array([[-2.0, 3.0, 4.0]]), 0.5)
    np.testing.assert_allclose(slip.forces, [[2.0, -0.6, -0.8]])
    np.testing.assert_allclose(slip.motion, [[0.0, 2.4, 3.2]], atol=1e-12)


def test_planar_contact_has_one_tangent() -> None:
    """The second tangent carries nothing."""
    w = np.diag([1.0, 1.0, 0.0])
    slip = solve(w, np.array([[-1.0, -2.0, 0.0]]), 0.3, tangents=1)
    np.testing.assert_allclose(slip.forces, [[1.0, 0.3, 0.0]])


def test_redundant_corners_share() -> None:
    """Four corners of one plate, tilted push: motion exact, forces admissible."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    rows = np.zeros((4, 3, 6))
    for c, (x, y) in enumerate(corners):
        rows[c, 0] = [0, 0, 1, y, -x, 0]
        rows[c, 1] = [1, 0, 0, 0, 0, -y]
        rows[c, 2] = [0, 1, 0, 0, 0, x]
    flat = rows.reshape(12, 6)
    free = np.array([0.3, 0.1, -1.0, 0.4, -0.3, 0.1])
    solution = solve(flat @ flat.T, (flat @ free).reshape(4, 3), 0.6)
    assert solution.residual < 1e-10
    assert (solution.forces[:, 0] >= 0).all()
    np.testing.assert_allclose(solution.motion[:, 0], 0.0, atol=1e-10)


def test_best_share_is_inside() -> None:
    """Forces that break a cone are shared so that none does, with the same effect."""
    rows = np.zeros((2, 3, 3))
    rows[0] = [[0, 1, 0.5], [1, 0, 0], [0, 0, 0]]
    rows[1] = [[0, 1, -0.5], [1, 0, 0], [0, 0, 0]]
    mode, tangents = np.array([1, 1]), np.array([1, 1])
    mu, direction = np.array([0.5, 0.5]), np.zeros((2, 2))
    forces = np.array([[1.0, 0.8, 0.0], [3.0, 0.8, 0.0]])
    assert margins(forces, mode, tangents, mu).min() < 0
    share = best_split(forces, rows, mode, tangents, mu, direction)
    assert share.margin > 0
    push = np.einsum("cij,ci->j", rows, forces)
    np.testing.assert_allclose(
        np.einsum("cij,ci->j", rows, share.forces), push, atol=1e-12
    )
    # Normal forces follow from the moment: only the tangents can be shared.
    np.testing.assert_allclose(share.forces[:, 0], forces[:, 0], atol=1e-12)
    hopeless = np.array([[1.0, 2.0, 0.0], [3.0, 2.0, 0.0]])
    assert best_split(hopeless, rows, mode, tangents, mu, direction).margin < 0


@pytest.mark.parametrize("mu", [0.0, 0.2, 0.7, math.inf])
def test_random_problems(mu: float) -> None:
    """A hundred random problems, redundant ones among them: the law holds."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        w, b = random_problem(rng)
        solution = solve(w, b, mu)
        u, f = solution.motion, solution.forces
        np.testing.assert_allclose(u, b + (w @ f.ravel()).reshape(-1, 3), atol=1e-12)
        assert law_error(w, b, np.full(len(b), mu), f) < 1e-8


def test_residual_sees_wrong_forces() -> None:
    """The verification is not blind."""
    w, b = np.eye(3), np.array([[-1.0, 0.2, 0.0]])
    two, mu, none = np.array([2]), np.array([0.5]), np.zeros((1, 2))
    right = np.array([[1.0, -0.2, 0.0]])
    problem = ContactProblem(w, b, two, mu, none)
    assert residual_of(problem, right) < 1e-14
    for wrong in ([[0.9, -0.2, 0.0]], [[1.0, 0.0, 0.0]], [[1.0, 0.6, 0.0]]):
        assert residual_of(problem, np.array(wrong)) > 0.05
    assert residual_of(problem, np.full((1, 3), np.nan)) == np.inf


def test_a_robot_that_falls_on_its_side() -> None:
    """Steps of a pushed KHR-1, and motions near to them, by the quick methods alone.

    Six contacts with friction 0.3, joint limits among them, 12 independent rows, two of
    them nearly opposite.
    """
    rng = np.random.default_rng(3)
    with np.load(DATA / "falling_robot.npz") as problems:
        for w, b, tangents, friction in zip(*problems.values(), strict=True):
            for size in (0.0, 1e-3, 1e-2, 0.1):
                push = (w @ rng.normal(size=len(w))).reshape(b.shape)
                free = b + size * np.abs(b).max() / np.abs(push).max() * push
                solution = solve_contact(w, free, tangents, friction, patient=False)
                assert solution.residual < 1e-8
                assert law_error(w, free, friction, solution.forces) < 1e-8


def test_sweeps_are_made_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are, signals come through after a few milliseconds."""
    blocks = []
    monkeypatch.setattr(contact_problem, "_sweep", lambda *call: blocks.append(call[2]))
    k = 40
    problem = (np.eye(3 * k), -np.ones((k, 3)), np.full(k, 2), np.ones(k))
    contact_problem.by_many_sweeps((*problem, np.zeros((k, 2))))
    assert sum(blocks) == 50_000
    assert max(blocks) * k**2 <= 100_000


def test_many_contacts_are_refused_without_sweeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where Newton's method does not arrive, minutes of others would follow."""
    k = 60
    lost = (np.zeros((k, 3)), 1.0)
    monkeypatch.setattr(contact_problem, "by_newton", lambda *_: lost)
    monkeypatch.setattr(contact_problem, "by_sweeps", lambda *_: pytest.fail("swept"))
    problem = (np.eye(3 * k), -np.ones((k, 3)), np.full(k, 2), np.ones(k))
    with pytest.raises(ContactProblemError):
        solve_contact(*problem)


def test_painleve_has_no_solution() -> None:
    """Sliding whose friction lowers the normal stiffness below zero: refused."""
    w = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(ContactProblemError, match="Painleve"):
        solve_contact(
            w,
            np.array([[-1.0, 0.0, 0.0]]),
            np.array([1]),
            np.array([1.5]),
            sliding=np.array([[1.0, 0.0]]),
        )


def test_bad_sizes() -> None:
    """Sizes and signs are checked."""
    with pytest.raises(ParameterError, match="contacts need"):
        solve_contact(np.eye(2), np.zeros((1, 3)), np.array([2]), np.array([0.1]))
    with pytest.raises(ParameterError, match="negative"):
        solve_contact(np.eye(3), np.zeros((1, 3)), np.array([2]), np.array([-0.1]))


def test_impact_energy_equals_work() -> None:
    """Random impacts: the energy drop is the work of the impulses, never a gain."""
    rng = np.random.default_rng(3)
    for law in ("inequality", "humans"):
        for _ in range(50):
            k = int(rng.integers(1, 5))
            nv = 3 * k + int(rng.integers(0, 4))
            rows = rng.normal(size=(k, 3, nv))
            root = rng.normal(size=(nv, nv))
            mass = root @ root.T + np.eye(nv)
            v = rng.normal(size=nv)
            impact = solve_impact(
                mass,
                rows,
                v,
                np.full(k, 2),
                np.full(k, 0.2),
                rng.uniform(0, 1, k),
                law,
            )
            before = 0.5 * v @ mass @ v
            after = 0.5 * impact.velocity @ mass @ impact.velocity
            assert after - before == pytest.approx(impact.work, abs=1e-9 * before)
            assert after <= before * (1 + 1e-9)
            if law == "humans":
                np.testing.assert_allclose(impact.after, 0.0, atol=1e-8)
            if law == "inequality":
                assert impact.after[:, 0].min() > -1e-7
    with pytest.raises(ParameterError, match="impact must be one of"):
        solve_impact(mass, rows, v, np.full(k, 2), np.ones(k), np.ones(k), "soft")
