# SPDX-License-Identifier: Apache-2.0
r"""Which joints markers can see.

With the normal matrix H of a posture's markers and a small pull :math:`\lambda`,
:math:`\lambda\,[(H + \lambda I)^{-1}]_{ii}` is the share of joint i that the pull
decides: 0 where markers see it, 1 where none does.
"""

from __future__ import annotations

import numpy as np

from humans_sim.observation.posture.kernels import (
    NormalEquations,
    PostureGoal,
    normal_equations,
)
from humans_sim.observation.posture.tree import MarkedTree
from humans_sim.observation.posture.tree_kernels import empty_poses, place, points

_PULL = 1e-6
"""The lever of a marker that sees a joint half: 1 mm [m^2]."""
_POSTURES = 8
_HALF = 0.5


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
    rng, tree = np.random.default_rng(0), marked.tree
    total = np.zeros(len(tree.lower))
    for _ in range(_POSTURES):
        q = np.zeros(7 + len(tree.lower))
        q[6] = 1.0
        q[7:] = 0.5 * rng.uniform(tree.lower, tree.upper)
        matrix = normal_matrix(marked, q)
        loose = np.linalg.inv(matrix + _PULL * np.eye(len(matrix)))
        total += _PULL * np.diag(loose)[6:]
    unseen: np.ndarray = total / _POSTURES > _HALF
    return unseen
