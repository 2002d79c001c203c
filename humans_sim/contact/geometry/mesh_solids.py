# SPDX-License-Identifier: Apache-2.0
r"""Convex solids on triangle meshes: which triangles are near, and where they touch.

Each triangle is a convex solid without thickness. It is touched from outside alone, and
only along directions that are normals of the mesh there:

- on a face its own normal;
- on an edge those between the normals of both faces, where the edge is convex: with
  :math:`t` in either face, square to the edge and away from it,
  :math:`n \cdot t \le 0`;
- on a vertex those with :math:`n \cdot e \le 0` for all edges e that leave it.

Along other directions a triangle would be touched on an edge that its neighbour hides:
a box that slides over a floor of triangles would run into their edges. There the
triangle's own normal is tried, for what of the solid lies over the triangle.

A triangle with its neighbours in one plane on all sides is its plane for what lies over
it, and the solid touches a floor of such triangles in the points of a half space.
Points of several triangles in one plane are the corners of the area they span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.convex_cores import SolidTable
from humans_sim.contact.geometry.convex_distance import (
    core_distance,
    place,
    solid_separation,
    turn,
)
from humans_sim.contact.geometry.convex_pairs import basis, pair_points
from humans_sim.contact.geometry.mesh import (
    KINDS,
    MESH_TRIANGLES,
    NODE,
    NODES,
    NORMAL,
    NORMALS,
    PLANE,
    TRIANGLE,
    VERTEX,
    neighbour,
)
from humans_sim.contact.geometry.mesh_contact_kernels import (
    MOST_AROUND,
    triangles_around,
)
from humans_sim.contact.geometry.terrain import TriangleMesh
from humans_sim.core.kernels import kernel

_LEAN = 1e-6
"""Sine of the angle by which a normal may lean over what hides it."""
_SAME_NORMAL = 1e-12
"""One less the cosine to a face's normal below which it is that one."""
_SMALL = 1e-5
"""Lengths of triangles as solids, over their own: no part of one counts as a point."""
_ONE = 1e-7
"""Points that are nearer to each other are one, over the length of the solid."""
_FACES = 24
"""Faces of a solid that are compared with the triangles' boxes, at most."""
_APART = 1e-4
"""Solids that are farther from each other do not touch [m]."""
_EARLY = 50.0
"""How much farther from other points one must be that touches later, over its gap."""
_STRAIGHT = 1e-9
"""Sine of an angle below which the border of an area has no corner."""
_BORDER = 1e-9
"""Share of a triangle by which what lies beside it is over it."""


class MeshSolids(NamedTuple):
    """Meshes whose triangles are solids of a table.

    Attributes:
        rows: of the meshes, as of the solids of a scene (m, 16).
        data: numbers of all meshes, one after the other.
        first: the first solid of each mesh in the table; its triangles are in the order
            of its leaves (m,).
    """

    rows: np.ndarray
    data: np.ndarray
    first: np.ndarray


def with_triangles(
    table: SolidTable, meshes: Sequence[TriangleMesh]
) -> tuple[SolidTable, MeshSolids | None]:
    """A table with all triangles of some meshes added; None without any mesh."""
    if not meshes:
        return table, None
    rows, first, begin = [], [len(table.joint)], 0
    for mesh in meshes:
        row = mesh.row()
        row[[NODES, MESH_TRIANGLES, NORMALS]] += begin
        begin += mesh.data.size
        rows.append(row)
        first.append(first[-1] + len(mesh.faces))
    data = np.concatenate([mesh.data for mesh in meshes])
    data.setflags(write=False)
    records = [
        mesh.data[int(mesh.row()[MESH_TRIANGLES]) : int(mesh.row()[NORMALS])]
        for mesh in meshes
    ]
    solids = _added(table, np.concatenate(records).reshape(-1, TRIANGLE))
    return solids, MeshSolids(np.array(rows), data, np.array(first[:-1]))


def _added(table: SolidTable, records: np.ndarray) -> SolidTable:
    """A table with triangles added, from their numbers (k, 20)."""
    count = len(records)
    corners = records[:, :9].reshape(-1, 3, 3)
    centre = corners.mean(axis=1)
    away = np.linalg.norm(corners - centre[:, None], axis=2)
    old, steps = len(table.vertices), np.arange(1, count + 1)
    return SolidTable(
        joint=np.append(table.joint, np.zeros(count, dtype=np.int64)),
        vertices=np.vstack([table.vertices, corners.reshape(-1, 3)]),
        vertex_start=np.append(table.vertex_start, old + 3 * steps),
        normals=np.vstack([table.normals, records[:, NORMAL : NORMAL + 3]]),
        face_start=np.append(table.face_start, len(table.normals) + steps),
        loops=np.append(table.loops, old + np.arange(3 * count)),
        loop_start=np.append(table.loop_start, len(table.loops) + 3 * steps),
        radius=np.append(table.radius, np.zeros(count)),
        length=np.append(table.length, _SMALL * np.ptp(corners, axis=1).max(axis=1)),
        core=np.vstack([table.core, corners.reshape(-1, 3)]),
        core_start=np.append(table.core_start, len(table.core) + 3 * steps),
        centre=np.vstack([table.centre, centre]),
        reach=np.append(table.reach, away.max(axis=1)),
        plane=np.append(table.plane, records[:, KINDS] == 0.0),
    )


@kernel
def _along(n, data, at):
    return n[0] * data[at] + n[1] * data[at + 1] + n[2] * data[at + 2]


@kernel
def _square_between(low, high, box, faces):
    """Square of a distance of two boxes, from below.

    ``faces``: planes around what is in the second: normals outwards, heights (f, 4).
    """
    square = 0.0
    for k in range(3):
        beyond = max(low[k] - box[1, k], box[0, k] - high[k])
        if beyond > 0.0:
            square += beyond * beyond
    for f in range(faces.shape[0]):
        height = -faces[f, 3]
        for k in range(3):
            height += faces[f, k] * (low[k] if faces[f, k] > 0.0 else high[k])
        if height > 0.0:
            square = max(square, height * height)
    return square


@kernel
def _triangle_square(data, triangle, box, faces):
    """The same of a triangle and a box."""
    square = 0.0
    for k in range(3):
        a, b, c = (
            data[triangle + k],
            data[triangle + 3 + k],
            data[triangle + 6 + k],
        )
        beyond = max(min(a, b, c) - box[1, k], box[0, k] - max(a, b, c))
        if beyond > 0.0:
            square += beyond * beyond
    for f in range(faces.shape[0]):
        n = faces[f]
        height = min(
            _along(n, data, triangle),
            _along(n, data, triangle + 3),
            _along(n, data, triangle + 6),
        )
        height -= n[3]
        if height > 0.0:
            square = max(square, height * height)
    return square


@kernel
def triangles_near(row, data, box, faces, near):
    """Triangles that are not farther than ``near`` from a box and what is in it.

    Args:
        row: of the mesh.
        data: numbers of all meshes.
        box: its low and high corner (2, 3) [m].
        faces: planes around what is in it: normals outwards, heights (f, 4).
        near: [m].

    Returns:
        numbers of the triangles (k,); a bound from below of the distance of the others,
        ``near`` or more [m].
    """
    start, triangles = int(row[NODES]), int(row[MESH_TRIANGLES])
    found, count, best = np.empty(64, np.int64), 0, np.inf
    stack, height = np.empty(128, np.int64), 1
    stack[0] = 0
    within = near * near
    while height:
        height -= 1
        index = stack[height]
        node = start + NODE * index
        limit = within if count else max(within, best)
        low, high = data[node : node + 3], data[node + 3 : node + 6]
        if _square_between(low, high, box, faces) > limit:
            continue
        link, size = int(data[node + 6]), int(data[node + 7])
        if not size:
            stack[height], stack[height + 1] = link, index + 1
            height += 2
            continue
        for k in range(link, link + size):
            square = _triangle_square(data, triangles + TRIANGLE * k, box, faces)
            if square > within:
                best = min(best, square)
                continue
            if count == found.shape[0]:
                more = np.empty(2 * count, np.int64)
                more[:count] = found
                found = more
            found[count] = k
            count += 1
    return found[:count], near if count else np.sqrt(best)


@kernel
def is_normal(row, data, triangle, n):
    """Whether a triangle may be touched along a unit vector that leaves the mesh."""
    if not _along(n, data, triangle + NORMAL) > _LEAN:
        return False
    height, best = np.empty(3), 0
    for c in range(3):
        height[c] = _along(n, data, triangle + 3 * c)
        if height[c] > height[best]:
            best = c
    also, count = -1, 1
    for c in range(3):
        square = 0.0
        for i in range(3):
            arm = data[triangle + 3 * c + i] - data[triangle + 3 * best + i]
            square += arm * arm
        if c != best and height[best] - height[c] <= _LEAN * np.sqrt(square):
            also = c
            count += 1
    if count == 3:
        return True
    if count == 2:
        edge = best if also == (best + 1) % 3 else also
        other = neighbour(row, data, triangle, edge)
        if other < 0:
            return True
        # the edge in its order around this triangle, times the neighbour's normal
        a, b = triangle + 3 * edge, triangle + 3 * ((edge + 1) % 3)
        lean, square = 0.0, 0.0
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            along, up = data[b + j] - data[a + j], data[b + m] - data[a + m]
            lean += n[i] * (along * data[other + NORMAL + m])
            lean -= n[i] * (up * data[other + NORMAL + j])
            square += along * along
        return lean <= _LEAN * np.sqrt(square)
    walk = np.empty(MOST_AROUND, np.int64)
    vertex = data[triangle + VERTEX + best]
    for k in range(triangles_around(row, data, triangle, best, walk)):
        for c in range(3):
            if data[walk[k] + VERTEX + c] == vertex:
                continue
            square, lean = 0.0, 0.0
            for i in range(3):
                arm = data[walk[k] + 3 * c + i] - data[triangle + 3 * best + i]
                square += arm * arm
                lean += n[i] * arm
            if lean > _LEAN * np.sqrt(square):
                return False
    return True


@kernel
def _is_over(data, triangle, point):
    """Whether a point lies over or under a triangle along its normal."""
    for c in range(3):
        a, b = triangle + 3 * c, triangle + 3 * ((c + 1) % 3)
        side, square = 0.0, 0.0
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            along, up = data[b + j] - data[a + j], data[b + m] - data[a + m]
            side += data[triangle + NORMAL + i] * (
                along * (point[m] - data[a + m]) - up * (point[j] - data[a + j])
            )
            square += along * along
        if side < -_BORDER * square:
            return False
    return True


@kernel
def _placed(solids, one, pose):
    """A solid in the world: vertices (k, 3), a box (2, 3), planes of faces (f, 4)."""
    table = SolidTable(*solids)
    first, radius = table.vertex_start[one], table.radius[one]
    corners = np.empty((table.vertex_start[one + 1] - first, 3))
    box = np.empty((2, 3))
    box[0], box[1] = np.inf, -np.inf
    for k in range(corners.shape[0]):
        place(pose, table.vertices[first + k], corners[k])
        for i in range(3):
            box[0, i] = min(box[0, i], corners[k, i] - radius)
            box[1, i] = max(box[1, i], corners[k, i] + radius)
    begin, end = table.face_start[one], table.face_start[one + 1]
    faces = np.empty((min(_FACES, end - begin), 4))
    for f in range(faces.shape[0]):
        turn(pose, table.normals[begin + f], faces[f])
        vertex = corners[table.loops[table.loop_start[begin + f]] - first]
        faces[f, 3] = radius
        for i in range(3):
            faces[f, 3] += faces[f, i] * vertex[i]
    return corners, box, faces


@kernel
def _add(rows, planes, count, points, numbers):
    """Add points to rows of candidates, those with the least gaps if there are more.

    ``points``: on both solids, gaps, what the normal turns with; ``numbers``: normal,
    radius, plane (-1 of another normal), distance at which points are one.

    Returns:
        how many there are.
    """
    first, second, gap, turns = points
    normal, radius, plane, one = numbers
    for k in range(gap.shape[0]):
        at = count
        for o in range(count):
            if planes[o] != plane:
                continue
            square, cosine = 0.0, 0.0
            for i in range(3):
                square += (rows[o, i] - first[k, i]) ** 2
                cosine += rows[o, 6 + i] * normal[i]
            if square <= one * one and cosine > 1.0 - _LEAN:
                at = o
                break
        if at == count and count == rows.shape[0]:
            at = np.argmax(rows[:count, 9])
        if at < count and not gap[k] < rows[at, 9]:
            continue
        count = max(count, at + 1)
        planes[at] = plane
        for i in range(3):
            rows[at, i], rows[at, 3 + i] = first[k, i], second[k, i]
            rows[at, 6 + i] = normal[i]
        rows[at, 9], rows[at, 10], rows[at, 11] = gap[k], radius, 0.0
        rows[at, 12] = turns
    return count


@kernel
def _hull(points, order):
    """Numbers of the corners of the area around points in a plane (n, 2).

    ``order``: points by x, then y.
    """
    count = order.shape[0]
    kept, size = np.empty(2 * count + 1, np.int64), 0
    for way in range(2):
        floor = size + 1
        for s in range(count):
            k = order[s] if way == 0 else order[count - 1 - s]
            while size > floor:
                a, b = kept[size - 2], kept[size - 1]
                dx, dy = points[b, 0] - points[a, 0], points[b, 1] - points[a, 1]
                ex, ey = points[k, 0] - points[b, 0], points[k, 1] - points[b, 1]
                length = np.sqrt((dx * dx + dy * dy) * (ex * ex + ey * ey))
                if dx * ey - dy * ex > _STRAIGHT * length:
                    break
                size -= 1
            kept[size] = k
            size += 1
        size -= 1  # where the other way begins
    return kept[: max(size, 1)]


@kernel
def _without_inner(rows, planes, count):
    """Of the points in each plane keep the corners of the area around them."""
    keep = np.ones(count, np.bool_)
    frame = np.empty((3, 3))
    for k in range(count):
        plane, n = planes[k], 0
        if plane < 0:
            continue
        group = np.empty(count, np.int64)
        for o in range(k, count):
            if planes[o] == plane:
                group[n] = o
                planes[o] = -1
                n += 1
        if n < 3:
            continue
        basis(rows[k, 6:9], frame)
        flat = np.empty((n, 2))
        for o in range(n):
            for i in range(2):
                flat[o, i] = 0.0
                for j in range(3):
                    flat[o, i] += frame[i + 1, j] * rows[group[o], j]
        order = np.arange(n)
        for s in range(1, n):  # few, and often in order
            new, o = order[s], s
            while o > 0 and (
                flat[order[o - 1], 0] > flat[new, 0]
                or (
                    flat[order[o - 1], 0] == flat[new, 0]
                    and flat[order[o - 1], 1] > flat[new, 1]
                )
            ):
                order[o] = order[o - 1]
                o -= 1
            order[o] = new
        for o in range(n):
            keep[group[o]] = False
        for o in _hull(flat, order):
            keep[group[o]] = True
    left = 0
    for k in range(count):
        if keep[k]:
            if left < k:
                rows[left] = rows[k]
            left += 1
    return left


@kernel
def _lowest(corners, data, triangle, radius):
    """Heights of the lowest and the highest point of a solid over a triangle's plane.

    Also the number of the lowest corner.
    """
    base = _along(data[triangle + NORMAL : triangle + NORMAL + 3], data, triangle)
    low, high, which = np.inf, -np.inf, 0
    for k in range(corners.shape[0]):
        height = _along(corners[k], data, triangle + NORMAL) - base
        if height < low:
            low, which = height, k
        high = max(high, height)
    return low - radius, high + radius, which


@kernel
def _separation(solids, pair, poses, near, normal, at):
    """As :func:`solid_separation`; exact also for solids that do not touch."""
    apart = solid_separation(solids, pair, poses, near, normal, at)
    if _APART < apart <= near:
        table = SolidTable(*solids)
        vertices, starts = table.vertices, table.vertex_start
        apart = core_distance(vertices, starts, pair, poses, normal, at)
        apart -= table.radius[pair[0]]
    return apart


@kernel
def _own_normal(data, triangle, corners, radius, normal, at):
    """Take a triangle's own normal; where what lies over it is nearest.

    Returns:
        height of the solid's lowest point; infinite if that is not over the triangle.
    """
    low, _, which = _lowest(corners, data, triangle, radius)
    for i in range(3):
        normal[i] = data[triangle + NORMAL + i]
        at[i] = corners[which, i] - (radius + 0.5 * low) * normal[i]
    return low if _is_over(data, triangle, at) else np.inf


@kernel
def _add_over(rows, planes, count, points, numbers, mesh):
    """Add those of some points that lie over a triangle; ``mesh``: data, triangle."""
    data, triangle = mesh
    first, second, gap, turns = points
    for k in range(gap.shape[0]):
        if _is_over(data, triangle, second[k]):
            here = slice(k, k + 1)
            new = first[here], second[here], gap[here], turns
            count = _add(rows, planes, count, new, numbers)
    return count


@kernel
def mesh_candidates(solids, meshes, which, poses, near, rows):
    """Points in which a solid may touch a mesh.

    Args:
        solids: fields of the ``SolidTable``.
        meshes: fields of the :class:`MeshSolids`.
        which: number of the solid, number of the mesh.
        poses: of the solid's joint and of the world (2, 12).
        near: from where on points are known [m].
        rows: filled (k, 13): points on the solid and on the mesh, normal, gap, radius,
            the mesh's share of it, what the normal turns with.

    Returns:
        how many points there are; distance of solid and mesh, or a bound of it from
        below [m].
    """
    table, known = SolidTable(*solids), MeshSolids(*meshes)
    one, row, data = which[0], known.rows[which[1]], known.data
    radius, same = table.radius[one], _ONE * table.length[one]
    corners, box, faces = _placed(solids, one, poses[0])
    found, clear = triangles_near(row, data, box, faces, near)
    pair, planes = np.array([one, 0]), np.empty(rows.shape[0], np.int64)
    normal, at = np.empty(3), np.zeros(3)
    none = np.empty((0, 3))
    points, count, latest = (none, none, np.empty(0), False), 0, -1
    for k in found:
        triangle = int(row[MESH_TRIANGLES]) + TRIANGLE * k
        pair[1], plane = known.first[which[1]] + k, int(data[triangle + PLANE])
        is_plane = table.plane[pair[1]]
        if is_plane and plane == latest:
            numbers = normal, radius, plane, same
            mesh = data, triangle
            count = _add_over(rows, planes, count, points, numbers, mesh)
            continue
        low, high, _ = _lowest(corners, data, triangle, radius)
        beyond = max(low, -high)
        if beyond > near:
            clear = min(clear, beyond)
            continue
        outside = low + high > 0.0  # it does not come from below
        apart, latest = low, -1
        for i in range(3):
            normal[i] = data[triangle + NORMAL + i]
        if is_plane:
            clear = min(clear, low)
            if not outside:
                continue
            latest = plane
        else:
            apart = _separation(solids, pair, poses, near, normal, at)
            clear = min(clear, apart)
            cosine = _along(normal, data, triangle + NORMAL)
            if apart > near or (apart > 0.0 and not cosine > _LEAN):
                continue
            own = cosine >= 1.0 - _SAME_NORMAL
            if not own and is_normal(row, data, triangle, normal):
                plane = -1
            elif own or outside:
                apart = _own_normal(data, triangle, corners, radius, normal, at)
            else:
                continue
        points = pair_points(solids, pair, poses, normal, at, apart)
        numbers = normal, radius, plane, same
        if is_plane:
            mesh = data, triangle
            count = _add_over(rows, planes, count, points, numbers, mesh)
        else:
            count = _add(rows, planes, count, points, numbers)
    return _without_inner(rows, planes, count), clear


@kernel
def nearest_spread(points, gap, most):
    """Numbers of a few points: that with the least gap, then far ones from all.

    Unlike with convex solids, points that touch may lie between others that do not: a
    point is passed over for one that is nearer to touching.
    """
    count = points.shape[0]
    chosen = np.empty(min(most, count), np.int64)
    value = np.full(count, np.inf)
    latest = np.argmin(gap)
    least = gap[latest]
    for n in range(chosen.shape[0]):
        chosen[n] = latest
        for k in range(count):
            square = 0.0
            for i in range(3):
                square += (points[k, i] - points[latest, i]) ** 2
            value[k] = min(value[k], np.sqrt(square) - _EARLY * (gap[k] - least))
        value[latest] = -np.inf
        latest = np.argmax(value)
    return chosen
