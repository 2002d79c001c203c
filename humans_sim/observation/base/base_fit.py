# SPDX-License-Identifier: Apache-2.0
r"""The base of a body from feet that stand: least squares, and closed chains.

*Least squares* over its 6 freedoms. A foot i has the pose :math:`X_i` in the base, by
the joint angles, and its reference pose :math:`R_i` in the world. The base :math:`B`
makes the twists

.. math:: e_i = \log\bigl((B X_i)^{-1} R_i\bigr)

as small as can be in :math:`\sum_i w_i\,(|e_i^{lin}|^2 + h^2 |e_i^{ang}|^2)`. One foot
has six freedoms as the base has: :math:`B = R X^{-1}`, and nothing is left over. For
several it is Gauss-Newton with the feet's Jacobians.

*Two feet flat on one floor* correct joint angles that encoders rounded. Both legs and
the floor are a closed chain. Seen from the first foot, rounded angles put the second
one a little beside: by :math:`c` out of the floor (tilt and height) and by :math:`m`
along it (place and heading). The roundings :math:`\delta` of the joints make both,
:math:`c = C \delta` and :math:`m = A \delta`; all alike and independent, the most
likely ones that explain c, which is known, are

.. math:: \delta = C^T (C C^T)^{-1} c

and :math:`A \delta` is the part of m that comes with them. Knees and ankles that put a
foot too high by rounding put it too far forwards as well.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

_STEPS = 20
"""Most steps of Gauss-Newton; 3 or 4 are usual."""
_SMALL = 1e-12
"""Length of a step after which no other is made [m, rad]."""


def fit_base(
    references: Sequence[pin.SE3],
    in_base: Sequence[pin.SE3],
    weights: np.ndarray,
    lever: float,
) -> pin.SE3:
    """The base pose in the world that brings feet nearest to their references.

    Poses of the feet are given in the world and in the base, with positive weights
    (n,); the lever h [m] turns an angle into a distance.
    """
    base = references[0] * in_base[0].inverse()
    if len(references) == 1:
        return base
    scale = _scale(weights, lever)
    for _ in range(_STEPS):
        errors, rows = [], []
        for reference, foot in zip(references, in_base, strict=True):
            left = (base * foot).actInv(reference)
            errors.append(pin.log6(left).vector)
            # log(exp(-a) L) = log(L exp(-Ad(L^-1) a)), to the first order in a.
            turned = pin.Jlog6(left) @ left.inverse().action
            rows.append(turned @ foot.inverse().action)
        step = _least_squares(rows, errors, scale)
        base = base * pin.exp6(step)
        if np.linalg.norm(step) < _SMALL:
            break
    return base


def base_over(
    references: Sequence[pin.SE3],
    in_base: Sequence[pin.SE3],
    weights: np.ndarray,
    turn: np.ndarray,
) -> pin.SE3:
    """The base pose of a known rotation (3, 3) over the places of feet.

    References, feet and weights as of :func:`fit_base`, the weights with the sum 1.
    """
    places = [
        reference.translation - turn @ foot.translation
        for reference, foot in zip(references, in_base, strict=True)
    ]
    return pin.SE3(turn, weights @ np.array(places))


def fit_velocity(
    in_base: Sequence[pin.SE3],
    foot_velocities: Sequence[np.ndarray],
    weights: np.ndarray,
    lever: float,
) -> np.ndarray:
    """Velocity of the base, in its own frame, at which feet stand still (6,).

    Foot velocities are those of the feet, each in its own frame, were the base at rest:
    J_joints times the joint speeds (6,) [m/s, rad/s]. Weights and lever as of
    :func:`fit_base`.
    """
    if len(in_base) == 1:
        return np.asarray(-(in_base[0].action @ foot_velocities[0]))
    rows = [foot.inverse().action for foot in in_base]
    return -_least_squares(rows, foot_velocities, _scale(weights, lever))


def _scale(weights: np.ndarray, lever: float) -> np.ndarray:
    return np.outer(np.sqrt(weights), np.repeat([1.0, lever], 3)).ravel()


def _least_squares(
    rows: Sequence[np.ndarray], values: Sequence[np.ndarray], scale: np.ndarray
) -> np.ndarray:
    matrix = scale[:, None] * np.concatenate(rows)
    vector = scale * np.concatenate(values)
    return np.asarray(np.linalg.lstsq(matrix, vector, rcond=None)[0])


_REGULAR = 1e-9
"""Added to the matrix, whose entries are squares of angles over angles."""


def levelled(
    place: pin.SE3, turn: np.ndarray, motion: np.ndarray, floor: float, lever: float
) -> pin.SE3:
    """The pose of a foot on the floor, without the roundings that took it off.

    Args:
        place: pose of the foot in the world, by the angles.
        turn: rotation of the base in the world (3, 3).
        motion: of :func:`relative_motion`, in axes of the base (6, n).
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

    Linear and angular; the data have the Jacobians of all joints, frames up to date,
    and the feet are numbers of frames.
    """
    first, second = (
        pin.getFrameJacobian(tree, data, foot, pin.LOCAL_WORLD_ALIGNED)[:, 6:]
        for foot in feet
    )
    apart = data.oMf[feet[1]].translation - data.oMf[feet[0]].translation
    along = first[:3] + np.cross(first[3:].T, apart).T
    return np.vstack([second[:3] - along, second[3:] - first[3:]])
