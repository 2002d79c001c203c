# SPDX-License-Identifier: Apache-2.0
"""The public names: each once, with the module that it is loaded from at first use."""

from humans_sim.bodies.mass_properties import BodyError as BodyError
from humans_sim.bodies.mass_properties import MassProperties as MassProperties
from humans_sim.bodies.mass_properties import of_box as of_box
from humans_sim.bodies.mass_properties import of_cylinder as of_cylinder
from humans_sim.bodies.mass_properties import of_mesh as of_mesh
from humans_sim.bodies.mass_properties import of_particles as of_particles
from humans_sim.bodies.mass_properties import of_sphere as of_sphere
from humans_sim.bodies.motion import STATE_SIZE as STATE_SIZE
from humans_sim.bodies.motion import BodyMotion as BodyMotion
from humans_sim.bodies.motion import move as move
from humans_sim.bodies.motion import pack as pack
from humans_sim.bodies.motion import packed_rates as packed_rates
from humans_sim.bodies.motion import unpack as unpack
from humans_sim.bodies.rigid_bodies import BodyState as BodyState
from humans_sim.bodies.rigid_bodies import RigidBodies as RigidBodies
