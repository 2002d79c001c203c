# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of a walk's feedback: estimate, comparison with the plan, correction.

Soles are left and right, in this order. Their poses are homogeneous matrices, their
wrenches rows: force and moment of the left one, then of the right one (4, 3).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

_NO_TURN = 1e-12
"""Sine of an angle below which it has no axis."""


class BalanceNumbers(NamedTuple):
    """Numbers of the balance that do not change in a walk.

    Attributes:
        lean_share: of a tilt that is taken into the lean in one period.
        most_lean: largest lean [rad].
        height: of the centre of mass [m].
        period: between two calls [s].
        pressure_gain: [1/s].
        pressure_time: [s].
        most_giving: largest shift of the centre of mass by pressure [m].
        ankle_gain: angle of the soles for a tilt.
        ankle_damping: the same for its rate [s].
        ankle_limit: largest angle of the soles [rad].
    """

    lean_share: float
    most_lean: float
    height: float
    period: float
    pressure_gain: float
    pressure_time: float
    most_giving: float
    ankle_gain: float
    ankle_damping: float
    ankle_limit: float


@kernel
def are_finite(attitude, angular_velocity, wrenches, joints, joint_speeds):
    """Whether all measurements are finite; joints and their speeds may be None."""
    finite = np.isfinite(attitude).all() and np.isfinite(angular_velocity).all()
    finite = finite and np.isfinite(wrenches).all()
    if joints is not None:
        finite = finite and np.isfinite(joints).all()
    if joint_speeds is not None:
        finite = finite and np.isfinite(joint_speeds).all()
    return finite


@kernel
def body_over_soles(body, soles, motions, wrenches, planned):
    r"""The body in the world of the plan, as its loaded soles see it.

    From a base that stays at the origin, a sole i with the pose :math:`(R_i, t_i)` has
    its centre of pressure :math:`p_i` at :math:`t_i + R_i p_i`. In the plan that point
    is at :math:`P_i`, and the world is turned about the vertical by :math:`Z_i`:

    .. math:: b = P_i - Z_i (t_i + R_i p_i), \quad c = b + Z_i c_b, \quad
        \dot c = Z_i (\dot c_b - v_i - \omega_i \times R_i p_i)

    The soles count by their loads.

    Args:
        body: centre of mass and its velocity, seen from that base (2, 3).
        soles: poses (2, 4, 4); loads from which they count [N], and the least and the
            largest coordinates of their corners (2, 2, 2) [m].
        motions: of the soles, linear and angular (2, 6).
        wrenches: on the soles.
        planned: poses of the soles in the plan (2, 4, 4), their headings (2,).

    Returns:
        Centre of mass, its velocity, zero-moment point, place of the base, its velocity
        (5, 3); turn from the world to the plan's [rad]. Zero where no sole is loaded.
    """
    poses, least, edges = soles
    places, yaws = planned
    seen, total, turn = np.zeros((5, 3)), 0.0, 0.0
    arm, moving, away = np.empty(3), np.empty(3), np.empty(3)
    for s in range(2):
        force, moment = wrenches[2 * s], wrenches[2 * s + 1]
        load = force[2]
        if load < least:
            continue
        pose, motion = poses[s], motions[s]
        x = min(max(-moment[1] / load, edges[s, 0, 0]), edges[s, 1, 0])
        y = min(max(moment[0] / load, edges[s, 0, 1]), edges[s, 1, 1])
        for i in range(3):
            arm[i] = pose[i, 0] * x + pose[i, 1] * y
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            spinning = motion[3 + j] * arm[k] - motion[3 + k] * arm[j]
            moving[i] = motion[i] + spinning
            away[i] = body[0, i] - pose[i, 3] - arm[i]
        angle = yaws[s] - math.atan2(pose[1, 0], pose[0, 0])
        level = about_vertical(angle)
        for i in range(3):
            place = places[s, i, 0] * x + places[s, i, 1] * y + places[s, i, 3]
            com, base, velocity, dragged = place, place, 0.0, 0.0
            for j in range(3):
                com += level[i, j] * away[j]
                base -= level[i, j] * (pose[j, 3] + arm[j])
                velocity += level[i, j] * (body[1, j] - moving[j])
                dragged -= level[i, j] * moving[j]
            seen[0, i] += load * com
            seen[1, i] += load * velocity
            seen[2, i] += load * place
            seen[3, i] += load * base
            seen[4, i] += load * dragged
        turn += load * angle
        total += load
    if total > 0.0:
        seen /= total
    return seen, turn / total if total > 0.0 else 0.0


@kernel
def about_vertical(angle):
    """Rotation about the vertical axis (3, 3)."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])


@kernel
def filtered(before, seen, acceleration, period, shares):
    """Centre of mass and velocity (2, 2): those before moved on, and corrected.

    Args:
        before: a period ago (2, 2).
        seen: what is measured now (2, 3); height aside.
        acceleration: of the plan (3,) [m/s^2].
        period: time since then [s].
        shares: of the measurement that count, in place and velocity.
    """
    after = np.empty((2, 2))
    for i in range(2):
        place = before[0, i] + period * before[1, i]
        velocity = before[1, i] + period * acceleration[i]
        after[0, i] = place + shares[0] * (seen[0, i] - place)
        after[1, i] = velocity + shares[1] * (seen[1, i] - velocity)
    return after


@kernel
def rotation_of(quaternion):
    """Rotation (3, 3) of a unit quaternion x, y, z, w."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@kernel
def tilt_against(attitude, planned):
    """Turn of the base from the plan to what is measured, heading aside (3,) [rad].

    In the plan's world; both are rotations of the base (3, 3).
    """
    axis, cosine, tilt = np.empty(3), 0.0, np.zeros(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        axis[i] = attitude[2, j] * planned[2, k] - attitude[2, k] * planned[2, j]
        cosine += attitude[2, i] * planned[2, i]
    size = math.sqrt(axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2)
    scale = math.atan2(size, cosine) / size if size > _NO_TURN else 1.0
    for i in range(3):
        for j in range(3):
            tilt[i] += scale * planned[i, j] * axis[j]
    return tilt


@kernel
def zmp_of_wrenches(wrenches, poses, height, least):
    """Centre of the pressure of the soles, at a height (3,) [m]; NaN without a load.

    Args:
        wrenches: on the soles.
        poses: where the soles are (2, 4, 4).
        height: of the point that is returned [m].
        least: load from which a sole counts [N].
    """
    total, place = 0.0, np.zeros(3)
    for s in range(2):
        load = wrenches[2 * s, 2]
        if load < least:
            continue
        total += load
        x, y = -wrenches[2 * s + 1, 1], wrenches[2 * s + 1, 0]
        for i in range(2):
            place[i] += poses[s, i, 0] * x + poses[s, i, 1] * y + load * poses[s, i, 3]
    place /= total if total > 0.0 else math.nan
    place[2] = height if total > 0.0 else math.nan
    return place


@kernel
def balance_correction(numbers, state, tilt, tilting, pressure):
    """Change the lean and the giving way by a measurement, for a correction.

    Args:
        numbers: fields of :class:`BalanceNumbers`.
        state: lean [rad] and giving way [m] (2, 2); it is changed.
        tilt: of the base against the plan, about x and y (2,) [rad].
        tilting: its rate [rad/s].
        pressure: measured less planned zero-moment point (2,) [m], NaN for unknown.

    Returns:
        Shift of the centre of mass (3,), turns of the base and of the soles (3, 3).
    """
    values = BalanceNumbers(*numbers)
    lean, giving, ankles = state[0], state[1], np.empty(2)
    for i in range(2):
        moved = lean[i] + values.lean_share * (tilt[i] - lean[i])
        lean[i] = min(max(moved, -values.most_lean), values.most_lean)
        pull = pressure[i] if math.isfinite(pressure[i]) else 0.0
        rate = values.pressure_gain * pull - giving[i] / values.pressure_time
        moved = giving[i] + values.period * rate
        giving[i] = min(max(moved, -values.most_giving), values.most_giving)
        angle = values.ankle_gain * (tilt[i] - lean[i])
        angle += values.ankle_damping * tilting[i]
        ankles[i] = min(max(angle, -values.ankle_limit), values.ankle_limit)
    shift = np.zeros(3)
    shift[0] = giving[0] - values.height * lean[1]
    shift[1] = giving[1] + values.height * lean[0]
    return shift, level_turn(-lean[0], -lean[1]), level_turn(ankles[0], ankles[1])


@kernel
def level_turn(x, y):
    """Rotation by the vector (x, y, 0) (3, 3): the exponential of its cross product."""
    angle = math.sqrt(x * x + y * y)
    # sin(a) / a and (1 - cos(a)) / a^2 = 2 (sin(a / 2) / a)^2, exact for small angles.
    sine = math.sin(angle) / angle if angle > 0.0 else 1.0
    half = 2.0 * (math.sin(0.5 * angle) / angle) ** 2 if angle > 0.0 else 0.5
    return np.array(
        [
            [1.0 - half * y * y, half * x * y, sine * y],
            [half * x * y, 1.0 - half * x * x, -sine * x],
            [-sine * y, sine * x, 1.0 - half * (x * x + y * y)],
        ]
    )


@kernel
def placed_sole(pose, turn, apart):
    """A sole (4, 4) that is moved and turned in its frame, then turned in the world.

    Args:
        pose: in the world (4, 4).
        turn: in the world, about the sole's origin (3, 3).
        apart: shift along x and y [m], turn about x and y [rad], in its frame (4,).
    """
    own, placed = level_turn(apart[2], apart[3]), pose.copy()
    rotation = product(turn, product(pose[:3, :3], own))
    for i in range(3):
        placed[i, 3] += pose[i, 0] * apart[0] + pose[i, 1] * apart[1]
        for j in range(3):
            placed[i, j] = rotation[i, j]
    return placed


@kernel
def product(a, b):
    """Product of two rotations (3, 3)."""
    c = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            for k in range(3):
                c[i, j] += a[i, k] * b[k, j]
    return c
