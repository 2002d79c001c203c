# SPDX-License-Identifier: Apache-2.0
r"""Which joints markers can see, and what holds those that they hardly see.

With the normal matrix H of a posture's markers and pulls :math:`\lambda_i` towards
rest, :math:`\lambda_i\,[(H + \mathrm{diag}\,\lambda)^{-1}]_{ii}` is the share of joint
i that its pull decides: 0 where markers see it, 1 where none does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from humans_sim.observation.posture.kernels import (
    NormalEquations,
    PostureGoal,
    normal_equations,
)
from humans_sim.observation.posture.tree import MarkedTree, Tree
from humans_sim.observation.posture.tree_kernels import empty_poses, place, points

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
    unseen: np.ndarray = decided_by(pull, marked) > _HALF
    return unseen


def usual_spread(tree: Tree) -> np.ndarray:
    """Standard deviations of joints about rest, where nothing else is known [rad]."""
    spread: np.ndarray = (tree.upper - tree.lower) / _RANGES
    return spread


def weakly_seen_joints(marked: MarkedTree, names: Sequence[str]) -> np.ndarray:
    """Joints that rest says more of than markers do (nv - 6,).

    Two markers on the middle line of a foot see its roll through levers of a
    centimetre: skin that slides by as much would roll it over. A left joint is taken
    as its right one, so that sides can be compared.

    Args:
        marked: the person.
        names: of the joints.
    """
    weak = decided_by(_usual_pull(marked.tree), marked) > _HALF
    chosen = {name for name, seen in zip(names, weak, strict=True) if seen}
    return np.array([name in chosen or _other_side(name) in chosen for name in names])


def _other_side(name: str) -> str:
    return {"r_": "l_", "l_": "r_"}.get(name[:2], name[:2]) + name[2:]


def rest_pull(marked: MarkedTree, names: Sequence[str], least: float) -> np.ndarray:
    """Pull of the joints towards rest, against 1 for a marker (nv - 6,) [m^2].

    It is ``least``, and of joints that markers hardly see the one that joints of
    their range usually have.
    """
    usual = np.maximum(_usual_pull(marked.tree), least)
    pull: np.ndarray = np.where(weakly_seen_joints(marked, names), usual, least)
    return pull


def _usual_pull(tree: Tree) -> np.ndarray:
    # A joint may be locked, or turn round and round.
    pull: np.ndarray = (_NOISE / np.clip(usual_spread(tree), 1e-3, np.pi)) ** 2
    return pull


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
    share: np.ndarray = total / _POSTURES
    return share
