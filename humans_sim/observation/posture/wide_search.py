# SPDX-License-Identifier: Apache-2.0
r"""Searches for a posture from far away: where the first frame finds its person.

*Visibility of joints.* With the normal matrix H of a posture's markers and pulls
:math:`\lambda_i` towards rest, :math:`\lambda_i\,[(H +
\mathrm{diag}\,\lambda)^{-1}]_{ii}` is the share of joint i that its pull decides: 0
where markers see it, 1 where none does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.transform import Rotation

from humans_sim.observation.posture.kernels import (
    NormalEquations,
    PostureGoal,
    normal_equations,
    solve_posture,
)
from humans_sim.observation.posture.tree_kernels import (
    MarkedTree,
    Tree,
    chain_of,
    empty_poses,
    place,
    points,
)
from humans_sim.observation.search_settings import SolverSettings

_PULL = 1e-6
"""The lever of a marker that sees a joint half: 1 mm [m^2]."""
_POSTURES = 8
_HALF = 0.5
_NOISE = 0.005
"""Usual standard deviation of a marker on the skin [m]."""
_RANGES = 8.0
"""Ranges of joints over their usual standard deviation about rest: 4 on each side."""


def normal_matrix(
    marked: MarkedTree, q: np.ndarray, weight: np.ndarray | None = None
) -> np.ndarray:
    """J^T W J of markers on a tree at q (nv, nv), base first, on world axes."""
    tree, n = marked.tree, len(marked.tree.above)
    poses, x = empty_poses(len(tree.parent)), np.empty((len(marked.body), 3))
    place(tree, q, poses)
    points(marked, poses, x)
    matrix, none = np.zeros((n, n)), np.zeros(n - 6)
    weight = np.ones(len(marked.body)) if weight is None else weight
    goal = PostureGoal(x, weight, np.inf, none, none)
    equations = NormalEquations(matrix, np.zeros(n))
    normal_equations(x, q, goal, marked, poses, equations)
    return matrix + np.tril(matrix, -1).T


def unseen_joints(marked: MarkedTree) -> np.ndarray:
    """Joints that markers see in no usual posture (nv - 6,)."""
    pull = np.full(len(marked.tree.lower), _PULL)
    return np.asarray(decided_by(pull, marked) > _HALF)


def usual_spread(tree: Tree) -> np.ndarray:
    """Standard deviations of joints about rest, where nothing else is known [rad]."""
    return np.asarray((tree.upper - tree.lower) / _RANGES)


def weakly_seen_joints(marked: MarkedTree, names: Sequence[str]) -> np.ndarray:
    """Joints that rest says more of than markers do (nv - 6,).

    Two markers on the middle line of a foot see its roll through levers of a
    centimetre: skin that slides by as much would roll it over. A left joint is taken as
    its right one, so that sides can be compared.
    """
    weak = decided_by(_usual_pull(marked.tree), marked) > _HALF
    chosen = {name for name, seen in zip(names, weak, strict=True) if seen}
    sides = {"r_": "l_", "l_": "r_"}
    others = [sides.get(name[:2], name[:2]) + name[2:] for name in names]
    pairs = zip(names, others, strict=True)
    return np.array([name in chosen or other in chosen for name, other in pairs])


def rest_pull(marked: MarkedTree, names: Sequence[str], least: float) -> np.ndarray:
    """Pull of the joints towards rest, against 1 for a marker (nv - 6,) [m^2].

    It is ``least``, and of joints that markers hardly see the one that joints of
    their range usually have.
    """
    usual = np.maximum(_usual_pull(marked.tree), least)
    return np.where(weakly_seen_joints(marked, names), usual, least)


def _usual_pull(tree: Tree) -> np.ndarray:
    # A joint may be locked, or turn round and round.
    return np.asarray((_NOISE / np.clip(usual_spread(tree), 1e-3, np.pi)) ** 2)


def decided_by(pull: np.ndarray, marked: MarkedTree) -> np.ndarray:
    """Shares of the joints that pulls decide, mean over usual postures (nv - 6,)."""
    rng, tree = np.random.default_rng(0), marked.tree
    whole = np.diag(np.concatenate([np.full(6, _PULL), pull]))
    total = np.zeros(len(tree.lower))
    for _ in range(_POSTURES):
        q = np.zeros(7 + len(tree.lower))
        q[6] = 1.0
        q[7:] = 0.5 * rng.uniform(tree.lower, tree.upper)
        matrix = normal_matrix(marked, q)
        total += pull * np.diag(np.linalg.inv(matrix + whole))[6:]
    return np.asarray(total / _POSTURES)


Found = tuple[np.ndarray, np.ndarray, float, int, bool]
"""Posture (nq,), its markers (k, 3), cost, iterations, whether it converged."""

FEWEST = 3
"""Markers a body needs at least to be found in the room."""
_PERFECT = 1e-13
"""Mean square distance at which nothing better is looked for [m^2]."""
_STAGES = ((np.inf, 1e-3), (np.inf, 0.0), (3.0, 0.0))
"""Stages of a search from far away: robust scale over the final one, pull to rest."""


class WideSearch:
    """Searches of one person's markers.

    Attributes:
        marked: tree of the model with the markers.
        tree: the same without them.
        rest: joint angles at rest [rad].
    """

    def __init__(
        self, marked: MarkedTree, rest: np.ndarray, settings: SolverSettings
    ) -> None:
        """Prepare."""
        self.marked, self.tree, self.rest = marked, marked.tree, rest
        self._settings, self._start = settings, settings.start

    def search(
        self,
        q: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        prior: np.ndarray,
        middle: np.ndarray,
        scale: float,
        damping: float = 0.0,
        most: int | None = None,
    ) -> Found:
        """Bring the cost down from a posture (:func:`kernels.solve_posture`)."""
        found: Found = solve_posture(
            q,
            PostureGoal(y, weight, scale, prior, middle),
            self.marked,
            damping,
            self._settings.tolerance,
            self._settings.iterations if most is None else most,
        )
        return found

    def from_nowhere(self, y: np.ndarray, weight: np.ndarray, seen: int) -> Found:
        """Rigid fit at rest, then joints; several headings where that is ambiguous."""
        resting = np.zeros(7 + self.rest.size)
        resting[6] = 1.0
        resting[7:] = self.rest
        if seen < FEWEST:
            return resting, self.marked.places(resting), 0.0, 0, False
        # A ghost across the room would draw the first stages, which are not robust.
        middle = np.median(y[weight > 0.0], axis=0)
        near = weight * (np.linalg.norm(y - middle, axis=1) < self._start.reach)
        best = None
        if np.count_nonzero(near) < FEWEST:  # nobody is that large
            near = weight
        for start in self._placed(resting, y, near):
            posture = self.narrowed(start, y, weight, near)
            if best is None or posture[2] < best[2]:
                best = posture
            if self._close(best[1], y, weight):
                break
        assert best is not None
        return self._shaken(best, y, weight)

    def _shaken(self, best: Found, y: np.ndarray, weight: np.ndarray) -> Found:
        """Throw the limb that fits worst into other postures, and keep the best."""
        rng = np.random.default_rng(0)
        prior = np.full(self.rest.size, self._settings.rest_weight)
        lower, upper = self.tree.lower, self.tree.upper
        chain = np.empty(len(self.tree.above), dtype=np.int64)
        few = 3 if self._close(best[1], y, weight) else 1
        idle, throws = 0, self._start.throws // few
        while idle < throws and best[2] > _PERFECT * weight.sum():
            distance = np.linalg.norm(best[1] - y, axis=1)
            near = np.minimum(distance, self._settings.outlier)
            share = np.where(weight > 0.0, near, 0)
            chance = share**2 / (share**2).sum()
            worst = rng.choice(len(chance), p=chance)
            size = chain_of(self.marked.body[worst], self.tree.parent, chain)
            limb = chain[6:size] - 6
            q = best[0].copy()
            thrown = rng.uniform(lower[limb], upper[limb])
            q[7:][limb] += rng.uniform(0.3, 1.0) * (thrown - q[7:][limb])
            scale, caution = self._settings.outlier, self._start.caution
            other = self.search(q, y, weight, prior, self.rest, scale, caution)
            idle += 1
            if other[2] < self._start.gain * best[2]:
                best, idle = (*other[:3], best[3] + other[3], other[4]), 0
        return best

    def narrowed(
        self,
        q: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        near: np.ndarray | None = None,
    ) -> Found:
        """Search with a loss that grows strict, then look beside what was found.

        Args:
            q: posture to begin with.
            y: markers (k, 3) [m].
            weight: of them (k,).
            near: weights of a start from nowhere: a pull to rest that fades leads it,
                and the first stages have these. None: q is a good start.
        """
        steps = 0
        stages = _STAGES if near is not None else _STAGES[1:]
        near = weight if near is None else near
        for wide, pull in stages:
            prior = np.full(self.rest.size, max(pull, self._settings.rest_weight))
            scale = wide * self._settings.outlier
            q, _, _, more, _ = self.search(
                q, y, near, prior, self.rest, scale, self._start.caution
            )
            steps += more
        prior = np.full(self.rest.size, self._settings.rest_weight)
        posture = self.search(q, y, weight, prior, self.rest, self._settings.outlier)
        rounds, most = self._start.rounds, self._settings.iterations
        posture = self.beside(posture, y, weight, prior, self.rest, rounds, most)
        return (*posture[:3], steps + posture[3], posture[4])

    def beside(
        self,
        posture: Found,
        y: np.ndarray,
        weight: np.ndarray,
        prior: np.ndarray,
        middle: np.ndarray,
        rounds: int,
        most: int,
    ) -> Found:
        """Look for a better minimum near one; the same one where there is none."""
        scale, steps = self._settings.outlier, posture[3]
        for _ in range(rounds):
            if posture[2] < _PERFECT * weight.sum():
                break
            better = posture
            for aside in self._aside(posture[0], weight):
                other = self.search(
                    aside, y, weight, prior, middle, scale, self._start.caution, most
                )
                steps += other[3]
                better = other if other[2] < self._start.beside * better[2] else better
            if better is posture:
                break
            posture = (*better[:3], steps, better[4])
        return posture

    def _aside(self, q: np.ndarray, weight: np.ndarray) -> list[np.ndarray]:
        """Postures beside q that markers distinguish from it least.

        A limb may fit nearly as well bent another way round: these lie over there.
        """
        matrix = normal_matrix(self.marked, q, weight)
        _, directions = np.linalg.eigh(matrix[6:, 6:])
        starts = []
        for direction in directions[:, : self._start.directions].T:
            for sign in (-1.0, 1.0):
                aside = q.copy()
                far = sign * self._start.aside / np.abs(direction).max()
                aside[7:] += far * direction
                aside[7:] = np.clip(aside[7:], self.tree.lower, self.tree.upper)
                starts.append(aside)
        return starts

    def _close(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> bool:
        """Whether a posture is near enough that no other start need be tried."""
        distance = np.linalg.norm((x - y)[weight > 0.0], axis=1)
        return float(np.median(distance)) < self._start.near

    def _placed(
        self, q: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> list[np.ndarray]:
        """The posture q laid over the markers, then turned about the vertical."""
        x = self.marked.places(q)
        # The trunk moves least; limbs serve where it has too few markers.
        depth = np.array([_depth(self.tree.parent, b) for b in self.marked.body])
        seen = weight > 0.0
        chosen = seen & (depth <= self._start.trunk)
        if chosen.sum() < FEWEST:
            chosen = seen
        turn, _ = Rotation.align_vectors(
            y[chosen] - y[chosen].mean(axis=0),
            x[chosen] - x[chosen].mean(axis=0),
            weight[chosen],
        )
        starts = []
        for k in range(self._start.headings):
            more = Rotation.from_euler("z", 2 * np.pi * k / self._start.headings) * turn
            start = q.copy()
            start[:3] = y[chosen].mean(axis=0) - more.apply(
                x[chosen].mean(axis=0) - q[:3]
            )
            start[3:7] = (more * Rotation.from_quat(q[3:7])).as_quat()
            starts.append(start)
        return starts


def _depth(parent: np.ndarray, body: int) -> int:
    """Joints between the base and a body."""
    count = 0
    while body > 0:
        body = int(parent[body])
        count += 1
    return count
