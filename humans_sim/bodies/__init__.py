# SPDX-License-Identifier: Apache-2.0
"""Free rigid bodies: their mass, their motion, and scenes of many of them."""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
