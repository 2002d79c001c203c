# SPDX-License-Identifier: Apache-2.0
"""A wrist: bones with their roles, and the ligaments between them.

Mass and inertia of the bones come from their voxels, their balls or their mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from humans_sim.anatomy.balls.ball_model import BallModel
from humans_sim.anatomy.balls.covers import fill_balls
from humans_sim.anatomy.detection.contacts import ROLES, ContactDetector, Poses
from humans_sim.anatomy.detection.pair_list import BallTable
from humans_sim.anatomy.errors import AnatomyError
from humans_sim.anatomy.mechanics.ligaments import Ligament, Ligaments
from humans_sim.anatomy.volumes.volume import Volume
from humans_sim.bodies.mass_properties import MassProperties, of_mesh
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies

if TYPE_CHECKING:
    import trimesh


@dataclass(frozen=True)
class Bone:
    """A bone at rest: closed mesh [m], balls and mass in the wrist's frame.

    Its role is ``free``, ``driven`` or ``fixed``; repairs were done to its mesh.
    """

    name: str
    role: str
    mesh: trimesh.Trimesh
    model: BallModel
    mass: MassProperties
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Wrist:
    """Bones and ligaments at rest.

    Attributes:
        title: one line.
        bones: in the order of their numbers.
        ligaments: between them, by bones' numbers.
        numbers: of the ligaments in the thesis' figure; 0 for others.
        centre: about which the driven bones turn (3,) [m].
        synthetic: whether the bones are made of formulas.
    """

    title: str
    bones: tuple[Bone, ...]
    ligaments: Ligaments
    numbers: tuple[int, ...]
    centre: np.ndarray
    synthetic: bool

    def __post_init__(self) -> None:
        names = self.names
        for name in names:
            if names.count(name) > 1:
                raise AnatomyError(f"two bones are called '{name}'")
        for bone in self.bones:
            if bone.role not in ROLES:
                known = ", ".join(ROLES)
                own = f"the role '{bone.role}' of {bone.name}"
                raise AnatomyError(f"{own} is not known (there are: {known})")
        if not any(bone.role == "free" for bone in self.bones):
            raise AnatomyError("no bone is free: nothing would move")

    @property
    def names(self) -> tuple[str, ...]:
        """Of the bones."""
        return tuple(bone.name for bone in self.bones)

    @property
    def roles(self) -> tuple[str, ...]:
        """Of the bones."""
        return tuple(bone.role for bone in self.bones)

    @property
    def free(self) -> np.ndarray:
        """Numbers of the free bones (f,)."""
        return np.flatnonzero([role == "free" for role in self.roles])

    @property
    def centres(self) -> np.ndarray:
        """Of mass, at rest (n, 3) [m]."""
        return np.array([bone.mass.center for bone in self.bones])

    def number(self, name: str) -> int:
        """Of a bone, by its name."""
        if name not in self.names:
            known = ", ".join(self.names)
            raise AnatomyError(f"no bone is called '{name}' (there are: {known})")
        return self.names.index(name)

    def cut(self, *ligaments: str) -> Wrist:
        """The wrist with ligaments cut."""
        left = self.ligaments.without(*ligaments)
        pairs = zip(self.ligaments.names, self.numbers, strict=True)
        numbers = tuple(number for name, number in pairs if name not in ligaments)
        return replace(self, ligaments=left, numbers=numbers)

    def bare(self) -> Wrist:
        """The bones alone, without ligaments."""
        return replace(self, ligaments=Ligaments([]), numbers=())

    def grown(self, by: float) -> Wrist:
        """The wrist with balls larger by a length, as of a coarse segmentation [m]."""
        if not (np.isfinite(by) and by >= 0):
            raise AnatomyError(f"balls grow by 0 or more, not by {by} m")
        bones = tuple(
            replace(bone, model=BallModel(bone.model.centres, bone.model.radii + by))
            for bone in self.bones
        )
        return replace(self, bones=bones)

    def bodies(self) -> RigidBodies:
        """The bones as rigid bodies."""
        return RigidBodies([bone.mass for bone in self.bones])

    def rest(self) -> BodyState:
        """All bones where they are, at rest."""
        return self.bodies().state(self.centres)

    def detector(self) -> ContactDetector:
        """Search for contacts of its balls."""
        return ContactDetector([bone.model for bone in self.bones], self.roles)

    def balls(self) -> BallTable:
        """All balls, from their bones' centres of mass."""
        return BallTable([bone.model for bone in self.bones], self.centres)

    def poses(self, x: np.ndarray, frames: np.ndarray) -> Poses:
        """Poses of the models from centres of mass (n, 3) and rotations (n, 3, 3)."""
        return Poses(frames, x - np.einsum("nij,nj->ni", frames, self.centres))


def tie(
    name: str,
    bones: Sequence[Bone],
    ends: tuple[int, int],
    points: tuple[np.ndarray, np.ndarray],
    law: tuple[float, float, float, float],
) -> Ligament:
    """A ligament between points of two bones at rest, in the wrist's frame (3,) [m].

    The law has the strain at rest, the greatest length over the slack length, stiffness
    [N/m] and damping [N s/m].
    """
    strain, greatest, stiffness, damping = law
    i, j = ends
    length = float(np.linalg.norm(points[0] - points[1]))
    slack = length / (1 + strain)
    arms = [at - bones[n].mass.center for at, n in zip(points, ends, strict=True)]
    lengths = slack, greatest * slack
    return Ligament(name, i, arms[0], j, arms[1], *lengths, stiffness, damping)


BONE_DENSITY = 1800.0
"""Of compact bone [kg/m^3]; carpal bones, spongy inside, are lighter."""


def mass_of_volume(volume: Volume, density: float = BONE_DENSITY) -> MassProperties:
    """Mass properties of a bone's voxels, each a solid cube, of a density [kg/m^3]."""
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
    mass, place = density * total * edge**3, volume.origin + edge * centre
    return MassProperties(mass, place, density * edge**5 * inertia)


def mass_of_balls(
    model: BallModel, density: float = BONE_DENSITY, spacing: float | None = None
) -> MassProperties:
    """Mass properties of the union of balls, where they overlap counted once.

    By voxels of an edge [m]: a hundredth of its longest extent unless given.
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
