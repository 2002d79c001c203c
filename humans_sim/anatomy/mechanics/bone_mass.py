# SPDX-License-Identifier: Apache-2.0
"""Mass and inertia of bones: from their voxels, their balls or their mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.balls.covers import fill_balls
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.volumes.volume import Volume
from humans_sim.bodies.mass_properties import MassProperties, of_mesh

if TYPE_CHECKING:
    import trimesh

BONE_DENSITY = 1800.0
"""Of compact bone [kg/m^3]; carpal bones, spongy inside, are lighter."""


def mass_of_volume(volume: Volume, density: float = BONE_DENSITY) -> MassProperties:
    """Mass properties of a bone's voxels, each a solid cube.

    Args:
        volume: the bone.
        density: [kg/m^3].

    Raises:
        AnatomyError: the density is not positive.
    """
    _check(density)
    total = volume.count
    axes = [np.arange(n, dtype=float) for n in volume.inside.shape]
    # Sums over planes and bars of voxels: no list of voxels, however many there are.
    first = np.empty(3)
    second = np.empty((3, 3))
    for a in range(3):
        others = tuple(b for b in range(3) if b != a)
        line = np.count_nonzero(volume.inside, axis=others)
        first[a] = line @ axes[a]
        second[a, a] = line @ axes[a] ** 2
    for a, b in ((0, 1), (0, 2), (1, 2)):
        plane = np.count_nonzero(volume.inside, axis=3 - a - b)
        second[a, b] = second[b, a] = axes[a] @ plane @ axes[b]
    centre = first / total
    squares = second - total * np.outer(centre, centre) + total * np.eye(3) / 12
    edge = volume.spacing
    inertia = np.trace(squares) * np.eye(3) - squares
    return MassProperties(
        density * total * edge**3,
        volume.origin + edge * centre,
        density * edge**5 * inertia,
    )


def mass_of_balls(
    model: BallModel, density: float = BONE_DENSITY, spacing: float | None = None
) -> MassProperties:
    """Mass properties of the union of balls, where they overlap counted once.

    Args:
        model: the balls.
        density: [kg/m^3].
        spacing: edge of the voxels that are summed [m]; a hundredth of the model's
            longest extent unless given.
    """
    if spacing is None:
        low = (model.centres - model.radii[:, None]).min(axis=0)
        high = (model.centres + model.radii[:, None]).max(axis=0)
        spacing = float((high - low).max()) / 100
    return mass_of_volume(fill_balls(model, spacing), density)


def mass_of_mesh(
    mesh: trimesh.Trimesh, density: float = BONE_DENSITY
) -> MassProperties:
    """Mass properties of what a closed mesh bounds, exactly."""
    _check(density)
    return of_mesh(mesh, density=density)


def _check(density: float) -> None:
    if not (np.isfinite(density) and density > 0):
        raise AnatomyError(f"the density must be positive, not {density} kg/m^3")
