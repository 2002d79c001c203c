# SPDX-License-Identifier: Apache-2.0
"""Mass, centre and inertia of rigid bodies: from particles, primitives or meshes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.core.arrays import finite_array
from humans_sim.core.errors import HumansError

if TYPE_CHECKING:
    import trimesh

_ROUND = 1e-9
"""Relative error of a matrix that is still symmetric, or of a moment [1]."""


class BodyError(HumansError, ValueError):
    """A body that cannot be."""


@dataclass(frozen=True)
class MassProperties:
    """How the mass of a rigid body is spread.

    Attributes:
        mass: in all [kg].
        center: of mass, in the body's frame (3,) [m].
        inertia: about the centre, along the axes of the body's frame (3, 3) [kg m^2].
    """

    mass: float
    center: np.ndarray
    inertia: np.ndarray

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mass) and self.mass > 0):
            raise BodyError(f"the mass must be positive, not {self.mass} kg")
        center = _numbers(self.center, (3,), "the centre of mass")
        inertia = _numbers(self.inertia, (3, 3), "the inertia")
        size = np.abs(inertia).max()
        if np.abs(inertia - inertia.T).max() > _ROUND * size:
            raise BodyError("the inertia must be a symmetric matrix")
        moments = np.linalg.eigvalsh(inertia)
        if not moments[0] > 0:
            raise BodyError(
                f"the inertia must be positive: its moments are {moments} kg m^2"
            )
        if moments[2] > (moments[0] + moments[1]) * (1 + _ROUND):
            raise BodyError(
                "no spread of mass has a moment above the sum of the two others: "
                f"{moments} kg m^2"
            )
        object.__setattr__(self, "center", center)
        object.__setattr__(self, "inertia", (inertia + inertia.T) / 2)

    def moved(self, rotation: np.ndarray, translation: np.ndarray) -> MassProperties:
        """The same body, turned and then shifted in its frame."""
        return MassProperties(
            self.mass,
            rotation @ self.center + translation,
            rotation @ self.inertia @ rotation.T,
        )

    def __add__(self, other: MassProperties) -> MassProperties:
        mass = self.mass + other.mass
        center = (self.mass * self.center + other.mass * other.center) / mass
        inertia = np.zeros((3, 3))
        for part in (self, other):
            inertia += part.inertia + part.mass * _spread(part.center - center)
        return MassProperties(mass, center, inertia)


def of_particles(masses: Sequence[float], positions: np.ndarray) -> MassProperties:
    """A body of particles, in its frame [kg, m]; not on a line: no inertia about it."""
    weights = _numbers(masses, (len(masses),), "the masses")
    places = _numbers(positions, (len(weights), 3), "the positions")
    if np.any(weights < 0):
        bad = int(np.flatnonzero(weights < 0)[0])
        raise BodyError(f"particle {bad} has a negative mass: {weights[bad]} kg")
    mass = float(weights.sum())
    if not mass > 0:
        raise BodyError("the particles have no mass")
    center = weights @ places / mass
    arms = places - center
    squares = np.einsum("n,ni,nj->ij", weights, arms, arms)
    inertia = np.trace(squares) * np.eye(3) - squares
    if np.linalg.eigvalsh(inertia)[0] <= 1e-12 * np.trace(inertia):
        raise BodyError(
            "the particles lie on a line, or in a point: no inertia about it"
        )
    return MassProperties(mass, center, inertia)


def of_sphere(mass: float, radius: float) -> MassProperties:
    """A solid sphere about its centre."""
    _positive(radius=radius)
    return MassProperties(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))


def of_box(mass: float, size: Sequence[float]) -> MassProperties:
    """A solid box about its centre; size along its axes (3,) [m]."""
    x, y, z = _numbers(size, (3,), "the size")
    _positive(x=x, y=y, z=z)
    moments = mass / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    return MassProperties(mass, np.zeros(3), np.diag(moments))


def of_cylinder(mass: float, radius: float, length: float) -> MassProperties:
    """A solid cylinder about its centre, its axis along z."""
    _positive(radius=radius, length=length)
    across = mass * (3 * radius**2 + length**2) / 12
    moments = [across, across, mass * radius**2 / 2]
    return MassProperties(mass, np.zeros(3), np.diag(moments))


def of_mesh(
    mesh: trimesh.Trimesh, *, density: float | None = None, mass: float | None = None
) -> MassProperties:
    """A solid body inside a closed mesh, exactly for the mesh's own volume.

    Args:
        mesh: closed, its faces turned outwards.
        density: [kg/m^3]; or
        mass: [kg].
    """
    if (density is None) == (mass is None):
        raise BodyError("give either the density or the mass of a mesh")
    if len(mesh.faces) == 0 or not mesh.is_watertight:
        edges = 0
        if len(mesh.faces):
            _, counts = np.unique(mesh.edges_sorted, axis=0, return_counts=True)
            edges = int(np.count_nonzero(counts != 2))
        raise BodyError(
            f"the mesh is open: {edges} edges have not two faces; a body needs a "
            "closed surface"
        )
    if not mesh.is_winding_consistent:
        raise BodyError("faces of the mesh are turned different ways")
    corners = np.asarray(mesh.triangles, dtype=float)
    # Tetrahedra from a point near the mesh to each face: exact for polynomials.
    origin = corners.reshape(-1, 3).mean(axis=0)
    a, b, c = np.moveaxis(corners - origin, 1, 0)
    volumes = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6
    volume = float(volumes.sum())
    if not volume > 0:
        raise BodyError(f"the mesh is inside out: its volume is {volume:g} m^3")
    first = np.einsum("n,ni->i", volumes, a + b + c) / 4
    total = a + b + c
    second = np.einsum("n,ni,nj->ij", volumes, total, total)
    for corner in (a, b, c):
        second += np.einsum("n,ni,nj->ij", volumes, corner, corner)
    second /= 20
    heavy = density if density is not None else float(mass or 0.0) / volume
    if not (np.isfinite(heavy) and heavy > 0):
        what = "density" if density is not None else "mass"
        raise BodyError(f"the {what} must be positive")
    center = first / volume
    squares = second - volume * np.outer(center, center)
    inertia = np.trace(squares) * np.eye(3) - squares
    return MassProperties(heavy * volume, center + origin, heavy * inertia)


def _spread(arm: np.ndarray) -> np.ndarray:
    """Inertia of a unit mass at a place."""
    return float(arm @ arm) * np.eye(3) - np.outer(arm, arm)


def _positive(**lengths: float) -> None:
    for name, value in lengths.items():
        if not (np.isfinite(value) and value > 0):
            raise BodyError(f"{name} must be positive, not {value} m")


def _numbers(values: object, shape: tuple[int, ...], what: str) -> np.ndarray:
    return finite_array(values, shape, what, BodyError).copy()
