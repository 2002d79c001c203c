# SPDX-License-Identifier: Apache-2.0
"""Contacts of a biped model in a simulation, and the resistance of its joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from humans_sim.contact.geometry.body_features import BodyFeatures, body_features
from humans_sim.contact.geometry.foot_spheres import POINTS, feet_of
from humans_sim.dynamics.joints import Given
from humans_sim.models import Model
from humans_sim.models.description import SelfCollision


@dataclass(frozen=True)
class Contacts:
    """Contacts of a biped model, the limits of its joints, and their friction.

    Attributes:
        points: tags that may touch the scene; by default those of the controller, or
            the model's contact points.
        radii: balls around contact points, by name [m].
        geometry: how the feet touch: ``points`` (the contacts as they are), ``soles``
            (the corners of the soles alone), ``spheres`` (a heel ball and two fore-foot
            balls in each sole) or ``sole_points`` (points all over the soles, which
            feel edges under their middle; see
            :mod:`~humans_sim.contact.geometry.foot_spheres`).
        whole_body: whether the links touch with their collision geometry, too
            (:mod:`~humans_sim.contact.geometry.body_features`); by default unless
            ``points`` are given.
        self_collision: whether links that are no neighbours touch each other, or keys
            that add to the model's own: ``exclude`` and ``include`` (pairs of links),
            ``friction`` (by default the ground's); by default true,
            but of ``event_driven`` runs only of those with ``whole_body``.
        limits: whether joints stop at their limits; or other limits for some, by name:
            (lower, upper) [rad].
        limit_restitution: Newton's coefficient of a joint at its limit.
        joint_damping: whether the damping of the model's joints acts; or other values
            for some, by name [N m s/rad].
        joint_friction: the same for their dry friction [N m]
            (:mod:`~humans_sim.dynamics.joints`).
    """

    points: Sequence[str] | None = None
    radii: Mapping[str, float] | None = None
    geometry: str = POINTS
    whole_body: bool | None = None
    self_collision: bool | Mapping[str, Any] | None = None
    limits: bool | Mapping[str, tuple[float, float]] = True
    limit_restitution: float = 0.0
    joint_damping: Given = True
    joint_friction: Given = True

    def over(self, defaults: Contacts) -> Contacts:
        """These, and the points, radii and links of others where these say nothing."""
        points, radii, whole_body = self.points, self.radii, self.whole_body
        if whole_body is None:
            whole_body = defaults.whole_body if points is None else False
        if points is None and radii is None and self.geometry == POINTS:
            points, radii = defaults.points, defaults.radii
        return replace(self, points=points, radii=radii, whole_body=whole_body)

    def of_model(
        self, model: Model, points_alone: bool, solids: bool = True
    ) -> tuple[Model, Contacts, BodyFeatures | None]:
        """The model with its feet, points and radii, and what else of it touches.

        Args:
            model: of the biped.
            points_alone: whether points and balls stand for its links, as events take
                them.
            solids: whether time steps take links that have too many points.
        """
        points, radii = self.points, self.radii
        if self.geometry != POINTS:
            feet = feet_of(model, self.geometry, points)
            model, points = feet.model, feet.contacts
            radii = {**feet.radii, **(radii or {})}
        whole, body = self.whole_body is None or self.whole_body, None
        if whole and points_alone:
            body = body_features(model, points, radii, solids)
        return model, replace(self, points=points, radii=radii, whole_body=whole), body


def own_links(model: Model, given: bool | Mapping[str, Any] | None) -> SelfCollision:
    """Which links of a model touch each other; None: those of the model."""
    own = model.parts.self_collision
    return own if given is None else own.with_changes(given)
