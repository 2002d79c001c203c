# SPDX-License-Identifier: Apache-2.0
"""A whole time step of a model in one compiled call.

Poses, mass matrix and bias come from a table of links, contacts from the kernels that
both methods share, impulses and shifts from those of any system's step.

*Points near the ground.* A body has a hundred points that may touch and stands on eight
of them. A ball around all points of a link bounds their gaps from below; a step leaves
out the links whose balls stay clear of the scene.

Kernels take fields as plain tuples: ``tree`` of a ``TreeTable``, ``geometry`` of a
:class:`StepGeometry`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.core.kernels import kernel
from humans_sim.dynamics.contact_kernels import (
    closing_contacts,
    contact_rows,
    link_gaps,
    link_speeds,
    lock,
    point_gap_rates,
    point_gaps,
)
from humans_sim.dynamics.system import (
    free_base_configuration,
    free_base_rates,
    normalise_quaternion,
)
from humans_sim.dynamics.time_stepping.impulses import (
    ACCEPTED,
    IMPROVED,
    REPEATED,
    SETTLED,
    SINGULAR,
    closing_shift,
    energy_error,
    energy_scale,
    factor_of,
    finish_step,
    free_motion,
    spread_of,
    unsettled,
    without_excess,
)
from humans_sim.dynamics.tree_kernels import (
    TreeState,
    TreeTable,
    tree_bias,
    tree_columns,
    tree_energies,
    tree_inertias,
    tree_mass,
    tree_poses,
    tree_state,
    tree_translation,
    tree_twists,
    write_motions,
    write_poses,
)

_CLEAR = 5e-3
"""Distance beyond what a link travels that an impact in the step may add [m]."""
_AHEAD = 3.0
"""How many times the way at the link's present speed is looked ahead."""


@kernel
def near_points(still, motions, h):
    """Points whose links may touch in a step (k,); bounds of all points' gaps (n,)."""
    row, gaps, speeds = still[1], link_gaps(still), link_speeds(still, motions)
    n, links = row.shape[0], gaps.shape[0]
    bound = np.full(links, np.inf)
    for k in range(links):
        for s in range(gaps.shape[1]):
            bound[k] = min(bound[k], gaps[k, s])
    which, least, count = np.empty(n, np.int64), np.empty(n), 0
    for p in range(n):
        k = row[p]
        least[p] = bound[k]
        if not bound[k] > _CLEAR + _AHEAD * h * speeds[k]:
            which[count] = p
            count += 1
    return which[:count], least


@kernel
def contacts_of_points(points, every, solids, limits):
    """Contacts of some points, then of all limits, among all contacts (indices)."""
    which = np.empty(points.shape[0] * solids + limits, np.int64)
    for k in range(points.shape[0]):
        for s in range(solids):
            which[k * solids + s] = points[k] * solids + s
    for k in range(limits):
        which[points.shape[0] * solids + k] = every * solids + k
    return which


DONE, ELSEWHERE = 0, 1
"""A step was made; or it is to be made through the functions of the system, which have
other methods where these do not converge and words where nothing does."""
_SETTLINGS = 4
_ATTEMPTS = 3
_FURTHEST = 1.0
"""Rotation of the base in a step up to which its coordinates are good [rad]."""


class StepGeometry(NamedTuple):
    """Contact geometry of a model.

    Attributes:
        moving: fields of a :class:`~humans_sim.dynamics.contact_kernels.MovingGeometry`
            as a plain tuple; its arrays of poses and motions are written.
        links: that have contact points (m,).
        restitution: of all contacts (nc,).
        tangents: of all contacts (nc,).
        friction: of all contacts (nc,).
    """

    moving: tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray, np.ndarray]
    links: np.ndarray
    restitution: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray


@kernel
def _near_geometry(moving, points):
    """A moving geometry of some points alone, and of all joint limits."""
    still, motions, support, gravity = moving
    local, row, poses, radius, solids, meshes, joint, sign, value = still[:9]
    near = (
        local[points],
        row[points],
        poses,
        radius[points],
        solids,
        meshes,
        joint,
        sign,
        value,
        still[9],
        still[10],
    )
    return near, motions, support[points], gravity


@kernel
def model_energies(tree, q, v):
    """Kinetic and potential energy of a model [J]."""
    state = tree_state(tree, v.shape[0])
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    tree_inertias(tree, state)
    tree_twists(tree, v, state)
    return tree_energies(tree, q, v, state)


@kernel
def _settle(model, state, centre, x, equations, contacts):
    """Put closed contacts on their surfaces; the configuration, gaps, whether done."""
    tree, still, poses, links = model
    which, closed = contacts
    factor, spread, delassus, _, _ = equations
    for attempt in range(_SETTLINGS + 1):
        q = free_base_configuration(centre, x)
        tree_poses(tree, q, state)
        write_poses(links, state, poses)
        gap = point_gaps(still, q)
        closed, worst, known = unsettled(gap, closed, which, SETTLED)
        if worst <= SETTLED:
            return q, gap, True
        if not known or attempt == _SETTLINGS:
            break
        shift = closing_shift(factor, spread, delassus, which, closed, gap)
        x = x + free_base_rates(centre, x, shift)
    return q, gap, False


@kernel
def _work_between(h, one, other, mean):
    """Work that two biases differ by in a step [J]: what repeating it can improve."""
    work = 0.0
    for j in range(mean.shape[0]):
        work += h * (one[j] - other[j]) * mean[j]
    return abs(work)


@kernel
def _are_same(one, other):
    """Whether two lists of contacts are the same."""
    if one.shape[0] != other.shape[0]:
        return False
    for k in range(one.shape[0]):
        if one[k] != other[k]:
            return False
    return True


@kernel
def model_step(tree, geometry, start, applied, h, energies):
    """Make a time step of a model.

    ``start``: configuration, velocity, acceleration to predict the step with, forces
    (nc, 3) [N] and modes (nc,) of all contacts in the step before.

    Returns:
        DONE or ELSEWHERE; then what a
        :class:`~humans_sim.dynamics.time_stepping.step.StepResult` has.
    """
    moving, links, restitution, tangents, friction = geometry
    poses, motions = moving[0][2], moving[1]
    q_start, v_start, acceleration, forces_all, mode_all = start
    locked = TreeTable(*tree).locked
    nv = v_start.shape[0]
    floats = True
    for j in locked:
        floats = floats and j > 5
    centre = q_start.copy()
    normalise_quaternion(centre)
    still = np.zeros(nv)
    middle = tree_state(tree, nv)
    state = tree_state(tree, nv)
    mass, bias = np.empty((nv, nv)).T, np.empty(nv)
    half = free_base_configuration(
        centre, 0.5 * h * free_base_rates(centre, still, v_start)
    )
    tree_poses(tree, half, middle)
    tree_columns(tree, middle)
    tree_inertias(tree, middle)
    status = DONE if tree_mass(tree, half, middle, mass) else ELSEWHERE
    mean = v_start + 0.5 * h * acceleration
    tree_twists(tree, mean, middle)
    write_poses(links, middle, poses)
    write_motions(links, middle, TreeState(*middle).twist, motions, 0)
    points, least = near_points(moving[0], motions, h)
    own = contacts_of_points(
        points, moving[0][0].shape[0], moving[0][4].shape[0], moving[0][6].shape[0]
    )
    near = _near_geometry(moving, points)
    restitution, tangents, friction = (restitution[own], tangents[own], friction[own])
    forces, mode_start = forces_all[own], mode_all[own]
    v, q, gap = v_start, q_start, np.zeros(own.shape[0])
    mode, excess, kinetic, potential, error = mode_start, 0.0, 0.0, 0.0, np.inf
    loaded, held, bounces, both, changed = False, False, False, False, False
    # Where the links are stays the same when a step is repeated: with it the factor,
    # and the equations of the contacts as long as they are the same ones.
    no_rows, better, tolerated = np.empty((0, 3, nv)), np.empty(nv), 0.0
    distance, rate = point_gap_rates(near[0], motions, half, mean)
    which = closing_contacts(0.5 * h, mode_start, distance, rate)
    nearest, rows, _ = contact_rows(which, middle[2], near, half)
    lock(locked, mass, bias, rows)
    factored = factor_of(mass)
    spread = spread_of(factored, rows.copy().reshape(3 * which.shape[0], nv))
    for attempt in range(_ATTEMPTS):
        if attempt:
            tree_twists(tree, mean, middle)
        if not tree_bias(tree, half, mean, middle, better):
            status = ELSEWHERE
        lock(locked, mass, better, no_rows)
        if attempt:
            if status == DONE and _work_between(h, better, bias, mean) <= tolerated:
                break
            write_poses(links, middle, poses)
            write_motions(links, middle, TreeState(*middle).twist, motions, 0)
            distance, rate = point_gap_rates(near[0], motions, half, mean)
            others = closing_contacts(0.5 * h, mode_start, distance, rate)
            if not _are_same(which, others):
                which = others
                nearest, rows, _ = contact_rows(which, middle[2], near, half)
                lock(locked, mass, bias, rows)
                own_rows = rows.copy().reshape(3 * which.shape[0], nv)
                spread = spread_of(factored, own_rows)
        bias[:] = better
        contacts = (which, nearest, restitution, tangents, friction, forces, mode_start)
        free = free_motion(factored, applied - bias, v_start, h)
        equations, impulses, residual, end = finish_step(
            (factored, spread, free), v_start, h, rows, contacts
        )
        if residual == SINGULAR or not residual <= ACCEPTED:
            status = ELSEWHERE
        v, mode, mean_forces, closed, changed = end
        mean = 0.5 * (v_start + v)
        x = h * free_base_rates(centre, 0.5 * h * mean, mean)
        turn = x[3] ** 2 + x[4] ** 2 + x[5] ** 2
        if not (np.isfinite(v).all() and turn <= _FURTHEST**2):
            status = ELSEWHERE
        if status == ELSEWHERE:
            mean_forces = forces
            break
        q, gap, settled = _settle(
            (tree, near[0], poses, links), state, centre, x, equations, (which, closed)
        )
        if not settled:
            status = ELSEWHERE
            break
        tree_columns(tree, state)
        tree_inertias(tree, state)
        tree_twists(tree, v, state)
        kinetic, potential = tree_energies(tree, q, v, state)
        excess = kinetic + potential - energies[0] - energies[1] + energies[2]
        for j in range(nv):
            excess -= h * applied[j] * mean[j]
        loaded, held, bounces = False, not floats, False
        for c in range(which.shape[0]):
            if impulses[c, 0] > 0.0:
                loaded = True
                bounces = bounces or restitution[which[c]] > 0.0
                for j in range(3):
                    held = held or rows[c, 0, j] != 0.0
        both = floats and not loaded
        scale = max(
            energy_scale(energies[0], energies[1]), energy_scale(kinetic, potential)
        )
        before, error = error, energy_error(excess, both, scale)
        tolerated = REPEATED * scale
        if error <= REPEATED or error > IMPROVED * before:
            break
    taken, left = 0.0, energies[2]
    if status == DONE and (floats or loaded):
        kept, share = still.copy(), 0.0
        if not held:
            kept[:3], weight = tree_translation(state)
            for j in range(3):
                share += 0.5 * weight * kept[j] ** 2
        taken = excess if both else max(excess, 0.0)
        ignored = SETTLED * np.abs(bias).max()
        v, kinetic, left = without_excess(v, kept, taken, kinetic, share, ignored)
        taken -= left
    if not changed and status == DONE:
        still = (v - v_start) / h
    # Links that are far apart come last; points far from the ground have their bounds.
    solids = moving[0][4].shape[0]
    gaps = np.ones(mode_all.shape[0])
    for c in range(moving[0][0].shape[0] * solids):
        gaps[c] = least[c // solids]
    modes = np.zeros(mode_all.shape[0], np.int64)
    all_forces = np.zeros((mode_all.shape[0], 3))
    for c in range(own.shape[0]):
        gaps[own[c]], modes[own[c]] = gap[c], mode[c]
        all_forces[own[c]] = mean_forces[c]
    return (
        status,
        q,
        v,
        gaps,
        modes,
        all_forces,
        (kinetic, potential),
        still,
        error,
        taken,
        left,
        bounces,
        changed,
    )
