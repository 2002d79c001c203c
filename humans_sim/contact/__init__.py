"""Contact geometry: what can be touched, and with what."""

from humans_sim.contact.ground import Ground
from humans_sim.contact.solids import Box, HalfSpace, Solid

__all__ = ["Box", "Ground", "HalfSpace", "Solid"]
