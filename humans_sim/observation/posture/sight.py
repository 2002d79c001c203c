# SPDX-License-Identifier: Apache-2.0
r"""Which joints markers can see.

With the normal matrix H of a posture's markers and a small pull :math:`\lambda`,
:math:`\lambda\,[(H + \lambda I)^{-1}]_{ii}` is the share of joint i that the pull
decides: 0 where markers see it, 1 where none does.
"""

from __future__ import annotations

import numpy as np

from humans_sim.observation.posture.kernels import normal_equations, place, points
from humans_sim.observation.posture.tree import Tree

_PULL = 1e-6
"""The lever of a marker that sees a joint half: 1 mm [m^2]."""
_POSTURES = 8
_HALF = 0.5


def normal_matrix(
    tree: Tree,
    q: np.ndarray,
    body: np.ndarray,
    local: np.ndarray,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """J^T W J of markers on the tree at q (nv, nv), base first, on world axes."""
    bodies, n = len(tree.parent), len(tree.above)
    turn, centre = np.empty((bodies, 3, 3)), np.empty((bodies, 3))
    line, x = np.zeros((bodies, 3)), np.empty((len(body), 3))
    place(q, tree.parent, tree.rotation, tree.origin, tree.axis, turn, centre, line)
    points(body, local, turn, centre, x)
    matrix, vector, none = np.zeros((n, n)), np.zeros(n), np.zeros(n - 6)
    weight = np.ones(len(body)) if weight is None else weight
    normal_equations(
        x, x, weight, np.inf, q, none, none, body, tree.parent, centre, line, matrix,
        vector,
    )  # fmt: skip
    return matrix + np.tril(matrix, -1).T


def unseen_joints(tree: Tree, body: np.ndarray, local: np.ndarray) -> np.ndarray:
    """Joints that markers see in no usual posture (nv - 6,)."""
    rng = np.random.default_rng(0)
    total = np.zeros(len(tree.lower))
    for _ in range(_POSTURES):
        q = np.zeros(7 + len(tree.lower))
        q[6] = 1.0
        q[7:] = 0.5 * rng.uniform(tree.lower, tree.upper)
        matrix = normal_matrix(tree, q, body, local)
        loose = np.linalg.inv(matrix + _PULL * np.eye(len(matrix)))
        total += _PULL * np.diag(loose)[6:]
    unseen: np.ndarray = total / _POSTURES > _HALF
    return unseen
