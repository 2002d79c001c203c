# SPDX-License-Identifier: Apache-2.0
"""Forces of a surface that gives way, as the dynamics takes them.

Such a surface has samples of its own. At each it finds the forces of its contacts,
which then are held up to the next one: both methods see a generalised force that is
constant from sample to sample, so that neither is stiff.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from humans_sim.core.errors import ParameterError
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.results.sample import Sample


class SurfaceReaction(Protocol):
    """What a surface does to a system.

    Attributes:
        held: generalised force until the next sample (nv,) [N m, N].
        due: time of the next sample [s].
    """

    held: np.ndarray
    due: float

    def start(self, t: float) -> None:
        """Begin at a time [s], the surface at rest."""

    def update(
        self, t: float, q: np.ndarray, v: np.ndarray, applied: np.ndarray
    ) -> None:
        """Make a sample.

        Args:
            t: its time [s].
            q: configuration then.
            v: velocity then.
            applied: all that acts but this (nv,) [N m, N].
        """

    def complete(self, sample: Sample) -> Sample:
        """A sample of the system with the contacts and the energy of the surface."""


def reaction_of(system: Any) -> SurfaceReaction | None:
    """The reaction of the surface in a system's scene; None where there is none.

    Raises:
        ParameterError: the scene of anything but a biped alone has one.
    """
    surface = getattr(getattr(system, "ground", None), "surface", None)
    if surface is None:
        return None
    if not isinstance(system, ModelSystem):
        raise ParameterError("a ground that gives way carries a biped alone")
    reaction: SurfaceReaction = surface.reaction(system)
    return reaction
