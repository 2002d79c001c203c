# SPDX-License-Identifier: Apache-2.0
"""A mass matrix that cannot be inverted: which joints are to blame."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def singular_mass_text(mass: np.ndarray, names: Sequence[str]) -> str:
    """What is wrong with a singular mass matrix, and what to do.

    Args:
        mass: (nv, nv).
        names: of the velocities (nv,).
    """
    if not np.isfinite(mass).all():
        return "the mass matrix is not finite: a shorter step may help"
    # On the scale of its diagonal, a motion without inertia is an eigenvector.
    scale = 1.0 / np.sqrt(np.maximum(np.diag(mass), 1e-300))
    _, vectors = np.linalg.eigh(scale[:, None] * mass * scale)
    motion = np.abs(vectors[:, 0])
    moved = np.flatnonzero(motion > 0.3 * motion.max())
    joints = ", ".join(names[j] for j in moved[:4])
    return (
        f"the mass matrix is singular: {joints} can move without inertia; lock one of "
        "them, keep it away from this posture by its limits, or give it the rotor "
        "inertia of a drive"
    )
