# SPDX-License-Identifier: Apache-2.0
"""Local coordinates of any tree of pinocchio's."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

_WORN = 1.0
"""Rotation from the centre beyond which a new centre is wanted [rad]."""


class TreeChart:
    """Coordinates x around a centre: the exponential map of each joint."""

    def __init__(self, tree: pin.Model, centre: np.ndarray) -> None:
        """Coordinates around a configuration of a tree."""
        self._tree = tree
        self._centre = pin.normalize(tree, np.array(centre, dtype=float))
        # A quaternion has one number more than its velocity has.
        self._turns = tree.nq > tree.nv

    def configuration(self, x: np.ndarray) -> np.ndarray:
        """The configuration at x."""
        return np.asarray(pin.integrate(self._tree, self._centre, x))

    def rates(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The rates of x at the velocity v."""
        if not self._turns:
            return v
        moved = pin.dIntegrate(self._tree, self._centre, x, pin.ARG1)
        return np.asarray(np.linalg.solve(moved, v))

    def worn(self, x: np.ndarray) -> bool:
        """Whether a coordinate is far from the centre; a rotation may be."""
        return self._turns and float(np.abs(x).max()) > _WORN
