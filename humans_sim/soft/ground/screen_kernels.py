# SPDX-License-Identifier: Apache-2.0
"""One sample of a pin screen: a stencil over arrays with a border."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel

FIXED, FREE, PERIODIC = 0, 1, 2


class Stencil(NamedTuple):
    """Coefficients of one sample.

    Of the pin itself, now and one sample before; of the sum of its neighbours, ``near``
    now and before; of the force, ``gain`` T² / m [m/N]. Edges are one of the three.
    """

    now: float
    before: float
    near: float
    near_before: float
    gain: float
    edges: int


@kernel
def fill_border(u, edges):
    """Set the border of an array (n + 2,) or (n + 2, m + 2) or three such sides."""
    if edges == FREE:
        u[0], u[-1] = u[1], u[-2]
    elif edges == PERIODIC:
        u[0], u[-1] = u[-2], u[1]


@kernel
def fill_border_2(u, edges):
    """The same for two sides; corners are not read."""
    rows, columns = u.shape
    if edges == FREE:
        for j in range(columns):
            u[0, j], u[rows - 1, j] = u[1, j], u[rows - 2, j]
        for i in range(rows):
            u[i, 0], u[i, columns - 1] = u[i, 1], u[i, columns - 2]
    elif edges == PERIODIC:
        for j in range(columns):
            u[0, j], u[rows - 1, j] = u[rows - 2, j], u[1, j]
        for i in range(rows):
            u[i, 0], u[i, columns - 1] = u[i, columns - 2], u[i, 1]


@kernel
def fill_border_3(u, edges):
    """The same for three sides."""
    if edges == FIXED:
        return
    near = 1 if edges == FREE else -2
    far = -2 if edges == FREE else 1
    for i in range(u.shape[0]):
        fill_border_2(u[i], edges)
    for j in range(u.shape[1]):
        for k in range(u.shape[2]):
            u[0, j, k], u[-1, j, k] = u[near, j, k], u[far, j, k]


@kernel
def step_1(u, v, w, force, stencil):
    """The next sample of a row of pins.

    Args:
        u: deviations now, with a border (n + 2,) [m].
        v: one sample ago, with a border [m].
        w: is filled with the next, with a border [m].
        force: on the pins (n,) [N].
        stencil: its coefficients.
    """
    fill_border(u, stencil.edges)
    fill_border(v, stencil.edges)
    for i in range(1, u.shape[0] - 1):
        value = stencil.now * u[i] + stencil.before * v[i]
        value += stencil.near * (u[i - 1] + u[i + 1])
        value += stencil.near_before * (v[i - 1] + v[i + 1])
        w[i] = value + stencil.gain * force[i - 1]


@kernel(error_model="numpy")
def step_2(u, v, w, force, stencil):
    """The next sample of a rectangle of pins; arguments as for :func:`step_1`."""
    fill_border_2(u, stencil.edges)
    now, before, near = stencil.now, stencil.before, stencil.near
    gain, old = stencil.gain, stencil.near_before
    columns = u.shape[1] - 2
    if old == 0.0:
        for i in range(1, u.shape[0] - 1):
            up, here, down = u[i - 1], u[i], u[i + 1]
            last, new, push = v[i], w[i], force[i - 1]
            for j in range(1, columns + 1):
                value = now * here[j] + before * last[j] + gain * push[j - 1]
                total = up[j] + down[j] + here[j - 1] + here[j + 1]
                new[j] = value + near * total
        return
    fill_border_2(v, stencil.edges)
    for i in range(1, u.shape[0] - 1):
        up, here, down = u[i - 1], u[i], u[i + 1]
        above, last, below = v[i - 1], v[i], v[i + 1]
        new, push = w[i], force[i - 1]
        for j in range(1, columns + 1):
            value = now * here[j] + before * last[j] + gain * push[j - 1]
            value += near * (up[j] + down[j] + here[j - 1] + here[j + 1])
            total = above[j] + below[j] + last[j - 1] + last[j + 1]
            new[j] = value + old * total


@kernel(error_model="numpy")
def step_rows(u, v, w, stencil, moved):
    """The next sample of a rectangle with fixed edges, of the rows that moved alone.

    Arguments as for :func:`step_1`. ``moved``: first and last row, borders counted,
    outside which all three are zero; grows by one row at each end where pins are linked
    (2,).

    Returns:
        the highest pin after the sample, at least 0 [m].
    """
    now, before, near, old = stencil[0], stencil[1], stencil[2], stencil[3]
    columns, top = u.shape[1] - 2, 0.0
    linked = near != 0.0 or old != 0.0
    if linked and moved[0] <= moved[1]:
        moved[0], moved[1] = max(1, moved[0] - 1), min(u.shape[0] - 2, moved[1] + 1)
    for i in range(moved[0], moved[1] + 1):
        here, last, new = u[i], v[i], w[i]
        if not linked:
            for j in range(1, columns + 1):
                new[j] = now * here[j] + before * last[j]
        elif old == 0.0:
            up, down = u[i - 1], u[i + 1]
            for j in range(1, columns + 1):
                total = up[j] + down[j] + here[j - 1] + here[j + 1]
                new[j] = now * here[j] + before * last[j] + near * total
        else:
            up, down, above, below = u[i - 1], u[i + 1], v[i - 1], v[i + 1]
            for j in range(1, columns + 1):
                value = now * here[j] + before * last[j]
                value += near * (up[j] + down[j] + here[j - 1] + here[j + 1])
                total = above[j] + below[j] + last[j - 1] + last[j + 1]
                new[j] = value + old * total
        for j in range(1, columns + 1):
            top = max(top, new[j])
    return top


@kernel
def energy_2(u, v, law, edges):
    """Kinetic and elastic energy of a rectangle of pins [J].

    Deviations now and one sample ago, with borders [m]; the law is mass / period²,
    stiffness to the ground and to neighbours [N/m].
    """
    fill_border_2(u, edges)
    fill_border_2(v, edges)
    inertia, ground, link = law
    moving = deviating = bending = 0.0
    rows, columns = u.shape
    skipped = 1 if edges == PERIODIC else 0
    for i in range(1, rows - 1):
        for j in range(1, columns - 1):
            moving += (u[i, j] - v[i, j]) ** 2
            deviating += u[i, j] * v[i, j]
    if link != 0.0:
        for i in range(skipped, rows - 1):
            for j in range(1, columns - 1):
                bending += (u[i + 1, j] - u[i, j]) * (v[i + 1, j] - v[i, j])
        for i in range(1, rows - 1):
            for j in range(skipped, columns - 1):
                bending += (u[i, j + 1] - u[i, j]) * (v[i, j + 1] - v[i, j])
    return 0.5 * (inertia * moving + ground * deviating + link * bending)


@kernel
def step_3(u, v, w, force, stencil):
    """The next sample of a block of pins; arguments as for :func:`step_1`."""
    fill_border_3(u, stencil.edges)
    fill_border_3(v, stencil.edges)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            for k in range(1, u.shape[2] - 1):
                value = stencil.now * u[i, j, k] + stencil.before * v[i, j, k]
                total = u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k]
                total += u[i, j + 1, k] + u[i, j, k - 1] + u[i, j, k + 1]
                value += stencil.near * total
                total = v[i - 1, j, k] + v[i + 1, j, k] + v[i, j - 1, k]
                total += v[i, j + 1, k] + v[i, j, k - 1] + v[i, j, k + 1]
                value += stencil.near_before * total
                w[i, j, k] = value + stencil.gain * force[i - 1, j - 1, k - 1]


@kernel
def run_2(buffers, force, stencil, steps):
    """Many samples of a rectangle under a constant force; the newest buffer's index."""
    newest, last, spare = 0, 1, 2
    for _ in range(steps):
        step_2(buffers[newest], buffers[last], buffers[spare], force, stencil)
        newest, last, spare = spare, newest, last
    return newest


class MarkerTable(NamedTuple):
    """Markers over a rectangle of pins: x, y, height now and one sample ago (p, 3) [m].

    Law: reach [m], stiffness [N/m], viscosity / period [N/m] of each (p, 3); spacing of
    the pins, and their height at rest [m].
    """

    now: np.ndarray
    before: np.ndarray
    law: np.ndarray
    spacing: float
    rest: float


@kernel
def imprint(markers, u, v, force, reaction):
    """Add the forces of markers on pins (n, m) [N], and set those on markers (p, 3).

    Deviations u now and v one sample ago have a border (n + 2, m + 2) [m].
    """
    delta = markers.spacing
    rows, columns = force.shape
    for p in range(markers.now.shape[0]):
        x, y, h = markers.now[p, 0], markers.now[p, 1], markers.now[p, 2]
        reach, k, z = markers.law[p, 0], markers.law[p, 1], markers.law[p, 2]
        reaction[p] = 0.0
        first = max(0, int(np.ceil((x - reach) / delta)))
        last = min(rows - 1, int(np.floor((x + reach) / delta)))
        left = max(0, int(np.ceil((y - reach) / delta)))
        right = min(columns - 1, int(np.floor((y + reach) / delta)))
        for i in range(first, last + 1):
            for j in range(left, right + 1):
                a, b = i * delta - x, j * delta - y
                c = markers.rest + u[i + 1, j + 1] - h
                d = np.sqrt(a * a + b * b + c * c)
                if d >= reach or d == 0.0:
                    continue
                old_a = i * delta - markers.before[p, 0]
                old_b = j * delta - markers.before[p, 1]
                old_c = markers.rest + v[i + 1, j + 1] - markers.before[p, 2]
                old = np.sqrt(old_a * old_a + old_b * old_b + old_c * old_c)
                push = (k * (reach - d) - z * (d - old)) / d
                force[i, j] += push * c
                reaction[p, 0] -= push * a
                reaction[p, 1] -= push * b
                reaction[p, 2] -= push * c
