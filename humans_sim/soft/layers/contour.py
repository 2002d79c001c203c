# SPDX-License-Identifier: Apache-2.0
"""The contour of a point model as a probe feels it (thesis, section 5.3).

A model of points has no contour of its own. A probe that comes near feels a force;
where it is larger than what the probe can tell from nothing, there the model is. A ball
as a probe touches with its surface: it feels the same, farther out by its radius.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh

from humans_sim.core.budget import GRID_POINTS
from humans_sim.soft.errors import SoftError
from humans_sim.soft.networks import link_kernels as kernels
from humans_sim.soft.networks.laws import LinkLaw
from humans_sim.soft.networks.tables import state_table
from humans_sim.soft.surfaces.polygons import mesh_of


@dataclass(frozen=True)
class ProbeField:
    """Force on a probe from points, by a law of the distance.

    Attributes:
        points: of the model (n, 3) [m].
        law: between a point and the probe.
        radius: of the probe; 0 for a point [m].
    """

    points: np.ndarray
    law: LinkLaw
    radius: float = 0.0

    def value(self, places: np.ndarray) -> np.ndarray:
        """Modulus of the force on a probe at places (m, 3) (m,) [N]."""
        total = np.zeros((len(places), 3))
        for point in np.asarray(self.points, dtype=float):
            away = places - point
            distance = np.linalg.norm(away, axis=1)
            force = _forces(self.law, distance - self.radius)
            with np.errstate(invalid="ignore", divide="ignore"):
                u = np.where(distance[:, None] > 0, away / distance[:, None], 0.0)
            total += force[:, None] * u
        return np.asarray(np.linalg.norm(total, axis=1))

    def gradient(self, places: np.ndarray) -> np.ndarray:
        """By central differences (m, 3) [N/m]."""
        steps = 1e-6 * np.eye(3)
        return np.stack(
            [(self.value(places + s) - self.value(places - s)) / 2e-6 for s in steps],
            axis=1,
        )


@dataclass(frozen=True)
class Contour:
    """What a probe feels on a grid.

    Attributes:
        inside: whether the force is above the sensitivity (nx, ny, nz).
        origin: of the first voxel's middle [m].
        spacing: of the voxels [m].
        field: the force.
        sensitivity: of the probe [N].
    """

    inside: np.ndarray
    origin: np.ndarray
    spacing: float
    field: ProbeField
    sensitivity: float

    @property
    def volume(self) -> float:
        """[m³]."""
        return float(self.inside.sum()) * self.spacing**3

    def spectrum(self) -> np.ndarray:
        """Modulus of the Fourier transform: low frequencies size, high ones roughness.

        The first entry is the volume [m³].
        """
        return np.asarray(np.abs(np.fft.rfftn(self.inside)) * self.spacing**3)

    def mesh(self) -> trimesh.Trimesh:
        """The contour as a closed surface; of hollow ones both sides."""
        high = self.origin + self.spacing * (np.array(self.inside.shape) - 1)
        bounds = np.array([self.origin, high])
        return mesh_of(self.field, self.sensitivity, bounds, self.spacing)


def contour(
    points: np.ndarray,
    law: LinkLaw,
    sensitivity: float,
    spacing: float,
    radius: float = 0.0,
    reach: float = 0.0,
) -> Contour:
    """The contour of points as a probe feels them.

    Args:
        points: of the model (n, 3) [m].
        law: of the force between a point and the probe, by their distance.
        sensitivity: force that the probe tells from nothing [N].
        spacing: of the voxels [m].
        radius: of a ball as a probe; 0 for a point [m].
        reach: distance beyond which the law has no force; that of a stop unless given.

    Raises:
        SoftError: nothing can be felt so, or the grid would be too large.
    """
    points = np.atleast_2d(np.asarray(points, dtype=float))
    reach = reach or float(getattr(law, "reach", getattr(law, "outer", 0.0)))
    if not (sensitivity > 0.0 and spacing > 0.0 and reach > 0.0 and radius >= 0.0):
        raise SoftError("a contour needs a sensitivity, a spacing and a reach above 0")
    margin = reach + radius + 2 * spacing
    low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
    sides = np.ceil((high - low) / spacing) + 1
    GRID_POINTS.check("a contour", *sides, error=SoftError)
    counts = sides.astype(int)
    axes = [low[k] + spacing * np.arange(counts[k]) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    field = ProbeField(points, law, radius)
    inside = (field.value(grid) > sensitivity).reshape(counts)
    return Contour(inside, low, spacing, field, sensitivity)


def _forces(law: LinkLaw, distances: np.ndarray) -> np.ndarray:
    """Repelling forces of a law at rest at distances (n,) [N]."""
    states = state_table([law.automaton()], 1.0)
    return np.asarray(kernels.forces_at_rest(states, np.ascontiguousarray(distances)))
