# SPDX-License-Identifier: Apache-2.0
"""Where a model touches its scene, as it is drawn: forces, support, centre of pressure.

All of it comes from the contact points alone, whoever knows them: a simulation, a run
or a topic.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from humans_sim.core.convex_polygon import convex_hull
from humans_sim.dynamics.soles import PointContacts, Soles
from humans_sim.models.legs import tag_of

_LEAST_FORCE = 0.005
"""Least force that is drawn, in weights of the body."""
_LOADED = 0.02
"""Share of the weight that makes a link part of the support."""


@dataclass(frozen=True)
class Touches:
    """All contact points of a model at one time, in the world; n rows.

    Attributes:
        names: of the contacts; what follows a slash is the solid that is touched.
        links: that carry them.
        surfaces: that they touch or may touch.
        gap: distance to the surface (n,) [m].
        position: (n, 3) [m].
        normal: from the surface to the model (n, 3).
        force: of the surface on the model (n, 3) [N].
    """

    names: tuple[str, ...]
    links: tuple[str, ...]
    surfaces: tuple[str, ...]
    gap: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    force: np.ndarray

    @classmethod
    def of_points(cls, soles: Soles, points: PointContacts) -> Touches:
        """Touches of a simulation."""
        return cls(
            tuple(soles.names[k] for k in points.rows),
            tuple(soles.links[k] for k in points.rows),
            tuple(soles.surfaces[k] for k in points.rows),
            points.gap,
            points.position,
            points.normal,
            points.force,
        )

    @property
    def load(self) -> np.ndarray:
        """Forces along the normals (n,) [N]."""
        return np.einsum("ij,ij->i", self.normal, self.force)

    def arrows(self, weight: float, length: float, each: bool = False) -> np.ndarray:
        """Forces as arrows from their places to their tips (n, 2, 3) [m].

        An arrow starts at the centre of the force; its length is in proportion to it.

        Args:
            weight: of the body [N].
            length: of an arrow of one weight [m].
            each: an arrow for each contact point, not for each link and solid.
        """
        load, arrows = self.load, []
        for rows in self._groups(each):
            rows = rows[load[rows] > 0]
            force = self.force[rows].sum(axis=0)
            if np.linalg.norm(force) < _LEAST_FORCE * weight:
                continue
            place = load[rows] @ self.position[rows] / load[rows].sum()
            arrows.append([place, place + length / weight * force])
        return np.array(arrows).reshape(-1, 2, 3)

    def centre(self, weight: float) -> np.ndarray | None:
        """Centre of the pressure of all contacts (3,) [m]; None in the air."""
        load = np.clip(self.load, 0.0, None)
        total = float(load.sum())
        if total < _LEAST_FORCE * weight:
            return None
        return load @ self.position / total

    def support(self, weight: float, near: float) -> np.ndarray:
        """Corners of the support, seen from above, on the ground (n, 3) [m].

        Points of a link that carries load count where they are near the ground: a foot
        that rocks a little stands on all of its sole.

        Args:
            weight: of the body [N].
            near: distance to the ground [m].
        """
        load, loaded = self.load, []
        for rows in self._groups():
            if load[rows].sum() > _LOADED * weight:
                rows = rows[self.gap[rows] < near]
                loaded.append(
                    self.position[rows] - self.gap[rows, None] * self.normal[rows]
                )
        places = np.vstack([np.zeros((0, 3)), *loaded])
        if len(places) < 3:
            return np.zeros((0, 3))
        corners = convex_hull(places[:, :2])
        far = np.abs(places[:, None, :2] - corners).sum(axis=2)
        return places[far.argmin(axis=0)]

    def only(self, points: Collection[str]) -> Touches:
        """The contacts of some points of the model alone."""
        rows = [k for k, n in enumerate(self.names) if tag_of(n) in points]
        return Touches(
            tuple(self.names[k] for k in rows),
            tuple(self.links[k] for k in rows),
            tuple(self.surfaces[k] for k in rows),
            self.gap[rows],
            self.position[rows],
            self.normal[rows],
            self.force[rows],
        )

    def _groups(self, each: bool = False) -> list[np.ndarray]:
        """Rows of each link and solid, or each row."""
        groups: dict[object, list[int]] = {}
        for row, where in enumerate(zip(self.links, self.surfaces, strict=True)):
            groups.setdefault(row if each else where, []).append(row)
        return [np.array(rows) for rows in groups.values()]
