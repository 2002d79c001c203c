# SPDX-License-Identifier: Apache-2.0
r"""Contact of two smooth surfaces that move, and the motion of its place.

The nearest points of the surfaces have one normal n, out of body 1. Over surface i with
the curvatures K_i the point runs at u_i; with the gap g, the velocity V of body 2
relative to body 1 at its point and the difference w of the spins,

.. math:: u_2 = u_1 - V_t + g\,\dot n, \qquad K_1 u_1 + K_2 u_2 = w \times n, \qquad
   \dot n = \omega_1 \times n + K_1 u_1 .

At zero gap these are the equations of a contact joint
(:mod:`~humans_sim.contact.joint.nearest`). Bodies accelerate at the point that
moves by their own acceleration there and by :math:`\omega_i \times u_i`: that is what
the curvature of a rolling body adds to the equations of a contact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.nearest import (
    Nearest,
    curvature_matrix,
    nearest,
    nearest_from,
    nearest_of_cores,
    nearest_to_plane,
)
from humans_sim.contact.joint.surface_shapes import Plane
from humans_sim.contact.joint.surfaces import Surface, SurfaceError, cross
from humans_sim.core.errors import ParameterError

WORLD = "world"
_FLAT = 1e-9
"""A sum of curvatures below this part of the greatest counts as zero."""
_TURNED = 0.3
"""Greatest turn of one body in the other since the last look at which the last nearest
points are a good start [rad]; beyond, all places are looked at."""
_STARTS = np.array(
    [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=float
)


@dataclass(frozen=True, eq=False)
class SurfaceContact:
    """Two surfaces that may touch.

    Attributes:
        first: surface of body 1, in the frame of its joint.
        second: surface of body 2, in the frame of its joint.
        first_joint: joint that moves body 1; ``world``: it is fixed.
        second_joint: the same of body 2.
        friction: Coulomb's coefficient; infinite: the bodies do not slide.
        size: about how far surface 2 reaches from its origin: where nearest points are
            looked for at the start [m].
    """

    name: str
    first: Surface
    second: Surface
    first_joint: str
    second_joint: str
    friction: float = math.inf
    restitution: float = 0.0
    size: float = 1.0

    def __post_init__(self) -> None:
        for word in ("first", "second"):
            if not isinstance(getattr(self, word), Surface):
                kind = type(getattr(self, word)).__name__
                raise ParameterError(
                    f"contact '{self.name}': {word} must be a Surface, not a {kind}"
                )
        if self.first_joint == self.second_joint:
            raise ParameterError(
                f"contact '{self.name}': both surfaces belong to {self.first_joint}"
            )
        if not (math.isfinite(self.size) and self.size > 0.0):
            raise ParameterError(
                f"contact '{self.name}': its size must be above zero, not {self.size}"
            )


class NearestPoints:
    """Finds the nearest points of a pair again and again as the bodies move.

    The last ones are the start of the next search, so it follows the place of contact
    and takes two or three steps of Newton's method.
    """

    def __init__(self, contact: SurfaceContact) -> None:
        self._contact = contact
        self._last: Nearest | None = None
        self._turn = np.eye(3)

    def forget(self) -> None:
        """Look everywhere the next time."""
        self._last = None

    def find(self, relative: pin.SE3) -> Nearest:
        """Nearest points, for the placement of body 2 in body 1."""
        one, two = self._contact.first, self._contact.second
        found = nearest_of_cores(one, two, relative)
        if isinstance(one, Plane):
            found = nearest_to_plane(one, two, relative)
        if found is None and self._last is not None:
            angle = 0.5 * (float(np.sum(self._turn * relative.rotation)) - 1.0)
            if angle > math.cos(_TURNED):
                last = self._last
                found = nearest_from(one, two, relative, last.first, last.second)
                if not (math.isfinite(found.gap) and found.angle < 1e-6):
                    found = None
        if found is None:
            found = self._search(relative)
        self._last, self._turn = found, relative.rotation.copy()
        return found

    def _search(self, relative: pin.SE3) -> Nearest:
        """The least gap that searches from all sides of surface 2 end at."""
        one, two = self._contact.first, self._contact.second
        best, reason = None, None
        for start in self._contact.size * _STARTS:
            near = relative.act(two.placement.act(start))
            try:
                found = nearest(one, two, relative, near)
            except SurfaceError as error:
                reason = error
                continue
            if found.angle < 1e-6 and (best is None or found.gap < best.gap):
                best = found
        if best is None:
            raise SurfaceError(
                f"contact '{self._contact.name}': no nearest points found"
            ) from reason
        return best


class PairMotion(NamedTuple):
    """Two bodies at the nearest points of their surfaces, in the world.

    Attributes:
        points: of body 1 and body 2 (2, 3) [m].
        frame: normal out of body 1, then two tangents, as rows (3, 3).
        gap: [m].
        bending: curvatures of both surfaces, in the tangents (2, 2, 2) [1/m].
    """

    points: np.ndarray
    frame: np.ndarray
    gap: float
    bending: np.ndarray


def pair_motion(
    contact: SurfaceContact, found: Nearest, poses: tuple[pin.SE3, pin.SE3]
) -> PairMotion:
    """Nearest points and curvatures in the world, from those in the bodies."""
    first, second = poses[0].act(found.first), poses[1].act(found.second)
    normal = first.rotation[:, 2].copy()
    axis = 0 if abs(normal[0]) < 0.9 else 1
    along = np.eye(3)[axis] - normal[axis] * normal
    along /= math.sqrt(along @ along)
    frame = np.array([normal, along, cross(normal, along)])
    bending = np.empty((2, 2, 2))
    pairs = (
        (contact.first, found.first, first),
        (contact.second, found.second, second),
    )
    for side, (surface, own, placed) in enumerate(pairs):
        matrix = curvature_matrix(surface.at(own.translation), own)
        flat = frame[1:] @ placed.rotation[:, :2]
        bending[side] = flat @ matrix @ flat.T
    points = np.array([first.translation, second.translation])
    return PairMotion(points, frame, found.gap, bending)


def running_speeds(
    pair: PairMotion, velocity: np.ndarray, spins: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Speeds u1, u2 of the point of contact over both surfaces, in the world (3,).

    Along a line on which both surfaces are straight the point rests on body 2.
    """
    normal, tangents = pair.frame[0], pair.frame[1:]
    k1, k2 = pair.bending
    slid = tangents @ (velocity - pair.gap * cross(spins[0], normal))
    turned = tangents @ cross(spins[1] - spins[0], normal)
    # (K1 + K2 + g K2 K1) u1 = w x n + K2 (V - g w1 x n)
    matrix, known = k1 + k2 + pair.gap * k2 @ k1, turned + k2 @ slid
    scale = max(float(np.abs(k1).max()), float(np.abs(k2).max()))
    (a, b), (c, d) = matrix
    determinant = a * d - b * c
    if abs(determinant) > _FLAT * scale * float(np.abs(matrix).max()):
        x, y = known
        u1 = np.array([d * x - b * y, a * y - c * x]) / determinant
    else:
        inverse = np.linalg.pinv(matrix, rcond=_FLAT)
        u1 = inverse @ known + (np.eye(2) - inverse @ matrix) @ slid
    u2 = u1 - slid + pair.gap * k1 @ u1
    return tangents.T @ u1, tangents.T @ u2
