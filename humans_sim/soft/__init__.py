# SPDX-License-Identifier: Apache-2.0
"""Soft things: mass-interaction networks, pin screens, couplings, implicit surfaces.

After A. Habibi, "Visualisation d'objets très déformables" (Grenoble, 1997).
"""

from humans_sim.core.lazy_names import stub_names

__getattr__, __dir__, __all__ = stub_names(__name__, __file__)
