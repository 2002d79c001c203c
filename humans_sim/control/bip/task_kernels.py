# SPDX-License-Identifier: Apache-2.0
"""Compiled task function of Bip, its kinematics and its inverse.

Rows 1..12 of the manual's table 8.1 are relative to the pelvis, so the base stands
still here: pelvis axes are those of ``base_link`` (x forward, y left, z up), its origin
is zero, and only the 15 joints count, in the order of the HuMAnS vector.

*Inverse*: closed form for a leg, then Newton. Given the trunk's joints, rows 7..9 are
three entries of the rotation between trunk and foot, from which the whole rotation
follows up to a sign: the trunk pitched by less or by more than 90 degrees from the
foot. With the foot's orientation and the place of its ankle known, a leg has one
posture whose knee bends the right way (hip axes meet in one point, ankle axes in
another). Ankles follow from the centre of mass G and rows 1..6, and G from the postures
of the legs: a fixed point in three unknowns, contracted by about 0.2 an iteration. Some
iterations give a start for each choice of signs, and Levenberg-Marquardt steps on the
twelve rows polish it.

Two postures with an almost straight leg share their task value, their knees bent a
little more and a little less than where the Jacobian is singular. Newton's method
goes to the one on whose side it starts, so both sides are tried.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.dense_kernels import cholesky_solve
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


_UNKNOWNS = 12
_CHOICES = 32
"""Starts: way and flexion of straight knees, either foot pitched beyond 90 degrees."""
_APPROACH = 5
"""Iterations of the fixed point."""
_SPREAD = 30
"""Starts spread over the limits, for targets that no choice leads to."""
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Their square roots make a sequence that fills the limits evenly."""
_STEPS = 60, 600
"""Levenberg-Marquardt steps a start may take, and the last attempt."""
_PATIENCE = 4, 600
"""Of these, how many may lessen the squared residual by less than half."""
_STRAIGHT = 0.1
"""Flexion below which a leg counts as almost straight [rad]."""
_BENDS = (0.1, 0.005)
"""Flexions from which the knee of such a leg starts, either way [rad]."""
_LOW = 0.2
"""A hip this low over the foot leaves the ankle's roll uncertain, as a sine."""
_LONGEST = 0.5
"""Largest change of a joint in one step [rad]."""
_DAMPING = 1e-2
"""First damping, times the square of the residual."""
_PROMISING = 0.12
"""Angle beyond the limits at which a start is still tried early [rad]."""


class Legs(NamedTuple):
    """Both legs, joints in the order hip roll, yaw, pitch, knee, ankle pitch, roll.

    Attributes:
        place: places of the joints in the HuMAnS vector (2, 6).
        sign: sense of the joints about x, z, y, y, y, x (2, 6).
        hip: in the pelvis (2, 3) [m].
        thigh: lengths (2,) [m].
        shank: lengths (2,) [m].
        lower: limits of the 12 unknowns, in HuMAnS order [rad].
        upper: the same.
        trunk: unit vectors across and along the trunk, and their product, as columns.
        reach: lengths of the vectors across and along (2,) [m].
    """

    place: np.ndarray
    sign: np.ndarray
    hip: np.ndarray
    thigh: np.ndarray
    shank: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    trunk: np.ndarray
    reach: np.ndarray


class Tolerances(NamedTuple):
    """When an inverse is good enough.

    Attributes:
        residual: largest one at which the iteration ends [m].
        accepted: largest one of a solution [m].
        slack: angle beyond a limit that still counts as inside [rad].
    """

    residual: float
    accepted: float
    slack: float


@kernel
def trunk_from_foot(legs, target, side, up, out):
    """Rotation from trunk to foot axes of rows 7..9, for one choice of sign.

    Returns by how much the rows are beyond those of any rotation: 0 if they are not.
    """
    low = 6 + 3 * side
    across = np.array([-target[low + 1], 0.0, -target[low]]) / legs.reach[0]
    square = across[0] ** 2 + across[2] ** 2
    beyond = max(0.0, square - 1.0)
    if square > 1.0:
        across /= np.sqrt(square)
    across[1] = -np.sqrt(max(0.0, 1.0 - across[0] ** 2 - across[2] ** 2))
    ahead = target[low + 2] / legs.reach[1]
    free = max(1.0 - across[0] ** 2, 1e-300)
    beyond = max(beyond, ahead * ahead - free)
    ahead = min(max(ahead, -np.sqrt(free)), np.sqrt(free))
    along = -ahead / free * across[0] * across
    along[0] += ahead / free
    rest = up * np.sqrt(max(0.0, 1.0 - ahead * ahead / free) / free)
    along[1] += rest * across[2]
    along[2] -= rest * across[1]
    frame = np.empty((3, 3))
    frame[:, 0] = across
    frame[:, 1] = along
    frame[:, 2] = np.cross(across, along)
    out[:] = frame @ legs.trunk.T
    return beyond


@kernel
def bend_leg(legs, side, foot, ankle, way, q):
    """Posture of a leg for a foot's orientation and ankle, both in the pelvis.

    The knee of an almost straight leg is set to ``way`` [rad].

    Returns:
        By how much the ankle is out of reach [m], and whether the leg is straight.
    """
    l1, l2 = legs.thigh[side], legs.shank[side]
    rx, ry, rz = 0.0, 0.0, 0.0
    for k in range(3):
        arm = legs.hip[side, k] - ankle[k]
        rx += foot[k, 0] * arm
        ry += foot[k, 1] * arm
        rz += foot[k, 2] * arm
    high = np.hypot(ry, rz)
    distance = np.hypot(rx, high)
    cosine = (distance * distance - l1 * l1 - l2 * l2) / (2.0 * l1 * l2)
    bend = np.arccos(min(max(cosine, -1.0), 1.0))
    straight = bend < _STRAIGHT
    knee = legs.sign[side, 3] * (way if straight else bend)
    roll = np.arctan2(ry, rz)
    if high < _LOW * distance:
        place, sign = legs.place[side, 5], legs.sign[side, 5]
        inside = max(min(sign * roll, legs.upper[place]), legs.lower[place])
        roll = sign * inside
    pitch = np.arctan2(-l1 * np.sin(knee), l1 * np.cos(knee) + l2)
    pitch -= np.arctan2(rx, high)
    # What is left of the foot's turn is the hip's: foot Rx(-roll) Ry(-knee - pitch).
    cr, sr = np.cos(roll), np.sin(roll)
    cp, sp = np.cos(knee + pitch), np.sin(knee + pitch)
    aside0 = cr * foot[0, 1] - sr * foot[0, 2]
    aside1 = cr * foot[1, 1] - sr * foot[1, 2]
    aside2 = cr * foot[2, 1] - sr * foot[2, 2]
    up = sr * foot[0, 1] + cr * foot[0, 2]
    yaw = -np.arcsin(min(max(aside0, -1.0), 1.0))
    lean = np.arctan2(aside2, aside1)
    swing = np.arctan2(cp * up - sp * foot[0, 0], cp * foot[0, 0] + sp * up)
    angles = (lean, yaw, swing, knee, pitch, roll)
    for k in range(6):
        q[legs.place[side, k]] = legs.sign[side, k] * angles[k]
    return max(0.0, distance - l1 - l2), straight


@kernel
def approach(tree, legs, target, ups, ways, q):
    """Postures by the fixed point on the centre of mass, for one choice of signs.

    Returns:
        By how much rotations and ankles are out of reach, and for each leg whether it
        is straight.
    """
    n = tree.parent.size
    turn, origin = np.empty((n + 1, 3, 3)), np.empty((n + 1, 3))
    axis, com = np.empty((n, 3)), np.empty((n + 1, 3))
    centre = place_bodies(tree, q, turn, origin, axis, com)
    seen, feet = np.empty((3, 3)), np.empty((SIDES, 3, 3))
    twisted, far = 0.0, 0.0
    for side in range(SIDES):
        twisted = max(twisted, trunk_from_foot(legs, target, side, ups[side], seen))
        feet[side] = turn[tree.trunk_body] @ seen.T
    straight = np.zeros(SIDES, dtype=np.bool_)
    for i in range(_APPROACH):
        if i:
            centre = place_bodies(tree, q, turn, origin, axis, com)
        far = 0.0
        for side in range(SIDES):
            top = 3 * side
            ankle = (
                centre[0] - target[top],
                centre[1] + target[top + 2],
                centre[2] - target[top + 1],
            )
            lack, straight[side] = bend_leg(
                legs, side, feet[side], ankle, ways[side], q
            )
            far = max(far, lack)
    return twisted, far, straight


@kernel
def polish(tree, target, tolerance, last, q):
    """Levenberg-Marquardt on q[:12], in place; returns largest residual and steps.

    The damping is a factor times the squared residual, which keeps quadratic
    convergence where the Jacobian is regular and does not stall where it is not.
    """
    n = _UNKNOWNS
    value, jacobian = np.empty(ROWS), np.empty((ROWS, tree.parent.size))
    trial = q.copy()
    normal, step = np.empty((n, n)), np.empty(n)
    task_rows(tree, q, value, jacobian)
    value -= target[:ROWS]
    square = np.sum(value * value)
    factor = _DAMPING
    steps, slow = 0, 0
    while steps < _STEPS[last] and np.max(np.abs(value)) > tolerance:
        steps += 1
        for i in range(n):
            for j in range(i + 1):
                total = 0.0
                for k in range(ROWS):
                    total += jacobian[k, i] * jacobian[k, j]
                normal[i, j] = total
            total = 0.0
            for k in range(ROWS):
                total -= jacobian[k, i] * value[k]
            step[i] = total
            normal[i, i] += factor * square + 1e-18
        if not cholesky_solve(normal, step):
            factor = 10.0 * factor + 1e-6
            continue
        largest = np.max(np.abs(step))
        if largest > _LONGEST:
            step *= _LONGEST / largest
        trial[:n] = q[:n] + step
        task_rows(tree, trial, value, jacobian)
        value -= target[:ROWS]
        new_square = np.sum(value * value)
        if new_square < square:
            if new_square < 0.25 * square:
                factor *= 0.1
            if new_square > 0.5 * square:
                slow += 1
            q[:n] = trial[:n]
            square = new_square
            if slow > _PATIENCE[last]:
                break
        else:
            factor *= 10.0
            task_rows(tree, q, value, jacobian)
            value -= target[:ROWS]
            if factor > 1e12 or largest < 1e-15:
                break
    return np.max(np.abs(value)), steps


@kernel
def excess(legs, q):
    """Largest angle beyond a limit among the 12 unknowns [rad]."""
    worst = 0.0
    for i in range(_UNKNOWNS):
        worst = max(worst, legs.lower[i] - q[i], q[i] - legs.upper[i])
    return worst


@kernel
def invert(tree, legs, target, start, given, tolerances):
    """The posture of a target; its coordinates after the legs are the target's.

    Tries the start first where one is given, then the choices of sign, until a solution
    is within the limits. A solution beyond them is kept unless one inside is found.

    Returns:
        Posture, largest residual, angle beyond the limits, steps, rotation and ankle
        out of reach of every choice.
    """
    tolerance, accepted, slack = tolerances
    best, q = target.copy(), target.copy()
    kept, beyond, total = np.inf, np.inf, 0
    if given:
        q[:_UNKNOWNS] = start[:_UNKNOWNS]
        kept, steps = polish(tree, target, tolerance, 0, q)
        total += steps
        beyond = excess(legs, q)
        best[:_UNKNOWNS] = q[:_UNKNOWNS]
        if kept < accepted and beyond <= slack:
            return best, kept, beyond, total, 0.0, 0.0
    starts = np.empty((_CHOICES, q.size))
    later = np.zeros(_CHOICES, dtype=np.bool_)
    twisted, far = np.inf, np.inf
    # First the choices that look as if they led inside the limits, then the others,
    # at last starts spread over the limits.
    for attempt in range(2 * _CHOICES + _SPREAD):
        choice = attempt % _CHOICES
        early = attempt < _CHOICES
        if early:
            q[:_UNKNOWNS] = 0.5 * (legs.lower + legs.upper)
            ups = (1.0 - 2.0 * (choice >> 2 & 1), 1.0 - 2.0 * (choice >> 3 & 1))
            bend = _BENDS[choice >> 4]
            ways = (
                -bend if choice & 1 else bend,
                -bend if choice >> 1 & 1 else bend,
            )
            twist, lack, straight = approach(tree, legs, target, ups, ways, q)
            twisted, far = min(twisted, twist), min(far, lack)
            # How a knee bends is a choice only where a leg is straight.
            idle = (choice & 1 and not straight[0]) or (choice & 2 and not straight[1])
            if idle or (choice & 16 and not straight.any()):
                continue
            starts[choice] = q
            later[choice] = excess(legs, q) > _PROMISING
        if attempt < 2 * _CHOICES:
            if early == later[choice]:
                continue
            q[:] = starts[choice]
        elif twisted > accepted or far > accepted:
            break
        else:
            for i in range(_UNKNOWNS):
                part = np.sqrt(_PRIMES[i]) * (attempt + 1) % 1.0
                q[i] = legs.lower[i] + part * (legs.upper[i] - legs.lower[i])
        residual, steps = polish(tree, target, tolerance, 0, q)
        total += steps
        outside = excess(legs, q)
        solved, had = residual < accepted, kept < accepted
        better = outside < beyond if solved and had else residual < kept
        if better and (solved or not had):
            kept, beyond = residual, outside
            best[:_UNKNOWNS] = q[:_UNKNOWNS]
        if kept < accepted and beyond <= slack:
            break
    if not kept < accepted:
        kept, steps = polish(tree, target, tolerance, 1, best)
        total += steps
        beyond = excess(legs, best)
    return best, kept, beyond, total, twisted, far
