# SPDX-License-Identifier: Apache-2.0
"""What the contact law demands is noticed: mutated solvers fail where ours does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from contact_law import law_error, random_problem

from humans_sim.contact.problem.contact_problem import solve_contact
from humans_sim.contact.problem.impact import Impact, solve_impact

PROBLEMS = 60
ACCURATE = 1e-8
NOTICED = 1e-3

Solver = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def ours(w: np.ndarray, b: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Forces of the solver as it is."""
    return solve_contact(w, b, np.full(len(mu), 2), mu).forces


def without_friction(w: np.ndarray, b: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """A solver that forgets friction."""
    return ours(w, b, np.zeros_like(mu))


def without_cones(w: np.ndarray, b: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """A solver that forgets all cones: everything sticks."""
    return ours(w, b, np.full_like(mu, np.inf))


def without_one_cone(w: np.ndarray, b: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """A solver that forgets the cone of the first contact that slides."""
    forces = ours(w, b, mu)
    slides = np.hypot(forces[:, 1], forces[:, 2]) > (1 - 1e-6) * mu * forces[:, 0]
    slides &= forces[:, 0] > 0.0
    wider = mu.copy()
    wider[np.flatnonzero(slides)[:1]] *= 3.0
    return ours(w, b, wider)


def with_square_cones(w: np.ndarray, b: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """A solver whose cones are pyramids: each tangent is bounded for itself."""
    k = len(mu)
    forces, scale = np.zeros((k, 3)), np.trace(w) / (3 * k)
    for _ in range(3000):
        for c in range(k):
            for i in range(3):
                r = 3 * c + i
                if w[r, r] < 1e-12 * scale:
                    continue
                force = forces[c, i] - (b[c, i] + w[r] @ forces.ravel()) / w[r, r]
                bound = mu[c] * forces[c, 0]
                forces[c, i] = (
                    max(force, 0) if i == 0 else np.clip(force, -bound, bound)
                )
    return forces


def pulling(w: np.ndarray, b: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """A solver that forgets that contacts only push."""
    return -np.linalg.lstsq(w, b.ravel(), rcond=None)[0].reshape(-1, 3)


def noticed(solver: Solver, mu: float, count: int) -> tuple[int, float]:
    """Random problems whose law the solver breaks, and its largest error."""
    rng = np.random.default_rng(7)
    errors = []
    for _ in range(count):
        w, b = random_problem(rng)
        friction = np.full(len(b), mu)
        errors.append(law_error(w, b, friction, solver(w, b, friction)))
    return int(np.sum(np.array(errors) > NOTICED)), max(errors)


@pytest.mark.study
@pytest.mark.parametrize("mu", [0.2, 0.7])
def test_forgetful_solvers_are_noticed(mu: float) -> None:
    """Our solver obeys the law in every problem, the mutants in few."""
    assert noticed(ours, mu, PROBLEMS)[1] < ACCURATE
    for mutant in (without_friction, without_cones, pulling):
        assert noticed(mutant, mu, PROBLEMS)[0] > 0.8 * PROBLEMS, mutant.__doc__
    assert noticed(without_one_cone, mu, PROBLEMS)[0] > 0.5 * PROBLEMS
    few = 10
    assert noticed(with_square_cones, mu, few)[0] > 0.5 * few


def impact_error(
    mass: np.ndarray,
    rows: np.ndarray,
    restitution: np.ndarray,
    mu: np.ndarray,
    impact: Impact,
) -> float:
    """Error of the impact law, with the coefficients lowered as the impact says."""
    flat = rows.reshape(-1, rows.shape[2])
    w = flat @ np.linalg.solve(mass, flat.T)
    b = impact.before.copy()
    approach = np.minimum(impact.before[:, 0], 0.0)
    b[:, 0] += impact.restitution_factor * restitution * approach
    return law_error(w, b, mu, impact.impulses)


def test_forgotten_restitution_is_noticed() -> None:
    """Random impacts obey Newton's coefficient; those that forget it do not."""
    rng = np.random.default_rng(3)
    count = forgotten = lowered = 0
    for _ in range(PROBLEMS):
        k = int(rng.integers(1, 5))
        nv = 3 * k + int(rng.integers(0, 4))
        rows = rng.normal(size=(k, 3, nv))
        root = rng.normal(size=(nv, nv))
        mass, v = root @ root.T + np.eye(nv), rng.normal(size=nv)
        two, mu, e = np.full(k, 2), np.full(k, 0.3), rng.uniform(0.2, 0.9, k)
        if not ((rows @ v)[:, 0] < 0.0).any():
            continue
        count += 1
        impact = solve_impact(mass, rows, v, two, mu, e)
        assert impact_error(mass, rows, e, mu, impact) < ACCURATE
        lowered += impact.restitution_factor < 1.0
        plastic = solve_impact(mass, rows, v, two, mu, np.zeros(k))
        forgotten += impact_error(mass, rows, e, mu, plastic) > NOTICED
        # A factor of zero would excuse everything.
        assert impact.restitution_factor > 0.0
    assert count > 0.5 * PROBLEMS
    assert lowered < 0.5 * count
    assert forgotten > 0.9 * count


@pytest.mark.parametrize("mu", [0.2, 0.7, np.inf])
def test_many_contacts(mu: float) -> None:
    """Chains of contacts, most pairs apart: the sparse form obeys the law, too."""
    rng = np.random.default_rng(2)
    bodies = 40
    rows = np.zeros((2 * bodies, 3, 6 * bodies))
    for c in range(2 * bodies):
        first = c // 2
        rows[c, :, 6 * first : 6 * first + 6] = rng.normal(size=(3, 6))
        if c % 2 and first + 1 < bodies:
            rows[c, :, 6 * first + 6 : 6 * first + 12] = rng.normal(size=(3, 6))
    flat = rows.reshape(6 * bodies, -1)
    friction = np.full(2 * bodies, mu)
    for _ in range(3):
        b = (flat @ rng.normal(size=6 * bodies)).reshape(-1, 3)
        forces = ours(flat @ flat.T, b, friction)
        assert law_error(flat @ flat.T, b, friction, forces) < ACCURATE
        if np.isfinite(mu):
            slippery = ours(flat @ flat.T, b, np.zeros_like(friction))
            assert law_error(flat @ flat.T, b, friction, slippery) > NOTICED


def test_slightly_asymmetric_matrix() -> None:
    """W as measured or rounded by its source, not quite symmetric: solved as given."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        w, b = random_problem(rng, contacts=4)
        w = w + 1e-4 * np.abs(w).max() * rng.uniform(-1, 1, w.shape)
        w += 0.1 * np.eye(12)
        friction = np.full(4, 0.5)
        assert law_error(w, b, friction, ours(w, b, friction)) < ACCURATE
