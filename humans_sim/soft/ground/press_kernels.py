# SPDX-License-Identifier: Apache-2.0
r"""The contact problem between points of a body and the pins of a screen.

All contacts are compliant, so the velocity v of the body at the end of a sample says
all: normal impulses P solve :math:`B P + b + J_n v = 0` where they act, and tangents
follow by projection on their cones. Newton's method works on the few numbers of v, with
the contacts that act and slide as they were in the iteration before: a sole may have
many points.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from humans_sim.contact.problem.modes import OPEN, SLIDE, STICK
from humans_sim.contact.problem.newton import solve_near
from humans_sim.core.dense_kernels import (
    backward,
    cholesky,
    forward,
    forward_rows,
    lu_factor,
    lu_solve,
)
from humans_sim.core.profile_kernels import (
    solve_upper,
    times_rows,
)
from humans_sim.dynamics.time_stepping.impulses import (
    factor_of,
    free_motion,
    spread_of,
)
from humans_sim.soft.ground.ground_kernels import feel, load_pins, overlap, patches

SHEAR = 1000.0
"""How many times stiffer a contact is along the ground than into it: points that stick
move by less than a micrometre, and the forces of many are single-valued."""
_MOST = 25
_SAME = 1e-3
"""Change of velocities in an iteration, in accepted residuals, that ends Newton's
method."""


@njit(cache=True)
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
    impulses, residual = _by_velocity(
        law, (mass, force, v, rows), factored, start, period, accepted
    )
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


@njit(cache=True)
def _by_velocity(law, motion, factored, start, period, accepted):
    """Newton's method on the velocity at the end; impulses (k, 3), residual [m/s]."""
    matrix, moved, friction, shear = law
    mass, force, v_start, rows = motion
    count, nv = rows.shape[0], v_start.shape[0]
    flat = rows.reshape(3 * count, nv)
    load = np.empty(nv)
    for i in range(nv):
        load[i] = period * force[i]
        for j in range(nv):
            load[i] += mass[i, j] * v_start[j]
    v, normal = v_start.copy(), start.copy()
    speeds, last = np.empty((count, 3)), np.empty((count, 3))
    times_rows(flat, v, speeds.reshape(-1))
    acts, tangent = np.full(count, -1), np.empty((count, 2))
    order = np.empty(nv, np.int64)
    for _ in range(_MOST):
        same, slides = _states(law, speeds, normal, acts, tangent)
        if same and not slides:
            break
        square, right = mass.copy(), load.copy()
        active, gain, rest = _normals(law, rows, acts)
        if active.shape[0] and not gain.shape[0]:
            break
        _assemble(law, rows, (active, gain, rest, acts, tangent), normal, square, right)
        if not lu_factor(square, order):
            break
        lu_solve(square, order, right)
        v[:] = right
        last[:] = speeds
        times_rows(flat, v, speeds.reshape(-1))
        normal[:] = 0.0
        for a in range(active.shape[0]):
            value = rest[a]
            for j in range(nv):
                value -= gain[a, j] * v[j]
            normal[active[a]] = value
        change = 0.0
        for c in range(count):
            for i in range(3):
                change = max(change, abs(speeds[c, i] - last[c, i]))
        if same and change <= _SAME * accepted:
            break
    return _impulses(law, motion, factored, (load, speeds, normal), v)


@njit(cache=True)
def _states(law, speeds, normal, acts, tangent):
    """Which contacts stick, slide or do not act, and tangents they would stick by.

    Returns:
        whether they are as before; whether one slides.
    """
    matrix, moved, friction, shear = law
    count = normal.shape[0]
    same, slides = True, False
    for c in range(count):
        slack = moved[c, 0] + speeds[c, 0]
        for d in range(count):
            slack += matrix[c, d] * normal[d]
        t0 = -(moved[c, 1] + speeds[c, 1]) / shear
        t1 = -(moved[c, 2] + speeds[c, 2]) / shear
        tangent[c, 0], tangent[c, 1] = t0, t1
        pressed = normal[c] - slack / matrix[c, c]
        state = OPEN
        if pressed > 0.0:
            bound = friction[c] * max(normal[c], 0.0)
            state = SLIDE if t0 * t0 + t1 * t1 > bound * bound else STICK
        same = same and state == acts[c]
        slides = slides or state == SLIDE
        acts[c] = state
    return same, slides


@njit(cache=True)
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


@njit(cache=True)
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
            for t in range(2):
                factor = along * across[s, t] / shear
                if factor == 0.0:
                    continue
                for i in range(nv):
                    value = factor * rows[c, 1 + s, i]
                    if value != 0.0:
                        right[i] -= value * moved[c, 1 + t]
                        for j in range(nv):
                            square[i, j] += value * rows[c, 1 + t, j]


@njit(cache=True)
def _impulses(law, motion, factored, reached, v):
    """Impulses inside their cones, and by how much points miss the law then [m/s]."""
    matrix, moved, friction, shear = law
    mass, _, _, rows = motion
    load, speeds, normal = reached
    count, nv = rows.shape[0], v.shape[0]
    impulses, missing = np.empty((count, 3)), np.empty((1, nv))
    for i in range(nv):
        missing[0, i] = load[i]
        for j in range(nv):
            missing[0, i] -= mass[i, j] * v[j]
    for c in range(count):
        impulses[c, 0] = max(normal[c], 0.0)
        t0 = -(moved[c, 1] + speeds[c, 1]) / shear
        t1 = -(moved[c, 2] + speeds[c, 2]) / shear
        length, bound = np.hypot(t0, t1), friction[c] * impulses[c, 0]
        scale = bound / length if length > bound else 1.0
        impulses[c, 1], impulses[c, 2] = scale * t0, scale * t1
        for i in range(3):
            for j in range(nv):
                missing[0, j] += impulses[c, i] * rows[c, i, j]
    # U U^T is the mass matrix: spread rows times U^-1 of what is missing.
    spread = rows.copy().reshape(3 * count, nv)
    worst = 0.0
    solve_upper(factored[0], factored[1], missing)
    solve_upper(factored[0], factored[1], spread)
    for c in range(count):
        slack = moved[c, 0] + speeds[c, 0]
        for d in range(count):
            slack += matrix[c, d] * impulses[d, 0]
        lacking = -slack if impulses[c, 0] == 0.0 else abs(slack)
        worst = max(worst, lacking)
        for i in range(3):
            error = 0.0
            for j in range(nv):
                error += spread[3 * c + i, j] * missing[0, j]
            worst = max(worst, abs(error))
    return impulses, worst


@njit(cache=True)
def _by_forces(law, motion, factored, start, period, accepted):
    """The same through the contact problem of rigid ground, with softer contacts."""
    matrix, moved, friction, shear = law
    _, force, v, rows = motion
    count, nv = rows.shape[0], v.shape[0]
    spread, delassus = spread_of(factored, rows.copy().reshape(3 * count, nv))
    free = np.empty((count, 3))
    times_rows(spread, free_motion(factored, force, v, period), free.reshape(-1))
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
