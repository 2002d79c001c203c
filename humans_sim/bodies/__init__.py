# SPDX-License-Identifier: Apache-2.0
"""Free rigid bodies: their mass, their motion, and scenes of many of them."""

from humans_sim.bodies.mass_properties import (
    BodyError,
    MassProperties,
    of_box,
    of_cylinder,
    of_mesh,
    of_particles,
    of_sphere,
)
from humans_sim.bodies.motion import (
    STATE_SIZE,
    BodyMotion,
    move,
    pack,
    packed_rates,
    unpack,
)
from humans_sim.bodies.rigid_bodies import BodyState, RigidBodies

__all__ = [
    "BodyError",
    "BodyMotion",
    "BodyState",
    "MassProperties",
    "RigidBodies",
    "STATE_SIZE",
    "move",
    "of_box",
    "of_cylinder",
    "of_mesh",
    "of_particles",
    "of_sphere",
    "pack",
    "packed_rates",
    "unpack",
]
