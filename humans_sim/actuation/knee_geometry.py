# SPDX-License-Identifier: Apache-2.0
r"""How long the knee's muscles are at a flexion angle q (manual 1.2.5, corrected).

.. math::
   L_{quadriceps} &= r q + \sqrt{L_{00}^2 - r^2} + \sqrt{L_{iq}^2 - r^2}
      + r \arcsin\frac{r}{L_{00}} + r \arcsin\frac{r}{L_{iq}} \\
   L_{hamstrings} &= \sqrt{L_{00}^2 + L_{ii}^2 + 2 L_{00} L_{ii} \cos q}

The quadriceps wraps around the knee, a circle; the hamstrings run straight behind it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from humans_sim.core.checked_numbers import PositiveNumbers
from humans_sim.core.errors import ParameterError
from humans_sim.core.kernels import kernel

WRAPPED, STRAIGHT = 0, 1
PATHS = {"quadriceps": WRAPPED, "hamstrings": STRAIGHT}
"""Which way each muscle takes."""


@dataclass(frozen=True)
class KneeGeometry(PositiveNumbers):
    """Lengths at the knee; the manual does not print them, the numbers are assumed.

    Attributes:
        radius: r, of the knee [m].
        origin: L_00, from the knee to where the muscles begin at the thigh [m].
        quadriceps_insertion: L_iq, from the knee to where it ends at the shank [m].
        hamstrings_insertion: L_ii, likewise [m].
        viscosity: F_v, friction of the joint [N m s/rad].
    """

    MAY_BE_ZERO = ("viscosity",)

    radius: float = 0.04
    origin: float = 0.442
    quadriceps_insertion: float = 0.05
    hamstrings_insertion: float = 0.05
    viscosity: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a knee that its muscles cannot pass."""
        super().__post_init__()
        for name in ("origin", "quadriceps_insertion"):
            if getattr(self, name) <= self.radius:
                raise ParameterError(f"{name} must lie outside the knee's radius")
        if self.origin == self.hamstrings_insertion:
            raise ParameterError("origin and hamstrings_insertion must differ")

    def path(self, muscle: str) -> np.ndarray:
        """The two numbers of a muscle's path, for :func:`path_length`."""
        r, top = self.radius, self.origin
        if PATHS[muscle] == STRAIGHT:
            end = self.hamstrings_insertion
            return np.array([top**2 + end**2, 2.0 * top * end])
        end = self.quadriceps_insertion
        straight = math.sqrt(top**2 - r**2) + math.sqrt(end**2 - r**2)
        return np.array([straight + r * (math.asin(r / top) + math.asin(r / end)), r])


@kernel
def path_length(kind: int, flexion: float, path: np.ndarray) -> tuple[float, float]:
    """Length of a muscle [m] and its derivative by the flexion angle [m/rad]."""
    if kind == WRAPPED:
        return path[0] + path[1] * flexion, path[1]
    length = math.sqrt(path[0] + path[1] * math.cos(flexion))
    return length, -0.5 * path[1] * math.sin(flexion) / length
