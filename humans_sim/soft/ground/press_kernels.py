# SPDX-License-Identifier: Apache-2.0
"""The contact problem between points of a body and the pins of a screen.

All contacts are compliant, so the velocity v of the body at the end of a sample says
all: normal impulses P solve :math:`B P + b + J_n v = 0` where they act, and tangents
follow by projection on their cones. Newton's method works on the few numbers of v, with
the contacts that act and slide as they were in the iteration before: a sole may have
many points.

Also the pins that points press on, and the points' depth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.problem.law import OPEN, SLIDE, STICK
from humans_sim.contact.problem.newton import solve_near
from humans_sim.core.dense_kernels import (
    backward,
    cholesky,
    forward,
    forward_rows,
    lu_factor,
    lu_solve,
    solve_upper_transposed,
    solve_upper_vector,
    times_columns,
    times_rows,
)
from humans_sim.core.kernels import kernel
from humans_sim.dynamics.time_stepping.impulses import (
    factor_of,
    free_motion,
    spread_of,
)


class PinGrid(NamedTuple):
    """A screen under a body, and the contact between them.

    The place of the first pin [m], the spacing of pins [m], half the width of what a
    point presses on, in spacings, the period of a sample [s], the mass of a pin [kg];
    stiffness [N/m] and viscosity [N s/m] of a contact.
    """

    x: float
    y: float
    spacing: float
    patch: float
    period: float
    mass: float
    stiffness: float
    viscosity: float


@kernel
def shares(place, width, first, share):
    """Set the first pin along one axis that a point presses on, and the share of each.

    The place of the point and half the width of its patch are in spacings.
    """
    first[0] = int(np.ceil(place - width - 1e-9))
    total = 0.0
    for a in range(share.shape[0]):
        share[a] = max(0.0, 1.0 - abs(first[0] + a - place) / width)
        total += share[a]
    for a in range(share.shape[0]):
        share[a] /= total


@kernel
def patches(grid, places):
    """Pins that points press on: first ones (k, 2, 1), shares on both axes (k, 2, m).

    Args:
        grid: fields of a :class:`PinGrid`, as a plain tuple.
        places: of the points (k, 3) [m].
    """
    x, y, spacing, width = grid[0], grid[1], grid[2], grid[3]
    count = places.shape[0]
    size = int(np.floor(2.0 * width + 1e-9)) + 1
    first = np.empty((count, 2, 1), np.int64)
    share = np.empty((count, 2, size))
    for c in range(count):
        shares((places[c, 0] - x) / spacing, width, first[c, 0], share[c, 0])
        shares((places[c, 1] - y) / spacing, width, first[c, 1], share[c, 1])
    return first, share


@kernel
def first_beside(grid, shape, places):
    """The first of points (k, 3) [m] beside the screen with its patch; -1 for none."""
    room = grid[3] - 1.0
    for c in range(places.shape[0]):
        a = (places[c, 0] - grid[0]) / grid[2]
        b = (places[c, 1] - grid[1]) / grid[2]
        inside = room <= a <= shape[0] - 1 - room and room <= b <= shape[1] - 1 - room
        if not inside:
            return c
    return -1


@kernel
def overlap(first, share, c, d):
    """Sum over pins of the products of the shares of two points."""
    product, size = 1.0, share.shape[2]
    for axis in range(2):
        shift = first[c, axis, 0] - first[d, axis, 0]
        if shift >= size or shift <= -size:
            return 0.0
        total = 0.0
        for a in range(max(0, -shift), min(size, size - shift)):
            total += share[c, axis, a] * share[d, axis, a + shift]
        product *= total
    return product


@kernel
def feel(pins, period, first, share, depth):
    """Add depths of points (k,) below the pins half a sample ago [m].

    Pins are deviations at the end of a sample, at its beginning, and a sample before,
    with borders (n + 2, m + 2) [m]; first and share are of :func:`patches`.

    Returns:
        mean rates of the pins under each point in the sample (k,) [m/s].
    """
    after, now, before = pins
    size = share.shape[2]
    rising = np.zeros(depth.shape[0])
    for c in range(depth.shape[0]):
        for a in range(size):
            i = first[c, 0, 0] + a + 1
            for b in range(size):
                w = share[c, 0, a] * share[c, 1, b]
                if w > 0.0:
                    j = first[c, 1, 0] + b + 1
                    depth[c] += 0.5 * w * (now[i, j] + before[i, j])
                    rising[c] += 0.5 * w * (after[i, j] - before[i, j]) / period
    return rising


@kernel
def load_pins(after, first, share, shifts):
    """Move the pins (with borders) under points down by shifts (k,) [m].

    First and share are of :func:`patches`.

    Returns:
        the first and the last row of pins that moved; the first is larger if none did.
    """
    low, high = after.shape[0], -1
    size = share.shape[2]
    for c in range(shifts.shape[0]):
        if shifts[c] == 0.0:
            continue
        for a in range(size):
            i = first[c, 0, 0] + a + 1
            for b in range(size):
                w = share[c, 0, a] * share[c, 1, b]
                if w > 0.0:
                    after[i, first[c, 1, 0] + b + 1] -= w * shifts[c]
                    low, high = min(low, i), max(high, i)
    return low, high


@kernel
def depths(pins, grid, shape, places, heights, share_of_sample):
    """Of points (k, 3) below the ground between two samples (k,) [m].

    Points beside the screen are below pins at rest, over which they have heights (k,)
    [m]. Pins are as of :func:`feel`; a share of the sample has passed.
    """
    after, now, before = pins
    deep = -heights
    for c in range(places.shape[0]):
        if first_beside(grid, shape, places[c : c + 1]) == 0:
            continue
        first, share = patches(grid, places[c : c + 1])
        for a in range(share.shape[2]):
            i = first[0, 0, 0] + a + 1
            for b in range(share.shape[2]):
                w = share[0, 0, a] * share[0, 1, b]
                if w > 0.0:
                    j = first[0, 1, 0] + b + 1
                    start = 0.5 * (now[i, j] + before[i, j])
                    end = 0.5 * (after[i, j] + now[i, j])
                    deep[c] += w * (start + share_of_sample * (end - start))
    return deep


SHEAR = 1000.0
"""How many times stiffer a contact is along the ground than into it: points that stick
move by less than a micrometre, and the forces of many are single-valued."""
SOFTER = (300.0, 30.0, 5.0, 1.0)
"""How many times softer contacts are along the ground where Newton's method is to find
a start."""
_MOST = 12
_ENOUGH = 1e-3
"""Share of the accepted residual that Newton's method ends at."""
_SHORTEST = 0.02


@kernel
def press(grid, pins, points, motion, contacts, accepted):
    """Forces between points and pins over one sample; the pins take theirs.

    Args:
        grid: fields of a :class:`PinGrid`, as a plain tuple.
        pins: deviations at the end of the sample without these forces, which are
            changed, at its beginning, and a sample before, with borders
            (n + 2, m + 2) [m].
        points: where they are (k, 3), and how high over pins at rest (k,) [m].
        motion: mass matrix (nv, nv), all forces but these (nv,), velocity (nv,),
            Jacobians of the points (k, 3, nv).
        contacts: friction (k,), and forces of the sample before (k, 3) [N].
        accepted: residual of the contact problem [m/s].

    Returns:
        forces on the points: normal and tangents (k, 3) [N]; generalised force (nv,);
        residual [m/s]; first and last row of pins that were pressed.
    """
    period, pin_mass, k, z = grid[4], grid[5], grid[6], grid[7]
    places, heights = points
    mass, force, v, rows = motion
    friction, known = contacts
    count, nv = places.shape[0], v.shape[0]
    first, share = patches(grid, places)
    depth = -heights
    rising = feel(pins, period, first, share, depth)
    total = period * k + z
    soft, shear = 2.0 / (period * total), 1.0 / (SHEAR * k * period**2)
    moved = np.empty((count, 3))
    times_rows(rows.reshape(3 * count, nv), v, moved.reshape(-1))
    matrix, start = np.empty((count, count)), np.empty(count)
    for c in range(count):
        moved[c, 0] -= 2.0 * rising[c] + 2.0 / period * depth[c]
        moved[c, 0] += z * soft * max(depth[c], 0.0)
        # The velocity at which a tangent's spring would keep its force.
        moved[c, 1] = -shear * period * known[c, 1]
        moved[c, 2] = -shear * period * known[c, 2]
        for d in range(c + 1):
            matrix[c, d] = matrix[d, c] = overlap(first, share, c, d) / pin_mass
        matrix[c, c] += soft
        start[c] = period * known[c, 0]
    law = (matrix, moved, friction, shear)
    factored = factor_of(mass)
    equations = (mass, momentum(mass, v, force, period), factored, rows)
    at = (v.copy(), start.copy())
    impulses, residual = _by_velocity(law, equations, at, accepted)
    if not residual <= accepted:
        # From contacts that give way more along the ground to those that are.
        at = (v.copy(), start)
        for softer in SOFTER:
            eased = moved.copy()
            for c in range(count):
                eased[c, 1], eased[c, 2] = softer * moved[c, 1], softer * moved[c, 2]
            easier = (matrix, eased, friction, softer * shear)
            impulses, residual = _by_velocity(easier, equations, at, accepted)
    if not residual <= accepted:
        other, worse = _by_forces(law, motion, factored, impulses, period, accepted)
        if worse < residual or not residual == residual:
            impulses, residual = other, worse
    held, shifts = np.zeros(nv), np.empty(count)
    for c in range(count):
        shifts[c] = impulses[c, 0] * period / pin_mass
        for i in range(3):
            impulses[c, i] /= period
            for j in range(nv):
                held[j] += impulses[c, i] * rows[c, i, j]
    low, high = load_pins(pins[0], first, share, shifts)
    return impulses, held, residual, (low, high)


@kernel
def momentum(mass, v, force, period):
    """Of a body at the end of a sample, without contacts (nv,)."""
    load = period * force
    for i in range(v.shape[0]):
        for j in range(v.shape[0]):
            load[i] += mass[i, j] * v[j]
    return load


@kernel
def _by_velocity(law, equations, at, accepted):
    """Newton's method on the velocity at the end: impulses (k, 3), residual [m/s].

    From a velocity (nv,) and normal impulses (k,), which are changed; law and equations
    are those of :func:`_missing`.
    """
    mass, load, _, rows = equations
    v, normal = at
    count, nv = rows.shape[0], v.shape[0]
    speeds, impulses = np.empty((count, 3)), np.empty((count, 3))
    results = (speeds, impulses, np.empty(nv))
    acts, tangent = np.full(count, -1), np.empty((count, 2))
    order, shift, push = np.empty(nv, np.int64), np.empty(nv), np.empty(count)
    active, gain, rest = np.empty(0, np.int64), np.empty((0, nv)), np.empty(0)
    merit, residual = _missing(law, equations, v, normal, results)
    for _ in range(_MOST):
        if residual <= _ENOUGH * accepted:
            break
        if _states(law, speeds, normal, acts, tangent):
            active, gain, rest = _normals(law, rows, acts)
            if active.shape[0] and not gain.shape[0]:
                break
        square, right = mass.copy(), load.copy()
        _assemble(law, rows, (active, gain, rest, acts, tangent), normal, square, right)
        if not lu_factor(square, order):
            break
        lu_solve(square, order, right)
        for j in range(nv):
            shift[j] = right[j] - v[j]
        for c in range(count):
            push[c] = -normal[c]
        for a in range(active.shape[0]):
            push[active[a]] += rest[a]
            for j in range(nv):
                push[active[a]] -= gain[a, j] * right[j]
        share, before = 1.0, merit
        while True:
            merit, residual = _missing(
                law, equations, v + share * shift, normal + share * push, results
            )
            # The shortest step is taken in any case: beyond a kink it may go down.
            if merit <= (1.0 - 1e-4 * share) * before or share < _SHORTEST:
                break
            share *= 0.5
        v += share * shift
        normal += share * push
    return impulses, residual


@kernel
def _missing(law, equations, v, normal, results):
    """By how much a velocity and normal impulses miss the law.

    Args:
        law: matrix of the normals, velocities without impulses, friction, shear.
        equations: mass matrix, momentum without impulses, factor, Jacobians.
        v: velocity at the end (nv,).
        normal: impulses (k,).
        results: speeds of the points (k, 3), impulses inside their cones (k, 3), and a
            buffer (nv,); are filled.

    Returns:
        energy of what is missing [J]; largest speed of it [m/s].
    """
    matrix, _, friction, _ = law
    mass, load, factored, rows = equations
    speeds, impulses, lacking = results
    count, nv = rows.shape[0], v.shape[0]
    flat = rows.reshape(3 * count, nv)
    times_rows(flat, v, speeds.reshape(-1))
    for i in range(nv):
        lacking[i] = load[i]
        for j in range(nv):
            lacking[i] -= mass[i, j] * v[j]
    energy, worst = 0.0, 0.0
    for c in range(count):
        impulses[c, 0] = max(normal[c], 0.0)
        slack, t0, t1 = _sticking(law, c, speeds, normal)
        length, bound = np.hypot(t0, t1), friction[c] * impulses[c, 0]
        scale = bound / length if length > bound else 1.0
        impulses[c, 1], impulses[c, 2] = scale * t0, scale * t1
        error = min(slack, matrix[c, c] * impulses[c, 0])
        energy += error * error / matrix[c, c]
        worst = max(worst, abs(error))
        for i in range(3):
            if impulses[c, i] != 0.0:
                for j in range(nv):
                    lacking[j] += impulses[c, i] * rows[c, i, j]
    solve_upper_vector(factored[0], factored[1], lacking)
    for j in range(nv):
        energy += lacking[j] ** 2
    solve_upper_transposed(factored[0], lacking)
    for r in range(3 * count):
        error = 0.0
        for j in range(nv):
            error += flat[r, j] * lacking[j]
        worst = max(worst, abs(error))
    return energy, worst


@kernel
def _sticking(law, c, speeds, normal):
    """Slack of a contact with all normal impulses, and tangents it would stick by."""
    matrix, moved, _, shear = law
    slack = moved[c, 0] + speeds[c, 0]
    for d in range(normal.shape[0]):
        slack += matrix[c, d] * max(normal[d], 0.0)
    first = -(moved[c, 1] + speeds[c, 1]) / shear
    return slack, first, -(moved[c, 2] + speeds[c, 2]) / shear


@kernel
def _states(law, speeds, normal, acts, tangent):
    """Which contacts stick, slide or do not act; whether others act than before."""
    matrix, _, friction, _ = law
    count = normal.shape[0]
    changed = False
    for c in range(count):
        slack, t0, t1 = _sticking(law, c, speeds, normal)
        tangent[c, 0], tangent[c, 1] = t0, t1
        state = OPEN
        if max(normal[c], 0.0) - slack / matrix[c, c] > 0.0:
            bound = friction[c] * max(normal[c], 0.0)
            state = SLIDE if t0 * t0 + t1 * t1 > bound * bound > 0.0 else STICK
        changed = changed or acts[c] < 0 or (state == OPEN) != (acts[c] == OPEN)
        acts[c] = state
    return changed


@kernel
def _normals(law, rows, acts):
    """Contacts that act, and their impulses as rest - gain v."""
    matrix, moved = law[0], law[1]
    nv = rows.shape[2]
    active = np.flatnonzero(acts != OPEN)
    n = active.shape[0]
    own, gain, rest = np.empty((n, n)), np.empty((n, nv)), np.empty(n)
    for a in range(n):
        rest[a] = -moved[active[a], 0]
        for j in range(nv):
            gain[a, j] = rows[active[a], 0, j]
        for b in range(n):
            own[a, b] = matrix[active[a], active[b]]
    if not cholesky(own, own):
        return active, gain[:0], rest
    forward(own, rest)
    backward(own, rest)
    forward_rows(own, gain)
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            c = own[k, i]
            if c != 0.0:
                for j in range(nv):
                    gain[i, j] -= c * gain[k, j]
        for j in range(nv):
            gain[i, j] /= own[i, i]
    return active, gain, rest


@kernel
def _assemble(law, rows, contacts, normal, square, right):
    """Add what contacts do to the equations of the velocity at the end."""
    _, moved, friction, shear = law
    active, gain, rest, acts, tangent = contacts
    nv = rows.shape[2]
    pull, across = np.empty(nv), np.empty((2, 2))
    for a in range(active.shape[0]):
        c = active[a]
        along, p0, p1 = 1.0, 0.0, 0.0
        across[0, 0], across[0, 1], across[1, 0], across[1, 1] = 1.0, 0.0, 0.0, 1.0
        if acts[c] == SLIDE:
            length = np.hypot(tangent[c, 0], tangent[c, 1])
            d0, d1 = tangent[c, 0] / length, tangent[c, 1] / length
            along = friction[c] * max(normal[c], 0.0) / length
            p0, p1 = friction[c] * d0, friction[c] * d1
            across[0, 0], across[1, 1] = 1.0 - d0 * d0, 1.0 - d1 * d1
            across[0, 1] = across[1, 0] = -d0 * d1
        for j in range(nv):
            pull[j] = rows[c, 0, j] + p0 * rows[c, 1, j] + p1 * rows[c, 2, j]
        for i in range(nv):
            if pull[i] != 0.0:
                right[i] += pull[i] * rest[a]
                for j in range(nv):
                    square[i, j] += pull[i] * gain[a, j]
        for s in range(2):
            m0, m1 = along * across[s, 0] / shear, along * across[s, 1] / shear
            known = m0 * moved[c, 1] + m1 * moved[c, 2]
            for j in range(nv):
                pull[j] = m0 * rows[c, 1, j] + m1 * rows[c, 2, j]
            for i in range(nv):
                value = rows[c, 1 + s, i]
                if value != 0.0:
                    right[i] -= value * known
                    for j in range(nv):
                        square[i, j] += value * pull[j]


@kernel
def _by_forces(law, motion, factored, start, period, accepted):
    """The same through the contact problem of rigid ground, with softer contacts."""
    matrix, moved, friction, shear = law
    _, force, v, rows = motion
    count, nv = rows.shape[0], v.shape[0]
    spread, delassus = spread_of(factored, rows.reshape(3 * count, nv))
    free = np.empty((count, 3))
    times_columns(spread, free_motion(factored, force, v, period), free.reshape(-1))
    size = 0.0
    for c in range(count):
        for i in range(3):
            free[c, i] += moved[c, i]
            size = max(size, abs(free[c, i]))
        for d in range(count):
            delassus[3 * c, 3 * d] += matrix[c, d]
        delassus[3 * c + 1, 3 * c + 1] += shear
        delassus[3 * c + 2, 3 * c + 2] += shear
    tangents = np.full(count, 2)
    share = accepted / max(size, accepted)
    impulses, residual = solve_near(delassus, free, tangents, friction, start, share)
    return impulses, residual * size
