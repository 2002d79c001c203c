# SPDX-License-Identifier: Apache-2.0
"""Closed contacts on terrain that come to another face, edge or corner of it.

There the normal turns, or its curvature jumps: an event, at which contacts are decided
anew. A point that slides over a convex edge flies from there, one that slides into a
valley hits its other side, a ball rolls from a face onto an edge.
"""

from __future__ import annotations

import numpy as np

from humans_sim.contact.geometry.terrain import FurtherContact, TriangleMesh
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import System

Facets = tuple[tuple[int, int, int], ...]
"""Point, mesh and feature of each closed contact on terrain, sorted."""


class FacetChanges:
    """Compares what closed contacts touch at the two ends of a step.

    The contacts of one point with one mesh are compared together: in a valley the first
    and the second change places by a rounding error, and nothing happens.

    Args:
        system: what moves.
    """

    def __init__(self, system: System) -> None:
        """Note which solids are of one mesh."""
        self._system: ModelSystem | None = None
        self._which = np.zeros(0, dtype=np.int64)
        self._start: Facets = ()
        if not isinstance(system, ModelSystem):
            return
        mesh, meshes = -1, []
        for solid in system.ground.solids:
            mesh += isinstance(solid, TriangleMesh)
            of_mesh = isinstance(solid, TriangleMesh | FurtherContact)
            meshes.append(mesh if of_mesh else -1)
        if mesh >= 0:
            self._system = system
            self._meshes = np.array(meshes)

    def begin(self, q: np.ndarray, which: np.ndarray) -> None:
        """Watch closed contacts from a configuration on.

        Args:
            q: configuration.
            which: closed contacts (indices).
        """
        if self._system is None:
            return
        points = which[which < len(self._system.contact_points) * len(self._meshes)]
        self._which = points[self._meshes[points % len(self._meshes)] >= 0]
        self._start = self._facets(q)

    def changed(self, q: np.ndarray) -> bool:
        """Whether a closed contact touches something else than at the start."""
        return bool(self._which.size) and self._facets(q) != self._start

    def _facets(self, q: np.ndarray) -> Facets:
        if self._system is None or not self._which.size:
            return ()
        features = self._system.surface_features(q, self._which)
        points, solids = np.divmod(self._which, len(self._meshes))
        rows = zip(points, self._meshes[solids], features, strict=True)
        return tuple(sorted((int(p), int(m), int(f)) for p, m, f in rows))
