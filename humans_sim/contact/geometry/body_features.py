# SPDX-License-Identifier: Apache-2.0
"""What of a body touches beside its feet: points and balls on all of its links.

They stand for the collision geometry of the model's URDF
(:mod:`~humans_sim.models.collision_shapes`). The shapes that one joint carries count as
one convex body: a plane touches nothing else of them. Its corners, and balls inside
where it is round, are chosen by :mod:`~humans_sim.contact.geometry.hull_cover`.

What the body stands out of them by is shared: balls and points are made larger by half
of it. The rest, :attr:`BodyFeatures.left_out`, is at most :data:`SHARE` of the model's
height for every link but the feet, and zero for boxes, balls and capsules alone.

Feet touch with the corners or balls of their soles as they always did. Their shapes add
only what lies clearly above the sole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from humans_sim.contact.geometry.hull_cover import (
    NOTHING,
    Balls,
    cover,
    joined,
    left_out,
    outermost,
)
from humans_sim.core.errors import ParameterError
from humans_sim.models.collision_shapes import CollisionShape, collision_shapes
from humans_sim.models.model import Model
from humans_sim.models.soles import load_tags

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
        """The features that :meth:`record` gave.

        Raises:
            ValueError: there are not five entries to each, or not four numbers.
        """
        links = tuple(str(row[0]) for row in record.values())
        numbers = np.array([row[1:] for row in record.values()], dtype=float)
        if not np.isfinite(numbers).all():
            raise ValueError("a feature has no finite place")
        numbers = numbers.reshape(len(links), 4)
        return cls(tuple(record), links, numbers[:, :3], numbers[:, 3])

    def in_joints(self, model: Model) -> tuple[list[int], np.ndarray]:
        """Joints that carry the links, and places in the frames of these joints.

        Raises:
            ParameterError: the model has no such link.
        """
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
    """What of a model touches in addition to some of its tags.

    Args:
        model: the model.
        contacts: tags that touch; the model's contact points unless given.
        radii: of balls around them, by name [m].

    Raises:
        ModelFileError: a mesh of the model is missing or unreadable.
    """
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
        grown = left_out(body, balls) / 2.0 if not len(given.radii) else 0.0
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
    """What of a body lies above a height."""
    return body.some(body.centres @ up - body.radii > height)
