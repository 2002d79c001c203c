# SPDX-License-Identifier: Apache-2.0
"""Contact features of a body beside its feet: points and balls on all of its links.

They stand for the collision geometry of the model's URDF
(:mod:`~humans_sim.models.collision_shapes`). A half space touches nothing of the shapes
that one joint carries but their convex hull, and of that its vertices: with a point at
each of them, and a ball for each end of what is round (one of a ball, two of a
capsule), the contact is exact.

A link with more than :data:`MOST` vertices has no features where time steps take its
solid (:attr:`BodyFeatures.beyond` names these links), else those of its vertices that
go farthest along some directions; they leave out what is between them.

Feet touch with the corners or balls of their soles. What of a foot lies in the thin
layer around the plane of its sole is left to them, and so is a feature where a tag
touches already. Where the layer has a corner beyond these, the edge at its top is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from scipy.spatial import ConvexHull, QhullError

from humans_sim.contact.geometry.link_pairs import LinkSolid, link_solids
from humans_sim.core.errors import ParameterError
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.model import Model
from humans_sim.models.points import frame_index

MOST = 64
"""Most features of the shapes that one joint carries."""
LAYER = 0.01
"""What lies less than this over or under the plane of a sole belongs to it, in lengths
of the sole."""
_TILT = 1e-3
"""Tilt of directions by which the corners of a face are told apart."""
_DIGITS = 10
"""Decimals of heights that are compared [m]: which of two equal vertices comes first
must not hang on how a matrix product rounds."""
_LINK = pin.FrameType.BODY
_SAME = 1e-9
"""Distance below which a feature lies where a tag touches already [m]."""


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
    kept = np.zeros(len(body.radii), dtype=bool)
    for radius in np.unique(body.radii):
        same = np.flatnonzero(body.radii == radius)
        hull = _hull(body.centres[same])
        kept[same if hull is None else same[hull.vertices]] = True
    return body.some(kept)


def _hull(points: np.ndarray) -> ConvexHull | None:
    """The convex hull of points, None where they span no volume."""
    if len(points) < 4:
        return None
    try:
        return ConvexHull(points)
    except QhullError:
        return None


def farthest(body: Balls) -> Balls:
    """Of many balls those that go farthest along directions to all sides.

    These are directions to the corners and edges of a cube, and along each face four,
    tilted a little to its corners: of a box all of its corners are found.
    """
    heights = np.round(body.centres @ _directions().T + body.radii[:, None], _DIGITS)
    return body.some(np.unique(heights.argmax(axis=0)))


@lru_cache(maxsize=1)
def _directions() -> np.ndarray:
    """The unit vectors of :func:`farthest` (44, 3)."""
    corners = np.array(np.meshgrid(*[(-1.0, 1.0)] * 3)).reshape(3, -1).T
    axes = np.arange(3)
    faces = [np.where(axes == axis, corners, _TILT * corners) for axis in range(3)]
    edges = [np.where(axes == axis, 0.0, corners) for axis in range(3)]
    directions = np.unique(np.vstack([*faces, *edges, corners]) + 0.0, axis=0)
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class BodyFeatures:
    """Points and balls on the links of a model; n of them.

    Attributes:
        names: link and number, as ``torso.3``.
        links: links that carry them.
        places: in the frames of these links (n, 3) [m].
        radii: zero for points (n,) [m].
        beyond: links without features: time steps take their solids, as of those with
            too many vertices; a record of them does not keep it.
    """

    names: tuple[str, ...]
    links: tuple[str, ...]
    places: np.ndarray
    radii: np.ndarray
    beyond: tuple[str, ...] = ()

    def some(self, which: np.ndarray) -> BodyFeatures:
        """Those of some rows."""
        return BodyFeatures(
            tuple(self.names[k] for k in which),
            tuple(self.links[k] for k in which),
            self.places[which],
            self.radii[which],
            self.beyond,
        )

    def left_to_solids(self) -> BodyFeatures:
        """None: time steps take the solids of all links."""
        every = tuple(dict.fromkeys((*self.links, *self.beyond)))
        return replace(self.some(np.zeros(0, dtype=np.int64)), beyond=every)

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
            if not model.pin.existFrame(link, _LINK):
                raise ParameterError(f"{model.name} has no link '{link}'")
            frame = model.pin.frames[frame_index(model.pin, link)]
            joints.append(int(frame.parentJoint))
            places.append(frame.placement.act(place))
        return joints, np.array(places).reshape(-1, 3)


def body_features(
    model: Model,
    contacts: Sequence[str] | None = None,
    radii: Mapping[str, float] | None = None,
    solids: bool = True,
) -> BodyFeatures:
    """Features that touch in addition to tags (``contacts``, ``radii`` [m]).

    ``solids``: links with too many vertices have none, as their solids touch; else some
    of their vertices stand for them.
    """
    tags = model.contact_names if contacts is None else tuple(contacts)
    touching = _touching(model, tags, radii or {})
    names, links, places, sizes = [], [], [], []
    beyond: list[str] = []
    for joint, shapes in shapes_of_joints(model).items():
        body, tagged = hull_of(shapes), touching.get(joint)
        link = shapes[0].link
        if tagged is not None:
            up = _upwards_of_sole(model, joint)
            body = _without_sole(body, tagged, up)
            if up is not None and not tagged.radii.any():
                cut = link_solids(model, {joint: np.column_stack(tagged)})
                body = _with_tops(body, tagged, joint, cut.values())
        if len(body.radii) > MOST:
            beyond.append(link)
            if solids:
                continue
            body = farthest(body)
        frame = model.pin.frames[frame_index(model.pin, link)].placement
        for k, (centre, radius) in enumerate(zip(*body, strict=True)):
            names.append(f"{link}.{k}")
            links.append(link)
            places.append(frame.actInv(centre))
            sizes.append(radius)
    return BodyFeatures(
        tuple(names),
        tuple(links),
        np.array(places).reshape(-1, 3),
        np.array(sizes),
        tuple(beyond),
    )


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


def _upwards_of_sole(model: Model, joint: int) -> np.ndarray | None:
    """Upwards in the frame of a joint that carries a sole; None for others."""
    for sole in model.soles:
        frame = model.pin.frames[frame_index(model.pin, sole.name)]
        if int(frame.parentJoint) == joint:
            return np.array(frame.placement.rotation[:, 2])
    return None


def _with_tops(
    body: Balls, tagged: Balls, joint: int, links: Iterable[LinkSolid]
) -> Balls:
    """A body with the corners of a joint's solids that are beyond its own and tags."""
    own = [s for link in links if link.joint == joint for s in link.solids]
    corners = [solid.vertices for solid in own if not solid.radius]
    sharp = np.unique(np.vstack([np.zeros((0, 3)), *corners]), axis=0)
    hull = _hull(np.vstack([body.centres, tagged.centres]))
    if hull is not None:
        heights = sharp @ hull.equations[:, :3].T + hull.equations[:, 3]
        sharp = sharp[heights.max(axis=1, initial=-np.inf) > _SAME]
    return outermost(joined(body, Balls(sharp, np.zeros(len(sharp)))))


def _without_sole(body: Balls, tagged: Balls, up: np.ndarray | None) -> Balls:
    """Of a body what tags do not stand for: those that touch, and those of a sole.

    Args:
        body: of one joint.
        tagged: tags that touch, on this joint.
        up: upwards of its sole; None where it has none.
    """
    apart = np.linalg.norm(body.centres[:, None] - tagged.centres, axis=2)
    smaller = body.radii[:, None] <= tagged.radii + _SAME
    kept = ~((apart <= _SAME) & smaller).any(axis=1)
    if up is not None:
        plane = float((tagged.centres @ up - tagged.radii).min())
        thick = LAYER * float(np.linalg.norm(np.ptp(tagged.centres, axis=0)))
        heights = body.centres @ up - plane
        beside = np.abs(heights) + body.radii > thick
        kept &= beside
    return body.some(kept)
