# SPDX-License-Identifier: Apache-2.0
"""The scene a model stands in: solids, friction, restitution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from humans_sim.contact.geometry.solids import Box, HalfSpace, Solid
from humans_sim.core.errors import ParameterError

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
        solids: what can be touched; a floor at height zero unless given.
        rolling: a ball's moment of rolling friction over its normal force [m] (method
            ``time_stepping``).
        torsional: moment of friction about the normal, over the normal force [m]
            (method ``time_stepping``).
    """

    friction: float = 0.7
    restitution: float = 0.0
    law: str = "coulomb"
    solids: Sequence[Solid] = (HalfSpace(),)
    rolling: float = 0.0
    torsional: float = 0.0

    def __post_init__(self) -> None:
        """Refuse numbers without meaning."""
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
        object.__setattr__(self, "solids", tuple(self.solids))
        self.table()

    def table(self) -> np.ndarray:
        """The solids as numbers (nsolids, 16), for the compiled distance."""
        return np.array([solid.row() for solid in self.solids]).reshape(-1, 16)

    def thinnest(self) -> float:
        """Shortest edge of all boxes; infinity without boxes [m]."""
        edges = [min(s.size) for s in self.solids if isinstance(s, Box)]
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
        far = start + count * depth
        boxes = []
        for k in range(count):
            near, top = start + k * depth, (k + 1) * rise
            size = (far - near, width, top)
            boxes.append(Box(size, ((near + far) / 2, 0.0, top / 2), name=f"step_{k}"))
        return self.with_solids(*boxes)

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
