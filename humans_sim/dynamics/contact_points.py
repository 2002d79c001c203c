# SPDX-License-Identifier: Apache-2.0
"""The points of a model that may touch: tags, then features of its body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from humans_sim.contact.geometry.body_features import BodyFeatures
from humans_sim.core.errors import ParameterError
from humans_sim.models import Model
from humans_sim.models.points import PointSet


class ContactPoints(NamedTuple):
    """Points that may touch; n of them.

    Attributes:
        names: of the points, tags first (n,).
        links: that carry them (n,).
        points: where they are.
        features: those that are no tags; None where there are none.
    """

    names: tuple[str, ...]
    links: tuple[str, ...]
    points: PointSet
    features: BodyFeatures | None

    @classmethod
    def of(
        cls,
        model: Model,
        tags: tuple[str, ...],
        features: BodyFeatures | None,
        locked: np.ndarray,
    ) -> ContactPoints:
        """Tags of a model, and features of those of its links that can move.

        Args:
            model: the model.
            tags: names of tags.
            features: of its body, or None.
            locked: velocities that are zero.

        Raises:
            ParameterError: there is no such tag or link, or a name stands twice.
        """
        fixed = model.tag_points(tags)
        own = {tag.name: tag.link for tag in model.parts.tags}
        links = tuple(own[name] for name in tags)
        if features is None:
            return cls(tags, links, fixed, None)
        taken = sorted(set(tags) & set(features.names))
        if taken:
            raise ParameterError(f"two contact points are called '{taken[0]}'")
        joints, places = features.in_joints(model)
        reached = PointSet(model.pin, joints, places).support.copy()
        reached[:, locked] = False
        moving = np.flatnonzero(reached.any(axis=1))
        features = features.some(moving)
        carriers = [fixed.joints[k] for k in fixed.row] + [joints[k] for k in moving]
        return cls(
            (*tags, *features.names),
            (*links, *features.links),
            PointSet(model.pin, carriers, np.vstack([fixed.local, places[moving]])),
            features,
        )

    def bounding_balls(self, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres (m, 3) and radii (m,) of balls round the points of each link [m].

        Args:
            radii: of the points (n,) [m].
        """
        points = self.points
        centres = np.zeros((len(points.joints), 3))
        reaches = np.zeros(len(points.joints))
        for k in range(len(points.joints)):
            own = points.row == k
            places = points.local[own]
            centres[k] = (places.min(axis=0) + places.max(axis=0)) / 2.0
            far = np.linalg.norm(places - centres[k], axis=1) + radii[own]
            reaches[k] = far.max()
        return centres, reaches
