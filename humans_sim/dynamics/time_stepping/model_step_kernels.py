# SPDX-License-Identifier: Apache-2.0
"""A whole time step of links and free bodies in one compiled call.

Poses, mass matrix and bias come from a table of links, contacts from the kernels that
all methods share, impulses and shifts from those of any system's step.

*Points near the ground.* A ball around all points of a link bounds their gaps from
below; a step leaves out the links whose balls stay clear of the scene.

*Pairs of solids.* Their points are chosen where the step begins and stay for it. Where
it ends they are chosen anew, and solids that are in each other there are pushed apart:
what turns in a step touches with other corners afterwards.

*Islands.* Roots (a robot, each free body) that push each other in a step share its
error of energy, and what is taken out of their velocities; what flies keeps the
velocity of its centre of mass.

Kernels take fields as plain tuples: ``tree`` of a ``TreeTable``, ``geometry`` of a
:class:`StepGeometry`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.convex_pairs import SLOTS
from humans_sim.contact.geometry.mesh_contact_kernels import ABSENT
from humans_sim.core.dense_kernels import largest
from humans_sim.core.kernels import kernel, lent
from humans_sim.dynamics.contact_kernels import (
    add_diagonal,
    closing_contacts,
    contact_rows,
    link_gaps,
    link_speeds,
    lock,
    point_gap_rates,
    point_gaps,
)
from humans_sim.dynamics.pair_kernels import (
    AHEAD,
    FAR,
    PairMemory,
    choose_points,
    chosen_gaps,
    chosen_rates,
    pair_rows,
    track,
)
from humans_sim.dynamics.time_stepping.bounded_steps import (
    finish_bounded_step,
    joined_rows,
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
    tree_centre,
    tree_columns,
    tree_configuration,
    tree_energies,
    tree_inertias,
    tree_mass,
    tree_momentum,
    tree_poses,
    tree_rates,
    tree_state,
    tree_twists,
    write_motions,
    write_poses,
)

_CLEAR = 5e-3
"""Distance beyond what a link travels that an impact in the step may add [m]."""


@kernel
def near_points(still, motions, h):
    """Points whose links may touch in a step (k,); bounds of all points' gaps (n,)."""
    still, motions = lent((still, motions))
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
        if not bound[k] > _CLEAR + AHEAD * h * speeds[k]:
            which[count] = p
            count += 1
    return which[:count], least


@kernel
def contacts_of_points(points, counts, slots):
    """Contacts of some points, of all limits and of pairs, among all (indices).

    ``counts``: of all points, of solids, of limits.
    """
    points, slots = lent((points, slots))
    every, solids, limits = counts
    first = points.shape[0] * solids
    which = np.empty(first + limits + slots.shape[0], np.int64)
    for k in range(points.shape[0]):
        for s in range(solids):
            which[k * solids + s] = points[k] * solids + s
    for k in range(limits):
        which[first + k] = every * solids + k
    for k in range(slots.shape[0]):
        which[first + limits + k] = every * solids + limits + slots[k]
    return which


DONE, ELSEWHERE, HOOKED, UNSETTLED = 0, 1, 5, 4
"""A step was made; or it is to be made through the functions of the system, which have
other methods where these do not converge and words where nothing does."""
_SETTLINGS, _SAME_ROWS = 12, 4
"""How often gaps are put right, and how often by the equations of the step."""
_LITTLE = 1e-3
"""Nothing is put right by more than twice the step's motion, and this [m, rad]."""
_ON_SURFACE = 1e-9
"""Gap of a point of solids that touch [m]."""
_LOOKS = 4
"""How often pairs are looked at where a step ends."""
_ATTEMPTS = 3
_FURTHEST = 1.0
"""Rotation of a root in a step up to which its coordinates are good [rad]."""


class StepGeometry(NamedTuple):
    """Contact geometry of a model.

    Attributes:
        moving: fields of a :class:`~humans_sim.dynamics.contact_kernels.MovingGeometry`
            as a plain tuple; its arrays of poses and motions are written.
        links: that have contact points (m,).
        restitution: of all contacts (nc,).
        tangents: of all contacts (nc,).
        friction: of all contacts (nc,).
        pairs: fields of a ``PairTable`` and of a ``PairMemory``, which is written, and
            velocities that move each joint (n + 1, nv).
        dissipation: damping (nv,), fields of the ``BoundedGroups`` of dry friction, and
            its mean forces in the last step (at least nv,), which are written.
    """

    moving: tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray, np.ndarray]
    links: np.ndarray
    restitution: np.ndarray
    tangents: np.ndarray
    friction: np.ndarray
    pairs: tuple[tuple[object, ...], tuple[np.ndarray, ...], np.ndarray]
    dissipation: tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]


@kernel
def _near_geometry(moving, points):
    """A moving geometry of some points alone, and of all joint limits."""
    moving = lent(moving)
    still, motions, support, gravity = moving
    local, row, poses, radius, solids, meshes, joint, sign, value = still[:9]
    if points.shape[0] == local.shape[0]:
        return moving
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
def _of_contacts(own, every):
    """Restitution, tangents, friction, forces and modes of some contacts."""
    restitution, tangents, friction, forces, modes = lent(every)
    n = own.shape[0]
    back, ways, mu = np.empty(n), np.empty(n, np.int64), np.empty(n)
    loads, kinds = np.empty((n, 3)), np.empty(n, np.int64)
    for c in range(n):
        w = own[c]
        back[c], ways[c], mu[c] = restitution[w], tangents[w], friction[w]
        kinds[c] = modes[w]
        for i in range(3):
            loads[c, i] = forces[w, i]
    return back, ways, mu, loads, kinds


@kernel
def model_energies(tree, q, v):
    """Kinetic and potential energy of each root (roots, 2) [J]."""
    state = tree_state(tree, v.shape[0])
    energies = np.empty((TreeTable(*tree).root[-1] + 1, 2))
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    tree_inertias(tree, state)
    tree_twists(tree, v, state)
    tree_energies(tree, q, v, state, energies)
    return energies


@kernel(borrows=True)
def _all_joints(state, poses, twists):
    """Poses of all joints as columns (n + 1, 12), and their twists (n + 1, 6)."""
    rotation, place, twist = state[0], state[1], state[4]
    poses[0, :] = 0.0
    twists[0, :] = 0.0
    for i in range(3):
        poses[0, 4 * i] = 1.0
    for b in range(place.shape[0]):
        for i in range(3):
            poses[b + 1, 9 + i] = place[b, i]
            for k in range(3):
                poses[b + 1, 3 * k + i] = rotation[b, i, k]
        for i in range(6):
            twists[b + 1, i] = twist[b, i]


@kernel
def _look(pairs, chosen, joints, h):
    """Choose points of pairs for a step from poses and twists of all joints."""
    pairs, joints = lent(pairs), lent(joints)
    table, memory, _ = pairs
    poses, twists = joints
    track(table, memory, poses)
    return choose_points(table, memory, chosen, poses, twists, AHEAD * 0.5 * h)


@kernel
def choose_at(tree, pairs, chosen, q, v, h):
    """Choose points of pairs for a step of length h from a state."""
    if pairs[0][1].shape[0] == 0:
        return chosen
    state = tree_state(tree, v.shape[0])
    tree_poses(tree, q, state)
    tree_columns(tree, state)
    tree_twists(tree, v, state)
    count = state[1].shape[0] + 1
    joints = np.empty((count, 12)), np.empty((count, 6))
    _all_joints(state, *joints)
    return _look(pairs, chosen, joints, h)


@kernel
def _gaps(still, chosen, poses, q):
    """Gaps of points, limits and pairs."""
    still, chosen, poses, q = lent((still, chosen, poses, q))
    points = point_gaps(still, q)
    if chosen[0].shape[0] == 0:
        return points
    own = chosen_gaps(chosen, poses)[0]
    gap = np.empty(points.shape[0] + own.shape[0])
    gap[: points.shape[0]] = points
    gap[points.shape[0] :] = own
    return gap


@kernel
def _gap_rates(near, chosen, joints, q, v):
    """The same, and their rates."""
    near, chosen, joints, q, v = lent((near, chosen, joints, q, v))
    points, speeds = point_gap_rates(near[0], near[1], q, v)
    if chosen[0].shape[0] == 0:
        return points, speeds
    own, at, normal = chosen_gaps(chosen, joints[0])
    rates = chosen_rates(chosen, joints[1], at, normal)
    n = points.shape[0]
    gap, rate = np.empty(n + own.shape[0]), np.empty(n + own.shape[0])
    gap[:n], gap[n:] = points, own
    rate[:n], rate[n:] = speeds, rates
    return gap, rate


@kernel
def _rows(which, jacobian, near, chosen, support, at):
    """Gaps and Jacobians of some contacts; ``at``: configuration, poses of joints."""
    near, chosen, support, at = lent(near), lent(chosen), lent(support), lent(at)
    q, poses = at
    n = near[0][0].shape[0] * near[0][4].shape[0] + near[0][6].shape[0]
    first = 0
    while first < which.shape[0] and which[first] < n:
        first += 1
    gap, rows = contact_rows(which[:first], jacobian, near, q, np.empty((0, 3)))
    own = which[first:] - n
    if own.shape[0] == 0:
        return gap, rows
    every, point, normal = chosen_gaps(chosen, poses)
    gaps = np.empty(which.shape[0])
    both = np.zeros((which.shape[0], 3, jacobian.shape[1]))
    gaps[:first], both[:first] = gap, rows
    for k in range(own.shape[0]):
        gaps[first + k] = every[own[k]]
    pair_rows(chosen[1][own], support, jacobian, point[own], normal[own], both[first:])
    return gaps, both


@kernel
def _settle(model, state, centre, x, equations, contacts):
    """Put closed contacts on their surfaces, and nothing into another.

    Returns:
        coordinates, configuration, gaps, whether it is done.
    """
    model, state, equations, contacts = lent((model, state, equations, contacts))
    tree, near, chosen, joints, links, support = model
    which, closed = contacts
    factored, spread, delassus = equations
    gap = np.empty(0)
    q = centre
    seen = closed.copy()
    farthest = _LITTLE + 2.0 * largest(x)
    for attempt in range(_SETTLINGS + 1):
        q = tree_configuration(tree, centre, x)
        tree_poses(tree, q, state)
        write_poses(links, state, near[0][2])
        _all_joints(state, *joints)
        gap = _gaps(near[0], chosen, joints[0], q)
        active, worst, known = unsettled(gap, closed, which, SETTLED)
        if worst <= SETTLED:
            return x, q, gap, True
        for c in range(gap.shape[0]):
            seen[c] = active[c] or (seen[c] and gap[c] < ABSENT)
        if attempt == _SETTLINGS:
            break
        if known and attempt < _SAME_ROWS:
            shift = closing_shift((factored[0], spread, delassus), which, closed, gap)
        else:
            # Contacts that the step does not have, or that turned in it; what was
            # inside before stays out.
            tree_columns(tree, state)
            others = np.flatnonzero(seen)
            at = (q, joints[0])
            _, rows = _rows(others, state[2], near, chosen, support, at)
            for j in TreeTable(*tree).locked:
                rows[:, :, j] = 0.0
            rows = rows.reshape(3 * others.shape[0], x.shape[0])
            new, matrix = spread_of(factored, rows)
            shift = closing_shift((factored[0], new, matrix), others, closed, gap)
        change = tree_rates(tree, centre, x, shift)
        if not largest(change) <= farthest:
            break
        x = x + change
    return x, q, gap, False


@kernel(borrows=True)
def hold_turned(old, closed, slots, gap, held):
    """Hold what touches by a force: the points of its pair that are on the surface.

    Where a solid has turned onto another corner, no point is: then the nearest.

    Returns:
        whether any held point is off the surface.
    """
    off = False
    for k in range(old.shape[0]):
        if not closed[k]:
            continue
        nearest = -1
        for j in range(slots.shape[0]):
            if old[k] // SLOTS != slots[j] // SLOTS:
                continue
            held[j] = held[j] or gap[j] < _ON_SURFACE
            if nearest < 0 or gap[j] < gap[nearest]:
                nearest = j
        if nearest >= 0 and gap[nearest] >= _ON_SURFACE:
            held[nearest], off = True, True
    return off


@kernel
def borne_gaps(old, used, slots, fresh):
    """Gaps where a step ends of points of pairs that bore a force in it (k,) [m].

    Where a point bore one, its gap is that of its pair: solids that roll have another
    point there at the end. One that is inside by what turned, off the other solid's
    face or edge now, says nothing where there are others.

    Args:
        old: points of the step (k,).
        used: their gaps (k,) [m].
        slots: points at its end (m,).
        fresh: their gaps (m,) [m].
    """
    old, used, slots, fresh = lent((old, used, slots, fresh))
    gaps = used.copy()
    for k in range(old.shape[0]):
        least = np.inf
        for j in range(slots.shape[0]):
            if slots[j] // SLOTS == old[k] // SLOTS:
                least = min(least, fresh[j])
        gaps[k] = least if used[k] < 0.0 and least < np.inf else min(used[k], least)
    return gaps


@kernel
def _both(one, other):
    """Points of two looks at pairs, one after the other."""
    return (
        np.concatenate((one[0], other[0])),
        np.concatenate((one[1], other[1])),
        np.concatenate((one[2], other[2])),
        np.concatenate((one[3], other[3])),
        np.concatenate((one[4], other[4])),
        np.concatenate((one[5], other[5])),
        np.concatenate((one[6], other[6])),
    )


@kernel
def _looked_again(model, state, centre, v, known, looked):
    """Look at pairs where a step ends; what turned stays in touch, and in no other.

    Links of several solids may have more places that touch than a pair has points: what
    one look found stays out while another look finds others. Where what turned cannot
    stay in touch, it is let go, and only pushed apart.

    Returns:
        coordinates, configuration, gaps; the points of pairs there; whether it is done,
        and whether something was let go.
    """
    state, known = lent(state), lent(known)
    tree, near, _, joints, links, support = model
    pairs, x, q, gap, closed, h = looked
    n = near[0][0].shape[0] * near[0][4].shape[0] + near[0][6].shape[0]
    chosen = model[2]
    old, none, missed = chosen[0], np.empty(0, np.int64), PairMemory(*pairs[1]).missed
    missed[0], seen, let_go = False, chosen, False
    for look in range(_LOOKS):
        chosen = _look(pairs, chosen, joints, h)
        if missed[0]:
            # Something was thrown so far in the step that it may be in what it had no
            # points with where the step began.
            break
        if chosen[0].shape[0] == 0:
            return x, q, gap, chosen, True, let_go
        seen = _both(chosen, seen) if look else chosen
        own = chosen_gaps(chosen, joints[0])[0]
        held = np.zeros(n + seen[0].shape[0], np.bool_)
        held[:n] = closed[:n]
        last = n + own.shape[0]
        off = hold_turned(old, closed[n:], chosen[0], own, held[n:last])
        if (let_go or not off) and own.min() >= -SETTLED:
            return x, q, gap, chosen, True, let_go
        again, done = (tree, near, seen, joints, links, support), False
        if not let_go:
            start = x
            x, q, gap, done = _settle(again, state, centre, start, known, (none, held))
            if not done:
                x, let_go = start, True
        if not done:
            held[n:] = False
            x, q, gap, done = _settle(again, state, centre, x, known, (none, held))
        tree_columns(tree, state)
        tree_twists(tree, v, state)
        _all_joints(state, *joints)
        if not done:
            break
    return x, q, gap, chosen, False, let_go


@kernel(borrows=True)
def _work_between(h, one, other, mean):
    """Work that two biases differ by in a step [J]: what repeating it can improve."""
    work = 0.0
    for j in range(mean.shape[0]):
        work += h * (one[j] - other[j]) * mean[j]
    return abs(work)


@kernel(borrows=True)
def _are_same(one, other):
    """Whether two lists of contacts are the same."""
    if one.shape[0] != other.shape[0]:
        return False
    for k in range(one.shape[0]):
        if one[k] != other[k]:
            return False
    return True


@kernel
def _islands(tree, rows, impulses, island, loaded, held):
    """Islands of roots that push each other: of each root the number of its first.

    Fills for each island whether an impulse acts on it, and whether one comes from what
    does not move.
    """
    tree, rows, impulses, island, loaded, held = lent(
        (tree, rows, impulses, island, loaded, held)
    )
    table = TreeTable(*tree)
    parent, velocity, root, link = (
        table.parent,
        table.velocity,
        table.root,
        table.link,
    )
    for r in range(island.shape[0]):
        island[r], loaded[r], held[r] = r, False, False
    if island.shape[0] == 1:
        # One robot: held by what its base moves against.
        first = velocity[0]
        for c in range(rows.shape[0]):
            if impulses[c, 0] > 0.0:
                loaded[0] = True
                for j in range(first, first + 3):
                    held[0] = held[0] or rows[c, 0, j] != 0.0
        return
    touched = np.zeros(island.shape[0], np.bool_)
    moved = np.zeros(island.shape[0], np.bool_)
    for c in range(rows.shape[0]):
        if not impulses[c, 0] > 0.0:
            continue
        touched[:] = False
        moved[:] = False
        for j in range(rows.shape[2]):
            if rows[c, 0, j] != 0.0:
                b = link[j]
                touched[root[b]] = True
                if parent[b] < 0 and j < velocity[b] + 3:
                    moved[root[b]] = True
        first, count = -1, 0
        for r in range(island.shape[0]):
            if touched[r]:
                first = island[r] if first < 0 else first
                count += 1 if moved[r] else 0
        for r in range(island.shape[0]):
            if touched[r] and island[r] != first:
                old = island[r]
                low, high = min(old, first), max(old, first)
                for k in range(island.shape[0]):
                    if island[k] == high:
                        island[k] = low
                loaded[low] = loaded[low] or loaded[high]
                held[low] = held[low] or held[high]
                first = low
        if first >= 0:
            loaded[first] = True
            held[first] = held[first] or count == 1


@kernel
def _kept(tree, state, island, which, v):
    """The velocity of an island's centre of mass (nv,), and its energy [J]."""
    tree, state, island, v = lent((tree, state, island, v))
    table = TreeTable(*tree)
    parent, velocity, root = table.parent, table.velocity, table.root
    masses, momenta = np.empty(island.shape[0]), np.empty((island.shape[0], 3))
    tree_momentum(tree, state, masses, momenta)
    mass, along, kept = 0.0, np.zeros(3), np.zeros(v.shape[0])
    for r in range(island.shape[0]):
        if island[r] == which:
            mass += masses[r]
            for i in range(3):
                along[i] += momenta[r, i]
    share = 0.0
    for i in range(3):
        along[i] /= mass
        share += 0.5 * mass * along[i] ** 2
    rotation = state[0]
    for b in range(parent.shape[0]):
        if parent[b] >= 0 or island[root[b]] != which:
            continue
        for i in range(3):
            kept[velocity[b] + i] = along[i]
            if not table.in_world[b]:
                kept[velocity[b] + i] = (
                    rotation[b, 0, i] * along[0]
                    + rotation[b, 1, i] * along[1]
                    + rotation[b, 2, i] * along[2]
                )
    return kept, share


@kernel
def _excess(tree, island, energies, work, excess, scale):
    """Fill each island's energy that nothing put in [J], and what it is relative to.

    ``energies``: kinetic and potential of each root after and before the step, and the
    excess left before it. ``work``: that forces do in the step, of each velocity.
    """
    tree, island, energies, work, excess, scale = lent(
        (tree, island, energies, work, excess, scale)
    )
    after, before, carried = energies
    root, link = TreeTable(*tree).root, TreeTable(*tree).link
    count = island.shape[0]
    sums = np.zeros((count, 4))
    excess[:] = 0.0
    for r in range(count):
        i = island[r]
        excess[i] += after[r].sum() - before[r].sum() + carried[r]
        for k in range(2):
            sums[i, k] += before[r, k]
            sums[i, 2 + k] += after[r, k]
    for j in range(work.shape[0]):
        excess[island[root[link[j]]]] -= work[j]
    for i in range(count):
        scale[i] = max(
            energy_scale(sums[i, 0], sums[i, 1]), energy_scale(sums[i, 2], sums[i, 3])
        )


@kernel
def _with_right_energy(tree, state, v, energies, excess, marks):
    """Velocities with the excess of energy of each island taken out.

    ``marks``: islands, whether each is loaded, held and floats, largest force.
    """
    tree, state, v, energies, excess, marks = lent(
        (tree, state, v, energies, excess, marks)
    )
    island, loaded, held, floats, force = marks
    root, link = TreeTable(*tree).root, TreeTable(*tree).link
    count = island.shape[0]
    left, taken = np.zeros(count), 0.0
    out, free = v.copy(), np.zeros(v.shape[0])
    for i in range(count):
        if island[i] != i:
            continue
        if not (floats or loaded[i]):
            left[i] = 0.0
            continue
        kept, share = free, 0.0
        if floats and not held[i]:
            kept, share = _kept(tree, state, island, i, v)
        kinetic = 0.0
        for r in range(count):
            if island[r] == i:
                kinetic += energies[r, 0]
        both = floats and not loaded[i]
        extra = excess[i] if both else max(excess[i], 0.0)
        new, now, left[i] = without_excess(
            v, kept, extra, kinetic, share, SETTLED * force
        )
        taken += extra - left[i]
        if now == kinetic:
            continue
        for j in range(v.shape[0]):
            if island[root[link[j]]] == i:
                out[j] = new[j]
        for r in range(count):
            if island[r] == i:
                energies[r, 0] *= now / kinetic if kinetic > 0.0 else 1.0
    return out, left, taken


@kernel
def step_memory(tree, nv):
    """Arrays that steps write: states at the middle and the end, mass, two biases.

    To each state poses and twists of all joints.
    """
    count = TreeTable(*tree).parent.shape[0] + 1
    return (
        (tree_state(tree, nv), (np.empty((count, 12)), np.empty((count, 6)))),
        (tree_state(tree, nv), (np.empty((count, 12)), np.empty((count, 6)))),
        np.empty((nv, nv)).T,
        np.empty(nv),
        np.empty(nv),
    )


@kernel
def model_step(tree, geometry, memory, start, applied, h):
    """Make a time step of a model.

    ``memory``: of :func:`step_memory`. ``start``: configuration, velocity, acceleration
    to predict the step with, forces (nc, 3) [N] and modes (nc,) of all contacts in the
    step before, the points of pairs that were chosen there; of each root the energies
    (roots, 2) and the excess left before (roots,) [J].

    Returns:
        DONE, HOOKED (done, but what hooks into each other was only pushed apart),
        UNSETTLED (not even that) or another status; then what a
        :class:`~humans_sim.dynamics.time_stepping.step.StepResult` has, the energies of
        each root; the points of pairs chosen at the end.
    """
    tree, geometry, memory = lent(tree), lent(geometry), lent(memory)
    moving, links, restitution, tangents, friction, pairs, dissipation = geometry
    damping, dry, dragging = dissipation
    rubs = dry[0].shape[0] > 0
    poses, motions = moving[0][2], moving[1]
    q_start, v_start, acceleration, forces_all, mode_all = lent(start[:5])
    chosen, (before, carried) = start[5], lent(start[6:])
    support = pairs[2]
    locked = TreeTable(*tree).locked
    nv, roots = v_start.shape[0], TreeTable(*tree).root[-1] + 1
    floats = True
    for j in locked:
        floats = floats and j > 5
    centre = tree_centre(tree, q_start)
    still = np.zeros(nv)
    (middle, joints), (state, ends), mass, bias, better = memory
    after = np.empty((roots, 2))
    island, loaded = np.arange(roots), np.zeros(roots, np.bool_)
    held = np.zeros(roots, np.bool_)
    half = tree_configuration(
        tree, centre, 0.5 * h * tree_rates(tree, centre, still, v_start)
    )
    tree_poses(tree, half, middle)
    tree_columns(tree, middle)
    tree_inertias(tree, middle)
    status = DONE if tree_mass(tree, half, middle, mass) else ELSEWHERE
    mean = v_start + 0.5 * h * acceleration
    tree_twists(tree, mean, middle)
    write_poses(links, middle, poses)
    write_motions(links, middle, TreeState(*middle).twist, motions, 0)
    _all_joints(middle, *joints)
    points, least = near_points(moving[0], motions, h)
    sizes = (moving[0][0].shape[0], moving[0][4].shape[0], moving[0][6].shape[0])
    own = contacts_of_points(points, sizes, chosen[0])
    near = _near_geometry(moving, points)
    every = (restitution, tangents, friction, forces_all, mode_all)
    restitution, tangents, friction, forces, mode_start = _of_contacts(own, every)
    v, q, x = still, centre, still
    mode, error = mode_start, np.inf
    gap = np.zeros(own.shape[0])
    bounces, changed, chosen_end, released = False, False, chosen, 0
    excess, scale = np.zeros(roots), np.ones(roots)
    # Where the links are stays the same when a step is repeated: with it the factor,
    # and the equations of the contacts as long as they are the same ones.
    no_rows, tolerated = np.empty((0, 3, nv)), 0.0
    distance, rate = _gap_rates(near, chosen, joints, half, mean)
    which = closing_contacts(0.5 * h, mode_start, distance, rate)
    at = (half, joints[0])
    nearest, rows = _rows(which, middle[2], near, chosen, support, at)
    lock(locked, mass, bias, rows)
    # Damping acts at the mean of the velocities before and after the step.
    add_diagonal(mass, 0.5 * h * damping)
    factored = factor_of(mass)
    spread = spread_of(factored, joined_rows(rows, dry[0]))
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
            _all_joints(middle, *joints)
            distance, rate = _gap_rates(near, chosen, joints, half, mean)
            others = closing_contacts(0.5 * h, mode_start, distance, rate)
            if not _are_same(which, others):
                which = others
                nearest, rows = _rows(which, middle[2], near, chosen, support, at)
                lock(locked, mass, bias, rows)
                spread = spread_of(factored, joined_rows(rows, dry[0]))
        bias[:] = better
        contacts = (which, nearest, restitution, tangents, friction, forces, mode_start)
        force = applied - bias - damping * v_start
        prepared = (factored, spread, free_motion(factored, force, v_start, h))
        if rubs:
            limited = (dry, dragging[dry[6]])
            equations, impulses, residual, end, drags = finish_bounded_step(
                prepared, v_start, h, rows, contacts, limited
            )
            dragging[dry[6]] = drags
        else:
            equations, impulses, residual, end = finish_step(
                prepared, v_start, h, rows, contacts
            )
        if residual == SINGULAR or not residual <= ACCEPTED:
            status = 2
        v, mode, mean_forces, closed, changed = end
        mean = 0.5 * (v_start + v)
        x = h * tree_rates(tree, centre, 0.5 * h * mean, mean)
        far = not np.isfinite(largest(v))
        for b in range(TreeTable(*tree).parent.shape[0]):
            if TreeTable(*tree).parent[b] < 0:
                j = TreeTable(*tree).velocity[b] + 3
                turn = x[j] ** 2 + x[j + 1] ** 2 + x[j + 2] ** 2
                far = far or not turn <= _FURTHEST**2
        if far:
            status = 3
        if status != DONE:
            mean_forces = forces
            break
        model = (tree, near, chosen, ends, links, support)
        known = (factored, equations[1], equations[2])
        start_x, settled, released = x, False, 0
        for hold in range(3):
            released = hold
            # Solids that hook into each other are only pushed apart: those that move
            # both, then those on the ground.
            for k in range(chosen[0].shape[0] if hold else 0):
                if hold == 2 or chosen[1][k, 1] > 0:
                    closed[own.shape[0] - chosen[0].shape[0] + k] = False
            x, q, gap, settled = _settle(
                model, state, centre, start_x, known, (which, closed)
            )
            if settled or chosen[0].shape[0] == 0:
                break
        tree_columns(tree, state)
        tree_twists(tree, v, state)
        if settled and pairs[0][1].shape[0]:
            _all_joints(state, *ends)
            looked = (pairs, x, q, gap, closed, h)
            x, q, gap, chosen_end, settled, let_go = _looked_again(
                model, state, centre, v, known, looked
            )
            released = max(released, 1 if let_go else 0)
        if not settled:
            status = UNSETTLED
            break
        tree_inertias(tree, state)
        tree_energies(tree, q, v, state, after)
        _islands(tree, rows, impulses, island, loaded, held)
        energies = (after, before, carried)
        force = applied - damping * mean + dragging[:nv]
        _excess(tree, island, energies, h * force * mean, excess, scale)
        bounces = False
        for c in range(which.shape[0]):
            if impulses[c, 0] > 0.0:
                e = restitution[which[c]]
                bounces = bounces or e > 0.0 or e < -1.0
        last, error, tolerated = error, 0.0, np.inf
        for i in range(roots):
            if island[i] == i:
                both = floats and not loaded[i]
                error = max(error, energy_error(excess[i], both, scale[i]))
                tolerated = min(tolerated, REPEATED * scale[i])
        if error <= REPEATED or error > IMPROVED * last:
            break
    taken, left = 0.0, carried.copy()
    if status == DONE:
        marks = (island, loaded, held, floats, largest(bias))
        v, left, taken = _with_right_energy(tree, state, v, after, excess, marks)
    if not changed and status == DONE:
        still = (v - v_start) / h
    # Points far from the ground have bounds of their gaps, pairs far apart have FAR.
    gaps = np.full(mode_all.shape[0], FAR)
    for c in range(sizes[0] * sizes[1]):
        gaps[c] = least[c // sizes[1]]
    modes = np.zeros(mode_all.shape[0], np.int64)
    all_forces = np.zeros((mode_all.shape[0], 3))
    first = sizes[0] * sizes[1] + sizes[2]
    if status == DONE and chosen[0].shape[0] + chosen_end[0].shape[0] > 0:
        fresh = chosen_gaps(chosen_end, ends[0])[0]
        for k in range(fresh.shape[0]):
            gaps[first + chosen_end[0][k]] = fresh[k]
        used = chosen_gaps(chosen, ends[0])[0]
        borne = borne_gaps(chosen[0], used, chosen_end[0], fresh)
        for k in range(borne.shape[0]):
            c = own.shape[0] - borne.shape[0] + k
            if mode[c] != 0:
                gaps[own[c]] = borne[k]
    for c in range(own.shape[0]):
        if own[c] < first:
            gaps[own[c]] = gap[c]
        modes[own[c]] = mode[c]
        for i in range(3):
            all_forces[own[c], i] = mean_forces[c, i]
    if status == DONE and released > 0:
        status = HOOKED
    return (
        status,
        q,
        v,
        gaps,
        modes,
        all_forces,
        after,
        still,
        error,
        taken,
        left,
        bounces,
        changed,
        chosen_end,
    )
