# SPDX-License-Identifier: Apache-2.0
r"""Solids of the scene: half spaces, boxes and balls, with exact distances.

The signed distance d(p) of a point to a solid comes with its gradient, the normal, and
its Hessian: a ball that rolls over the edge of a box sees a curved surface, and the
acceleration of its gap has the term :math:`v^T \nabla^2 d\, v`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel, small_vector

HALF_SPACE, _BOX, _BALL = 0.0, 1.0, 2.0
"""Kinds of rows."""
_LEAST_DISTANCE = 1e-12
"""Below this distance an edge has no normal of its own: the nearest face's is taken."""


@dataclass(frozen=True)
class HalfSpace:
    """Everything below a plane.

    Attributes:
        normal: direction out of the solid; any length above zero.
        point: a point of the plane [m].
        name: in messages and events.
        friction: Coulomb's coefficient of this solid, whatever the law of its scene;
            None for that of the scene.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    name: str = "ground"
    friction: float | None = None

    def row(self) -> np.ndarray:
        """The solid as numbers for the compiled distance."""
        normal = finite_array(self.normal, (3,), f"normal of {self.name}")
        length = float(np.linalg.norm(normal))
        if length == 0.0:
            raise ParameterError(f"normal of {self.name}: it has no length")
        row = np.zeros(16)
        row[0] = HALF_SPACE
        row[1:4] = finite_array(self.point, (3,), f"point of {self.name}")
        row[10:13] = normal / length
        return row


@dataclass(frozen=True)
class Box:
    """A box; ``name`` and ``friction`` are as of a :class:`HalfSpace`.

    Attributes:
        size: its three edges [m].
        centre: [m].
        rotation: (3, 3) rotation matrix, or None for edges along the axes.
    """

    size: tuple[float, float, float]
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: np.ndarray | None = field(default=None, compare=False)
    name: str = "box"
    friction: float | None = None

    def row(self) -> np.ndarray:
        """The solid as numbers for the compiled distance."""
        size = finite_array(self.size, (3,), f"size of {self.name}")
        if (size <= 0).any():
            raise ParameterError(f"size of {self.name}: edges must be above zero")
        turn = np.eye(3) if self.rotation is None else np.asarray(self.rotation, float)
        if turn.shape != (3, 3) or not np.allclose(turn @ turn.T, np.eye(3), atol=1e-9):
            raise ParameterError(f"rotation of {self.name}: not a rotation matrix")
        row = np.zeros(16)
        row[0] = _BOX
        row[1:4] = finite_array(self.centre, (3,), f"centre of {self.name}")
        row[4:7] = size / 2
        row[7:16] = turn.ravel()
        return row


@dataclass(frozen=True)
class Ball:
    """A ball; ``name`` and ``friction`` are as of a :class:`HalfSpace`."""

    radius: float
    centre: tuple[float, float, float] = (0.0, 0.0, 0.0)
    name: str = "ball"
    friction: float | None = None

    def row(self) -> np.ndarray:
        """The solid as numbers for the compiled distance."""
        radius = float(self.radius)
        if not (np.isfinite(radius) and radius > 0):
            raise ParameterError(f"radius of {self.name}: must be above zero")
        row = np.zeros(16)
        row[0] = _BALL
        row[1:4] = finite_array(self.centre, (3,), f"centre of {self.name}")
        row[4:7] = radius
        row[7:16] = np.eye(3).ravel()
        return row


@kernel
def distance(row, point, normal, hessian):
    """Signed distance of a point to a solid; fills its normal and its Hessian."""
    hessian[:] = 0.0
    if row[0] == HALF_SPACE:
        total = 0.0
        for k in range(3):
            normal[k] = row[10 + k]
            total += normal[k] * (point[k] - row[1 + k])
        return total
    if row[0] == _BALL:
        square = 0.0
        for k in range(3):
            normal[k] = point[k] - row[1 + k]
            square += normal[k] ** 2
        length = np.sqrt(square)
        if length < _LEAST_DISTANCE:
            normal[0], normal[1], normal[2] = 0.0, 0.0, 1.0
            return -row[4]
        for k in range(3):
            normal[k] /= length
        for i in range(3):
            for j in range(3):
                hessian[i, j] = ((1.0 if i == j else 0.0) - normal[i] * normal[j]) / (
                    length
                )
        return length - row[4]
    turn = row[7:16].reshape(3, 3)
    local, beyond, flat = small_vector(3), small_vector(3), small_vector(3)
    for k in range(3):
        local[k] = flat[k] = 0.0
        for i in range(3):
            local[k] += turn[i, k] * (point[i] - row[1 + i])
    square, face, deepest = 0.0, 0, -np.inf
    for k in range(3):
        beyond[k] = abs(local[k]) - row[4 + k]
        if beyond[k] > deepest:
            deepest, face = beyond[k], k
        if beyond[k] > 0.0:
            square += beyond[k] ** 2
    outside = np.sqrt(square)
    outer = 0
    for k in range(3):
        if beyond[k] > 0.0:
            outer += 1
    if outer <= 1 or outside < _LEAST_DISTANCE:
        flat[face] = np.sign(local[face]) if local[face] != 0.0 else 1.0
        signed = deepest
    else:
        signed = outside
        for k in range(3):
            if beyond[k] > 0.0:
                flat[k] = np.sign(local[k]) * beyond[k] / outside
    for i in range(3):
        normal[i] = 0.0
        for k in range(3):
            normal[i] += turn[i, k] * flat[k]
    if outer > 1 and outside >= _LEAST_DISTANCE:
        # Distance to an edge or a corner: curved by 1/d across the axes it sticks out.
        for i in range(3):
            for j in range(3):
                total = -normal[i] * normal[j]
                for k in range(3):
                    if beyond[k] > 0.0:
                        total += turn[i, k] * turn[j, k]
                hessian[i, j] = total / outside
    return signed
