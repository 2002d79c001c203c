# SPDX-License-Identifier: Apache-2.0
r"""Two feet flat on one floor: what that says of joint angles that encoders rounded.

Both legs and the floor are a closed chain. Seen from the first foot, rounded angles put
the second one a little beside: by :math:`c` out of the floor (tilt and height) and by
:math:`m` along it (place and heading). The roundings :math:`\delta` of the joints make
both, :math:`c = C \delta` and :math:`m = A \delta`; all alike and independent, the most
likely ones that explain c, which is known, are

.. math:: \delta = C^T (C C^T)^{-1} c

and :math:`A \delta` is the part of m that comes with them. Knees and ankles that put a
foot too high by rounding put it too far forwards as well.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

_REGULAR = 1e-9
"""Added to the matrix, whose entries are squares of angles over angles."""


def levelled(
    place: pin.SE3, turn: np.ndarray, motion: np.ndarray, floor: float, lever: float
) -> pin.SE3:
    """The pose of a foot on the floor, without the roundings that took it off.

    Args:
        place: pose of the foot in the world, by the angles.
        turn: rotation of the base in the world (3, 3).
        motion: Jacobian of the foot against the first one at its origin, linear and
            angular, in axes of the base (6, n).
        floor: its height [m].
        lever: length that turns an angle into a distance [m].
    """
    linear, angular = turn @ motion[:3], turn @ motion[3:]
    tilt = np.cross(place.rotation[:, 2], [0.0, 0.0, 1.0])
    off = np.array([tilt[0], tilt[1], (floor - place.translation[2]) / lever])
    rows = np.vstack([angular[:2], linear[2] / lever])
    matrix = rows @ rows.T + _REGULAR * np.eye(3)
    roundings = rows.T @ np.linalg.solve(matrix, off)
    return pin.SE3(
        pin.exp3(angular @ roundings) @ place.rotation,
        place.translation + linear @ roundings,
    )


def relative_motion(
    tree: pin.Model, data: pin.Data, feet: tuple[int, int]
) -> np.ndarray:
    """Jacobian of the second foot against the first one at its origin (6, n).

    Args:
        tree: the model, its base at the origin.
        data: with the Jacobians of all joints, frames up to date.
        feet: numbers of their frames.
    """
    first, second = (
        pin.getFrameJacobian(tree, data, foot, pin.LOCAL_WORLD_ALIGNED)[:, 6:]
        for foot in feet
    )
    apart = data.oMf[feet[1]].translation - data.oMf[feet[0]].translation
    along = first[:3] + np.cross(first[3:].T, apart).T
    return np.vstack([second[:3] - along, second[3:] - first[3:]])
