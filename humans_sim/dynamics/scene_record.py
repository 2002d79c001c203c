# SPDX-License-Identifier: Apache-2.0
"""What a run keeps of the system it was simulated with."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from humans_sim.contact.geometry.foot_spheres import sphere_tags
from humans_sim.dynamics.model_system import ModelSystem
from humans_sim.dynamics.system import System
from humans_sim.results.record import model_and_ground


@runtime_checkable
class Recorded(Protocol):
    """A system that describes itself for the record of a run."""

    def record(self) -> dict[str, Any]:
        """Plain data."""


def scene_record(system: System) -> dict[str, Any]:
    """Model, solids and radii as plain data; nothing for general coordinates."""
    if isinstance(system, Recorded):
        return system.record()
    if not isinstance(system, ModelSystem):
        return {}
    return {
        **model_and_ground(system.model, system.ground),
        **surface_record(system),
        **touching_record(system),
    }


def surface_record(system: ModelSystem) -> dict[str, Any]:
    """A surface that gives way, as plain data; its state is that of the last sample."""
    surface = system.ground.surface
    if surface is None:
        return {}
    return {getattr(surface, "record_key", "surface"): surface.record()}


def touching_record(system: ModelSystem) -> dict[str, Any]:
    """What of a model touches, as plain data."""
    balls = sphere_tags(system.model)
    features = system.features
    own = set(() if features is None else features.names)
    radii = zip(system.contact_points, system.radii.tolist(), strict=True)
    return {
        "radii": {name: radius for name, radius in radii if radius and name not in own},
        **({} if features is None else {"features": features.record()}),
        **({"sphere_tags": balls} if balls else {}),
        **({"armature": system.armature.tolist()} if system.armature.any() else {}),
        **system.dissipation.record(system.velocity_names),
    }
