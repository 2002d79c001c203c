# SPDX-License-Identifier: Apache-2.0
"""Coats without mass: points that follow others by weights (thesis, section 5.5).

A point of such a coat is a mean of control points, with weights that sum to one. What
pushes it is handed on to the control points by the same weights, so that power, force
and moment are kept: a transmitting skin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from humans_sim.soft.errors import SoftError

_SUM = 1e-9
"""How far a sum of weights may be from one."""


@dataclass(frozen=True)
class GeometricCoat:
    """Points that follow control points.

    Attributes:
        weights: of the control points in each point (points, controls); rows sum to
            one.
    """

    weights: np.ndarray

    def __post_init__(self) -> None:
        """Refuse weights that do not follow a motion of all control points."""
        weights = np.asarray(self.weights, dtype=float)
        if weights.ndim != 2 or not np.isfinite(weights).all():
            raise SoftError("weights of a coat are a table of points by controls")
        off = np.abs(weights.sum(axis=1) - 1.0)
        if len(off) and off.max() > _SUM:
            row = int(np.argmax(off))
            raise SoftError(f"point {row}: its weights sum to {1 + off[row]:g}, not 1")

    @classmethod
    def of_points(cls, points: np.ndarray, controls: np.ndarray) -> GeometricCoat:
        """Barycentres: each point by the weights of least size that give its place.

        Args:
            points: (n, 3) [m].
            controls: control points, not all in one plane (k, 3) [m].

        Raises:
            SoftError: the control points do not span the points.
        """
        rows = np.vstack([np.asarray(controls, float).T, np.ones(len(controls))])
        wanted = np.vstack([np.asarray(points, float).T, np.ones(len(points))])
        weights = np.linalg.pinv(rows) @ wanted
        if np.abs(rows @ weights - wanted).max() > 1e-8:
            raise SoftError("the control points do not span the points of the coat")
        return cls(weights.T)

    @classmethod
    def spline(
        cls, controls: np.ndarray, count: int, closed: bool = False
    ) -> GeometricCoat:
        """Points along a cubic spline through control points.

        Args:
            controls: where they are at the beginning; lengths between them are the
                parameter of the curve (k, 3) [m].
            count: number of points.
            closed: whether the curve returns to its first control point.
        """
        controls = np.asarray(controls, dtype=float)
        number = len(controls)
        if number < 3 or count < 2:
            raise SoftError("a spline needs 3 control points and 2 points or more")
        basis = np.eye(number)
        if closed:
            controls, basis = (np.vstack([a, a[:1]]) for a in (controls, basis))
        steps = np.linalg.norm(np.diff(controls, axis=0), axis=1)
        if not (steps > 0.0).all():
            raise SoftError("two control points of a spline are at one place")
        along = np.concatenate([[0.0], np.cumsum(steps)])
        kind = "periodic" if closed else "natural"
        curve = CubicSpline(along, basis, bc_type=kind)
        return cls(curve(np.linspace(0.0, along[-1], count)))

    def points(self, controls: np.ndarray) -> np.ndarray:
        """Where the points are (..., points, 3) [m].

        Args:
            controls: where the control points are (..., controls, 3) [m].
        """
        return np.asarray(self.weights @ np.asarray(controls, dtype=float))

    def transmitted(self, forces: np.ndarray) -> np.ndarray:
        """Forces on the control points of forces on the points (controls, 3) [N]."""
        return np.asarray(self.weights.T @ np.asarray(forces, dtype=float))
