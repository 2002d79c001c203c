# SPDX-License-Identifier: Apache-2.0
"""Budgets: the most of everything that a file may repeat or make.

Three words of YAML can ask for more steps, masses or samples than any machine holds,
and a small archive for more bytes. Every such count, and every one that follows from
lengths and spacings, is compared with its budget before anything is made.

The numbers are assumed: some ten times what the largest example of the package needs,
and what one of them makes stays below 1 GB.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from humans_sim.core.errors import HumansError, ParameterError

FREE_BYTES = 1 << 28
"""What a file may become in memory however small it is [bytes]."""
LARGEST_RATIO = 100
"""Beyond that, how many times its own size."""
_EXACT = 1e15
"""Counts below it are shown digit by digit."""


class Budget(NamedTuple):
    """The most of one thing.

    Attributes:
        advice: what to do where there are more.
    """

    things: str
    most: int
    advice: str

    def check(
        self,
        what: str,
        *counts: float,
        error: Callable[[str], HumansError] = ParameterError,
    ) -> int:
        """The number of things along all sides; ``error`` makes that of too many."""
        total = math.prod(float(count) for count in counts)
        if not abs(total) <= self.most:
            asked = _shown(total)
            if len(counts) > 1:
                asked = f"{' x '.join(map(_shown, counts))} = {asked}"
            raise error(
                f"{what}: {asked} {self.things} are more than {self.most}: "
                f"{self.advice}"
            )
        return math.prod(int(count) for count in counts)


def _shown(count: float) -> str:
    return f"{count:.0f}" if abs(count) < _EXACT else f"{count:.3g}"


STEPS = Budget("steps", 10_000, "make fewer")
"""Of stairs that are one mesh."""
SOLIDS = Budget("solids", 1000, "make fewer; 'stairs' and 'meshes' are one solid each")
"""Of a scene: boxes, steps of boxes, meshes."""
HEIGHTS = Budget("heights", 250_000, "take a coarser grid")
"""Of a height field, or of rubble."""
TRIANGLES = Budget("triangles", 500_000, "take a coarser mesh")
"""Of a mesh that is touched."""
CONTACT_POINTS = Budget("points", 400, "take a larger spacing")
"""That a sole is covered with."""
BODIES = Budget("free bodies", 200, "make fewer")
"""Of a scene."""
CONTACTS = Budget("contacts", 8000, "take fewer bodies, or fewer solids")
"""Of a scene with free bodies: pairs that may touch. Some tables have its square."""
MASSES = Budget("masses", 10_000, "make fewer")
"""Of a network."""
LINKS = Budget("links", 300_000, "make fewer masses")
"""Of a network."""
COAT_MASSES = Budget("masses", 4000, "make fewer")
"""Of a piece of a coat."""
PINS = Budget("pins", 4_000_000, "take fewer pins, or a larger spacing")
"""Of a pin screen, or of a deformable ground."""
PATCH_PINS = Budget("pins", 2500, "take a smaller patch, or a larger spacing")
"""That one point presses on."""
GRID_POINTS = Budget("grid points", 8_000_000, "take a larger spacing")
"""Of a grid on which a surface is looked for."""
VOXELS = Budget("voxels", 1 << 28, "take a larger spacing")
"""Of the volume of a bone: 645 along each edge."""
PIXELS = Budget("pixels", 1 << 28, "take fewer slices, or smaller ones")
"""Of a stack of slices."""
SAMPLES = Budget("samples", 10_000_000, "end earlier, or take a longer period")
"""Of a run."""
FRAMES = Budget("frames", 1_000_000, "end earlier, or take a lower rate")
"""Of a synthetic recording."""
POSTURES = Budget("postures", 100_000, "end earlier")
"""Of a motion that is computed before a run."""
FOOTSTEPS = Budget("footsteps", 10_000, "take a shorter path")
"""Of a path."""
RATE = Budget("steps a second", 1_000_000, "take a longer period")
"""Of a sensor, a controller, a coat, a pin screen, a network, a time step."""
RUNS = Budget("runs", 1_000_000, "vary fewer values")
"""Of a sweep."""
NUMBERS = Budget("numbers", 1 << 26, "cut the recording")
"""Of any other table that is made."""
BUDGETS = tuple(value for value in globals().values() if isinstance(value, Budget))
"""All of them."""


def check_expansion(
    held: float, size: int, error: Callable[[str], HumansError] = ParameterError
) -> None:
    """Refuse a file that becomes much larger in memory than it is [bytes]."""
    most = max(FREE_BYTES, LARGEST_RATIO * size)
    if not held <= most:
        raise error(
            f"its {size} bytes would become {_shown(held)}, more than {most}: save it "
            "without compression, or in parts"
        )
