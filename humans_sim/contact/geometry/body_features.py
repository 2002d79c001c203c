# SPDX-License-Identifier: Apache-2.0
r"""Contact features of a body beside its feet: points and balls on all of its links.

They stand for the collision geometry of the model's URDF
(:mod:`~humans_sim.models.collision_shapes`). The shapes that one joint carries count as
one convex body: a plane touches nothing else of them. Its corners, and balls inside
where it is round, are chosen by :func:`cover`.

The distance by which the body stands out of them is shared: balls and points are made
larger by half of it. The rest, :attr:`BodyFeatures.left_out`, is at most :data:`SHARE`
of the model's height for every link but the feet, and zero for boxes, balls and
capsules alone.

Feet touch with the corners or balls of their soles as they always did. Their shapes add
only what lies clearly above the sole.

*Balls in place of a convex body*. It is known by its support function :math:`h(d)`, how
far it goes along each direction. Balls (centres c, radii r; points are balls of radius
zero) inside it go :math:`h_b(d) = \max_i (c_i \cdot d + r_i) \le h(d)`. :func:`cover`
chooses balls so that :math:`h - h_b` is below a tolerance everywhere: then a plane that
the balls touch cuts off no more than that of the body, whatever its direction.

Candidates are the vertices, and balls that touch the body from inside at a vertex: so a
box keeps its corners, a ball stays one ball, a capsule becomes two and a limb a few.
Which are taken is a set cover: the candidate that serves most of the directions that
are not served yet comes first, the largest ball of those that serve the same. Results
are kept on the disk: they are the same in every process that loads the same model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from humans_sim.core.errors import ParameterError
from humans_sim.core.kept_arrays import kept_array
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.legs import load_tags
from humans_sim.models.model import Model

_CHOICE, _CHECK, _AROUND = 2, 4, 0
"""Subdivisions of an icosahedron: 162 directions to choose by, 2562 to check, 12 to
look around a direction."""
_DEPTHS = (0.3, 0.6, 1.0)
"""Depths at which inner balls are tried, in shares of the largest there is."""
_ROUNDS = 20
_REFINED = 24
"""Directions around which the largest gaps are sought."""
_CLOSER = 5
"""Steps of that search."""
_AT_ONCE = 4096
"""Directions in which a body is looked at together."""
_INSIDE = 0.96
"""Share of the tolerance by which balls are chosen: between directions gaps grow."""
_BISECTIONS = 12
_POINT = 1e-9
"""Radius below which a ball is a point [m]."""
_DIGITS = 10
"""Decimals of lengths that are compared [m]: robots are symmetric, and which of two
equal balls comes first must not hang on how a matrix product rounds."""


class Balls(NamedTuple):
    """Balls, or points where their radii are zero.

    Attributes:
        centres: (n, 3) [m].
        radii: (n,) [m].
    """

    centres: np.ndarray
    radii: np.ndarray

    def support(self, directions: np.ndarray) -> np.ndarray:
        """How far they go along unit vectors (k, 3) -> (k,) [m]."""
        if not len(self.radii):
            return np.full(len(directions), -np.inf)
        return (directions @ self.centres.T + self.radii).max(axis=1)

    def some(self, which: np.ndarray | list[int]) -> Balls:
        """Those of some rows."""
        return Balls(self.centres[which], self.radii[which])


NOTHING = Balls(np.zeros((0, 3)), np.zeros(0))


def joined(*parts: Balls) -> Balls:
    """All balls of some sets."""
    return Balls(
        np.vstack([part.centres for part in parts]),
        np.concatenate([part.radii for part in parts]),
    )


def outermost(body: Balls) -> Balls:
    """The balls on the hull of some balls: the others touch no plane."""
    return _outermost(_key(body))


@lru_cache(maxsize=1024)
def _outermost(key: tuple[bytes, ...]) -> Balls:
    body = _balls(*key)
    kept = np.zeros(len(body.radii), dtype=bool)
    for radius in np.unique(body.radii):
        same = np.flatnonzero(body.radii == radius)
        hull = _hull(body.centres[same])
        kept[same if hull is None else same[hull.vertices]] = True
    return body.some(kept)


def _key(*parts: Balls) -> tuple[bytes, ...]:
    """Balls as bytes, by which results are kept: models are loaded more than once."""
    arrays = (array for part in parts for array in part)
    return tuple(np.ascontiguousarray(array, float).tobytes() for array in arrays)


def _balls(centres: bytes, radii: bytes) -> Balls:
    return Balls(np.frombuffer(centres).reshape(-1, 3), np.frombuffer(radii))


def left_out(body: Balls, balls: Balls) -> float:
    """How far a convex body stands out of some balls, at most [m]; none: infinity."""
    return _left_out(_key(body, balls)) if len(balls.radii) else np.inf


@lru_cache(maxsize=1024)
def _left_out(key: tuple[bytes, ...]) -> float:
    def highest_gap() -> np.ndarray:
        return np.array(_highest_gap(_balls(*key[:2]), _balls(*key[2:])))

    return float(kept_array(__name__, ("gap", key), highest_gap))


def cover(body: Balls, tolerance: float, given: Balls = NOTHING) -> Balls:
    """Balls, beside given ones, that a body stands out of by less than a tolerance."""
    rounded = (Balls(*(np.round(x, _DIGITS) for x in part)) for part in (body, given))
    return _cover(_key(*rounded), float(tolerance))


@lru_cache(maxsize=1024)
def _cover(key: tuple[bytes, ...], tolerance: float) -> Balls:
    def chosen() -> np.ndarray:
        balls = _chosen(_balls(*key[:2]), _balls(*key[2:]), tolerance)
        return np.round(np.column_stack(balls), _DIGITS)

    rows = kept_array(__name__, ("cover", key, tolerance), chosen)
    return Balls(rows[:, :3].copy(), rows[:, 3].copy())


def _chosen(body: Balls, given: Balls, tolerance: float) -> Balls:
    tried = _candidates(body)
    directions, chosen = _directions(_CHOICE), NOTHING
    heights = body.support(_directions(_CHECK))
    for _ in range(_ROUNDS):
        gaps = body.support(directions) - given.support(directions)
        waiting = directions[gaps > _INSIDE * tolerance]
        chosen = tried.some(_set_cover(body, tried, waiting, _INSIDE * tolerance))
        worst, gaps = _largest_gaps(body, joined(given, chosen), heights)
        if gaps[0] <= tolerance:
            break
        directions = np.vstack([directions, worst[gaps > tolerance]])
    return _one_for_two(body, given, chosen, tolerance)


def _set_cover(
    body: Balls, tried: Balls, directions: np.ndarray, tolerance: float
) -> list[int]:
    """Candidates that together serve all directions, greedily few."""
    if not len(directions):
        return []
    reached = tried.centres @ directions.T + tried.radii[:, None]
    gaps = np.round(body.support(directions) - reached, _DIGITS)
    serves = gaps <= tolerance
    waiting = np.ones(len(directions), dtype=bool)
    chosen: list[int] = []
    while waiting.any():
        counts = serves[:, waiting].sum(axis=1)
        best = np.flatnonzero(counts == counts.max())
        chosen.append(int(best[np.argmax(np.round(tried.radii[best], _DIGITS))]))
        waiting &= ~serves[chosen[-1]]
    for pick in list(chosen):  # later ones may serve all that an early one does
        others = [k for k in chosen if k != pick]
        if others and serves[others].any(axis=0).all():
            chosen = others
    return chosen


def _one_for_two(body: Balls, given: Balls, chosen: Balls, tolerance: float) -> Balls:
    """Balls of which one in the middle of two takes the place of both."""
    directions = _directions(_CHECK)
    heights = body.support(directions)
    first, second = np.triu_indices(len(chosen.radii), 1)
    apart = np.linalg.norm(chosen.centres[first] - chosen.centres[second], axis=1)
    for pair in np.argsort(np.round(apart, _DIGITS), kind="stable"):
        both = [first[pair], second[pair]]
        middle = Balls(
            chosen.centres[both].mean(axis=0, keepdims=True),
            chosen.radii[both].min(keepdims=True),
        )
        rest = np.delete(np.arange(len(chosen.radii)), both)
        fewer = joined(chosen.some(rest), middle)
        every = joined(given, fewer)
        if (heights - every.support(directions)).max() > tolerance:
            continue
        if _largest_gaps(body, every, heights)[1][0] <= tolerance:
            return _one_for_two(body, given, fewer, tolerance)
    return chosen


def _candidates(body: Balls) -> Balls:
    """The vertices, and balls that touch the body from inside at its vertices."""
    hull = _hull(body.centres)
    if hull is None:
        return body
    directions = _directions(_CHOICE)
    heights = np.round(directions @ body.centres.T + body.radii, _DIGITS)
    extreme = np.unique(heights.argmax(axis=1))
    normals = np.unique(np.round(hull.equations[:, :3], 6), axis=0)
    outward = np.zeros_like(body.centres)
    for corner in hull.simplices.T:
        np.add.at(outward, corner, hull.equations[:, :3])
    length = np.linalg.norm(outward, axis=1)
    extreme = extreme[length[extreme] > 0.0]
    outward = outward[extreme] / length[extreme, None]
    places = body.centres[extreme]
    normals = np.vstack([normals, directions])
    bounds = body.support(normals) + 1e-12
    low, high = np.zeros(len(places)), np.full(len(places), np.ptp(places, 0).max())
    slope = outward @ normals.T
    start = bounds - places @ normals.T
    for _ in range(_BISECTIONS):  # the depth of the largest ball that touches there
        middle = (low + high) / 2.0
        room = (start + middle[:, None] * slope).min(axis=1)
        fits = room >= 0.98 * middle
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    sets = [body]
    for share in _DEPTHS:
        depth = (share * low)[:, None]
        room = (start + depth * slope).min(axis=1)
        sets.append(Balls(places - depth * outward, room).some(room > _POINT))
    return joined(*sets)


def _hull(points: np.ndarray) -> ConvexHull | None:
    """The convex hull of points, None where they span no volume."""
    if len(points) < 4:
        return None
    try:
        return ConvexHull(points)
    except QhullError:
        return None


def _largest_gaps(
    body: Balls, balls: Balls, heights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Directions in which a body stands out most, best first, and how far."""
    directions = _directions(_CHECK)
    heights = body.support(directions) if heights is None else heights
    values = heights - balls.support(directions)
    first = np.argsort(-np.round(values, _DIGITS), kind="stable")[:_REFINED]
    best, values = directions[first], values[first]
    step, rows = 0.04, np.arange(len(best))
    for _ in range(_CLOSER):
        around = best[:, None] + step * _directions(_AROUND)
        around /= np.linalg.norm(around, axis=2, keepdims=True)
        tried = around.reshape(-1, 3)
        gaps = (body.support(tried) - balls.support(tried)).reshape(len(best), -1)
        place = np.round(gaps, _DIGITS).argmax(axis=1)
        better = gaps[rows, place] > values
        best = np.where(better[:, None], around[rows, place], best)
        values = np.where(better, gaps[rows, place], values)
        step *= 0.6
    order = np.argsort(-np.round(values, _DIGITS), kind="stable")
    return best[order], values[order]


def _highest_gap(body: Balls, balls: Balls) -> float:
    """How far a body stands out of balls at most.

    Where one ball i goes farthest of all, a vertex v stands out most along v - c_i, or
    at the border of these directions: where two balls go equally far, or three.
    """
    first, second = np.triu_indices(len(balls.radii), 1)
    apart = balls.centres[first] - balls.centres[second]
    length = np.linalg.norm(apart, axis=1)
    distinct = length > _POINT
    first, second = first[distinct], second[distinct]
    axis = apart[distinct] / length[distinct, None]
    cosine = (balls.radii[second] - balls.radii[first]) / length[distinct]
    tied = np.abs(cosine) < 1.0
    first, axis, cosine = first[tied], axis[tied], cosine[tied]
    highest = -np.inf
    for k, (centre, radius) in enumerate(zip(*balls, strict=True)):
        own = first == k
        tried = [_directions(_AROUND), body.centres - centre]
        for normal, along in zip(axis[own], cosine[own], strict=True):
            tried.append(_on_circle(normal, along, body.centres - centre))
        tried.append(_on_two_circles(axis[own], cosine[own]))
        directions = np.vstack(tried)
        length = np.linalg.norm(directions, axis=1)
        directions = directions[length > _POINT] / length[length > _POINT, None]
        reached = balls.support(directions)
        top = directions @ centre + radius >= reached - _POINT
        directions, reached = directions[top], reached[top]
        for part in range(0, len(directions), _AT_ONCE):
            rows = slice(part, part + _AT_ONCE)
            gaps = body.support(directions[rows]) - reached[rows]
            highest = max(highest, float(gaps.max()))
    return highest


def _on_circle(normal: np.ndarray, along: float, aims: np.ndarray) -> np.ndarray:
    """Unit vectors at an angle to a normal that are nearest to some aims (n, 3)."""
    across = aims - np.outer(aims @ normal, normal)
    length = np.linalg.norm(across, axis=1)
    across = across[length > _POINT] / length[length > _POINT, None]
    return along * normal + np.sqrt(1.0 - along**2) * across


def _on_two_circles(normals: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Unit vectors at given angles to two normals each, of all pairs of them."""
    one, other = np.triu_indices(len(normals), 1)
    line = np.cross(normals[one], normals[other])
    square = (line**2).sum(axis=1)
    kept = square > _POINT
    one, other, line, square = one[kept], other[kept], line[kept], square[kept]
    base = along[one, None] * np.cross(normals[other], line)
    base -= along[other, None] * np.cross(normals[one], line)
    base /= square[:, None]
    left = 1.0 - (base**2).sum(axis=1)
    base, line, left = base[left > 0], line[left > 0], left[left > 0]
    rise = np.sqrt(left)[:, None] * line / np.linalg.norm(line, axis=1)[:, None]
    return np.vstack([base + rise, base - rise])


@lru_cache(maxsize=4)
def _directions(subdivisions: int) -> np.ndarray:
    """Unit vectors, evenly spread (n, 3)."""
    import trimesh  # slow to load

    return np.array(trimesh.creation.icosphere(subdivisions).vertices)


SHARE = 0.005
"""What may be left out of a link, or added to it, in heights of the model."""
SOLE_SHARE = 0.05
"""What lies less than this above a sole belongs to it, in lengths of the sole."""
_EXACT = 1e-9


@dataclass(frozen=True, eq=False)
class BodyFeatures:
    """Points and balls on the links of a model; n of them.

    Attributes:
        names: link and number, as ``torso.3``.
        links: links that carry them.
        places: in the frames of these links (n, 3) [m].
        radii: zero for points (n,) [m].
    """

    names: tuple[str, ...]
    links: tuple[str, ...]
    places: np.ndarray
    radii: np.ndarray

    def some(self, which: np.ndarray) -> BodyFeatures:
        """Those of some rows."""
        return BodyFeatures(
            tuple(self.names[k] for k in which),
            tuple(self.links[k] for k in which),
            self.places[which],
            self.radii[which],
        )

    def record(self) -> dict[str, list[Any]]:
        """Plain data: by name the link, the place in its frame and the radius."""
        rows = zip(self.links, self.places.tolist(), self.radii.tolist(), strict=True)
        return {
            name: [link, *place, radius]
            for name, (link, place, radius) in zip(self.names, rows, strict=True)
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Sequence[Any]]) -> BodyFeatures:
        """The features that :meth:`record` gave; ValueError where it gave none."""
        links = tuple(str(row[0]) for row in record.values())
        numbers = np.array([row[1:] for row in record.values()], dtype=float)
        if not np.isfinite(numbers).all():
            raise ValueError("a feature has no finite place")
        numbers = numbers.reshape(len(links), 4)
        return cls(tuple(record), links, numbers[:, :3], numbers[:, 3])

    def in_joints(self, model: Model) -> tuple[list[int], np.ndarray]:
        """Joints that carry the links, and places in the frames of these joints."""
        joints, places = [], []
        for link, place in zip(self.links, self.places, strict=True):
            if not model.pin.existFrame(link):
                raise ParameterError(f"{model.name} has no link '{link}'")
            frame = model.pin.frames[model.pin.getFrameId(link)]
            joints.append(int(frame.parentJoint))
            places.append(frame.placement.act(place))
        return joints, np.array(places).reshape(-1, 3)


def body_features(
    model: Model,
    contacts: Sequence[str] | None = None,
    radii: Mapping[str, float] | None = None,
) -> BodyFeatures:
    """Features that touch in addition to tags (``contacts``, ``radii`` [m])."""
    tags = model.contact_names if contacts is None else tuple(contacts)
    touching = _touching(model, tags, radii or {})
    tolerance = 2.0 * SHARE * model_height(model)
    names, links, places, sizes = [], [], [], []
    for joint, shapes in shapes_of_joints(model).items():
        body, given = hull_of(shapes), touching.get(joint, NOTHING)
        feet = _sole_of(model, joint, tags)
        if feet is not None:
            body = _above(body, *feet)
        if not len(body.radii):
            continue
        balls = cover(body, tolerance, given)
        grown = 0.0 if len(given.radii) else left_out(body, balls) / 2.0
        grown = round(grown, _DIGITS)
        link = shapes[0].link
        frame = model.pin.frames[model.pin.getFrameId(link)].placement
        for k, (centre, radius) in enumerate(zip(*balls, strict=True)):
            names.append(f"{link}.{k}")
            links.append(link)
            places.append(frame.actInv(centre))
            sizes.append(radius + (grown if grown > _EXACT else 0.0))
    return BodyFeatures(
        tuple(names), tuple(links), np.array(places).reshape(-1, 3), np.array(sizes)
    )


def model_height(model: Model) -> float:
    """Height of a model in its zero position, lowest to highest shape or tag [m]."""
    data = model.data()
    pin.forwardKinematics(model.pin, data, model.neutral())
    heights = list(model.tags(model.neutral())[:, 2])
    for joint, shapes in shapes_of_joints(model).items():
        body, up = hull_of(shapes), data.oMi[joint].rotation[2]
        z = body.centres @ up + data.oMi[joint].translation[2]
        heights += [float((z + body.radii).max()), float((z - body.radii).min())]
    return max(heights) - min(heights)


def shapes_of_joints(model: Model) -> dict[int, list[CollisionShape]]:
    """Collision shapes by the joint that carries them."""
    by_joint: dict[int, list[CollisionShape]] = {}
    for shape in collision_shapes(model):
        by_joint.setdefault(shape.joint, []).append(shape)
    return by_joint


def hull_of(shapes: Sequence[CollisionShape]) -> Balls:
    """Vertices of the convex hull of some shapes of one joint, with their radii."""
    return outermost(
        joined(
            *(
                Balls(shape.vertices, np.full(len(shape.vertices), shape.radius))
                for shape in shapes
            )
        )
    )


def _touching(
    model: Model, tags: Sequence[str], radii: Mapping[str, float]
) -> dict[int, Balls]:
    """Tags that touch, by their joints."""
    points = model.tag_points(tags)
    sizes = np.array([radii.get(name, 0.0) for name in tags])
    return {
        joint: Balls(points.local[points.row == k], sizes[points.row == k])
        for k, joint in enumerate(points.joints)
    }


def _sole_of(
    model: Model, joint: int, tags: Sequence[str]
) -> tuple[np.ndarray, float] | None:
    """Upwards in a foot's joint frame, and the height up to which its sole goes [m].

    The model's own contact points lie on soles; None for links without any.
    """
    feet = {tag for sole in model.soles for tag in load_tags(sole)}
    feet |= set(model.contact_names)
    names = [name for name in tags if name in feet]
    points = model.tag_points(names)
    if joint not in points.joints:
        return None
    own = points.local[points.row == points.joints.index(joint)]
    frames = [model.pin.frames[model.pin.getFrameId(sole.name)] for sole in model.soles]
    turns = [f.placement.rotation for f in frames if int(f.parentJoint) == joint]
    if turns:
        up = turns[0][:, 2]
    else:  # of a model without soles: as it stands in its zero position
        data = model.data()
        pin.forwardKinematics(model.pin, data, model.neutral())
        up = data.oMi[joint].rotation[2]
    # Balls of a sole lie in it: its plane is that of the lowest corner there is.
    corners = model.tag_points(model.contact_names)
    if joint in corners.joints:
        own = corners.local[corners.row == corners.joints.index(joint)]
    length = float(np.linalg.norm(np.ptp(own, axis=0)))
    return np.array(up), float((own @ up).min()) + SOLE_SHARE * length


def _above(body: Balls, up: np.ndarray, height: float) -> Balls:
    """The part of a body above a height."""
    return body.some(body.centres @ up - body.radii > height)
