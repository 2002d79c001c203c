# SPDX-License-Identifier: Apache-2.0
"""The scene a model stands in: solids, friction, restitution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from humans_sim.contact.geometry.compliant_surface import CompliantSurface
from humans_sim.contact.geometry.mesh_kernels import (
    NODES,
    NORMALS,
    RANK,
    REACH,
    TRIANGLES,
)
from humans_sim.contact.geometry.solids import Box, HalfSpace
from humans_sim.contact.geometry.terrain import RANKS, FurtherContact, TriangleMesh
from humans_sim.contact.geometry.terrain_shapes import (
    ramp_mesh,
    rubble_field,
    stairs_mesh,
)
from humans_sim.core.budget import SOLIDS
from humans_sim.core.errors import ParameterError

Solid = HalfSpace | Box | TriangleMesh | FurtherContact
"""What a scene can be built of; balls are of free bodies (:mod:`humans_sim.bodies`)."""

LAWS = ("coulomb", "sticking")
SEAT_HEIGHT, SEAT_DEPTH, SEAT_WIDTH, SEAT_THICKNESS = 0.45, 0.40, 0.44, 0.04
BACK_HEIGHT, BACK_THICKNESS = 0.42, 0.03


@dataclass(frozen=True)
class Ground:
    """What the contact points of a model may touch.

    Attributes:
        friction: Coulomb's coefficient of solids that have none of their own.
        restitution: Newton's coefficient of an impact, 0 (plastic) to 1.
        law: ``coulomb``, or ``sticking``: a closed contact never slides, as in the
            HuMAnS manual.
        solids: what can be touched; a floor at height zero unless given. Each mesh is
            followed by the further contacts that points have with it in its valleys.
        rolling: a ball's moment of rolling friction over its normal force [m] (method
            ``time_stepping``).
        torsional: moment of friction about the normal, over the normal force [m]
            (method ``time_stepping``).
        surface: one that gives way, above the solid of its name; None for none
            (:mod:`humans_sim.soft`).

    Examples:
        >>> import humans_sim as hs
        >>> ice = hs.Ground(friction=0.1)
        >>> stairs = ice.with_stairs(count=3, rise=0.02, depth=0.4, start=0.5)
        >>> len(ice.solids), stairs.friction
        (1, 0.1)
    """

    friction: float = 0.7
    restitution: float = 0.0
    law: str = "coulomb"
    solids: Sequence[Solid] = (HalfSpace(),)
    rolling: float = 0.0
    torsional: float = 0.0
    surface: CompliantSurface | None = None

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
        SOLIDS.check("a scene", len(self.solids))
        for friction in (self.friction, *(s.friction for s in self.solids)):
            if friction is not None and not (math.isfinite(friction) and friction >= 0):
                raise ParameterError(f"friction must be 0 or more, not {friction}")
        for word, length in (("rolling", self.rolling), ("torsional", self.torsional)):
            if not (math.isfinite(length) and length >= 0):
                raise ParameterError(f"{word} must be 0 or more [m], not {length}")
        if not 0 <= self.restitution <= 1:
            raise ParameterError(f"restitution must be 0 to 1, not {self.restitution}")
        if self.law not in LAWS:
            raise ParameterError(f"law must be one of {LAWS}, not '{self.law}'")
        solids: list[Solid] = []
        for solid in self.solids:
            if isinstance(solid, FurtherContact):
                continue
            solids.append(solid)
            if isinstance(solid, TriangleMesh):
                solids += solid.further_contacts()
        object.__setattr__(self, "solids", tuple(solids))
        self.table()

    def table(self, reach: float = 0.0) -> np.ndarray:
        """The solids as numbers (nsolids, 16), for the compiled distance.

        Args:
            reach: radius of the largest ball that touches them [m].
        """
        rows = np.array([solid.row() for solid in self.solids]).reshape(-1, 16)
        start = 0
        for row, solid in zip(rows, self.solids, strict=True):
            if isinstance(solid, TriangleMesh | FurtherContact):
                row[[NODES, TRIANGLES, NORMALS]] += start
                row[REACH] = reach
                mesh = solid if isinstance(solid, TriangleMesh) else solid.mesh
                if row[RANK] == RANKS - 1:
                    start += mesh.data.size
        return rows

    def mesh_data(self) -> np.ndarray | None:
        """The meshes as numbers, one after the other, that :meth:`table` points to.

        None without any: kernels are then compiled without those of meshes.
        """
        meshes = [s.data for s in self.solids if isinstance(s, TriangleMesh)]
        if not meshes:
            return None
        data = np.concatenate(meshes)
        data.setflags(write=False)  # as of one mesh: kernels are compiled once
        return meshes[0] if len(meshes) == 1 else data

    def thinnest(self) -> float:
        """Shortest edge of all boxes and closed meshes; infinity without any [m]."""
        edges = [min(s.size) for s in self.solids if isinstance(s, Box)]
        edges += [s.thickness() for s in self.solids if isinstance(s, TriangleMesh)]
        return float(min(edges, default=math.inf))

    def frictions(self) -> np.ndarray:
        """Friction of each solid (nsolids,); infinity where contacts stick."""
        usual = np.inf if self.law == "sticking" else self.friction
        own = [usual if s.friction is None else s.friction for s in self.solids]
        return np.array(own, dtype=float)

    @classmethod
    def empty(cls) -> Ground:
        """Nothing to touch: free flight."""
        return cls(solids=())

    @classmethod
    def slope(cls, angle: float, friction: float = 0.7, **rest: float) -> Ground:
        """A plane through the origin that climbs along x by ``angle`` [rad]."""
        normal = (-math.sin(angle), 0.0, math.cos(angle))
        return cls(friction=friction, solids=(HalfSpace(normal),), **rest)  # type: ignore[arg-type]

    def with_solids(self, *solids: Solid) -> Ground:
        """The same scene with more solids in it."""
        return replace(self, solids=(*self.solids, *solids))

    def with_steps(
        self, count: int, rise: float, depth: float, start: float, width: float = 2.0
    ) -> Ground:
        """Stairs that climb along x from ``start``: one box a step, each on the floor.

        A negative rise is refused: for stairs down, start on top of them.
        """
        if count < 1 or rise <= 0 or depth <= 0:
            raise ParameterError("stairs want a count, a rise and a depth above zero")
        SOLIDS.check("steps", len(self.solids) + count)
        far = start + count * depth
        boxes = []
        for k in range(count):
            near, top = start + k * depth, (k + 1) * rise
            size = (far - near, width, top)
            boxes.append(Box(size, ((near + far) / 2, 0.0, top / 2), name=f"step_{k}"))
        return self.with_solids(*boxes)

    def with_stairs(
        self, count: int, rise: float, depth: float, start: float, width: float = 2.0
    ) -> Ground:
        """Stairs as one mesh that climbs along x from ``start``, standing on the floor.

        :meth:`with_steps` makes the same of boxes. In one mesh no step hides in the one
        above, so there are fewer contacts.

        Args:
            count: number of steps.
            rise: of each [m].
            depth: of each [m].
            start: x of the first riser [m].
            width: along y, around y = 0 [m].
        """
        return self.with_solids(stairs_mesh(count, rise, depth, start, width))

    def with_ramp(
        self,
        angle: float,
        length: float,
        start: float,
        platform: float = 0.0,
        width: float = 2.0,
    ) -> Ground:
        """A ramp that climbs along x from ``start``, standing on the floor.

        Args:
            angle: of the ramp, 0 to 1.5 [rad].
            length: of the ramp along x [m].
            start: x of its foot [m].
            platform: length of the level part behind it [m].
            width: along y, around y = 0 [m].
        """
        return self.with_solids(ramp_mesh(angle, length, start, platform, width))

    def with_rubble(
        self,
        seed: int,
        height: float,
        size: tuple[float, float],
        spacing: float = 0.02,
        start: float = 0.0,
    ) -> Ground:
        """Random heights on the floor from ``x = start`` on, around y = 0.

        Args:
            seed: of the random numbers; the same seed gives the same rubble.
            height: of the highest [m].
            size: of the field along x and y [m].
            spacing: of its grid [m].
            start: x at which it begins [m].
        """
        return self.with_solids(rubble_field(seed, height, size, spacing, start))

    def with_chair(
        self,
        x: float = 0.0,
        seat_height: float = SEAT_HEIGHT,
        friction: float | None = None,
    ) -> Ground:
        """A chair that faces +x, the front edge of its seat at x, its back behind.

        Who leaves a chair slides a little on it: with the law ``sticking`` and no
        friction of its own for the chair, a motion may have no continuation.
        """
        middle = x - SEAT_DEPTH / 2
        seat = Box(
            (SEAT_DEPTH, SEAT_WIDTH, SEAT_THICKNESS),
            (middle, 0.0, seat_height - SEAT_THICKNESS / 2),
            name="chair_seat",
            friction=friction,
        )
        back = Box(
            (BACK_THICKNESS, SEAT_WIDTH, BACK_HEIGHT),
            (
                x - SEAT_DEPTH - BACK_THICKNESS / 2,
                0.0,
                seat_height + BACK_HEIGHT / 2,
            ),
            name="chair_back",
            friction=friction,
        )
        return self.with_solids(seat, back)
