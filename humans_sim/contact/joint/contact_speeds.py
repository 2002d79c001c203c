# SPDX-License-Identifier: Apache-2.0
"""How fast the contact point runs over both surfaces, from velocity and curvature.

The contact frame has z out of body 1. With the curvatures K1, K2 (2 x 2, in its x and
y), sliding V and rolling w of body 2 relative to body 1, the point runs at u1 and u2:

    u1 - u2 = V             (the bodies slide on each other)
    K1 u1 + K2 u2 = w x z   (the normals stay opposite)

In one plane of curvature these are the equations of :mod:`planar_contact`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from humans_sim.contact.joint.contact_errors import (
    CurvatureSumError,
    ForbiddenMotionError,
)
from humans_sim.contact.joint.surfaces import SurfacePoint

_FLAT = 1e-9
"""A curvature below this part of the greatest one counts as zero."""


def curvature_matrix(point: SurfacePoint, frame: pin.SE3) -> np.ndarray:
    """Curvatures in the x and y of a frame on the surface (2, 2) [1/m]."""
    flat = frame.rotation[:, :2].T @ point.axes
    return np.asarray((flat * point.curvatures) @ flat.T)


def flat_directions(k1: np.ndarray, k2: np.ndarray) -> np.ndarray:
    """Unit tangents along which both surfaces are flat: (2, 0), (2, 1) or (2, 2).

    Raises:
        CurvatureSumError: the surfaces conform or cross somewhere.
    """
    scale = max(float(np.abs(k1).max()), float(np.abs(k2).max()))
    if scale == 0.0:
        return np.eye(2)
    (a, b), (_, d) = k1 + k2
    middle, spread = (a + d) / 2.0, math.hypot((a - d) / 2.0, b)
    if middle - spread > _FLAT * scale:
        return np.zeros((2, 0))
    if middle - spread < -_FLAT * scale:
        raise CurvatureSumError(float(middle - spread), conforming=False)
    values, vectors = np.linalg.eigh(k1 + k2)
    flat = vectors[:, np.abs(values) <= _FLAT * scale]
    own = np.abs(flat.T @ k1 @ flat).max()
    if own > _FLAT * scale:
        raise CurvatureSumError(0.0, conforming=True)
    return np.asarray(flat)


def contact_speeds(
    k1: np.ndarray, k2: np.ndarray, sliding: np.ndarray, rolling: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Speeds u1, u2 of the contact point in x and y [m/s].

    Along a line on which both surfaces are flat the point may be anywhere; it rests on
    body 2.

    Raises:
        CurvatureSumError: the surfaces conform or cross.
        ForbiddenMotionError: the rolling would lift a line or plane of contact.
    """
    turning = np.array([rolling[1], -rolling[0]])
    flat = flat_directions(k1, k2)
    if not flat.shape[1]:
        (a, b), (c, d) = k1 + k2
        x, y = turning + k2 @ sliding
        u1 = np.array([d * x - b * y, a * y - c * x]) / (a * d - b * c)
        return u1, u1 - sliding
    lift = flat @ (flat.T @ turning)
    if math.hypot(lift[0], lift[1]) > _FLAT * math.hypot(turning[0], turning[1]):
        asked = {"rolling about x": float(-lift[1]), "rolling about y": float(lift[0])}
        raise ForbiddenMotionError(
            asked, "it would lift a contact along a line or plane; see basis(state)"
        )
    inverse = np.linalg.pinv(k1 + k2, rcond=_FLAT, hermitian=True)
    u1 = inverse @ (turning - lift + k2 @ sliding) + flat @ (flat.T @ sliding)
    return u1, u1 - sliding


def planewise_speeds(
    curvatures: tuple[np.ndarray, np.ndarray],
    directions: Sequence[np.ndarray],
    sliding: np.ndarray,
    rolling: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The article's speeds: each plane of curvature on its own, as in two dimensions.

    The same as :func:`contact_speeds` where the principal planes of both surfaces agree
    or one surface is round; elsewhere the twist of one surface in the planes of the
    other is missed, and the bodies roll and slide a little otherwise than asked.

    Args:
        curvatures: of both surfaces, in x and y of the contact frame (2, 2).
        directions: principal directions of both, as columns in x and y (2, 2).
        sliding: (2,) [m/s].
        rolling: (2,) [rad/s].
    """
    k1, k2 = curvatures
    flat_directions(k1, k2)
    turning = np.array([rolling[1], -rolling[0]])
    speeds = []
    for side, own in enumerate(curvatures):
        speed = np.zeros(2)
        # A round surface has no principal planes of its own: it takes the other's.
        (a, b), (_, d) = own
        even = math.hypot(a - d, 2 * b) <= _FLAT * math.hypot(a, d)
        for direction in directions[1 - side if even else side].T:
            c1, c2 = (float(direction @ k @ direction) for k in (k1, k2))
            slid, rolled = float(direction @ sliding), -float(direction @ turning)
            along = planar_speeds(c1, c2, slid, rolled)
            speed += along[side] * direction
        speeds.append(speed)
    return speeds[0], speeds[1]


def planar_speeds(
    c1: float, c2: float, sliding: float, rolling: float
) -> tuple[float, float]:
    """Speeds of the contact point along two contours in a plane [m/s].

    ``s1' = (C2 V - w) / (C1 + C2)`` and ``s2' = -(C1 V + w) / (C1 + C2)``; between two
    straight lines the point rests on body 2.

    Args:
        c1: curvature of contour 1, positive where convex [1/m].
        c2: the same of contour 2.
        sliding: V, of body 2 on body 1 along the tangent t [m/s].
        rolling: w, of body 2 relative to body 1 about t x n, n out of body 1 [rad/s].
    """
    scale, total = max(abs(c1), abs(c2)), c1 + c2
    if scale == 0.0:
        if rolling != 0.0:
            raise ForbiddenMotionError(
                {"rolling": rolling}, "two flat contours can only slide on each other"
            )
        return sliding, 0.0
    if total < -_FLAT * scale:
        raise CurvatureSumError(total, conforming=False)
    if total <= _FLAT * scale:
        raise CurvatureSumError(total, conforming=True)
    return (c2 * sliding - rolling) / total, -(c1 * sliding + rolling) / total
