# SPDX-License-Identifier: Apache-2.0
"""The scene of a model: solids, friction, restitution.

Also: the interface of a surface that gives way; the height of a ground, where a plumb
line from above first meets a solid; terrain of a few numbers (stairs, ramps, rubble).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from humans_sim.contact.geometry.mesh import MESH_TRIANGLES, NODES, NORMALS, RANK, REACH
from humans_sim.contact.geometry.solids import Ball, Box, HalfSpace
from humans_sim.contact.geometry.terrain import (
    RANKS,
    FurtherContact,
    HeightField,
    TriangleMesh,
)
from humans_sim.core.budget import HEIGHTS, SOLIDS, STEPS
from humans_sim.core.errors import ParameterError


class CompliantSurface(Protocol):
    """A surface above a solid of a scene, which is what lies below all of it.

    Points of a model that go below it are pushed back by forces, not by the contact
    law. :mod:`humans_sim.soft.ground` has one.
    """

    name: str

    def reaction(self, system: Any) -> Any:
        """Its ``SurfaceReaction`` on a system in its scene, from rest on."""

    def record(self) -> dict[str, Any]:
        """Its record in a run, plain data; ``compliance`` of its contacts [m/N]."""


_LOWEST = 0.05
"""Least height of rubble, in its greatest: nothing of it lies in the floor's plane."""


def _check_numbers(what: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not (math.isfinite(number) and number > 0):
            raise ParameterError(f"{name} of {what} must be above zero, not {number}")


def _extruded(
    profile: list[tuple[float, float]], start: float, width: float, name: str
) -> TriangleMesh:
    """The solid under a profile of x and z that never falls, between two y.

    Its sides are fans around the lower corner at the end, from which all of a profile
    that never falls can be seen.
    """
    if not math.isfinite(start):
        raise ParameterError(f"start of {name} must be a number, not {start}")
    outline = np.array([*profile, (profile[-1][0], 0.0)])
    count = len(outline)
    vertices = np.zeros((2, count, 3))
    vertices[:, :, 0], vertices[:, :, 2] = start + outline[:, 0], outline[:, 1]
    vertices[0, :, 1], vertices[1, :, 1] = -width / 2, width / 2
    here, apex = np.arange(count), count - 1
    after = np.roll(here, -1)
    fan = np.arange(count - 2)
    faces = [
        np.stack([here, after + count, here + count], -1),
        np.stack([here, after, after + count], -1),
        np.stack([np.full(count - 2, apex), fan + 1, fan], -1),
        np.stack([np.full(count - 2, apex), fan, fan + 1], -1) + count,
    ]
    return TriangleMesh(vertices.reshape(-1, 3), np.concatenate(faces), name)


Solid = HalfSpace | Box | TriangleMesh | FurtherContact
"""What a scene can be built of; balls are of free bodies (:mod:`humans_sim.bodies`)."""

LAWS = ("coulomb", "sticking")
SEAT_HEIGHT, SEAT_DEPTH, SEAT_WIDTH, SEAT_THICKNESS = 0.45, 0.40, 0.44, 0.04
BACK_HEIGHT, BACK_THICKNESS = 0.42, 0.03


@dataclass(frozen=True)
class Ground:
    """The ground that the contact points of a model may touch.

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
                solids += [FurtherContact(solid, rank) for rank in range(1, RANKS)]
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
                row[[NODES, MESH_TRIANGLES, NORMALS]] += start
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

    def has_mesh(self) -> bool:
        """Whether any of its solids is a mesh."""
        return any(isinstance(solid, TriangleMesh) for solid in self.solids)

    def frictions(self) -> np.ndarray:
        """Friction of each solid (nsolids,); infinity where contacts stick."""
        default_friction = np.inf if self.law == "sticking" else self.friction
        own = [
            default_friction if s.friction is None else s.friction for s in self.solids
        ]
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
            raise ParameterError("stairs need a count, a rise and a depth above zero")
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
        _check_numbers("stairs", rise=rise, depth=depth, width=width)
        if not (count >= 1 and count == int(count)):
            raise ParameterError(f"stairs have one step or more, not {count}")
        STEPS.check("stairs", count)
        profile = [(0.0, 0.0)]
        for k in range(int(count)):
            profile += [(k * depth, (k + 1) * rise), ((k + 1) * depth, (k + 1) * rise)]
        return self.with_solids(_extruded(profile, start, width, "stairs"))

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
        _check_numbers("a ramp", length=length, width=width)
        if not 0.0 < angle <= 1.5:
            raise ParameterError(f"angle of a ramp: 0 to 1.5 rad, not {angle}")
        if not (math.isfinite(platform) and platform >= 0.0):
            raise ParameterError(f"platform of a ramp: 0 m or more, not {platform}")
        top = length * math.tan(angle)
        profile = [(0.0, 0.0), (length, top)]
        if platform > 0.0:
            profile.append((length + platform, top))
        return self.with_solids(_extruded(profile, start, width, "ramp"))

    def with_rubble(
        self,
        seed: int,
        height: float,
        size: tuple[float, float],
        spacing: float = 0.02,
        start: float = 0.0,
    ) -> Ground:
        """Random heights on the floor from ``x = start`` on, around y = 0.

        Their border lies as deep under it: at the height of the floor it would be a
        buried wall, which feet that slide on the floor run into by a rounding error.

        Args:
            seed: of the random numbers; the same seed gives the same rubble.
            height: of the highest [m].
            size: of the field along x and y [m].
            spacing: of its grid [m].
            start: x at which it begins [m].
        """
        length, width = (float(side) for side in size)
        _check_numbers(
            "rubble", height=height, length=length, width=width, spacing=spacing
        )
        if not (0 <= seed < 2**32 and seed == int(seed)):
            raise ParameterError(
                f"seed of rubble: a whole number of 0 or more, not {seed}"
            )
        sides = [side / spacing for side in (length, width)]
        HEIGHTS.check("rubble", *(side + 1 for side in sides))
        shape = [max(3, round(side) + 1) for side in sides]
        random = np.random.default_rng(int(seed))
        heights = height * random.uniform(_LOWEST, 1.0, shape)
        heights[[0, -1], :] = -height
        heights[:, [0, -1]] = -height
        spacings = (length / (shape[0] - 1), width / (shape[1] - 1))
        return self.with_solids(
            HeightField(heights, spacings, (start, -width / 2, 0.0), "rubble")
        )

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
            (x - SEAT_DEPTH - BACK_THICKNESS / 2, 0.0, seat_height + BACK_HEIGHT / 2),
            name="chair_back",
            friction=friction,
        )
        return self.with_solids(seat, back)


_BORDER = 1e-12
"""Share of a triangle by which a line on its border counts as inside."""
_NOTHING = -np.inf


def ground_heights(ground: Ground, points: np.ndarray) -> np.ndarray:
    """Height of the surface at places (n, 2), from above (n,) [m]; NaN: nothing met."""
    places = np.atleast_2d(np.asarray(points, dtype=float))
    highest = np.full(len(places), _NOTHING)
    for solid in ground.solids:
        if isinstance(solid, HalfSpace):
            here = _plane(solid, places)
        elif isinstance(solid, Box):
            here = _box(solid, places)
        elif isinstance(solid, Ball):
            here = _ball(solid, places)
        elif isinstance(solid, TriangleMesh):
            here = _mesh(solid, places)
        else:  # a further contact of a mesh that is looked at already
            continue
        highest = np.maximum(highest, here)
    return np.where(np.isfinite(highest), highest, np.nan)


def _plane(solid: HalfSpace, places: np.ndarray) -> np.ndarray:
    normal, point = np.asarray(solid.normal, float), np.asarray(solid.point, float)
    if normal[2] <= 0.0:  # it has no upper side
        return np.full(len(places), _NOTHING)
    return point[2] - (places - point[:2]) @ normal[:2] / normal[2]


def _box(solid: Box, places: np.ndarray) -> np.ndarray:
    """The upper end of the line's part between the three pairs of faces."""
    turn = np.eye(3) if solid.rotation is None else np.asarray(solid.rotation, float)
    start = np.column_stack([places, np.zeros(len(places))]) - solid.centre
    along, half = turn[2], 0.5 * np.asarray(solid.size, float)
    low, high = np.full(len(places), -np.inf), np.full(len(places), np.inf)
    for k, at in enumerate((start @ turn).T):
        if abs(along[k]) < _BORDER:
            high[np.abs(at) > half[k]] = -np.inf
            continue
        ends = (np.outer((-1.0, 1.0), half[k] * np.ones_like(at)) - at) / along[k]
        low, high = (
            np.maximum(low, ends.min(axis=0)),
            np.minimum(high, ends.max(axis=0)),
        )
    return np.where(low <= high, high, _NOTHING)


def _ball(solid: Ball, places: np.ndarray) -> np.ndarray:
    away = places - np.asarray(solid.centre[:2], float)
    square = solid.radius**2 - (away**2).sum(axis=1)
    top = solid.centre[2] + np.sqrt(np.maximum(square, 0.0))
    return np.where(square >= 0.0, top, _NOTHING)


def _mesh(solid: TriangleMesh, places: np.ndarray) -> np.ndarray:
    """The highest triangle that each line crosses."""
    corners = solid.vertices[solid.faces]
    flat = corners[:, :, :2]
    low, high = places.min(axis=0), places.max(axis=0)
    near = (flat.max(axis=1) >= low).all(axis=1) & (flat.min(axis=1) <= high).all(
        axis=1
    )
    edges = corners[near][:, 1:] - corners[near][:, :1]
    first = corners[near][:, 0]
    area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
    highest = np.full(len(places), _NOTHING)
    for (one, other), origin, size in zip(edges, first, area, strict=True):
        if size == 0.0:  # upright
            continue
        away = places - origin[:2]
        u = (away[:, 0] * other[1] - away[:, 1] * other[0]) / size
        v = (away[:, 1] * one[0] - away[:, 0] * one[1]) / size
        inside = (u >= -_BORDER) & (v >= -_BORDER) & (u + v <= 1.0 + _BORDER)
        height = origin[2] + u * one[2] + v * other[2]
        highest = np.where(inside, np.maximum(highest, height), highest)
    return highest
