# SPDX-License-Identifier: Apache-2.0
"""Compiled contacts of pairs of convex solids: which are near, where, gaps, Jacobians.

Most pairs are far apart, and a bound on how far they can have moved towards each other
is enough to know it. One bound is how far both have travelled, which takes a sum a
pair; where that is not enough, another one is how far one has moved in the frame of the
other since their distance was computed. Points in which solids touch are chosen where a
step begins and stay for the step, fixed on both; from step to step a point keeps its
place among the contacts of its pair, so that its force is known again.

Movers are links and free bodies, by the joints that carry them; joint 0 is the world.
Kernels take fields as plain tuples: ``table`` of a :class:`PairTable`, ``memory`` of a
:class:`PairMemory`, ``chosen`` of :class:`ChosenPoints`; ``poses`` are those of all
joints (n, 12), ``twists`` their velocities at the world's origin and spins (n, 6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.convex_cores import SolidTable
from humans_sim.contact.geometry.convex_distance import (
    place,
    place_back,
    separation,
    solid_separation,
    turn,
    turn_back,
)
from humans_sim.contact.geometry.convex_pairs import (
    BOTH,
    FIRST,
    SLOTS,
    basis,
    pair_points,
    spread_out,
)
from humans_sim.contact.geometry.mesh_solids import mesh_candidates, nearest_spread
from humans_sim.core.kernels import kernel, lent, small_matrix, small_vector

FAR = 1.0
"""Gap of a place without a point [m]."""
AHEAD = 3.0
"""Points are known from where solids may touch within so many halves of a step."""
_WATCH = 1e-3
"""Points are known from this distance on, over the size of the smaller mover."""
_SAME = 0.2
"""A point that moved farther is another one, over the length of its solid."""
_TAG = 1e-6
"""A point nearer to a contact point of its link is it, over its solid's length."""


class PairTable(NamedTuple):
    """Pairs of movers that may touch, and of their solids.

    Attributes:
        solids: fields of a ``SolidTable``.
        joints: that carry the two movers of each pair; the second may be the world
            (p, 2).
        shape_pairs: numbers of two solids, the first no half space; the second -1 - m
            for the mesh m (s, 2).
        start: first of ``shape_pairs`` of each pair, and the end (p + 1,).
        balls: around all solids of each joint, in its frame: centre, radius; below zero
            where it has none (n, 4) [m].
        watch: distance from which on points of each pair are known (p,) [m].
        tags: contact points of the links, which touch the world by themselves: place,
            radius of the ball around it (t, 4) [m].
        tag_start: first of ``tags`` of each joint, and the end (n + 1,).
        meshes: fields of the ``MeshSolids``; None without meshes.
    """

    solids: tuple[np.ndarray, ...]
    joints: np.ndarray
    shape_pairs: np.ndarray
    start: np.ndarray
    balls: np.ndarray
    watch: np.ndarray
    tags: np.ndarray
    tag_start: np.ndarray
    meshes: tuple[np.ndarray, ...] | None


class PairMemory(NamedTuple):
    """What is known of the distances of pairs; all of it changes.

    Attributes:
        last: poses of the joints' balls where they were last (n, 12).
        travel: of the points of these balls, at most (n,) [m].
        bound: of the distance of each pair, from below (p,) [m].
        moved: travel of both of its movers when that was known (p,) [m].
        clear: least distance of the solids of each pair (p,) [m].
        between: pose of the first mover's ball in the second's frame there (p, 12).
        shape_clear: distance of each pair of solids there, from below (s,) [m].
        normal: of each pair of solids when it was computed last, in the frame of the
            second (s, 3).
        limit: from where on each pair of solids counted as near at the last look (s,)
            [m].
        missed: whether solids that were not near then may be in each other now (1,).
    """

    last: np.ndarray
    travel: np.ndarray
    bound: np.ndarray
    moved: np.ndarray
    clear: np.ndarray
    between: np.ndarray
    shape_clear: np.ndarray
    normal: np.ndarray
    limit: np.ndarray
    missed: np.ndarray

    @classmethod
    def of(cls, table: PairTable) -> PairMemory:
        """Nothing is known."""
        joints, pairs, solids = (
            len(table.balls),
            len(table.joints),
            len(table.shape_pairs),
        )
        return cls(
            last=np.zeros((joints, 12)),
            travel=np.zeros(joints),
            bound=np.full(pairs, -np.inf),
            moved=np.zeros(pairs),
            clear=np.full(pairs, -np.inf),
            between=np.zeros((pairs, 12)),
            shape_clear=np.full(solids, -np.inf),
            normal=np.zeros((solids, 3)),
            limit=np.full(solids, np.inf),
            missed=np.zeros(1, dtype=np.bool_),
        )


class ChosenPoints(NamedTuple):
    """Points in which solids touch, fixed on both of them.

    Attributes:
        slots: contacts of the pairs that they are, ascending (k,).
        joints: of the first solid, of the second, and of the one that the normal turns
            with; there -1 where it goes from the second point to the first (k, 3).
        first: points on the first hull, in its joint's frame (k, 3) [m].
        second: points on the second (k, 3) [m].
        normal: from the second to the first, in the third joint's frame (k, 3).
        radius: of both solids together (k,) [m].
        share: part of the radius that is the second's (k,).
    """

    slots: np.ndarray
    joints: np.ndarray
    first: np.ndarray
    second: np.ndarray
    normal: np.ndarray
    radius: np.ndarray
    share: np.ndarray

    @classmethod
    def none(cls) -> ChosenPoints:
        """No points."""
        rows, ints = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
        slots, none = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(slots, ints, rows, rows, rows, none, none)


@kernel(borrows=True)
def _square(a):
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@kernel(borrows=True)
def _displacement(pose, frame, ball, last, write):
    r"""How far the points of a ball have moved in a frame, at most [m].

    A point within the radius r of the centre c moves no farther than
    :math:`|\Delta c| + r |\Delta R|`; the norm of a difference of rotations is
    that of its entries over the root of two.
    """
    turned, square = 0.0, 0.0
    for k in range(4):
        x, y, z = pose[3 * k], pose[3 * k + 1], pose[3 * k + 2]
        if k == 3:
            x += pose[0] * ball[0] + pose[3] * ball[1] + pose[6] * ball[2] - frame[9]
            y += pose[1] * ball[0] + pose[4] * ball[1] + pose[7] * ball[2] - frame[10]
            z += pose[2] * ball[0] + pose[5] * ball[1] + pose[8] * ball[2] - frame[11]
            turned, square = square, 0.0
        for i in range(3):
            now = frame[3 * i] * x + frame[3 * i + 1] * y + frame[3 * i + 2] * z
            square += (now - last[3 * k + i]) ** 2
            if write:
                last[3 * k + i] = now
    return np.sqrt(square) + ball[3] * np.sqrt(0.5 * turned)


@kernel(borrows=True)
def _speed(twist, other, ball, pose):
    """Speed of the points of a ball in a frame that moves, at most [m/s]."""
    square = 0.0
    w0, w1, w2 = twist[3] - other[3], twist[4] - other[4], twist[5] - other[5]
    c0 = pose[0] * ball[0] + pose[3] * ball[1] + pose[6] * ball[2] + pose[9]
    c1 = pose[1] * ball[0] + pose[4] * ball[1] + pose[7] * ball[2] + pose[10]
    c2 = pose[2] * ball[0] + pose[5] * ball[1] + pose[8] * ball[2] + pose[11]
    square += (twist[0] - other[0] + w1 * c2 - w2 * c1) ** 2
    square += (twist[1] - other[1] + w2 * c0 - w0 * c2) ** 2
    square += (twist[2] - other[2] + w0 * c1 - w1 * c0) ** 2
    return np.sqrt(square) + ball[3] * np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)


@kernel(borrows=True)
def track(table, memory, poses):
    """Add to the travel of all movers how far they moved since the last call."""
    balls, last, travel = table[4], memory[0], memory[1]
    for j in range(1, travel.shape[0]):
        if balls[j, 3] >= 0.0:
            travel[j] += _displacement(poses[j], poses[0], balls[j], last[j], True)


@kernel
def due_pairs(table, memory, poses, twists, time):
    """Pairs of movers that may touch within a time, and how near counts (k,) [m]."""
    table, memory, poses, twists = lent(table), lent(memory), lent(poses), lent(twists)
    pairs = PairTable(*table)
    known = PairMemory(*memory)
    joints, balls, watch = pairs.joints, pairs.balls, pairs.watch
    travel, bound, moved = known.travel, known.bound, known.moved
    count = joints.shape[0]
    speeds = np.zeros(travel.shape[0])
    for j in range(1, speeds.shape[0]):
        if balls[j, 3] >= 0.0:
            speeds[j] = _speed(twists[j], twists[0], balls[j], poses[j])
    which, near, number = np.empty(count, np.int64), np.empty(count), 0
    for p in range(count):
        a, b = joints[p, 0], joints[p, 1]
        left = bound[p] - (travel[a] + travel[b] - moved[p])
        if left > watch[p] + time * (speeds[a] + speeds[b]):
            continue
        limit = watch[p] + time * _speed(twists[a], twists[b], balls[a], poses[a])
        if left > limit:
            continue
        away = _displacement(poses[a], poses[b], balls[a], known.between[p], False)
        bound[p], moved[p] = known.clear[p] - away, travel[a] + travel[b]
        if not bound[p] > limit:
            which[number], near[number] = p, limit
            number += 1
    return which[:number], near[:number]


@kernel(borrows=True)
def _ball_distance(solids, one, other, poses):
    """Distance of the balls around two solids, from below [m]."""
    table = SolidTable(*solids)
    a, b = small_vector(3), small_vector(3)
    place(poses[table.joint[one]], table.centre[one], a)
    pose = poses[table.joint[other]]
    if table.plane[other]:
        height = 0.0
        turn(pose, table.normals[table.face_start[other]], b)
        for i in range(3):
            height += b[i] * (a[i] - pose[9 + i])
        local = table.vertices[table.vertex_start[other]]
        normal = table.normals[table.face_start[other]]
        for i in range(3):
            height -= normal[i] * local[i]
        return height - table.reach[one]
    place(pose, table.centre[other], b)
    square = 0.0
    for i in range(3):
        square += (a[i] - b[i]) ** 2
    return np.sqrt(square) - table.reach[one] - table.reach[other]


@kernel(borrows=True)
def _is_tag(table, joint, point, radius, length):
    """Whether a point of a link, and the ball around it, is a contact point of it."""
    tags, start = table[6], table[7]
    for k in range(start[joint], start[joint + 1]):
        square = (tags[k, 3] - radius) ** 2
        for i in range(3):
            square += (tags[k, i] - point[i]) ** 2
        if square <= (_TAG * length) ** 2:
            return True
    return False


@kernel(borrows=True)
def _own_height(table, one, other, poses):
    """Least height over a half space of a solid's vertices, but contact points [m]."""
    own = SolidTable(*table[0])
    a, plane, foot = own.joint[one], own.face_start[other], own.vertex_start[other]
    normal, local = small_vector(3), small_vector(3)
    n, place_ = small_vector(3), small_vector(3)
    turn(poses[own.joint[other]], own.normals[plane], normal)
    place(poses[own.joint[other]], own.vertices[foot], place_)
    turn_back(poses[a], normal, n)
    base = own.radius[one]
    for i in range(3):
        base += normal[i] * (place_[i] - poses[a, 9 + i])
    least = np.inf
    for k in range(own.vertex_start[one], own.vertex_start[one + 1]):
        for i in range(3):
            local[i] = own.vertices[k, i]
        height = n[0] * local[0] + n[1] * local[1] + n[2] * local[2] - base
        if height < least and not _is_tag(
            table, a, local, own.radius[one], own.length[one]
        ):
            least = height
    return least


@kernel
def _mesh_points(meshes, table, which, poses, near, rows):
    """Points of a solid on a mesh, but contact points; how many, and the distance.

    ``which``: joint, number of the solid, of the mesh.
    """
    if meshes is not None:
        a, one, mesh = which
        solids = table[0]
        both, local = small_matrix(2, 12), small_vector(3)
        both[0], both[1] = poses[a], poses[0]
        pair = one, mesh
        count, apart = mesh_candidates(solids, meshes, pair, both, near, rows)
        own = SolidTable(*solids)
        left = 0
        for k in range(count):
            place_back(poses[a], rows[k, :3], local)
            if not _is_tag(table, a, local, own.radius[one], own.length[one]):
                rows[left] = rows[k]
                left += 1
        return left, apart
    return 0, np.inf


_MOST = 200
"""Candidates for the points of a pair of movers."""


@kernel
def _candidates(table, memory, which, poses, rows):
    """Points of all solids of a pair that are near; fills rows (_MOST, 13), counts.

    ``which``: number of the pair, how near counts, how far it moved since it was known.
    Rows: point on the first and on the second, normal (in the world), gap, radius,
    share of the second, what the normal turns with.
    """
    table, memory, poses, rows = lent((table, memory, poses, rows))
    p, near, away = which
    pairs, known = PairTable(*table), PairMemory(*memory)
    solids = pairs.solids
    table_ = SolidTable(*solids)
    a, b = pairs.joints[p, 0], pairs.joints[p, 1]
    margin = pairs.balls[a, 3]
    normal, at, local = small_vector(3), small_vector(3), small_vector(3)
    both = small_matrix(2, 12)
    at[:] = 0.0
    count, least = 0, np.inf
    for s in range(pairs.start[p], pairs.start[p + 1]):
        unseen = known.shape_clear[s] > known.limit[s]
        known.shape_clear[s] -= away
        if unseen and known.shape_clear[s] < 0.0:
            known.missed[0] = True
        known.limit[s] = near
        if known.shape_clear[s] > near:
            least = min(least, known.shape_clear[s])
            continue
        pair = pairs.shape_pairs[s]
        if pair[1] < 0:
            part = a, pair[0], -1 - pair[1]
            found, apart = _mesh_points(
                pairs.meshes, table, part, poses, near, rows[count:]
            )
            known.shape_clear[s] = apart
            least = min(least, apart)
            count += found
            continue
        apart = _ball_distance(solids, pair[0], pair[1], poses)
        if apart > near + margin:
            known.shape_clear[s] = apart
            least = min(least, apart)
            continue
        if table_.plane[pair[1]]:
            # Vertices alone touch it, and contact points do so by themselves.
            apart = _own_height(table, pair[0], pair[1], poses)
            if apart > near:
                known.shape_clear[s] = apart
                least = min(least, apart)
                continue
        both[0] = poses[table_.joint[pair[0]]]
        both[1] = poses[table_.joint[pair[1]]]
        turn(both[1], known.normal[s], normal)
        if _square(normal) > 0.0:
            # Apart along the direction of last time: that bound is enough.
            apart = separation(solids, pair, both, normal)
            if apart > near:
                known.shape_clear[s] = apart
                least = min(least, apart)
                continue
        apart = solid_separation(solids, pair, both, near, normal, at)
        turn_back(both[1], normal, known.normal[s])
        known.shape_clear[s] = apart
        least = min(least, apart)
        if apart > near:
            continue
        first, second, gap, turns = pair_points(solids, pair, both, normal, at, apart)
        radius = table_.radius[pair[0]] + table_.radius[pair[1]]
        for k in range(gap.shape[0]):
            if count == _MOST:
                break
            if b == 0:
                place_back(poses[a], first[k], local)
                own = table_.radius[pair[0]]
                if _is_tag(table, a, local, own, table_.length[pair[0]]):
                    continue
            row = rows[count]
            for i in range(3):
                row[i], row[3 + i], row[6 + i] = first[k, i], second[k, i], normal[i]
            row[9], row[10] = gap[k], radius
            row[11] = table_.radius[pair[1]] / radius if radius > 0.0 else 0.0
            row[12] = turns
            count += 1
    known.bound[p] = known.clear[p] = least
    return count


@kernel
def _kept(meshes, rows):
    """Numbers of the candidates that a pair keeps."""
    if meshes is not None:
        return nearest_spread(rows[:, :3], rows[:, 9], SLOTS)
    return spread_out(rows[:, :3], rows[:, 9], SLOTS)


@kernel
def _slots(points, p, size, before, taken):
    """Places of points in their pair: those of the points that were there."""
    points, before, taken = lent((points, before, taken))
    slots, _, first = before[:3]
    count = points.shape[0]
    places = np.full(count, -1)
    taken[:] = False
    begin, end = (
        np.searchsorted(slots, SLOTS * p),
        np.searchsorted(slots, SLOTS * p + SLOTS),
    )
    used = np.zeros(end - begin, np.bool_)
    for _ in range(min(count, end - begin)):
        best, one, other = (_SAME * size) ** 2, -1, -1
        for k in range(count):
            if places[k] >= 0:
                continue
            for o in range(end - begin):
                if used[o]:
                    continue
                square = 0.0
                for i in range(3):
                    square += (points[k, i] - first[begin + o, i]) ** 2
                if square < best:
                    best, one, other = square, k, o
        if one < 0:
            break
        used[other] = True
        places[one] = slots[begin + other] - SLOTS * p
        taken[places[one]] = True
    free = 0
    for k in range(count):
        if places[k] < 0:
            while taken[free]:
                free += 1
            places[k] = free
            taken[free] = True
    return places


@kernel(nogil=True)
def choose_points(table, memory, before, poses, twists, time):
    """Choose the points in which solids may touch within a time [s].

    ``before``: those that were chosen last.
    """
    table, memory, poses, twists = lent(table), lent(memory), lent(poses), lent(twists)
    pairs = PairTable(*table)
    joints, balls = pairs.joints, pairs.balls
    which, near = due_pairs(table, memory, poses, twists, time)
    if which.shape[0] == 0 and before[0].shape[0] == 0:
        return before
    most = SLOTS * which.shape[0]
    slots, movers = np.empty(most, np.int64), np.empty((most, 3), np.int64)
    first, second, normal = (
        np.empty((most, 3)),
        np.empty((most, 3)),
        np.empty((most, 3)),
    )
    radius, share = np.empty(most), np.empty(most)
    rows, taken = np.empty((_MOST, 13)), np.empty(SLOTS, np.bool_)
    total = 0
    for n in range(which.shape[0]):
        p = which[n]
        a, b = joints[p, 0], joints[p, 1]
        between = memory[5][p]
        away = _displacement(poses[a], poses[b], balls[a], between, True)
        count = _candidates(table, memory, (p, near[n], away), poses, rows)
        if count == 0:
            continue
        kept = _kept(pairs.meshes, rows[:count])
        local = np.empty((kept.shape[0], 3))
        for k in range(kept.shape[0]):
            place_back(poses[a], rows[kept[k], :3], local[k])
        size = balls[a, 3]
        places = _slots(local, p, size, before, taken)
        for place_ in range(SLOTS):
            for k in range(kept.shape[0]):
                if places[k] != place_:
                    continue
                row = rows[kept[k]]
                slots[total] = SLOTS * p + place_
                attached = a if row[12] == FIRST else b
                movers[total, 0], movers[total, 1] = a, b
                movers[total, 2] = -1 if row[12] == BOTH else attached
                first[total] = local[k]
                place_back(poses[b], row[3:6], second[total])
                turn_back(poses[attached], row[6:9], normal[total])
                radius[total], share[total] = row[10], row[11]
                total += 1
    return (
        slots[:total],
        movers[:total],
        first[:total],
        second[:total],
        normal[:total],
        radius[:total],
        share[:total],
    )


@kernel
def chosen_gaps(chosen, poses):
    """Gaps, points and normals of chosen points, in the world."""
    chosen, poses = lent(chosen), lent(poses)
    points = ChosenPoints(*chosen)
    joints = points.joints
    count = joints.shape[0]
    gap, at, out = np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    one, other = small_vector(3), small_vector(3)
    for k in range(count):
        place(poses[joints[k, 0]], points.first[k], one)
        place(poses[joints[k, 1]], points.second[k], other)
        if joints[k, 2] < 0:
            for i in range(3):
                out[k, i] = one[i] - other[i]
            out[k] /= np.sqrt(_square(out[k]))
        else:
            turn(poses[joints[k, 2]], points.normal[k], out[k])
        along = 0.0
        for i in range(3):
            along += out[k, i] * (one[i] - other[i])
        gap[k] = along - points.radius[k]
        # In the middle between both surfaces, at the point that the normal is not of.
        back = points.share[k] * points.radius[k] + 0.5 * gap[k]
        if joints[k, 2] == joints[k, 0]:
            for i in range(3):
                at[k, i] = other[i] + back * out[k, i]
        else:
            back += points.radius[k] * (1.0 - 2.0 * points.share[k])
            for i in range(3):
                at[k, i] = one[i] - back * out[k, i]
    return gap, at, out


@kernel
def chosen_rates(chosen, twists, at, normal):
    """Rates of the gaps of chosen points (k,) [m/s]."""
    chosen, twists, at, normal = lent((chosen, twists, at, normal))
    joints = chosen[1]
    rate = np.empty(joints.shape[0])
    for k in range(joints.shape[0]):
        t, o, p, n = twists[joints[k, 0]], twists[joints[k, 1]], at[k], normal[k]
        w0, w1, w2 = t[3] - o[3], t[4] - o[4], t[5] - o[5]
        rate[k] = n[0] * (t[0] - o[0] + w1 * p[2] - w2 * p[1])
        rate[k] += n[1] * (t[1] - o[1] + w2 * p[0] - w0 * p[2])
        rate[k] += n[2] * (t[2] - o[2] + w0 * p[1] - w1 * p[0])
    return rate


@kernel(borrows=True)
def pair_rows(joints, support, jacobian, at, normal, rows):
    """Jacobians of points between movers, normal and tangents; fills rows (k, 3, nv).

    ``support``: velocities that move each joint (n, nv).
    """
    nv = jacobian.shape[1]
    frame = small_matrix(3, 3)
    for k in range(at.shape[0]):
        basis(normal[k], frame)
        p = at[k]
        a, b = joints[k, 0], joints[k, 1]
        for j in range(nv):
            # What moves both alike does not move one against the other.
            if support[a, j] == support[b, j]:
                continue
            sign = 1.0 if support[a, j] else -1.0
            w0, w1, w2 = jacobian[3, j], jacobian[4, j], jacobian[5, j]
            c0 = jacobian[0, j] + w1 * p[2] - w2 * p[1]
            c1 = jacobian[1, j] + w2 * p[0] - w0 * p[2]
            c2 = jacobian[2, j] + w0 * p[1] - w1 * p[0]
            for i in range(3):
                rows[k, i, j] = sign * (
                    frame[i, 0] * c0 + frame[i, 1] * c1 + frame[i, 2] * c2
                )


_STALE = 0.2
"""Movers that moved farther need other points, over the balls around them."""


@kernel(borrows=True)
def has_moved(table, at, poses):
    """Whether a mover's ball is far from where it was when points were chosen."""
    balls = table[4]
    for j in range(1, poses.shape[0]):
        if balls[j, 3] < 0.0:
            continue
        moved = _displacement(poses[j], poses[0], balls[j], at[j], False)
        if not moved <= _STALE * balls[j, 3]:
            return True
    return False


@kernel
def in_world(poses, motions, columns, twists):
    """Poses as columns (n + 1, 12), and velocities at the world's origin (n + 1, 6).

    Of joints 1 to n, from poses (n, 3, 4) and motions in their own frames (n, 2, 6).
    """
    linear, spin = small_vector(3), small_vector(3)
    for k in range(poses.shape[0]):
        for i in range(3):
            columns[k + 1, 9 + i] = poses[k, i, 3]
            linear[i] = spin[i] = 0.0
            for j in range(3):
                columns[k + 1, 3 * j + i] = poses[k, i, j]
                linear[i] += poses[k, i, j] * motions[k, 0, j]
                spin[i] += poses[k, i, j] * motions[k, 0, 3 + j]
        p = poses[k, :, 3]
        twists[k + 1, 0] = linear[0] + p[1] * spin[2] - p[2] * spin[1]
        twists[k + 1, 1] = linear[1] + p[2] * spin[0] - p[0] * spin[2]
        twists[k + 1, 2] = linear[2] + p[0] * spin[1] - p[1] * spin[0]
        for i in range(3):
            twists[k + 1, 3 + i] = spin[i]
