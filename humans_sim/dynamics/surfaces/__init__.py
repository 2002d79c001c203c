# SPDX-License-Identifier: Apache-2.0
"""Bodies that touch with smooth surfaces: they roll, slide and pivot on each other."""

from humans_sim.dynamics.surfaces.rolling import RollingBody, rolling_bodies
from humans_sim.dynamics.surfaces.surface_contact import SurfaceContact
from humans_sim.dynamics.surfaces.surface_system import JointSprings, SurfaceSystem

__all__ = [
    "JointSprings",
    "RollingBody",
    "SurfaceContact",
    "SurfaceSystem",
    "rolling_bodies",
]
