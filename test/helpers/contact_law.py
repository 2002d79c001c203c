# SPDX-License-Identifier: Apache-2.0
"""The contact law, written a second time: what solvers are judged by.

Nothing of the solvers takes part: the error is that of the natural map of De Saxce's
form, with a projection on the cones of its own.
"""

from __future__ import annotations

import numpy as np


def law_error(
    w: np.ndarray, b: np.ndarray, friction: np.ndarray, forces: np.ndarray
) -> float:
    """|f - P(f - u - mu |u_t| n)| relative to the free motion.

    Sticking contacts (infinite friction) have their normals and tangents judged alone.
    """
    scale = np.abs(w).max()
    u = b + (w @ forces.ravel()).reshape(-1, 3)
    f = scale * forces
    held = np.isinf(friction)
    mu = np.where(held, 0.0, friction)
    shifted = u.copy()
    shifted[:, 0] += mu * np.linalg.norm(u[:, 1:], axis=1)
    trial = f - shifted
    error = f - np.array([projected(x, m) for x, m in zip(trial, mu, strict=True)])
    error[held, 0] = f[held, 0] - np.maximum(f[held, 0] - u[held, 0], 0.0)
    error[held, 1:] = u[held, 1:]
    return float(np.linalg.norm(error) / np.linalg.norm(b))


def projected(x: np.ndarray, mu: float) -> np.ndarray:
    """Nearest point of the cone |x_t| <= mu x_n."""
    along = float(np.hypot(x[1], x[2]))
    if along <= mu * x[0]:
        return x
    if mu * along <= -x[0]:
        return np.zeros(3)
    normal = (x[0] + mu * along) / (1.0 + mu * mu)
    return normal * np.array([1.0, mu * x[1] / along, mu * x[2] / along])


def random_problem(
    rng: np.random.Generator, contacts: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """W and b of contacts on a random system, redundant or not.

    The system approaches with all of its contacts, so that most of them matter.
    """
    k = int(rng.integers(1, 9)) if contacts is None else contacts
    nv = int(rng.integers(3, 20)) if contacts is None else 2 * contacts
    rows = rng.normal(size=(3 * k, nv))
    root = rng.normal(size=(nv, nv))
    mass, v = root @ root.T + 0.5 * np.eye(nv), rng.normal(size=nv)
    rows[::3] *= -np.sign(rows[::3] @ v)[:, None]
    w = rows @ np.linalg.solve(mass, rows.T)
    return w, (rows @ v).reshape(k, 3)
