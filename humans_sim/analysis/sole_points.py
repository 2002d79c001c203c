# SPDX-License-Identifier: Apache-2.0
"""Where the points under the soles are along a motion, and how fast they move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from humans_sim.models.model import Model
from humans_sim.models.soles import support_tags


@dataclass(frozen=True, eq=False)
class SolePoints:
    """Support points of all soles over time, in the world.

    Attributes:
        soles: names of the soles.
        owners: of each point, the place of its sole in ``soles`` (p,).
        positions: (n, p, 3) [m].
        velocities: (n, p, 3) [m/s].
    """

    soles: tuple[str, ...]
    owners: np.ndarray
    positions: np.ndarray
    velocities: np.ndarray

    def of(self, sole: int) -> np.ndarray:
        """Columns of the points of a sole."""
        return np.flatnonzero(self.owners == sole)


def support_names(model: Model) -> tuple[tuple[str, ...], np.ndarray]:
    """Tags that the soles of a model stand on, and the place of the sole of each."""
    names = tuple(tag for sole in model.soles for tag in support_tags(sole))
    sizes = [len(support_tags(sole)) for sole in model.soles]
    return names, np.repeat(np.arange(len(sizes)), sizes)


def sole_points(model: Model, q: np.ndarray, v: np.ndarray) -> SolePoints:
    """Support points of the soles along a motion.

    Args:
        model: with soles.
        q: configurations (n, nq).
        v: velocities (n, nv).
    """
    names, owners = support_names(model)
    points, data = model.tag_points(names), model.data()
    positions = np.empty((len(q), len(names), 3))
    velocities = np.empty_like(positions)
    for row in range(len(q)):
        pin.computeJointJacobians(model.pin, data, q[row])
        positions[row] = points.positions(data)
        velocities[row] = points.jacobians(data) @ v[row]
    soles = tuple(sole.name for sole in model.soles)
    return SolePoints(soles, owners, positions, velocities)
