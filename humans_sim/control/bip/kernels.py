# SPDX-License-Identifier: Apache-2.0
"""Compiled kinematics of Bip's task function, all of it seen from the pelvis.

Rows 1..12 of the manual's table 8.1 are relative to the pelvis, so the base stands
still here: pelvis axes are those of ``base_link`` (x forward, y left, z up), its origin
is zero, and only the 15 joints count, in the order of the HuMAnS vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

ROWS = 12
"""Rows of the table that are no coordinates themselves."""
SIDES = 2
"""Right, then left."""


class BipTree(NamedTuple):
    """Geometry and masses; body 0 is the pelvis, body i + 1 moves with joint i.

    Attributes:
        parent: body that carries each joint (n,).
        place: place of each joint in the HuMAnS vector (n,).
        rotation: of each joint's frame in its parent at zero (n, 3, 3).
        shift: origin of each joint's frame in its parent (n, 3) [m].
        axis: of each joint in its own frame (n, 3).
        share: mass of each body over the whole mass (n + 1,).
        lever: centre of mass of each body (n + 1, 3) [m].
        ankle_body: bodies of the ankle tags (2,).
        ankle: ankle tags in their bodies (2, 3) [m].
        foot_body: bodies of the feet (2,).
        down: unit vectors down in each foot (2, 3).
        forward: unit vectors forward in each foot (2, 3).
        trunk_body: body of the trunk.
        across: tag 16 less tag 17, in the trunk (3,) [m].
        along: tag 18 less tag 16, in the trunk (3,) [m].
        above: whether a joint moves a body (n, n + 1).
    """

    parent: np.ndarray
    place: np.ndarray
    rotation: np.ndarray
    shift: np.ndarray
    axis: np.ndarray
    share: np.ndarray
    lever: np.ndarray
    ankle_body: np.ndarray
    ankle: np.ndarray
    foot_body: np.ndarray
    down: np.ndarray
    forward: np.ndarray
    trunk_body: int
    across: np.ndarray
    along: np.ndarray
    above: np.ndarray


@kernel
def _row(table, i):
    return table[i, 0], table[i, 1], table[i, 2]


@kernel
def _store(table, i, x):
    table[i, 0], table[i, 1], table[i, 2] = x


@kernel
def _plus(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel
def _minus(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def _cross(a, b):
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@kernel
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def _turned(turn, b, x):
    """A vector of body b on pelvis axes."""
    return (
        turn[b, 0, 0] * x[0] + turn[b, 0, 1] * x[1] + turn[b, 0, 2] * x[2],
        turn[b, 1, 0] * x[0] + turn[b, 1, 1] * x[1] + turn[b, 1, 2] * x[2],
        turn[b, 2, 0] * x[0] + turn[b, 2, 1] * x[1] + turn[b, 2, 2] * x[2],
    )


@kernel
def place_bodies(tree, q, turn, origin, axis, com):
    """Fill orientations, origins, joint axes and centres of mass of the bodies.

    Returns the centre of mass of the whole body.
    """
    turn[0] = 0.0
    turn[0, 0, 0] = turn[0, 1, 1] = turn[0, 2, 2] = 1.0
    origin[0] = 0.0
    com[0] = tree.lever[0]
    frame = np.empty((1, 3, 3))
    for i in range(tree.parent.size):
        up, body = tree.parent[i], i + 1
        for r in range(3):
            for c in range(3):
                total = 0.0
                for k in range(3):
                    total += turn[up, r, k] * tree.rotation[i, k, c]
                frame[0, r, c] = total
        shift = _turned(turn, up, _row(tree.shift, i))
        _store(origin, body, _plus(_row(origin, up), shift))
        spindle = _turned(frame, 0, _row(tree.axis, i))
        _store(axis, i, spindle)
        # Rodrigues, column by column: e cos + (a x e) sin + a (a . e) (1 - cos)
        angle = q[tree.place[i]]
        cs, sn = np.cos(angle), np.sin(angle)
        for c in range(3):
            e = (frame[0, 0, c], frame[0, 1, c], frame[0, 2, c])
            side = _cross(spindle, e)
            part = (1.0 - cs) * _dot(spindle, e)
            for k in range(3):
                turn[body, k, c] = e[k] * cs + side[k] * sn + spindle[k] * part
        lever = _turned(turn, body, _row(tree.lever, body))
        _store(com, body, _plus(_row(origin, body), lever))
    x, y, z = 0.0, 0.0, 0.0
    for b in range(com.shape[0]):
        x += tree.share[b] * com[b, 0]
        y += tree.share[b] * com[b, 1]
        z += tree.share[b] * com[b, 2]
    return x, y, z


@kernel
def task_rows(tree, q, value, jacobian):
    """Rows 1..12 of the task function (12,) and their Jacobian (12, 15)."""
    n = tree.parent.size
    turn, origin = np.empty((n + 1, 3, 3)), np.empty((n + 1, 3))
    axis, com = np.empty((n, 3)), np.empty((n + 1, 3))
    centre = place_bodies(tree, q, turn, origin, axis, com)
    # Share of the mass that each joint moves and its first moment, from the tips down.
    share, moment = tree.share.copy(), com
    for b in range(n + 1):
        for k in range(3):
            moment[b, k] *= share[b]
    for i in range(n - 1, -1, -1):
        up = tree.parent[i]
        share[up] += share[i + 1]
        _store(moment, up, _plus(_row(moment, up), _row(moment, i + 1)))
    trunk = tree.trunk_body
    across, along = _turned(turn, trunk, tree.across), _turned(turn, trunk, tree.along)
    for side in range(SIDES):
        body, foot = tree.ankle_body[side], tree.foot_body[side]
        ankle = _turned(turn, body, _row(tree.ankle, side))
        ankle = _plus(ankle, _row(origin, body))
        down = _turned(turn, foot, _row(tree.down, side))
        forward = _turned(turn, foot, _row(tree.forward, side))
        top, low = 3 * side, 6 + 3 * side
        _along_pelvis(_minus(centre, ankle), value, top)
        value[low] = _dot(down, across)
        value[low + 1] = -_dot(forward, across)
        value[low + 2] = _dot(forward, along)
        for i in range(n):
            a, at, column = _row(axis, i), _row(origin, i + 1), tree.place[i]
            m = share[i + 1]
            arm = _minus(_row(moment, i + 1), (m * at[0], m * at[1], m * at[2]))
            rate = _cross(a, arm)
            if tree.above[i, body]:
                rate = _minus(rate, _cross(a, _minus(ankle, at)))
            jacobian[top, column] = rate[0]
            jacobian[top + 1, column] = rate[2]
            jacobian[top + 2, column] = -rate[1]
            # (a x f) . d with f of the foot, f . (a x d) with d of the trunk
            sign = 1.0 * tree.above[i, foot] - 1.0 * tree.above[i, trunk]
            turning = _cross(a, forward)
            jacobian[low, column] = sign * _dot(_cross(a, down), across)
            jacobian[low + 1, column] = -sign * _dot(turning, across)
            jacobian[low + 2, column] = sign * _dot(turning, along)


@kernel
def _along_pelvis(x, out, row):
    """Forward, up and right components: z, -y and x of the manual's pelvis frame."""
    out[row], out[row + 1], out[row + 2] = x[0], x[2], -x[1]


@kernel
def task_drift(tree, q, rates, drift):
    """Second derivative of rows 1..12 at zero joint acceleration (12,)."""
    n = tree.parent.size
    turn, origin = np.empty((n + 1, 3, 3)), np.empty((n + 1, 3))
    axis, com = np.empty((n, 3)), np.empty((n + 1, 3))
    place_bodies(tree, q, turn, origin, axis, com)
    # Angular velocity and acceleration of each body, acceleration of its origin.
    spin, gain, pull = np.zeros((n + 1, 3)), np.zeros((n + 1, 3)), np.zeros((n + 1, 3))
    for i in range(n):
        up, speed = tree.parent[i], rates[tree.place[i]]
        a, w, g = _row(axis, i), _row(spin, up), _row(gain, up)
        own = (speed * a[0], speed * a[1], speed * a[2])
        _store(spin, i + 1, _plus(w, own))
        _store(gain, i + 1, _plus(g, _cross(w, own)))
        arm = _minus(_row(origin, i + 1), _row(origin, up))
        _store(pull, i + 1, _plus(_row(pull, up), _carried(w, g, arm)))
    centre = (0.0, 0.0, 0.0)
    for b in range(n + 1):
        arm, m = _minus(_row(com, b), _row(origin, b)), tree.share[b]
        x = _plus(_row(pull, b), _carried(_row(spin, b), _row(gain, b), arm))
        centre = _plus(centre, (m * x[0], m * x[1], m * x[2]))
    trunk = tree.trunk_body
    wt, gt = _row(spin, trunk), _row(gain, trunk)
    across, along = _turned(turn, trunk, tree.across), _turned(turn, trunk, tree.along)
    for side in range(SIDES):
        body, foot = tree.ankle_body[side], tree.foot_body[side]
        arm = _turned(turn, body, _row(tree.ankle, side))
        ankle = _carried(_row(spin, body), _row(gain, body), arm)
        ankle = _plus(_row(pull, body), ankle)
        _along_pelvis(_minus(centre, ankle), drift, 3 * side)
        down = _turned(turn, foot, _row(tree.down, side))
        forward = _turned(turn, foot, _row(tree.forward, side))
        wf, gf, low = _row(spin, foot), _row(gain, foot), 6 + 3 * side
        drift[low] = _product_drift(wf, gf, down, wt, gt, across)
        drift[low + 1] = -_product_drift(wf, gf, forward, wt, gt, across)
        drift[low + 2] = _product_drift(wf, gf, forward, wt, gt, along)


@kernel
def _carried(spin, gain, arm):
    """Acceleration of the tip of an arm that turns: alpha x r + w x (w x r)."""
    return _plus(_cross(gain, arm), _cross(spin, _cross(spin, arm)))


@kernel
def _product_drift(wf, gf, f, wd, gd, d):
    """Second derivative of f . d, f and d turning with two bodies."""
    both = 2.0 * _dot(_cross(wf, f), _cross(wd, d))
    return _dot(_carried(wf, gf, f), d) + _dot(f, _carried(wd, gd, d)) + both
