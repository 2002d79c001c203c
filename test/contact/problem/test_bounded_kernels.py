# SPDX-License-Identifier: Apache-2.0
"""Contacts with forces of bounded size: the law itself, on random problems."""

from __future__ import annotations

import numpy as np
import pytest

from humans_sim.contact.problem.bounded_kernels import solve_bounded
from humans_sim.contact.problem.newton import solve_near


class Problem:
    """A random problem with k contacts and groups of one and two rows."""

    def __init__(self, seed: int, contacts: int) -> None:
        rng = np.random.default_rng(seed)
        self.k, self.width = contacts, np.array([1, 1, 1, 2])
        m = int(self.width.sum())
        size = 3 * contacts + m
        # Fewer coordinates than rows: redundant contacts, as under a sole.
        root = rng.normal(size=(size, max(6, size - 4)))
        root[3 * contacts :] *= 10.0 ** rng.uniform(-1, 1)
        self.delassus = root @ root.T
        self.free = rng.normal(size=size) * np.sqrt(np.diag(self.delassus))
        self.tangents = np.full(contacts, 2)
        self.friction = rng.uniform(0.1, 1.0, contacts)
        self.first = np.cumsum(self.width) - self.width
        self.contact = np.array([-1, -1, 0, contacts - 1])
        self.bound = np.where(self.contact < 0, rng.uniform(0, 0.3, 4), 0.0)
        self.length = np.where(self.contact < 0, 0.0, rng.uniform(0.01, 0.3, 4))

    def solve(self) -> tuple[np.ndarray, float]:
        """Forces and residual, from a cold start."""
        groups = (self.first, self.width, self.bound, self.length, self.contact)
        law = (self.tangents, self.friction)
        start = np.zeros(len(self.free))
        return solve_bounded(self.delassus, self.free, law, groups, start, 1e-8)

    def violation(self, forces: np.ndarray) -> float:
        """How far the law is broken, in shares of motions and of forces."""
        motion = self.free + self.delassus @ forces
        speed, load = np.abs(self.free).max(), np.abs(forces).max()
        normal = forces[: 3 * self.k : 3]
        worst = max(
            -normal.min() / load,
            -motion[: 3 * self.k : 3].min() / speed,
            np.abs(normal * motion[: 3 * self.k : 3]).max() / (load * speed),
        )
        discs = [
            (slice(3 * c + 1, 3 * c + 3), self.friction[c] * normal[c])
            for c in range(self.k)
        ]
        for g, first in enumerate(3 * self.k + self.first):
            radius = self.bound[g]
            if self.contact[g] >= 0:
                radius += self.length[g] * normal[self.contact[g]]
            discs.append((slice(first, first + self.width[g]), radius))
        for rows, radius in discs:
            size, slip = np.linalg.norm(forces[rows]), np.linalg.norm(motion[rows])
            worst = max(worst, (size - radius) / load)
            # Most dissipation: at rest, or the whole bound against the motion.
            worst = max(
                worst, abs(radius * slip + forces[rows] @ motion[rows]) / (load * speed)
            )
        return float(worst)


@pytest.mark.parametrize("contacts", [1, 2, 4])
def test_random_problems_obey_the_law(contacts: int) -> None:
    """Complementary normals, bounded forces, most dissipation: 40 problems each."""
    for seed in range(40):
        problem = Problem(seed, contacts)
        forces, residual = problem.solve()
        assert residual < 1e-7, seed
        assert problem.violation(forces) < 1e-6, seed


def test_bounds_matter() -> None:
    """The check sees a solver that forgets the groups."""
    problem = Problem(3, 2)
    forces, _ = problem.solve()
    forgot = forces.copy()
    forgot[6:] = 0.0
    assert problem.violation(forgot) > 1e-3


def test_without_groups_it_is_the_contact_problem() -> None:
    """Bounds of zero leave the contacts alone."""
    problem = Problem(5, 2)
    problem.bound[:] = 0.0
    problem.length[:] = 0.0
    forces, _ = problem.solve()
    alone, _ = solve_near(
        problem.delassus[:6, :6].copy(),
        problem.free[:6].reshape(2, 3),
        problem.tangents,
        problem.friction,
        np.zeros((2, 3)),
        1e-8,
    )
    np.testing.assert_allclose(forces[:6], alone.ravel(), atol=1e-7)
    assert not forces[6:].any()
