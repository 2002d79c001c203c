# SPDX-License-Identifier: Apache-2.0
"""A surface that gives way: what a scene knows of it."""

from __future__ import annotations

from typing import Any, Protocol


class CompliantSurface(Protocol):
    """A surface above a solid of a scene, which is what lies below all of it.

    Points of a model that go below it are pushed back by forces, not by the contact
    law. :mod:`humans_sim.soft.ground` has one.

    Attributes:
        name: that of the solid.
    """

    name: str

    def reaction(self, system: Any) -> Any:
        """What it does to a system in its scene, from rest on.

        Returns:
            a :class:`~humans_sim.dynamics.surface_reaction.SurfaceReaction`.
        """

    def record(self) -> dict[str, Any]:
        """What a run keeps of it, plain data; ``compliance`` of its contacts [m/N]."""
